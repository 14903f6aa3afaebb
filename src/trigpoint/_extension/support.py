"""Which landmarks support a point, and by how much.

The supports share one contract: for a block of points they sum values of the landmarks by weight.
They are frozen records of arrays, prepared once: they can be pickled, and keep nothing between
calls.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.records import LandmarkGraph
from trigpoint._extension.search import (
    ProductSearch,
    TreeSearch,
    landmark_search,
    nearest_landmarks,
    product_search,
)
from trigpoint._numerics.kernels import gaussian
from trigpoint._numerics.sparse import Points

if TYPE_CHECKING:
    from trigpoint._numerics.compiled.landmark_sums import GraphRows

# An edge with a smaller kernel keeps its weight as a point moves: see `GraphNeighbors`.
_FOLLOWED = 1e-6

# Bandwidths beyond which a point is far from all data, and the logarithm of the weight there.
FAR_BANDWIDTHS = 10.0
FAR_LOG_WEIGHT = -(FAR_BANDWIDTHS**2) / 2

# A point is shared by this many nearest landmarks; the next one determines where shares end.
_BLENDED = 3


class WeightedSums(NamedTuple):
    """Landmarks' values summed by their weights for each point of a block.

    Attributes
    ----------
    sums : ndarray of shape (b, l)
    shifts : float64 ndarray of shape (b,)
        Weights are ``exp(-shift)`` times what they should be: 0 except for points far from every
        landmark, whose weights would otherwise all vanish.
    """

    sums: np.ndarray
    shifts: np.ndarray


class Starts(NamedTuple):
    """Paths from each point of a block to landmarks around it.

    Attributes
    ----------
    shares : float64 ndarray of shape (b,)
        How much these paths count for the point.
    lengths : float64 ndarray of shape (b, width)
        Infinite where no path starts.
    columns : int64 ndarray of shape (b, width)
        The landmarks.
    """

    shares: np.ndarray
    lengths: np.ndarray
    columns: np.ndarray


class Support(Protocol):
    """Which landmarks support a point."""

    @property
    def row_bytes(self) -> int:
        """The most bytes held for each point."""

    def coarse(self, X: Points) -> np.ndarray:
        """Rows (b,) in float32 whose weights need float64: pass them in that precision."""

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        """Sums of the landmarks' `values` (l, k) by weight, for each point of the block."""


class LocalSupport(Support, Protocol):
    """A support by landmarks near the point."""

    def starts(self, X: Points) -> Iterator[Starts]:
        """Paths from each point of the block to landmarks, in parts whose shares add up to 1."""


@dataclass(frozen=True, eq=False)
class AllLandmarks:
    """Every landmark supports every point: the dense extension of the paper.

    Weights are kernel values, with the larger bandwidth of point and landmark.
    """

    search: ProductSearch
    bandwidths: np.ndarray

    @classmethod
    def prepare(cls, landmarks: np.ndarray, bandwidths: np.ndarray) -> "AllLandmarks":
        """Prepare the support of landmarks (k, d) with bandwidths (k,)."""
        return cls(product_search(landmarks, bandwidths), bandwidths)

    @property
    def row_bytes(self) -> int:
        return self.search.row_bytes

    def coarse(self, X: Points) -> np.ndarray:
        return self.search.coarse(X)

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        from trigpoint._numerics.compiled.landmark_sums import dense_exponents

        to_all = self.search.squares(X)
        own = self._own_bandwidths(to_all)
        shifts = np.empty(X.shape[0])
        dense_exponents(to_all, own, self.bandwidths, FAR_LOG_WEIGHT, shifts)
        weights = np.exp(to_all, out=to_all)
        return WeightedSums(weights @ values.T.astype(weights.dtype, order="C"), shifts)

    def _own_bandwidths(self, to_all: np.ndarray) -> np.ndarray:
        if np.ptp(self.bandwidths) == 0:
            return np.full(len(to_all), self.bandwidths[0])
        nearest, squares = self.search.nearest(to_all, min(_BLENDED + 1, len(self.bandwidths)))
        return _interpolated(self.bandwidths, nearest, squares)


