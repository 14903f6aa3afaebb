"""Nystrom extension: from the coordinates of the landmarks to those of every point.

A *support* says, for a block of points, which landmarks speak for each and how far they are; an
*extension* turns that into coordinates. Both work block by block, so memory does not grow with n.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from trigpoint.kernels import gaussian, squared_distances
from trigpoint.neighbors import TREE_MAX_DIMENSION
from trigpoint.points import block_rows, row_blocks
from trigpoint.records import LandmarkGraph, Spectrum
from trigpoint.threads import thread_map

# Temporaries of a megabyte stay in the second-level cache and are recycled by the allocator; with
# larger ones the dense extensions ran four times slower.
_BLOCK_BYTES = 2**20
_MIN_BLOCK_ROWS = 64


# Kernels of edges below this are not followed as a point moves: see `GraphNeighbors`.
_FOLLOWED = 1e-6

# So many nearest landmarks share their neighbourhoods with a point that follows the graph.
_BLENDED = 3


class Rows(NamedTuple):
    """Which landmarks speak for each point of a block, how far they are and how much they count.

    Attributes
    ----------
    squares : ndarray of shape (b, width)
        Squared distances.
    bandwidths : ndarray of shape (b, width), (b, 1) or (1, 1)
        Gaussian bandwidths that go with them.
    columns : int64 ndarray of shape (b, width) or None
        The landmarks, which may come up more than once; ``None`` for all in order.
    shares : ndarray of shape (b, width) or None
        Factor of each place; 0 for a place that does not count, ``None`` for 1 throughout.
    parts : int
        Number of equal parts of a row, each the neighbourhood of the landmark that comes first.
    """

    squares: np.ndarray
    bandwidths: np.ndarray
    columns: np.ndarray | None = None
    shares: np.ndarray | None = None
    parts: int = 1


class Support(Protocol):
    """Which landmarks speak for a point; `row_values` numbers are held for each at most."""

    row_values: int

    def __call__(self, X: np.ndarray) -> Rows:
        """Landmarks that speak for each point of a block."""


class AllLandmarks:
    """Every landmark speaks for every point: the dense extension of the paper."""

    def __init__(self, landmarks: np.ndarray, bandwidths: np.ndarray) -> None:
        self._search = _LandmarkSearch(landmarks)
        self._bandwidths = bandwidths
        self.row_values = len(landmarks)

    def __call__(self, X: np.ndarray) -> Rows:
        """Landmarks that speak for each point of a block."""
        squares = self._search.squares(X)
        if np.ptp(self._bandwidths) == 0:
            return Rows(squares, self._bandwidths[:1, None])
        own = self._search.interpolated(X, self._bandwidths, squares)
        return Rows(squares, np.maximum(own[:, None], self._bandwidths))


class NearestLandmarks:
    """The nearest few landmarks speak for a point."""

    def __init__(self, landmarks: np.ndarray, bandwidths: np.ndarray, n_neighbors: int) -> None:
        self._search = _LandmarkSearch(landmarks)
        self._bandwidths = bandwidths
        self._n_neighbors = n_neighbors
        self.row_values = max(n_neighbors, self._search.row_values)

    def __call__(self, X: np.ndarray) -> Rows:
        """Landmarks that speak for each point of a block."""
        to_all = self._search.squares_if_dense(X)
        distances, columns = self._search.nearest(X, self._n_neighbors, to_all)
        own = self._search.interpolated(X, self._bandwidths, to_all)
        bandwidths = np.maximum(own[:, None], self._bandwidths[columns])
        return Rows(distances**2, bandwidths, columns)


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
        self._search = _LandmarkSearch(landmarks)
        k = len(landmarks)
        edges = graph.lengths
        degrees = np.diff(edges.indptr)
        width = int(degrees.max()) + 1
        # Each landmark comes first in its own row; shorter rows are filled up with factors of 0.
        self._factors = (np.arange(width) <= degrees[:, None]).astype(np.float64)
        self._columns = np.tile(np.arange(k)[:, None], width)
        self._columns[:, 1:][self._factors[:, 1:] > 0] = edges.indices
        own = np.arange(k)[:, None]
        widest = np.maximum(graph.bandwidths[:, None], graph.bandwidths[self._columns])
        kernel = gaussian((_entries(edges, self._columns) / widest) ** 2, 1.0)
        # The landmark from which a place is measured: itself, or where its edge starts.
        follows = kernel > _FOLLOWED
        self._measured = np.where(follows, self._columns, own)
        self._factors *= _entries(graph.weights, self._columns)
        self._factors /= np.where(follows, kernel, 1.0)
        self._bandwidths = np.maximum(graph.bandwidths[:, None], graph.bandwidths[self._measured])
        self._coordinates = None
        if not self._search.by_products:
            self._coordinates = landmarks.T[:, self._measured].astype(np.float64)
        self.row_values = max(_BLENDED * width, self._search.row_values)

    def __call__(self, X: np.ndarray) -> Rows:
        """Landmarks that speak for each point of a block."""
        to_all = self._search.squares_if_dense(X)
        nearest, shares = self._search.shares(X, to_all)
        squares = self._squares(X, nearest, to_all)
        return Rows(
            squares,
            self._bandwidths[nearest].reshape(squares.shape),
            self._columns[nearest].reshape(squares.shape),
            (self._factors[nearest] * shares[:, :, None]).reshape(squares.shape),
            parts=nearest.shape[1],
        )

    def _squares(self, X: np.ndarray, nearest: np.ndarray, to_all: np.ndarray | None) -> np.ndarray:
        """Squared distances (b, parts * width) to the neighbourhoods of the nearest landmarks."""
        if to_all is not None:
            measured = self._measured[nearest].reshape(len(X), -1)
            return np.take_along_axis(to_all, measured, axis=1)
        assert self._coordinates is not None
        squares = np.zeros((*nearest.shape, self._measured.shape[1]))
        # One coordinate at a time: whole rows of a small table are read, not single points.
        for values, table in zip(X.T, self._coordinates, strict=True):
            difference = table[nearest]
            difference -= values[:, None, None]
            squares += np.square(difference, out=difference)
        return squares.reshape(len(X), -1)


def _entries(matrix: csr_array, columns: np.ndarray) -> np.ndarray:
    """Entries of a sparse matrix, the row of each line of `columns` at those columns."""
    return csr_array(matrix[np.arange(len(columns))[:, None], columns]).toarray()


def _shepard_shares(distances: np.ndarray, next_distance: np.ndarray) -> np.ndarray:
    """Weights ``((r - distance) / distance)^2`` of each row, scaled so that they sum to 1.

    `r` is the distance (b, 1) to the next landmark, of which there may be none (b, 0). These are
    the weights of D. Shepard (1968) as modified by R. Franke and G. Nielson (1980).
    """
    # Relative to the first distance, so that a point on a landmark is no special case but 0 / 0.
    with np.errstate(invalid="ignore"):
        closeness = np.nan_to_num(distances[:, :1] / distances, nan=1.0)
    if next_distance.shape[1]:
        closeness *= next_distance - distances
        # Where all are equally far, all count.
        closeness[~closeness.any(axis=1)] = 1.0
    closeness /= closeness.max(axis=1, keepdims=True)
    np.square(closeness, out=closeness)
    return closeness / closeness.sum(axis=1, keepdims=True)


class _LandmarkSearch:
    """Nearest landmarks of blocks of points, and distances to chosen ones."""

    def __init__(self, landmarks: np.ndarray) -> None:
        self._landmarks = landmarks.astype(np.float64, copy=False)
        self.by_products = landmarks.shape[1] > TREE_MAX_DIMENSION
        # A bare tree: which of equally far landmarks comes last makes no difference here, and
        # sorting that out for millions of points on a grid would.
        self._tree = None if self.by_products else cKDTree(landmarks)
        self.row_values = len(landmarks) if self.by_products else 0

    def squares(self, X: np.ndarray) -> np.ndarray:
        """Squared distances from each point to all landmarks.

        In float64: a product of float32 would lose the distances within well separated clusters.
        """
        return squared_distances(X.astype(np.float64, copy=False), self._landmarks)

    def squares_if_dense(self, X: np.ndarray) -> np.ndarray | None:
        """Squared distances to all landmarks where the search is by products, else None."""
        return self.squares(X) if self.by_products else None

    def shares(self, X: np.ndarray, to_all: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Few nearest landmarks of each point and their shares in it, continuous in the point."""
        distances, nearest = self.nearest(X, min(_BLENDED + 1, len(self._landmarks)), to_all)
        shares = _shepard_shares(distances[:, :_BLENDED], distances[:, _BLENDED:])
        return nearest[:, :_BLENDED], shares

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
        columns = np.argpartition(to_all, count - 1, axis=1)[:, :count]
        chosen = np.take_along_axis(to_all, columns, axis=1)
        order = np.argsort(chosen, axis=1, kind="stable")
        columns = np.take_along_axis(columns, order, axis=1)
        return np.sqrt(np.take_along_axis(chosen, order, axis=1)), columns


