"""Nearest neighbours of many queries, the fastest way at hand."""

import numpy as np
from scipy.spatial import cKDTree

from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, query_tree
from trigpoint._numerics.threads import thread_count


def nearest(points: np.ndarray, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances (float64) and rows of the `m` points nearest to each query, nearest first."""
    if points.shape[1] <= TREE_MAX_DIMENSION:
        tree = cKDTree(points, balanced_tree=False)
        return query_tree(tree, queries, m, thread_count(-1))

    distances = np.empty((len(queries), m))
    rows = np.empty((len(queries), m), dtype=np.int64)

    from sklearn.neighbors import NearestNeighbors

    centre = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    search = NearestNeighbors(n_neighbors=m, algorithm="brute").fit(points - centre)
    for block in row_blocks(len(queries), block_rows(8 * points.shape[1] * (m + 1))):
        rows[block] = search.kneighbors(queries[block] - centre, return_distance=False)
        # By differences, since matrix products lose the digits of short distances.
        difference = points[rows[block]].astype(np.float64) - queries[block, None]
        distances[block] = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
    return distances, rows
