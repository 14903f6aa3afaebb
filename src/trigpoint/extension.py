"""Nystrom extension: from the coordinates of the landmarks to those of every point.

A *support* says, for a block of points, which landmarks speak for each and how far they are; an
*extension* turns that into coordinates. Both work block by block, so memory does not grow with n.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from trigpoint.checks import check_magnitude
from trigpoint.files import PointSource
from trigpoint.kernels import gaussian
from trigpoint.neighbors import TREE_MAX_DIMENSION
from trigpoint.points import block_rows, row_blocks
from trigpoint.progress import Report
from trigpoint.records import LandmarkGraph, Spectrum
from trigpoint.threads import one_blas_thread, thread_map

# Temporaries of a few megabytes stay in the caches, and products of so many rows are efficient: on
# MNIST blocks of 512 images took 1.05 s, of 64 took 1.7 s.
_BLOCK_BYTES = 2**21
_MIN_BLOCK_ROWS = 64


# Kernels of edges below this are not followed as a point moves: see `GraphNeighbors`.
_FOLLOWED = 1e-6

# A squared distance may be off by this share of the squared bandwidth.
_TOLERANCE = 1e-4

# Points are far if the way to a landmark is so many times the longest between landmarks.
_FAR = 10.0

# So many nearest landmarks share their neighbourhoods with a point that follows the graph.
_BLENDED = 3


class Rows(NamedTuple):
    """Which landmarks speak for each point of a block.

    Place (p, j) of a point belongs to landmark ``columns[nearest[p], j]``: its nearest landmarks
    each bring a row of others, in which they come first themselves.

    Attributes
    ----------
    values : float64 ndarray of shape (b, parts, width)
        One number a place: see the method of the support.
    nearest : int64 ndarray of shape (b, parts)
        Landmarks near each point.
    columns : int64 ndarray of shape (k, width)
        The row of landmarks that each one brings.
    """

    values: np.ndarray
    nearest: np.ndarray
    columns: np.ndarray


class DenseRows(NamedTuple):
    """All landmarks speak for each point of a block.

    Attributes
    ----------
    squares : ndarray of shape (b, k)
        Squared distances, which may be overwritten.
    own : float64 ndarray of shape (b,)
        Gaussian bandwidth of each point.
    bandwidths : float64 ndarray of shape (k,)
        Gaussian bandwidth of each landmark; a pair takes the larger of the two.
    """

    squares: np.ndarray
    own: np.ndarray
    bandwidths: np.ndarray


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

    def log_weights(self, X: np.ndarray) -> Rows | DenseRows:
        """Logarithms of the landmarks' weights, up to a constant for each point of the block."""


class LocalSupport(Support, Protocol):
    """A support of landmarks near the point."""

    def starts(self, X: np.ndarray) -> Iterator[Starts]:
        """Ways from each point of the block to landmarks, in parts that share in the point."""


class AllLandmarks:
    """Every landmark speaks for every point: the dense extension of the paper."""

    def __init__(self, landmarks: np.ndarray, bandwidths: np.ndarray) -> None:
        self._search = _LandmarkSearch(landmarks, float(bandwidths.min()), dense=True)
        self._bandwidths = bandwidths
        self.row_bytes = self._search.row_bytes

    def log_weights(self, X: np.ndarray) -> DenseRows:
        """Squared distances to all landmarks, and the bandwidths that go with them."""
        squares = self._search.squares(X)
        own = self._search.interpolated(X, self._bandwidths, squares)
        return DenseRows(squares, own, self._bandwidths)


class NearestLandmarks:
    """The nearest few landmarks speak for a point."""

    def __init__(self, landmarks: np.ndarray, bandwidths: np.ndarray, n_neighbors: int) -> None:
        self._search = _LandmarkSearch(landmarks, float(bandwidths.min()))
        self._bandwidths = bandwidths
        self._n_neighbors = n_neighbors
        # Each brings nobody but itself.
        self._columns = np.arange(len(landmarks))[:, None]
        self.row_bytes = 40 * n_neighbors + self._search.row_bytes

    def log_weights(self, X: np.ndarray) -> Rows:
        """Logarithms of the landmarks' kernels."""
        to_all = self._search.squares_if_dense(X)
        distances, nearest = self._search.nearest(X, self._n_neighbors, to_all)
        own = self._search.interpolated(X, self._bandwidths, to_all)
        bandwidths = np.maximum(own[:, None], self._bandwidths[nearest])
        return Rows(np.square(distances / bandwidths)[:, :, None] / -2, nearest, self._columns)

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

    def log_weights(self, X: np.ndarray) -> Rows:
        """Logarithms of share, kernel and factor of each place."""
        from trigpoint.compiled.extension import graph_exponents

        (values, nearest, columns), shares = self._squares(X)
        graph_exponents(values, nearest, shares, self._half_precisions, self._log_factors)
        return Rows(values, nearest, columns)

    def starts(self, X: np.ndarray) -> Iterator[Starts]:
        """Straight lines to the neighbours of each nearest landmark, a part for each of these."""
        (squares, nearest, columns), shares = self._squares(X)
        lengths = np.sqrt(squares, out=squares)
        # What has no share starts no path, and rows are shorter than the longest.
        lengths[shares == 0] = np.inf
        lengths[np.isneginf(self._log_factors)[nearest]] = np.inf
        for part in range(nearest.shape[1]):
            yield Starts(shares[:, part], lengths[:, part], columns[nearest[:, part]])

    def _squares(self, X: np.ndarray) -> tuple[Rows, np.ndarray]:
        from trigpoint.compiled.extension import graph_squares

        to_all = self._search.squares_if_dense(X)
        nearest, shares = self._search.shares(X, to_all)
        squares = np.empty((*nearest.shape, self._columns.shape[1]))
        if to_all is None:
            assert self._coordinates is not None
            graph_squares(X, nearest, self._coordinates, squares)
        else:
            places = self._measured[nearest].reshape(len(X), -1)
            squares[:] = np.take_along_axis(to_all, places, axis=1).reshape(squares.shape)
        return Rows(squares, nearest, self._columns), shares


