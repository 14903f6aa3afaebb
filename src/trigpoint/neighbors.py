"""Exact nearest neighbours of a few queries among many points.

Two indexes share one contract: `query` gives distances in ascending order, equal ones by the lower
row, and the answer depends neither on the number of threads nor on the other queries.
"""

from functools import partial
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from trigpoint.points import block_rows, row_blocks
from trigpoint.threads import thread_map

# Above this dimension a k-d tree visits nearly every leaf and a matrix product is faster.
TREE_MAX_DIMENSION = 15

# Approximate squared distances held at once by a scan.
_SCAN_BYTES = 64 * 2**20

# Neighbours found by one call of a tree.
_QUERY_BYTES = 4 * 2**20


class NeighborIndex(Protocol):
    """What the samplers and stages ask of an index over `points`."""

    points: np.ndarray
    rows_computed: int

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows, each of shape (q, m), of the `m` points nearest to each query."""


def neighbor_index(points: np.ndarray, n_threads: int = 1) -> NeighborIndex:
    """Index `points` in the way that suits their dimension."""
    if points.shape[1] <= TREE_MAX_DIMENSION:
        return TreeIndex(points, n_threads)
    return ScanIndex(points, n_threads)


def query_tree(
    tree: cKDTree, queries: np.ndarray, m: int, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows, each of shape (q, m), straight from a tree.

    On threads of our own: SciPy's workers go on after Ctrl-C, in memory that is freed by then.
    """
    distances = np.empty((len(queries), m))
    rows = np.empty((len(queries), m), dtype=np.int64)

    def fill(part: slice) -> None:
        found = tree.query(queries[part], k=m)
        distances[part], rows[part] = (np.reshape(values, (-1, m)) for values in found)

    # Blocks small enough that an interrupt is answered at once, and several for each thread.
    size = min(block_rows(16 * m, _QUERY_BYTES), -(-len(queries) // (4 * n_threads)) or 1)
    for _ in thread_map(fill, row_blocks(len(queries), size), n_threads):
        pass
    return distances, rows


def coincident_rows(points: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Rows of `points` that equal `point` in every coordinate."""
    return np.flatnonzero((points == point).all(axis=1))


def _distances_to(points: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Distances from one query to a few points, by differences: no digits lost to cancellation."""
    # One row at a time in the inner loop, so the sum's order never depends on the other rows.
    difference = points - query
    return np.sqrt(np.einsum("ij,ij->i", difference, difference)).astype(np.float64)


def _first_by_distance_then_row(
    distances: np.ndarray, rows: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """First `m` of the given rows, which are in ascending order or no more than `m`."""
    if len(rows) > m:
        # Rows ascend, so the first of those tied for the last place are the lowest.
        cut = np.partition(distances, m - 1)[m - 1]
        nearer = np.flatnonzero(distances < cut)
        tied = np.flatnonzero(distances == cut)[: m - len(nearer)]
        kept = np.concatenate([nearer, tied])
        distances, rows = distances[kept], rows[kept]
    order = np.lexsort((rows, distances))
    return distances[order], rows[order]


class TreeIndex:
    """A k-d tree, for low dimension.

    Attributes
    ----------
    rows_computed : int
        Number of queries answered so far.
    """

    def __init__(self, points: np.ndarray, n_threads: int = 1) -> None:
        self.points = points
        self.rows_computed = 0
        self._n_threads = n_threads
        # Midpoint splits: built several times faster than medians, and as fast to query here.
        self._tree = cKDTree(points, balanced_tree=False, compact_nodes=False)

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows, each of shape (q, m), of the `m` points nearest to each query."""
        queries = np.asarray(queries, dtype=np.float64)
        self.rows_computed += len(queries)
        # One neighbour more than asked for shows whether the last place is tied.
        asked = min(m + 1, len(self.points))
        distances, rows = query_tree(self._tree, queries, asked, self._n_threads)
        tied = distances[:, 1:] == distances[:, :-1]
        tied_at_end = tied[:, -1] if asked > m else np.zeros(len(queries), dtype=bool)
        # Copies, so that the extra column is not kept alive.
        distances, rows = distances[:, :m].copy(), rows[:, :m].copy()
        for q in np.flatnonzero(tied.any(axis=1)):
            if tied_at_end[q]:
                distances[q], rows[q] = self._resolve_last_place(queries[q], distances[q, -1], m)
            else:
                distances[q], rows[q] = _first_by_distance_then_row(distances[q], rows[q], m)
        return distances, rows

    def _resolve_last_place(
        self, query: np.ndarray, radius: float, m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        # A little further than the radius, which is itself rounded.
        reach = radius * (1 + 1e-9)
        n = len(self.points)
        if self._tree.query_ball_point(query, reach, return_length=True) > n // 16:
            # Copies without number: going through all points is faster than listing them.
            rows = np.arange(n)
        else:
            rows = np.sort(self._tree.query_ball_point(query, reach)).astype(np.int64)
        distances = _distances_to(self.points[rows].astype(np.float64), query)
        return _first_by_distance_then_row(distances, rows, m)


class ScanIndex:
    """Matrix products over all points, for high dimension.

    A product finds the candidates, with an error bound that lets no neighbour slip; the distances
    that are kept are computed again from differences.

    Attributes
    ----------
    rows_computed : int
        Number of queries answered so far, each a row of distances to all points.
    """

    def __init__(self, points: np.ndarray, n_threads: int = 1) -> None:
        self.points = points
        self.rows_computed = 0
        self._n_threads = n_threads
        self._centre, self._shifted = _centred_if_far(points)
        self._squares = np.einsum("ij,ij->i", self._shifted, self._shifted)
        # Worst case of a rounded dot product of d terms, and the three sums around it.
        self._rounding = 2 * (points.shape[1] + 8) * float(np.finfo(points.dtype).eps)

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows, each of shape (q, m), of the `m` points nearest to each query."""
        queries = np.asarray(queries, dtype=self.points.dtype)
        self.rows_computed += len(queries)
        distances = np.empty((len(queries), m))
        rows = np.empty((len(queries), m), dtype=np.int64)
        chunk = block_rows(len(self.points) * self.points.itemsize, _SCAN_BYTES)
        for part in row_blocks(len(queries), chunk):
            found = thread_map(
                partial(self._nearest, m=m),
                zip(queries[part], *self._bounds(queries[part]), strict=True),
                self._n_threads,
            )
            for q, (distance, row) in enumerate(found, start=part.start):
                distances[q], rows[q] = distance, row
        return distances, rows

    def _bounds(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Approximate squared distances to all points, and how far off each may be."""
        shifted = queries - self._centre
        norms = np.einsum("ij,ij->i", shifted, shifted)[:, None] + self._squares
        approximate = norms - 2 * (shifted @ self._shifted.T)
        return approximate, np.multiply(norms, self._rounding, out=norms)

    def _nearest(
        self, query_and_bounds: tuple[np.ndarray, np.ndarray, np.ndarray], m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        query, approximate, error = query_and_bounds
        # The m-th smallest upper bound: whatever lies above it for sure cannot be among the m.
        cut = np.partition(approximate + error, m - 1)[m - 1]
        rows = np.flatnonzero(approximate - error <= cut)
        return _first_by_distance_then_row(_distances_to(self.points[rows], query), rows, m)


def _centred_if_far(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre of `points` and the points around it, without a copy where they are near the origin.

    Far from the origin the error bound of the products would let every point through.
    """
    centre = points.mean(axis=0, dtype=np.float64)
    spread = points[:: max(1, len(points) // 1000)].var(axis=0, dtype=np.float64).sum()
    if centre @ centre <= 4 * spread:
        return np.zeros(points.shape[1], dtype=points.dtype), points
    rounded = centre.astype(points.dtype)
    return rounded, points - rounded
