"""Which landmarks speak for a point, and how much.

The supports share one contract: for a block of points they give the logarithms of the landmarks'
weights. The weights of landmarks near the point are kept in place, those of all landmarks in a
matrix; whoever sums values by them need not know which.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from trigpoint._common.records import LandmarkGraph
from trigpoint._numerics.kernels import gaussian
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION

# Kernels of edges below this are not followed as a point moves: see `GraphNeighbors`.
_FOLLOWED = 1e-6

# A squared distance may be off by this share of the squared bandwidth.
_TOLERANCE = 1e-4

# Logarithm of a weight at ten bandwidths: a point for which none is larger is far from all data.
FAR_LOG_WEIGHT = -50.0

# So many nearest landmarks share their neighbourhoods with a point that follows the graph.
_BLENDED = 3


class LogWeights(Protocol):
    """Logarithms of the weights of the landmarks that speak for each point of a block."""

    def shift(self) -> int:
        """Shift those of each point so that the largest is 0, which cancels in a mean.

        Without it, the weights of points far from every landmark would all vanish. Returns the
        number of such points.
        """

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums (b, l) of the landmarks' `values` (k, l) by weight; the logarithms are used up."""


class LocalLogWeights(NamedTuple):
    """Of a few landmarks near each point.

    Place (p, j) of a point belongs to landmark ``columns[nearest[p], j]``: its nearest landmarks
    each bring a row of others, in which they come first themselves.

    Attributes
    ----------
    exponents : float64 ndarray of shape (b, parts, width)
        The logarithms.
    nearest : int64 ndarray of shape (b, parts)
        Landmarks near each point.
    columns : int64 ndarray of shape (k, width)
        The row of landmarks that each one brings.
    """

    exponents: np.ndarray
    nearest: np.ndarray
    columns: np.ndarray

    def shift(self) -> int:
        """Shift those of each point so that the largest is 0; count those that are far."""
        from trigpoint._numerics.compiled.extension import shift_largest_to_zero

        return int(shift_largest_to_zero(self.exponents, FAR_LOG_WEIGHT))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums (b, l) of the landmarks' `values` (k, l) by weight."""
        from trigpoint._numerics.compiled.extension import weighted_sums

        weights = np.exp(self.exponents, out=self.exponents)
        result = np.empty((len(weights), values.shape[1]))
        weighted_sums(weights, self.nearest, self.columns, values, result)
        return result


class DenseLogWeights(NamedTuple):
    """Of all landmarks.

    Attributes
    ----------
    exponents : ndarray of shape (b, k)
        The logarithms.
    """

    exponents: np.ndarray

    def shift(self) -> int:
        """Shift those of each point so that the largest is 0; count those that are far."""
        from trigpoint._numerics.compiled.extension import shift_largest_to_zero

        return int(shift_largest_to_zero(self.exponents[:, None], FAR_LOG_WEIGHT))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums (b, l) of the landmarks' `values` (k, l) by weight."""
        weights = np.exp(self.exponents, out=self.exponents)
        return weights @ values.astype(weights.dtype)


class Starts(NamedTuple):
    """Ways from each point of a block to landmarks around it.

    Attributes
    ----------
    shares : float64 ndarray of shape (b,)
        How much the paths that start so count for the point.
    lengths : float64 ndarray of shape (b, width)
        Infinite for a place that starts none.
    columns : int64 ndarray of shape (b, width)
        The landmarks.
    """

    shares: np.ndarray
    lengths: np.ndarray
    columns: np.ndarray


class Support(Protocol):
    """Which landmarks speak for a point; `row_bytes` are held for each at most."""

    row_bytes: int

    def log_weights(self, X: np.ndarray) -> LogWeights:
        """Logarithms of the landmarks' weights for each point of the block."""


class LocalSupport(Support, Protocol):
    """A support of landmarks near the point."""

    def starts(self, X: np.ndarray) -> Iterator[Starts]:
        """Ways from each point of the block to landmarks, in parts that share in the point."""


class AllLandmarks:
    """Every landmark speaks for every point: the dense extension of the paper."""

    def __init__(self, landmarks: np.ndarray, bandwidths: np.ndarray) -> None:
        self._search = _LandmarkSearch(landmarks, float(bandwidths.min()))
        self._bandwidths = bandwidths
        self.row_bytes = 4 * len(landmarks)

    def log_weights(self, X: np.ndarray) -> DenseLogWeights:
        """Logarithms of the landmarks' kernels, of the larger bandwidth of point and landmark."""
        from trigpoint._numerics.compiled.extension import dense_exponents

        squares = self._search.squares(X)
        own = self._search.interpolated(X, self._bandwidths, squares)
        dense_exponents(squares, own, self._bandwidths)
        return DenseLogWeights(squares)