class Extension(Protocol):
    """Coordinates of points from their support; `row_values` numbers are held for each at most."""

    support: Support
    n_components: int
    row_values: int

    def coordinates(self, rows: Rows) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""


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
        self.support = support
        self.n_components = coordinates.shape[1]
        self.row_values = support.row_values
        self._stretched = coordinates / mu
        self._scale = scale

    def coordinates(self, rows: Rows) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""
        exponents = rows.squares / rows.bandwidths**2
        if rows.shares is not None:
            exponents[rows.shares == 0] = np.inf
        # The smallest exponent cancels in the ratio; without it, far points would be 0 / 0.
        exponents -= exponents.min(axis=1, keepdims=True)
        weights = gaussian(exponents, 1.0)
        if rows.shares is not None:
            weights *= rows.shares
        if self._scale is not None:
            weights *= self._scale if rows.columns is None else self._scale[rows.columns]
        weights /= weights.sum(axis=1, keepdims=True)
        return _weighted_sum(weights, rows.columns, self._stretched)


class KernelExtension:
    """Extension of kernel PCA: projection of a point's kernel row on the components."""

    def __init__(self, support: Support, kernel: np.ndarray, spectrum: Spectrum) -> None:
        self.support = support
        self.n_components = spectrum.coordinates.shape[1]
        self.row_values = support.row_values
        self._components = spectrum.coordinates / spectrum.eigenvalues
        # Components sum to zero over the landmarks, so only the kernel's column means remain of
        # the centring.
        self._offset = kernel.mean(axis=0) @ self._components

    def coordinates(self, rows: Rows) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""
        weights = gaussian(rows.squares / rows.bandwidths**2, 1.0)
        return _weighted_sum(weights, rows.columns, self._components) - self._offset