@dataclass(frozen=True, eq=False)
class NearestLandmarks:
    """The nearest few landmarks support a point, weighted as in `AllLandmarks`."""

    search: TreeSearch | ProductSearch
    bandwidths: np.ndarray
    n_neighbors: int

    @classmethod
    def prepare(
        cls, landmarks: np.ndarray, bandwidths: np.ndarray, n_neighbors: int
    ) -> "NearestLandmarks":
        """Prepare the support of landmarks (k, d) with bandwidths (k,)."""
        search = landmark_search(landmarks, bandwidths, max(n_neighbors, _BLENDED + 1))
        return cls(search, bandwidths, n_neighbors)

    @property
    def row_bytes(self) -> int:
        return 16 * max(self.n_neighbors, _BLENDED + 1) + self.search.row_bytes

    def coarse(self, X: Points) -> np.ndarray:
        return self.search.coarse(X)

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        from trigpoint._numerics.compiled.landmark_sums import nearest_sums

        nearest, squares = self._nearest(X, max(self.n_neighbors, _BLENDED + 1))
        own = _interpolated(self.bandwidths, nearest, squares)
        nearest, squares = nearest[:, : self.n_neighbors], squares[:, : self.n_neighbors]
        bandwidths = np.maximum(own[:, None], self.bandwidths[nearest])
        exponents = squares / bandwidths**2 / -2
        result = WeightedSums(np.empty((X.shape[0], len(values))), np.empty(X.shape[0]))
        nearest = np.ascontiguousarray(nearest)
        nearest_sums(nearest, exponents, values, FAR_LOG_WEIGHT, *result)
        return result

    def starts(self, X: Points) -> Iterator[Starts]:
        """Straight lines to the landmarks, in one part."""
        nearest, squares = self._nearest(X, self.n_neighbors)
        yield Starts(np.ones(X.shape[0]), np.sqrt(squares), nearest)

    def _nearest(self, X: Points, count: int) -> tuple[np.ndarray, np.ndarray]:
        return nearest_landmarks(self.search, X, min(count, len(self.bandwidths)))


