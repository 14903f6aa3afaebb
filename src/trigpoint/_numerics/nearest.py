"""The nearest points of many queries at once."""

import numpy as np
from scipy.spatial import cKDTree

from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, neighbor_index, query_tree
from trigpoint._numerics.threads import thread_count


def nearest(
    points: np.ndarray, queries: np.ndarray, m: int, n_threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact nearest points, by a tree in low dimension and by matrix products in high.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    queries : ndarray of shape (q, d)
    m : int
        How many neighbours of each query, at most n.
    n_threads : int or None, default=None
        Number of threads; ``None`` for all cores.

    Returns
    -------
    distances : float64 ndarray of shape (q, m)
        From differences, so that copies are exactly 0 apart; in ascending order.
    rows : int64 ndarray of shape (q, m)
        The rows of the points. Which of equally distant points come first, or are among the last,
        is left open.

    Examples
    --------
    >>> import numpy as np
    >>> distances, rows = nearest(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0]]), 2)
    >>> distances.tolist(), rows.tolist()
    ([[1.0, 3.0]], [[2, 1]])
    """
    n_threads = thread_count(n_threads)
    if points.shape[1] <= TREE_MAX_DIMENSION:
        # For few neighbours of many queries, SciPy's tree is faster than that of `TreeIndex`.
        return query_tree(cKDTree(points, balanced_tree=False), queries, m, n_threads)
    dtype = np.promote_types(points.dtype, queries.dtype)
    index = neighbor_index(points.astype(dtype, copy=False), m, len(queries), n_threads)
    return index.query(queries.astype(dtype, copy=False), m)