class NearestLandmarks:
    """The nearest few landmarks speak for a point."""

    def __init__(self, landmarks: np.ndarray, bandwidths: np.ndarray, n_neighbors: int) -> None:
        self._search = _LandmarkSearch(landmarks, float(bandwidths.min()))
        self._bandwidths = bandwidths
        self._n_neighbors = n_neighbors
        # Each brings nobody but itself.
        self._columns = np.arange(len(landmarks))[:, None]
        self.row_bytes = 40 * n_neighbors + self._search.row_bytes

    def log_weights(self, X: np.ndarray) -> LocalLogWeights:
        """Logarithms of the landmarks' kernels."""
        to_all = self._search.squares_if_dense(X)
        distances, nearest = self._search.nearest(X, self._n_neighbors, to_all)
        own = self._search.interpolated(X, self._bandwidths, to_all)
        bandwidths = np.maximum(own[:, None], self._bandwidths[nearest])
        exponents = np.square(distances / bandwidths)[:, :, None] / -2
        return LocalLogWeights(exponents, nearest, self._columns)

    def starts(self, X: np.ndarray) -> Iterator[Starts]:
        """Straight lines to the landmarks, in one part."""
        to_all = self._search.squares_if_dense(X)
        distances, nearest = self._search.nearest(X, self._n_neighbors, to_all)
        yield Starts(np.ones(len(X)), distances, nearest)


