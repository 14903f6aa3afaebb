"""Proposals of Algorithm 2 decided one after the other, with the neighbours from a tree."""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled
from trigpoint._numerics.compiled.tree import Tree, nearest, scratch


@compiled
def race(
    tree: Tree,
    proposed: np.ndarray,
    thresholds: np.ndarray,
    points: np.ndarray,
    log_weights: np.ndarray,
    bandwidth: float,
    is_sine: bool,
    rejections: int,
    accepted: np.ndarray,
    squared_radii: np.ndarray,
    neighbors: np.ndarray,
) -> tuple[int, int]:
    """Accept proposals whose log-weight is above their threshold, and let them repel the others.

    Parameters
    ----------
    tree : Tree
    proposed : int64 ndarray of shape (p,)
        Rows of the proposals.
    thresholds : ndarray of shape (p,)
    points : ndarray of shape (n, d)
        All points, in the order of their rows.
    log_weights : ndarray of shape (n,)
        Brought up to date.
    bandwidth : float
    is_sine : bool
        Whether repulsion is by the sine and not by the Welsch function.
    rejections : int
        After how many to stop.
    accepted : int64 ndarray of shape (a,)
        Filled with the proposals that are accepted, of which there are `a` at most.
    squared_radii : ndarray of shape (a,)
        Filled with their squared distance to the farthest neighbour. With one of 0 the race
        stops: more points than the neighbours may coincide with that landmark.
    neighbors : int64 ndarray of shape (a, m)
        Filled with the rows of their neighbours.

    Returns
    -------
    used, n_accepted : int
        How many proposals were decided, and accepted.
    """
    m = neighbors.shape[1]
    squares, places, heap_squares, heap_nodes = scratch(tree, m)
    count = 0
    for i in range(len(proposed)):
        if i - count == rejections:
            return i, count
        if thresholds[i] > log_weights[proposed[i]]:
            continue
        query = points[proposed[i]].astype(np.float64)
        nearest(tree, query, m, squares, places, heap_squares, heap_nodes)
        farthest = 0.0
        for t in range(m):
            row = tree.rows[places[t]]
            farthest = max(farthest, squares[t])
            log_weights[row] += _log_repulsion(squares[t], bandwidth, is_sine)
            neighbors[count, t] = row
        accepted[count] = i
        squared_radii[count] = farthest
        count += 1
        if count == len(accepted) or farthest == 0:
            return i + 1, count
    return len(proposed), count


@compiled
def _log_repulsion(square: float, bandwidth: float, is_sine: bool) -> float:
    """Logarithm of `kernels.sin2` or `kernels.welsch` at a squared distance."""
    half = square / bandwidth / bandwidth / 2
    if is_sine:
        return 2 * np.log(np.sin(min(np.sqrt(half), np.pi / 2)))
    return np.log(-np.expm1(-half))