@dataclass(frozen=True, eq=False)
class GraphNeighbors:
    """The nearest landmarks' neighbors in the landmark graph support a point.

    So a point inherits the neighborhoods of its landmarks and takes no shortcut that the graph
    does not take. The three nearest landmarks share it, by weights that go to 1 at a landmark and
    to 0 where another takes its place among the three. A landmark itself gets exactly its own
    row of the graph, and coordinates are continuous: with the nearest landmark alone, pictures
    showed a crack around each cell.

    An edge whose weight is not the kernel of its length keeps the ratio of the two; a bridge, much
    longer than the bandwidth, keeps its weight wherever the point is in the cell of the landmark
    where it starts.
    """

    search: TreeSearch | ProductSearch
    rows: "GraphRows"

    @classmethod
    def prepare(cls, landmarks: np.ndarray, graph: LandmarkGraph) -> "GraphNeighbors":
        """Prepare the support of landmarks (k, d) and their graph."""
        search = landmark_search(landmarks, graph.bandwidths, _BLENDED + 1)
        return cls(search, _graph_rows(graph))

    @property
    def row_bytes(self) -> int:
        return 24 * (_BLENDED + 1) + self.search.row_bytes

    def coarse(self, X: Points) -> np.ndarray:
        return self.search.coarse(X)

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        """Sums by share, kernel and factor of each place in the rows of the graph."""
        from trigpoint._numerics.compiled.landmark_sums import graph_sums, graph_sums_of_all

        result = WeightedSums(np.empty((X.shape[0], len(values))), np.empty(X.shape[0]))
        if isinstance(self.search, TreeSearch):
            X = np.ascontiguousarray(X, dtype=np.float64)
            near = self._blended(self.search.nearest(X, self._count))
            graph_sums(
                self.rows, *near, X, self.search.coordinates, values, FAR_LOG_WEIGHT, *result
            )
            return result
        to_all = self.search.squares(X)
        near = self._blended(self.search.nearest(to_all, self._count))
        graph_sums_of_all(self.rows, *near, to_all, values, FAR_LOG_WEIGHT, *result)
        return result

    def starts(self, X: Points) -> Iterator[Starts]:
        """Straight lines to the neighbors of the nearest landmarks, one part for each landmark."""
        if isinstance(self.search, TreeSearch):
            to_all = None
            nearest, shares = self._blended(self.search.nearest(X, self._count))
        else:
            to_all = self.search.squares(X)
            nearest, shares = self._blended(self.search.nearest(to_all, self._count))
        for part in range(nearest.shape[1]):
            columns, counts = _padded(self.rows, nearest[:, part])
            if to_all is None:
                assert isinstance(self.search, TreeSearch)
                assert isinstance(X, np.ndarray)
                squares = _squares(X, self.search.coordinates, columns)
            else:
                squares = np.take_along_axis(to_all, columns, axis=1).astype(np.float64)
            # No path starts where the share is 0, or beyond the end of a row.
            counts[shares[:, part] == 0] = 0
            squares[np.arange(columns.shape[1]) >= counts[:, None]] = np.inf
            yield Starts(shares[:, part], np.sqrt(squares), columns)

    @property
    def _count(self) -> int:
        return min(_BLENDED + 1, len(self.rows.starts) - 1)

    @staticmethod
    def _blended(found: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        nearest, squares = found
        return np.ascontiguousarray(nearest[:, :_BLENDED]), _shares(squares)


def _shares(squares: np.ndarray) -> np.ndarray:
    """Shares (b, parts) of each point in its nearest landmarks, continuous in the point."""
    from trigpoint._numerics.compiled.landmark_sums import shepard_shares

    shares = np.empty((len(squares), min(_BLENDED, squares.shape[1])))
    shepard_shares(np.ascontiguousarray(squares[:, : _BLENDED + 1]), shares)
    return shares


def _interpolated(values: np.ndarray, nearest: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Values (k,) of the landmarks interpolated at points by the shares of the nearest."""
    shares = _shares(squares)
    return np.einsum("ij,ij->i", shares, values[nearest[:, : shares.shape[1]]])


def _graph_rows(graph: LandmarkGraph) -> "GraphRows":
    from trigpoint._numerics.compiled.landmark_sums import GraphRows

    k = len(graph.bandwidths)
    degrees = np.diff(graph.lengths.indptr)
    starts = np.concatenate([[0], np.cumsum(degrees + 1)]).astype(np.int64)
    # Each landmark comes first in its own row.
    row = np.repeat(np.arange(k), degrees + 1)
    columns = row.copy()
    columns[np.arange(len(row)) != starts[row]] = graph.lengths.indices
    kernel = gaussian(
        (_entries(graph.lengths, row, columns) / _widest(graph.bandwidths, row, columns)) ** 2, 1.0
    )
    # The landmark that a place is measured from: itself, or the start of its edge.
    follows = kernel > _FOLLOWED
    measured = np.where(follows, columns, row)
    return GraphRows(
        starts,
        columns.astype(np.uint32),
        measured.astype(np.uint32),
        half_precisions=0.5 / _widest(graph.bandwidths, row, measured) ** 2,
        factors=_entries(graph.weights, row, columns) / np.where(follows, kernel, 1.0),
    )


def _widest(bandwidths: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.maximum(bandwidths[rows], bandwidths[columns])


def _entries(matrix: csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.asarray(matrix[rows, columns]).ravel()


def _padded(rows: "GraphRows", landmarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the graph, (b, width), padded with the entries that follow; and their sizes."""
    starts, counts = rows.starts[landmarks], np.diff(rows.starts)[landmarks]
    # As wide as these rows need: a landmark linked to all others would otherwise widen every row.
    width = int(counts.max())
    places = np.minimum(starts[:, None] + np.arange(width), len(rows.columns) - 1)
    return rows.columns[places].astype(np.int64), counts


def _squares(X: np.ndarray, coordinates: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Squared distances (b, width) of points to the landmarks in `columns`."""
    squares = np.zeros(columns.shape)
    for axis, values in enumerate(coordinates):
        squares += np.square(X[:, axis, None].astype(np.float64) - values[columns])
    return squares