class GraphNeighbors:
    """The nearest landmarks' neighbours in the landmark graph speak for a point.

    So a point inherits the neighbourhoods of its landmarks and takes no shortcut that the graph
    does not take. The nearest three landmarks share in it, by weights that go to 1 at a landmark
    and to 0 where another takes its place among the three. A landmark itself gets exactly its own
    row of the graph, and coordinates are continuous: with the nearest landmark alone, pictures
    showed a crack around each cell.

    An edge whose weight is not the kernel of its length keeps the ratio of the two; a bridge, much
    longer than the bandwidth, keeps its weight wherever the point is in the cell of the landmark
    where it starts.
    """

    def __init__(self, landmarks: np.ndarray, graph: LandmarkGraph) -> None:
        self._search = _LandmarkSearch(landmarks, float(graph.bandwidths.min()))
        k = len(landmarks)
        edges = graph.lengths
        degrees = np.diff(edges.indptr)
        width = int(degrees.max()) + 1
        # Each landmark comes first in its own row; shorter rows are filled up with it.
        filled = np.arange(width) <= degrees[:, None]
        self._columns = np.tile(np.arange(k)[:, None], width)
        self._columns[:, 1:][filled[:, 1:]] = edges.indices
        own = np.arange(k)[:, None]
        widest = np.maximum(graph.bandwidths[:, None], graph.bandwidths[self._columns])
        kernel = gaussian((_entries(edges, self._columns) / widest) ** 2, 1.0)
        # The landmark from which a place is measured: itself, or where its edge starts.
        follows = kernel > _FOLLOWED
        measured = np.where(follows, self._columns, own)
        factors = filled * _entries(graph.weights, self._columns) / np.where(follows, kernel, 1.0)
        with np.errstate(divide="ignore"):
            self._log_factors = np.log(factors)
        bandwidths = np.maximum(graph.bandwidths[:, None], graph.bandwidths[measured])
        self._half_precisions = 0.5 / bandwidths**2
        self._measured = measured
        self._coordinates = None
        if not self._search.by_products:
            self._coordinates = np.ascontiguousarray(
                landmarks.astype(np.float64)[measured].transpose(0, 2, 1)
            )
        self.row_bytes = 8 * _BLENDED * width + self._search.row_bytes

    def log_weights(self, X: np.ndarray) -> LocalLogWeights:
        """Logarithms of share, kernel and factor of each place."""
        from trigpoint._numerics.compiled.extension import graph_exponents

        squares, nearest, shares = self._squares(X)
        graph_exponents(squares, nearest, shares, self._half_precisions, self._log_factors)
        return LocalLogWeights(squares, nearest, self._columns)

    def starts(self, X: np.ndarray) -> Iterator[Starts]:
        """Straight lines to the neighbours of each nearest landmark, a part for each of these."""
        squares, nearest, shares = self._squares(X)
        lengths = np.sqrt(squares, out=squares)
        # What has no share starts no path, and rows are shorter than the longest.
        lengths[shares == 0] = np.inf
        lengths[np.isneginf(self._log_factors)[nearest]] = np.inf
        for part in range(nearest.shape[1]):
            yield Starts(shares[:, part], lengths[:, part], self._columns[nearest[:, part]])

    def _squares(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared distances (b, parts, width); nearest landmarks and their shares (b, parts)."""
        from trigpoint._numerics.compiled.extension import graph_squares

        to_all = self._search.squares_if_dense(X)
        nearest, shares = self._search.shares(X, to_all)
        squares = np.empty((*nearest.shape, self._columns.shape[1]))
        if to_all is None:
            assert self._coordinates is not None
            graph_squares(X, nearest, self._coordinates, squares)
        else:
            places = self._measured[nearest].reshape(len(X), -1)
            squares[:] = np.take_along_axis(to_all, places, axis=1).reshape(squares.shape)
        return squares, nearest, shares


def _entries(matrix: csr_array, columns: np.ndarray) -> np.ndarray:
    """Entries of a sparse matrix, the row of each line of `columns` at those columns."""
    return csr_array(matrix[np.arange(len(columns))[:, None], columns]).toarray()


class _LandmarkSearch:
    """Nearest landmarks of blocks of points, and distances to chosen ones."""

    def __init__(self, landmarks: np.ndarray, smallest_bandwidth: float) -> None:
        self._landmarks = landmarks.astype(np.float64, copy=False)
        self._tolerance = _TOLERANCE * smallest_bandwidth**2
        self._centred: dict[np.dtype, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.by_products = landmarks.shape[1] > TREE_MAX_DIMENSION
        # A bare tree: which of equally far landmarks comes last makes no difference here, and
        # sorting that out for millions of points on a grid would.
        self._tree = None if self.by_products else cKDTree(landmarks)
        self.row_bytes = 4 * len(landmarks) if self.by_products else 0

    def squares(self, X: np.ndarray) -> np.ndarray:
        """Squared distances from each point to all landmarks, by a product around their centre.

        In float32 for float32 points, unless its rounding would be seen beside the bandwidth, as
        within well separated clusters.
        """
        from trigpoint._numerics.compiled.extension import squares_from_products

        centre, landmarks, landmark_norms = self._around_centre(X.dtype)
        around = X - centre
        norms = np.einsum("ij,ij->i", around, around)
        rounding = 8 * np.finfo(X.dtype).eps * (norms.max() + landmark_norms.max())
        if X.dtype == np.float32 and rounding > self._tolerance:
            return self.squares(X.astype(np.float64))
        squares = around @ landmarks.T
        squares_from_products(squares, norms, landmark_norms)
        return squares

    def _around_centre(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centre, landmarks around it and their squared norms, in either precision."""
        if dtype not in self._centred:
            # Rounded first: points and landmarks are to be moved by the same vector.
            centre = self._landmarks.mean(axis=0).astype(dtype)
            around = self._landmarks - centre
            norms = np.einsum("ij,ij->i", around, around)
            self._centred[dtype] = centre, around.astype(dtype), norms.astype(dtype)
        return self._centred[dtype]

    def squares_if_dense(self, X: np.ndarray) -> np.ndarray | None:
        """Squared distances to all landmarks where the search is by products, else None."""
        return self.squares(X) if self.by_products else None

    def shares(self, X: np.ndarray, to_all: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Few nearest landmarks of each point and their shares in it, continuous in the point."""
        from trigpoint._numerics.compiled.extension import shepard_shares

        distances, nearest = self.nearest(X, min(_BLENDED + 1, len(self._landmarks)), to_all)
        nearest = nearest[:, :_BLENDED]
        shares = np.empty(nearest.shape)
        shepard_shares(distances, shares)
        return nearest, shares

    def interpolated(
        self, X: np.ndarray, values: np.ndarray, to_all: np.ndarray | None
    ) -> np.ndarray:
        """Values of the landmarks carried to points, by their shares."""
        if np.ptp(values) == 0:
            return np.full(len(X), values[0])
        nearest, shares = self.shares(X, to_all)
        return np.einsum("ij,ij->i", shares, values[nearest])

    def nearest(
        self, X: np.ndarray, count: int, to_all: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances and landmarks, each of shape (b, count), nearest first."""
        if to_all is None:
            assert self._tree is not None
            found = self._tree.query(X, count)
            distances, columns = (np.reshape(part, (len(X), count)) for part in found)
            return distances, columns
        from trigpoint._numerics.compiled.extension import nearest_columns

        columns = np.empty((len(X), count), dtype=np.int64)
        distances = np.empty(columns.shape)
        nearest_columns(to_all, columns, distances)
        return distances, columns
