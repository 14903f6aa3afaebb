"""Proposals of Algorithm 2 decided one by one, with the neighbors from a tree."""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled
from trigpoint._numerics.compiled.repulsion import log_factor
from trigpoint._numerics.compiled.tree import Tree, nearest, reach, scratch


@compiled
def race(
    tree: Tree,
    proposed: np.ndarray,
    thresholds: np.ndarray,
    points: np.ndarray,
    m: int,
    log_weights: np.ndarray,
    precision: float,
    is_sine: bool,
    rejections: int,
    accepted: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
) -> tuple[int, int, int]:
    """Accept proposals whose log-weight is above their threshold, and let them repel the others.

    Parameters
    ----------
    tree : Tree
    proposed : int64 ndarray of shape (p,)
        Rows of the proposals.
    thresholds : ndarray of shape (p,)
    points : ndarray of shape (n, d)
        All points, in the order of their rows.
    m : int
        Number of neighbors that a landmark repels.
    log_weights : ndarray of shape (n,)
        Brought up to date.
    precision : float
        ``1 / bandwidth^2`` of the repulsion.
    is_sine : bool
        Whether repulsion is by the sine and not by the Welsch function.
    rejections : int
        Number of rejections after which to stop.
    accepted : int64 ndarray of shape (a,)
        Filled with the accepted proposals, at most `a`.
    squared_radii : ndarray of shape (a,)
        Filled with their squared distance to the farthest neighbor. At a distance of 0 the race
        stops: more points than the neighbors may coincide with that landmark.
    last_rows : int64 ndarray of shape (a,)
        Filled with the last row among the neighbors at that distance.

    Returns
    -------
    used, n_accepted, n_searches : int
        How many proposals were decided, and accepted, and how often neighbors were searched.
    """
    squares, places, heap_squares, heap_nodes = scratch(tree, m)
    count = searches = 0
    for i in range(len(proposed)):
        if i - count == rejections:
            return i, count, searches
        if thresholds[i] > log_weights[proposed[i]]:
            continue
        query = points[proposed[i]].astype(np.float64)
        searches += 1
        nearest(tree, query, m, squares, places, heap_squares, heap_nodes)
        for t in range(m):
            log_weights[tree.rows[places[t]]] += log_factor(squares[t], precision, is_sine)
        accepted[count] = i
        squared_radii[count], last_rows[count] = reach(tree, squares, places, m)
        count += 1
        if count == len(accepted) or squared_radii[count - 1] == 0:
            return i + 1, count, searches
    return len(proposed), count, searches
