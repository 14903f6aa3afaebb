"""Exact nearest neighbors of a few queries among many points.

Two indexes share one contract: of equally distant points those with lower rows are taken, and the
answer does not depend on the number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.spatial import cKDTree

from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.threads import thread_map

# Above this dimension a k-d tree visits nearly every bucket and a matrix product is faster.
TREE_MAX_DIMENSION = 15

# Neighbors found by one call of a tree.
_QUERY_BYTES = 4 * 2**20

# This many neighbors are found by one thread as fast as by several.
_FEW_NEIGHBORS = 2**16


@dataclass(frozen=True)
class Neighborhoods:
    """The nearest points of a few queries, described by how far they reach.

    A point is a neighbor if its squared distance is less than the squared radius, or equal to it
    and its row is not above the last row.

    Attributes
    ----------
    points : ndarray of shape (q, d)
        The queries.
    size : int
        The number m of neighbors of each.
    squared_radii : float64 ndarray of shape (q,)
        Squared distance to the farthest neighbor.
    last_rows : int64 ndarray of shape (q,)
        The last row among the neighbors at that distance.
    members : sequence of q int ndarrays of shape (m,), or None
        The neighbors' rows, in no particular order, where finding them again would take long.
    bounds : sequence of q float64 ndarrays of shape (m,), or None
        Upper bounds of the members' squared distances, where they are known.
    """

    points: np.ndarray
    size: int
    squared_radii: np.ndarray
    last_rows: np.ndarray
    members: Sequence[np.ndarray] | None = None
    bounds: Sequence[np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def radii(self) -> np.ndarray:
        """Distance to the farthest neighbor."""
        return np.sqrt(self.squared_radii)

    def holds(self, q: int, squares: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Which of some points, at these squared distances, are neighbors of query `q`."""
        radius, last = self.squared_radii[q], self.last_rows[q]
        return (squares < radius) | ((squares == radius) & (rows <= last))

    def take(self, which: Sequence[int]) -> Self:
        """Some of them, in the order given."""
        chosen = np.asarray(which, dtype=np.int64)
        return type(self)(
            self.points[chosen],
            self.size,
            self.squared_radii[chosen],
            self.last_rows[chosen],
            None if self.members is None else [self.members[q] for q in chosen],
            None if self.bounds is None else [self.bounds[q] for q in chosen],
        )

    @classmethod
    def none(cls, points: np.ndarray, size: int) -> Self:
        """No neighborhoods, for points like these."""
        return cls(points[:0], size, np.empty(0), np.empty(0, dtype=np.int64), [], [])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate several records."""
        return cls(
            np.concatenate([part.points for part in parts]),
            parts[0].size,
            np.concatenate([part.squared_radii for part in parts]),
            np.concatenate([part.last_rows for part in parts]),
            _chained([part.members for part in parts]),
            _chained([part.bounds for part in parts]),
        )


def _chained(parts: Sequence[Sequence[np.ndarray] | None]) -> list[np.ndarray] | None:
    """All arrays of several sequences; None if one of these is missing."""
    chained: list[np.ndarray] = []
    for part in parts:
        if part is None:
            return None
        chained += part
    return chained


class NeighborIndex(ABC):
    """Exact search among `points`.

    Attributes
    ----------
    name : str
        How neighbors are found.
    together : int
        Queries that are best asked together.
    n_searches : int
        Number of queries answered so far.
    """

    name: str
    together: int
    points: Any

    def __init__(self, points: Any, n_threads: int = 1) -> None:
        self.points = points if issparse(points) else np.ascontiguousarray(points)
        self.n_searches = 0
        self._n_threads = n_threads

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Points in some rows."""
        taken: np.ndarray = self.points[rows]
        return taken

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""
        blocks = row_blocks(len(self.points), block_rows(self.points.shape[1]))
        return np.concatenate(
            [part.start + np.flatnonzero((self.points[part] == point).all(1)) for part in blocks]
        )

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the distance (q,) to the `m`-th neighbor, if a search would take much longer."""
        return None

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """The `m` nearest points of the queries."""
        self.n_searches += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.points.dtype)
        return self._search(queries, m)

    @abstractmethod
    def _search(self, queries: np.ndarray, m: int) -> Neighborhoods: ...

    @abstractmethod
    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""

    @abstractmethod
    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Covariances of the neighbors: (q, d, d) if "full", or their diagonals, (q, d)."""

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows, each of shape (q, m), nearest first, equal ones by the lower row."""
        self.n_searches += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.points.dtype)
        distances = np.empty((len(queries), m))
        rows = np.empty((len(queries), m), dtype=np.int64)
        start = 0
        for some, squares in self._nearest_rows(queries, m):
            part = slice(start, start + len(some))
            order = np.lexsort((some, squares))
            distances[part] = np.sqrt(np.take_along_axis(squares, order, axis=1))
            rows[part] = np.take_along_axis(some, order, axis=1)
            start = part.stop
        return distances, rows

    @abstractmethod
    def _nearest_rows(self, queries: np.ndarray, m: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances, each of shape (some, m), of a few queries in turn."""