def _entries(matrix: csr_array, columns: np.ndarray) -> np.ndarray:
    """Entries of a sparse matrix, the row of each line of `columns` at those columns."""
    return csr_array(matrix[np.arange(len(columns))[:, None], columns]).toarray()


class _LandmarkSearch:
    """Nearest landmarks of blocks of points, and distances to chosen ones."""

    def __init__(
        self, landmarks: np.ndarray, smallest_bandwidth: float, dense: bool = False
    ) -> None:
        self._landmarks = landmarks.astype(np.float64, copy=False)
        self._tolerance = _TOLERANCE * smallest_bandwidth**2
        self._centred: dict[np.dtype, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.by_products = landmarks.shape[1] > TREE_MAX_DIMENSION
        # A bare tree: which of equally far landmarks comes last makes no difference here, and
        # sorting that out for millions of points on a grid would.
        self._tree = None if self.by_products else cKDTree(landmarks)
        self.row_bytes = 4 * len(landmarks) if dense or self.by_products else 0

    def squares(self, X: np.ndarray) -> np.ndarray:
        """Squared distances from each point to all landmarks, by a product around their centre.

        In float32 for float32 points, unless its rounding would be seen beside the bandwidth, as
        within well separated clusters.
        """
        from trigpoint.compiled.extension import squares_from_products

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
        from trigpoint.compiled.extension import shepard_shares

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
        if to_all is None and self._tree is not None:
            found = self._tree.query(X, count)
            distances, columns = (np.reshape(part, (len(X), count)) for part in found)
            return distances, columns
        from trigpoint.compiled.extension import nearest_columns

        to_all = self.squares(X) if to_all is None else to_all
        columns = np.empty((len(X), count), dtype=np.int64)
        distances = np.empty(columns.shape)
        nearest_columns(to_all, columns, distances)
        return distances, columns


class Extension(Protocol):
    """Coordinates of points; `row_bytes` are held for each at most."""

    n_components: int
    row_bytes: int

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) of a block of points."""


class MarkovExtension:
    """Extension of Laplacian eigenmaps and diffusion maps.

    ``phi(x) = (1 / mu) sum_j kappa_j(x) phi_j / sum_j kappa_j(x)``, with ``mu`` the eigenvalue of
    the row-normalised kernel: ``1 - lambda`` for the lambda of ``(D - W) phi = lambda D phi``. A
    landmark's own row of W gives back its coordinates.

    Parameters
    ----------
    support : Support
    coordinates : ndarray of shape (k, l)
        Coordinates of the landmarks.
    mu : ndarray of shape (l,)
        Eigenvalues of the row-normalised kernel.
    scale : ndarray of shape (k,) or None
        Factor of each landmark in the kernel, for the density normalisation of diffusion maps.

    References
    ----------
    Y. Bengio and others, "Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral
    clustering", NIPS, 2004.
    """

    def __init__(
        self,
        support: Support,
        coordinates: np.ndarray,
        mu: np.ndarray,
        scale: np.ndarray | None = None,
    ) -> None:
        self.n_components = coordinates.shape[1]
        self.row_bytes = support.row_bytes
        self._support = support
        # Weighted sums, and what they are divided by, come from one pass.
        self._scaled = np.column_stack([coordinates / mu, np.ones(len(coordinates))])
        if scale is not None:
            self._scaled *= scale[:, None]

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) of a block of points."""
        from trigpoint.compiled.extension import shift_largest_to_zero

        rows = self._support.log_weights(X)
        if isinstance(rows, DenseRows):
            sums = self._dense_sums(rows)
        else:
            # Without the shift, which cancels in a mean, the weights of far points would vanish.
            shift_largest_to_zero(rows.values)
            sums = _kernel_sums(rows, self._scaled)
        return sums[:, :-1] / sums[:, -1:]

    def _dense_sums(self, rows: DenseRows) -> np.ndarray:
        from trigpoint.compiled.extension import dense_exponents

        dtype = rows.squares.dtype
        dense_exponents(rows.squares, rows.own.astype(dtype), rows.bandwidths.astype(dtype))
        weights = np.exp(rows.squares, out=rows.squares)
        return weights @ self._scaled.astype(dtype)


