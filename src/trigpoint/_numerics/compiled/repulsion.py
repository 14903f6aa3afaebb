"""How much the landmarks drawn so far repel a point.

Strictly compiled: the same pair of points gives the same bits in every loop, so every loop decides
a proposal the same way.
"""

import numpy as np

from trigpoint._numerics.compiled.distance import squared_distance, squares_to
from trigpoint._numerics.compiled.jit import compiled_strictly
from trigpoint._numerics.compiled.scan import longer
from trigpoint._numerics.compiled.tree import Tree, box_square


@compiled_strictly
def log_factor(square: float, precision: float, is_sine: bool) -> float:
    """Logarithm of `kernels.sin2` or `kernels.welsch` at a squared distance.

    `precision` is that of the kernel, ``1 / bandwidth^2``.
    """
    half = square * precision / 2
    if is_sine:
        return 2 * np.log(np.sin(min(np.sqrt(half), np.pi / 2)))
    return np.log(-np.expm1(-half))


@compiled_strictly
def log_factors(squares: np.ndarray, precision: float, is_sine: bool) -> np.ndarray:
    """Logarithms of the factors at some squared distances."""
    factors = np.empty(len(squares))
    for i in range(len(squares)):
        factors[i] = log_factor(squares[i], precision, is_sine)
    return factors


@compiled_strictly
def _repels(square: float, squared_radius: float, row: int, last_row: int) -> bool:
    """Whether a point at some distance is a neighbor of a landmark, or a copy of it.

    Copies are repelled even if there are more of them than neighbors.
    """
    if square == squared_radius:
        return row <= last_row or square == 0
    return square < squared_radius


@compiled_strictly
def repelling(
    points: np.ndarray,
    rows: np.ndarray,
    landmarks: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances from each point to the landmarks that repel it, in the landmarks' order.

    Parameters
    ----------
    points : ndarray of shape (p, d)
    rows : int64 ndarray of shape (p,)
        Rows of the points, which decide where distances are equal.
    landmarks : ndarray of shape (k, d)
    squared_radii, last_rows : ndarray of shape (k,)
        How far their neighborhoods reach.
    bounds : ndarray of shape (p, k)
        Lower bounds of the squared distances; those above the radius are not computed.

    Returns
    -------
    squares : ndarray of shape (found,)
    starts : int64 ndarray of shape (p + 1,)
        Where those of each point begin.
    """
    starts = np.zeros(len(points) + 1, dtype=np.int64)
    squares = np.empty(8 * len(points) + 64)
    near = np.empty(len(landmarks), dtype=np.int64)
    found = 0
    for p in range(len(points)):
        count = 0
        for k in range(len(landmarks)):
            if bounds[p, k] <= squared_radii[k]:
                near[count] = k
                count += 1
        near_squares = squares_to(landmarks, near[:count], points[p])
        while found + count > len(squares):
            squares = longer(squares, 2 * len(squares))
        for i in range(count):
            k = near[i]
            if _repels(near_squares[i], squared_radii[k], rows[p], last_rows[k]):
                squares[found] = near_squares[i]
                found += 1
        starts[p + 1] = found
    return squares[:found], starts


@compiled_strictly
def largest_radii(tree: Tree, squared_radii: np.ndarray) -> np.ndarray:
    """Largest squared radius of the landmarks in each node of a tree over them."""
    reach = np.zeros(len(tree.starts))
    # Children come after their parents.
    for node in range(len(reach) - 1, -1, -1):
        child = tree.children[node]
        if child:
            reach[node] = max(reach[child], reach[child + 1])
            continue
        for i in range(tree.starts[node], tree.stops[node]):
            reach[node] = max(reach[node], squared_radii[tree.rows[i]])
    return reach


@compiled_strictly
def repelling_in_tree(
    points: np.ndarray,
    rows: np.ndarray,
    tree: Tree,
    reach: np.ndarray,
    landmarks: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Like `repelling`, with a tree over the first landmarks; all later ones are checked.

    `reach` is from `largest_radii`.
    """
    starts = np.zeros(len(points) + 1, dtype=np.int64)
    squares = np.empty(8 * len(points) + 64)
    near, near_squares = np.empty(len(landmarks), dtype=np.int64), np.empty(len(landmarks))
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    found = 0
    for p in range(len(points)):
        query = points[p].astype(np.float64)
        stack[0] = 0
        waiting, count = 1, 0
        while waiting:
            waiting -= 1
            node = stack[waiting]
            if box_square(tree, node, query) > reach[node]:
                continue
            child = tree.children[node]
            if child:
                stack[waiting], stack[waiting + 1] = child, child + 1
                waiting += 2
                continue
            for i in range(tree.starts[node], tree.stops[node]):
                k = tree.rows[i]
                square = squared_distance(tree.points, i, query)
                if _repels(square, squared_radii[k], rows[p], last_rows[k]):
                    near[count], near_squares[count] = k, square
                    count += 1
        order = np.argsort(near[:count])
        for k in range(len(tree.points), len(landmarks)):
            square = squared_distance(landmarks, k, query)
            if _repels(square, squared_radii[k], rows[p], last_rows[k]):
                near_squares[count] = square
                count += 1
        while found + count > len(squares):
            squares = longer(squares, 2 * len(squares))
        for i in range(count):
            squares[found] = near_squares[order[i] if i < len(order) else i]
            found += 1
        starts[p + 1] = found
    return squares[:found], starts


@compiled_strictly
def add_in_order(
    sums: np.ndarray, places: np.ndarray, values: np.ndarray, starts: np.ndarray
) -> None:
    """Add a run of values to each of some sums, one value after the other."""
    for p in range(len(places)):
        for i in range(starts[p], starts[p + 1]):
            sums[places[p]] += values[i]