def neighbor_index(points: Any, m: int, n_queries: int, n_threads: int = 1) -> NeighborIndex:
    """Index `points` by the kind of index that suits their dimension.

    Parameters
    ----------
    points : ndarray or csr_array of shape (n, d)
    m : int
        About how many neighbors will be asked for.
    n_queries : int
        About how often.
    n_threads : int, default=1
    """
    from trigpoint._neighbors.products import ProductIndex
    from trigpoint._neighbors.sparse import SparseIndex

    if points.shape[1] <= TREE_MAX_DIMENSION:
        return TreeIndex(points, n_threads, bucket=bucket_size(m))
    # A power of two, so that a last, unfilled group wastes little.
    together = 2 ** min(max((n_queries // 8).bit_length(), 3), 7)
    index = SparseIndex if issparse(points) else ProductIndex
    return index(points, n_threads, together=together)


def bucket_size(m: int) -> int:
    """Points in a bucket of a tree that is asked for `m` neighbors."""
    return min(max(m // 16, 8), 512)


def query_tree(
    tree: cKDTree, queries: np.ndarray, m: int, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows, each of shape (q, m), straight from SciPy's tree.

    Uses our own threads: SciPy's workers go on after Ctrl-C, in memory that is freed by then.
    """
    distances = np.empty((len(queries), m))
    rows = np.empty((len(queries), m), dtype=np.int64)

    def fill(part: slice) -> None:
        found = tree.query(queries[part], k=m)
        distances[part], rows[part] = (np.reshape(values, (-1, m)) for values in found)

    for _ in thread_map(fill, _query_blocks(len(queries), m, n_threads), n_threads):
        pass
    return distances, rows


def _query_blocks(n_queries: int, m: int, n_threads: int) -> Iterator[slice]:
    """Blocks small enough that an interrupt takes effect at once, and several for each thread."""
    size = block_rows(16 * m, _QUERY_BYTES)
    if n_threads > 1:
        size = min(size, -(-n_queries // (4 * n_threads)) or 1)
    return row_blocks(n_queries, size)


class TreeIndex(NeighborIndex):
    """A k-d tree, for low dimension.

    It keeps a copy of the points in the order of its buckets. Buckets of a sixteenth of the
    neighbors asked for leave little to read beyond the neighbors themselves.

    Attributes
    ----------
    tree : Tree
    """

    name = "tree"
    together = 256

    def __init__(self, points: np.ndarray, n_threads: int = 1, *, bucket: int = 8) -> None:
        super().__init__(points, n_threads)
        from trigpoint._neighbors.tree_building import build_tree

        self.tree = build_tree(self.points, bucket, n_threads)

    def _blocks(self, n_queries: int, m: int) -> tuple[Iterator[slice], int]:
        """Blocks of queries, and how many threads are worth starting for them."""
        # Starting threads takes longer than finding a few small neighborhoods.
        n_threads = self._n_threads if n_queries * m > _FEW_NEIGHBORS else 1
        return _query_blocks(n_queries, m, n_threads), n_threads

    def _search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        from trigpoint._kernels.tree_search import reaches

        squared_radii = np.empty(len(queries))
        last_rows = np.empty(len(queries), dtype=np.int64)

        def find(part: slice) -> None:
            doubles = queries[part].astype(np.float64)
            reaches(self.tree, doubles, m, squared_radii[part], last_rows[part])

        blocks, n_threads = self._blocks(len(queries), m)
        for _ in thread_map(find, blocks, n_threads):
            pass
        return Neighborhoods(queries, m, squared_radii, last_rows)

    def _nearest_rows(self, queries: np.ndarray, m: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        from trigpoint._kernels.tree_search import neighborhoods

        def find(part: slice) -> tuple[np.ndarray, np.ndarray]:
            squares = np.empty((part.stop - part.start, m))
            places = np.empty(squares.shape, dtype=np.int64)
            neighborhoods(self.tree, queries[part].astype(np.float64), squares, places)
            return self.tree.rows[places].astype(np.int64, copy=False), squares

        blocks, n_threads = self._blocks(len(queries), m)
        return thread_map(find, blocks, n_threads)

    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""

        def gather(q: int) -> tuple[np.ndarray, np.ndarray]:
            places, squares = self._inside(found, q)
            return self.tree.rows[places].astype(np.int64, copy=False), squares

        _, n_threads = self._blocks(len(found), found.size)
        return thread_map(gather, range(len(found)), n_threads)

    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Covariances of the neighbors, read where they lie side by side."""
        from trigpoint._kernels.candidates import covariance, variances

        measure = covariance if mode == "full" else variances

        def of(q: int) -> np.ndarray:
            return measure(self.tree.points, self._inside(found, q)[0], found.points[q])

        _, n_threads = self._blocks(len(found), found.size)
        return np.array(list(thread_map(of, range(len(found)), n_threads)))

    def _inside(self, found: Neighborhoods, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Places in the tree and squared distances of the neighbors of one query."""
        from trigpoint._kernels.tree_search import ball

        squares, places = np.empty(found.size), np.empty(found.size, dtype=np.int64)
        stack = np.empty(len(self.tree.starts) + 1, dtype=np.int64)
        query = found.points[q].astype(np.float64)
        radius, last = found.squared_radii[q], found.last_rows[q]
        count = ball(self.tree, query, radius, last, squares, places, stack)
        assert count == found.size, "radii of other points"
        return places, squares