class KernelExtension:
    """Extension of kernel PCA: projection of a point's kernel row on the components."""

    def __init__(self, support: Support, kernel: np.ndarray, spectrum: Spectrum) -> None:
        self.n_components = spectrum.coordinates.shape[1]
        self.row_bytes = support.row_bytes
        self._support = support
        self._components = spectrum.coordinates / spectrum.eigenvalues
        # Components sum to zero over the landmarks, so only the kernel's column means remain of
        # the centring.
        self._offset = kernel.mean(axis=0) @ self._components

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) of a block of points."""
        rows = self._support.log_weights(X)
        if not isinstance(rows, DenseRows):
            return _kernel_sums(rows, self._components) - self._offset
        # One bandwidth for all, that of the kernel.
        exponents = np.multiply(rows.squares, -0.5 / rows.bandwidths[0] ** 2, out=rows.squares)
        weights = np.exp(exponents, out=exponents)
        return weights @ self._components.astype(weights.dtype) - self._offset


class GeodesicExtension:
    """Extension of Isomap: geodesics to all landmarks through those near the point.

    A support that follows the graph should be one of ordinary edges: what lies beyond a bridge is
    reached from where it starts.
    """

    def __init__(self, support: LocalSupport, geodesics: np.ndarray, spectrum: Spectrum) -> None:
        self.n_components = spectrum.coordinates.shape[1]
        self.row_bytes = support.row_bytes + 12 * len(geodesics)
        self._support = support
        self._geodesics = {np.dtype(np.float64): geodesics}
        self._components = spectrum.coordinates / spectrum.eigenvalues
        self._offset = np.square(geodesics).mean(axis=0) @ self._components / 2

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) of a block of points."""
        result = np.zeros((len(X), self.n_components))
        for shares, lengths, columns in self._support.starts(X):
            squares = self._squared_paths(lengths, columns, X.dtype)
            result += shares[:, None] * (self._offset - squares @ self._components / 2)
        return result

    def _squared_paths(
        self, lengths: np.ndarray, columns: np.ndarray, dtype: np.dtype
    ) -> np.ndarray:
        """Squared shortest paths (b, k) to all landmarks, up to a constant for each point."""
        from trigpoint.compiled.extension import shortest_paths

        exact = self._geodesics[np.dtype(np.float64)]
        far = lengths[np.isfinite(lengths)].max(initial=0) > _FAR * exact.max()
        # Reading geodesics is what costs: for float32 points, half of it. Beside a long way to the
        # landmarks, though, they would be lost.
        dtype = exact.dtype if far else dtype
        if dtype not in self._geodesics:
            self._geodesics[dtype] = exact.astype(dtype)
        paths = np.empty((len(lengths), len(exact)), dtype=dtype)
        shortest_paths(lengths.astype(dtype), columns, self._geodesics[dtype], paths)
        if not far:
            return np.square(paths, dtype=np.float64)
        # Components sum to zero, so that a constant does not matter; differences of squares that
        # are products keep their digits.
        first = paths[:, :1]
        return (paths - first) * (paths + first)


def _kernel_sums(rows: Rows, values: np.ndarray) -> np.ndarray:
    """Sums (b, l) of the landmarks' `values` by the weights of each point; overwrites these."""
    from trigpoint.compiled.extension import weighted_sums

    weights = np.exp(rows.values, out=rows.values)
    result = np.empty((len(weights), values.shape[1]))
    weighted_sums(weights, rows.nearest, rows.columns, values, result)
    return result


def extend(
    extension: Extension, X: np.ndarray, n_threads: int = 1, rows: int | None = None
) -> np.ndarray:
    """Coordinates of every row of `X`, in the precision of `X`.

    Parameters
    ----------
    extension : Extension
    X : ndarray of shape (n, d)
    n_threads : int, default=1
    rows : int or None, default=None
        Rows per block; ``None`` keeps the temporaries of a block near the caches.

    Returns
    -------
    ndarray of shape (n, l)
    """
    if rows is None:
        rows = max(_MIN_BLOCK_ROWS, block_rows(extension.row_bytes, _BLOCK_BYTES))
    result = np.empty((len(X), extension.n_components), dtype=X.dtype)

    def fill(part: slice) -> None:
        result[part] = extension.coordinates(np.ascontiguousarray(X[part]))

    # Blocks are what runs side by side: products within them keep to their thread.
    with one_blas_thread():
        # One row first, alone: what is prepared for a precision is prepared once.
        fill(slice(0, 1))
        for _ in thread_map(fill, row_blocks(len(X), rows), n_threads):
            pass
    return result


def extended_blocks(
    extension: Extension, source: PointSource, n_threads: int, report: Report
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the coordinates of blocks of points as they are read, and the row each begins at."""
    n, d = source.shape
    done = 0
    report("points", 0, n)
    for block in source.blocks(block_rows(d * source.dtype.itemsize)):
        check_magnitude(block, source.name, may_be_tiny=True)
        yield done, extend(extension, block, n_threads)
        done += len(block)
        report("points", done, n)
