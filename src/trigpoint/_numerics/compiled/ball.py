"""The points of a tree within a landmark's reach, and their covariance."""

import numpy as np

from trigpoint._numerics.compiled.distance import squared_distance
from trigpoint._numerics.compiled.jit import compiled
from trigpoint._numerics.compiled.moments import covariance, variances
from trigpoint._numerics.compiled.tree import Tree, box_square


@compiled
def ball(
    tree: Tree,
    query: np.ndarray,
    squared_radius: float,
    last_row: int,
    squares: np.ndarray,
    places: np.ndarray,
    stack: np.ndarray,
) -> int:
    """Fill `squares` and `places` with the points within a radius; return their number.

    It is one more than there is room for if the radius is not that of as many neighbors.

    Points at exactly that distance are taken up to `last_row`. `stack` has room for the nodes.
    """
    stack[0] = 0
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        if box_square(tree, node, query) > squared_radius:
            continue
        child = tree.children[node]
        if child:
            stack[waiting], stack[waiting + 1] = child, child + 1
            waiting += 2
            continue
        for i in range(tree.starts[node], tree.stops[node]):
            square = squared_distance(tree.points, i, query)
            if square > squared_radius or (square == squared_radius and tree.rows[i] > last_row):
                continue
            if count == len(squares):
                return count + 1
            squares[count], places[count] = square, i
            count += 1
    return count


@compiled
def ball_covariances(
    tree: Tree,
    queries: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    m: int,
    covariances: np.ndarray,
) -> None:
    """Fill the (q, d, d) covariances of the `m` points around each query."""
    squares, places = np.empty(m), np.empty(m, dtype=np.int64)
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    for q in range(len(queries)):
        count = ball(tree, queries[q], squared_radii[q], last_rows[q], squares, places, stack)
        covariances[q] = covariance(tree.points, places[:count], queries[q])


@compiled
def ball_variances(
    tree: Tree,
    queries: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    m: int,
    found: np.ndarray,
) -> None:
    """Fill the (q, d) variances of the `m` points around each query."""
    squares, places = np.empty(m), np.empty(m, dtype=np.int64)
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    for q in range(len(queries)):
        count = ball(tree, queries[q], squared_radii[q], last_rows[q], squares, places, stack)
        found[q] = variances(tree.points, places[:count], queries[q])