class GeodesicExtension:
    """Extension of Isomap: geodesics to all landmarks through those of the support.

    A support that follows the graph should be one of ordinary edges: what lies beyond a bridge is
    reached from where it starts.
    """

    def __init__(self, support: Support, geodesics: np.ndarray, spectrum: Spectrum) -> None:
        self.support = support
        self.n_components = spectrum.coordinates.shape[1]
        self.row_values = len(geodesics)
        self._geodesics = geodesics
        self._components = spectrum.coordinates / spectrum.eigenvalues
        self._offset = np.square(geodesics).mean(axis=0) @ self._components / 2

    def coordinates(self, rows: Rows) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""
        if rows.columns is None:
            raise ValueError("geodesics start at the landmarks near a point, not at all of them")
        lengths = np.sqrt(rows.squares)
        shares = rows.shares if rows.shares is not None else np.ones_like(lengths)
        lengths[shares == 0] = np.inf
        result = np.zeros((len(lengths), self.n_components))
        for part in np.split(np.arange(lengths.shape[1]), rows.parts):
            squares = self._shortest(lengths[:, part], rows.columns[:, part]) ** 2
            found = self._offset - squares @ self._components / 2
            # The landmark that comes first in a part has the share of the whole part.
            result += shares[:, part[:1]] * found
        return result

    def _shortest(self, lengths: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Shortest paths (b, k) to all landmarks that start with one of these lengths."""
        paths = np.full((len(lengths), len(self._geodesics)), np.inf)
        for place in range(lengths.shape[1]):
            through = self._geodesics[columns[:, place]]
            through += lengths[:, place, None]
            np.minimum(paths, through, out=paths)
        # A part without any share has no finite path, and no say.
        paths[~np.isfinite(lengths).any(axis=1)] = 0
        return paths


def _weighted_sum(
    weights: np.ndarray, columns: np.ndarray | None, values: np.ndarray
) -> np.ndarray:
    """Sum of landmark `values` by the `weights` of each row, all landmarks or given columns."""
    if columns is None:
        return weights @ values
    rows, width = columns.shape
    starts = np.arange(0, rows * width + 1, width)
    shape = (rows, len(values))
    return csr_array((weights.ravel(), columns.ravel(), starts), shape=shape) @ values


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
    result = np.empty((len(X), extension.n_components), dtype=X.dtype)
    for part, coordinates in _extended_blocks(extension, X, n_threads, rows):
        result[part] = coordinates
    return result


def _extended_blocks(
    extension: Extension, X: np.ndarray, n_threads: int, rows: int | None
) -> Iterator[tuple[slice, np.ndarray]]:
    if rows is None:
        rows = max(_MIN_BLOCK_ROWS, block_rows(8 * extension.row_values, _BLOCK_BYTES))

    def one(part: slice) -> tuple[slice, np.ndarray]:
        return part, extension.coordinates(extension.support(X[part]))

    yield from thread_map(one, row_blocks(len(X), rows), n_threads)
