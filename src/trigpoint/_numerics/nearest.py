"""The nearest points of many queries at once."""

import numpy as np
from scipy.spatial import cKDTree

from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.kernels import squared_distances
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, neighbor_index, query_tree
from trigpoint._numerics.threads import one_blas_thread, thread_count, thread_map


def nearest(
    points: np.ndarray, queries: np.ndarray, m: int, n_threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact nearest points, by a tree in low dimension and by matrix products in high.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    queries : ndarray of shape (q, d)
    m : int
        How many neighbors of each query, at most n.
    n_threads : int or None, default=None
        Number of threads; ``None`` for all cores.

    Returns
    -------
    distances : float64 ndarray of shape (q, m)
        From differences, so that copies are exactly 0 apart; in ascending order.
    rows : int64 ndarray of shape (q, m)
        The rows of the points. Of equally distant points those with lower rows come first above 15
        dimensions; a tree leaves it open.

    Examples
    --------
    >>> import numpy as np
    >>> distances, rows = nearest(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0]]), 2)
    >>> distances.tolist(), rows.tolist()
    ([[1.0, 3.0]], [[2, 1]])
    """
    n_threads = thread_count(n_threads)
    if points.shape[1] <= TREE_MAX_DIMENSION:
        # For few neighbors of many queries, SciPy's tree is faster than that of `TreeIndex`.
        return query_tree(cKDTree(points, balanced_tree=False), queries, m, n_threads)
    if m == 1:
        return _nearest_one(points, queries, n_threads)
    dtype = np.promote_types(points.dtype, queries.dtype)
    index = neighbor_index(points.astype(dtype, copy=False), m, len(queries), n_threads)
    return index.query(queries.astype(dtype, copy=False), m)


def any_within(points: np.ndarray, queries: np.ndarray, reach: float) -> np.ndarray:
    """Whether some point lies within `reach` of each query."""
    if points.shape[1] <= TREE_MAX_DIMENSION:
        # SciPy's search excludes its upper bound.
        bound = np.nextafter(reach, np.inf)
        found = cKDTree(points).query(queries, distance_upper_bound=bound)[0]
        return np.asarray(found <= reach)
    return _nearest_one(points, queries, 1)[0][:, 0] <= reach


def _nearest_one(
    points: np.ndarray, queries: np.ndarray, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest point of many queries by products over all points, of which there are few."""
    points = points.astype(np.float64, copy=False)
    # Worst case of a rounded dot product and of two norms, relative to the squares of both.
    rounding = 4 * (points.shape[1] + 8) * np.finfo(np.float64).eps
    largest = np.square(points - points.mean(axis=0)).sum(axis=1).max()
    distances, rows = np.empty((len(queries), 1)), np.empty((len(queries), 1), dtype=np.int64)

    def fill(part: slice) -> None:
        asked = queries[part].astype(np.float64, copy=False)
        squares = squared_distances(asked, points)
        found = squares.argmin(axis=1)
        # The mean is no less than the squared distance from the center.
        slack = rounding * (squares.mean(axis=1) + largest)
        close = squares <= (squares.min(axis=1) + slack)[:, None]
        for q in np.flatnonzero(np.count_nonzero(close, axis=1) > 1):
            candidates = np.flatnonzero(close[q])
            found[q] = candidates[np.square(points[candidates] - asked[q]).sum(axis=1).argmin()]
        rows[part, 0] = found
        distances[part, 0] = np.linalg.norm(points[found] - asked, axis=1)

    width = 8 * (len(points) + points.shape[1])
    with one_blas_thread():
        for _ in thread_map(fill, row_blocks(len(queries), block_rows(width)), n_threads):
            pass
    return distances, rows
