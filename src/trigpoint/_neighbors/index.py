"""Exact nearest neighbors of a few queries among many points.

All indexes guarantee that, among equally distant points, lower rows come first, and that results do
not depend on the number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from trigpoint._numerics.blocks import block_rows, row_blocks

# Dimension above which a k-d tree visits nearly every bucket, and matrix products are faster.
TREE_MAX_DIMENSION = 15


@dataclass(frozen=True)
class Neighborhoods:
    """Neighborhoods of a few queries, described by their radii.

    A point is a neighbor if its squared distance is below the squared radius, or equal to it while
    its row number is at most the last row.
    """

    points: np.ndarray  # The queries (q, d).
    size: int  # Number m of neighbors per query.
    squared_radii: np.ndarray  # Squared distance (q,) to the farthest neighbor.
    last_rows: np.ndarray  # Last row (q,) among the neighbors at that distance.
    # Rows (m,) of each query's neighbors, in any order; stored if a new search would be slow.
    members: Sequence[np.ndarray] | None = None
    bounds: Sequence[np.ndarray] | None = None  # Upper bounds on their squared distances.

    def holds(self, q: int, squares: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which points, given their squared distances, are neighbors of query `q`."""
        radius, last = self.squared_radii[q], self.last_rows[q]
        return (squares < radius) | ((squares == radius) & (rows <= last))

    def take(self, which: Sequence[int]) -> Self:
        """Return a subset of the neighborhoods, in the order given."""
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
        """Return an empty record for points of the same type and dimension."""
        return cls(points[:0], size, np.empty(0), np.empty(0, dtype=np.int64), [], [])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate several records, dropping lists that are missing from any of them."""
        listed = []
        for lists in ([part.members for part in parts], [part.bounds for part in parts]):
            is_known = all(some is not None for some in lists)
            listed.append([one for some in lists for one in some or ()] if is_known else None)
        return cls(
            np.concatenate([part.points for part in parts]),
            parts[0].size,
            np.concatenate([part.squared_radii for part in parts]),
            np.concatenate([part.last_rows for part in parts]),
            *listed,
        )


class NeighborIndex(ABC):
    """Base class of exact searches among `points`."""

    name: str  # Name of the search method.
    together: int  # Preferred number of queries per search.
    points: Any

    n_searches = 0  # Number of queries answered so far.

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the points in some rows."""
        taken: np.ndarray = self.points[rows]
        return taken

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Return the rows that equal a point in every coordinate."""
        blocks = row_blocks(len(self.points), block_rows(self.points.shape[1]))
        return np.concatenate(
            [part.start + np.flatnonzero((self.points[part] == point).all(1)) for part in blocks]
        )

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the distance (q,) to the `m`-th neighbor, or return None if searches are fast."""
        return None

    @abstractmethod
    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """Return the `m` nearest points of the queries."""

    @abstractmethod
    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""

    @abstractmethod
    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Return covariances (q, d, d) of neighbors if `mode` is "full", or variances (q, d)."""

    @abstractmethod
    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and rows, each of shape (q, m), sorted by distance, then by row."""


def neighbor_index(points: Any, m: int, n_queries: int, n_threads: int = 1) -> NeighborIndex:
    """Build the index that suits the dimension of `points` (n, d).

    About `n_queries` queries for `m` neighbors each are expected.
    """
    from trigpoint._neighbors.products import ProductIndex, SparseIndex
    from trigpoint._neighbors.tree import TreeIndex

    if points.shape[1] <= TREE_MAX_DIMENSION:
        return TreeIndex(points, n_threads, bucket=min(max(m // 16, 8), 512))
    # Use a power of two, so that an incomplete last group wastes little.
    together = 2 ** min(max((n_queries // 8).bit_length(), 3), 7)
    index = SparseIndex if issparse(points) else ProductIndex
    return index(points, n_threads, together=together)
