"""Nystrom extension: from the coordinates of the landmarks to those of every point.

A *support* says, for a block of points, which landmarks speak for each and how far they are; an
*extension* turns that into coordinates. Both work block by block, so memory does not grow with n.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from trigpoint.kernels import gaussian, squared_distances
from trigpoint.neighbors import TREE_MAX_DIMENSION, TreeIndex
from trigpoint.points import block_rows, row_blocks
from trigpoint.records import Spectrum
from trigpoint.threads import thread_map

# Temporaries of a megabyte stay in the second-level cache and are recycled by the allocator; with
# larger ones the dense extensions ran four times slower.
_BLOCK_BYTES = 2**20
_MIN_BLOCK_ROWS = 64


class Support(Protocol):
    """Which landmarks speak for a point; `row_values` numbers are held for each at most."""

    row_values: int

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Columns and squared distances, each of shape (b, width), for a block of b points.

        No columns stand for all landmarks in order; an infinite distance marks an empty place.
        """


class AllLandmarks:
    """Every landmark speaks for every point: the dense extension of the paper."""

    def __init__(self, landmarks: np.ndarray) -> None:
        self.landmarks = landmarks
        self.row_values = len(landmarks)

    def __call__(self, X: np.ndarray) -> tuple[None, np.ndarray]:
        """No columns, and squared distances to all landmarks."""
        return None, squared_distances(X, self.landmarks)


class NearestLandmarks:
    """The nearest few landmarks speak for a point."""

    def __init__(self, landmarks: np.ndarray, n_neighbors: int) -> None:
        self.landmarks = landmarks
        self.width = n_neighbors
        self._tree = _tree(landmarks)
        self.row_values = n_neighbors if self._tree else len(landmarks)

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns and squared distances of the landmarks that speak for each point."""
        if self._tree is not None:
            distances, columns = self._tree.query(X, self.width)
            return columns, distances**2
        squares = squared_distances(X, self.landmarks)
        if self.width == len(self.landmarks):
            return np.tile(np.arange(self.width), (len(X), 1)), squares
        columns = np.argpartition(squares, self.width - 1, axis=1)[:, : self.width]
        return columns, np.take_along_axis(squares, columns, axis=1)


class GraphNeighbors:
    """The nearest landmark and its neighbours in the landmark graph speak for a point.

    So a point inherits the neighbourhood of its landmark and takes no shortcut that the graph
    does not take; a landmark itself gets exactly its own row of the graph. One nearest neighbour
    a point is also much cheaper to find than many.
    """

    def __init__(self, landmarks: np.ndarray, lengths: csr_array) -> None:
        self.landmarks = landmarks
        self._tree = _tree(landmarks)
        k = len(landmarks)
        degrees = np.diff(lengths.indptr)
        width = int(degrees.max()) + 1
        self.row_values = width * landmarks.shape[1] if self._tree else k
        # Rows of different length are filled up; `_present` tells the places that count.
        self._present = np.arange(width) <= degrees[:, None]
        self._columns = np.zeros((k, width), dtype=np.int64)
        self._columns[:, 0] = np.arange(k)
        self._columns[:, 1:][self._present[:, 1:]] = lengths.indices

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns and squared distances of the landmarks that speak for each point."""
        if self._tree is not None:
            nearest = self._tree.query(X, 1)[1][:, 0]
            columns = self._columns[nearest]
            difference = X[:, None, :].astype(np.float64) - self.landmarks[columns]
            squares = np.einsum("ijk,ijk->ij", difference, difference)
        else:
            to_all = squared_distances(X, self.landmarks)
            nearest = to_all.argmin(axis=1)
            columns = self._columns[nearest]
            squares = np.take_along_axis(to_all, columns, axis=1)
        return columns, np.where(self._present[nearest], squares, np.inf)


def _tree(landmarks: np.ndarray) -> TreeIndex | None:
    """Build a tree in low dimension; in high dimension one product gives all the distances."""
    # One thread: the blocks of points are spread over the threads already.
    return TreeIndex(landmarks, 1) if landmarks.shape[1] <= TREE_MAX_DIMENSION else None


class Extension(Protocol):
    """Coordinates of points from their support; `row_values` numbers are held for each at most."""

    support: Support
    n_components: int
    row_values: int

    def coordinates(self, columns: np.ndarray | None, squares: np.ndarray) -> np.ndarray:
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
    bandwidth : float
        Gaussian bandwidth of the kernel.
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
        bandwidth: float,
        scale: np.ndarray | None = None,
    ) -> None:
        self.support = support
        self.n_components = coordinates.shape[1]
        self.row_values = support.row_values
        self._stretched = coordinates / mu
        self._bandwidth = bandwidth
        self._scale = scale

    def coordinates(self, columns: np.ndarray | None, squares: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""
        # The smallest distance cancels in the ratio; without it, far points would be 0 / 0.
        weights = gaussian(squares - squares.min(axis=1, keepdims=True), self._bandwidth)
        if self._scale is not None:
            weights *= self._scale if columns is None else self._scale[columns]
        weights /= weights.sum(axis=1, keepdims=True)
        return _weighted_sum(weights, columns, self._stretched)


class KernelExtension:
    """Extension of kernel PCA: projection of a point's kernel row on the components."""

    def __init__(
        self, support: Support, kernel: np.ndarray, spectrum: Spectrum, bandwidth: float
    ) -> None:
        self.support = support
        self.n_components = spectrum.coordinates.shape[1]
        self.row_values = support.row_values
        self._components = spectrum.coordinates / spectrum.eigenvalues
        # Components sum to zero over the landmarks, so only the kernel's column means remain of
        # the centring.
        self._offset = kernel.mean(axis=0) @ self._components
        self._bandwidth = bandwidth

    def coordinates(self, columns: np.ndarray | None, squares: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""
        weights = gaussian(squares, self._bandwidth)
        return _weighted_sum(weights, columns, self._components) - self._offset


class GeodesicExtension:
    """Extension of Isomap: geodesics to all landmarks through those of the support."""

    def __init__(self, support: Support, geodesics: np.ndarray, spectrum: Spectrum) -> None:
        self.support = support
        self.n_components = spectrum.coordinates.shape[1]
        self.row_values = len(geodesics)
        self._geodesics = geodesics
        self._components = spectrum.coordinates / spectrum.eigenvalues
        self._offset = np.square(geodesics).mean(axis=0) @ self._components / 2

    def coordinates(self, columns: np.ndarray | None, squares: np.ndarray) -> np.ndarray:
        """Coordinates (b, l) for a block of points whose support is given."""
        if columns is None:
            raise ValueError("geodesics start at the landmarks near a point, not at all of them")
        lengths = np.sqrt(squares)
        paths = np.full((len(squares), len(self._geodesics)), np.inf)
        for place in range(columns.shape[1]):
            through = self._geodesics[columns[:, place]]
            through += lengths[:, place, None]
            np.minimum(paths, through, out=paths)
        return self._offset - np.square(paths, out=paths) @ self._components / 2


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
        return part, extension.coordinates(*extension.support(X[part]))

    yield from thread_map(one, row_blocks(len(X), rows), n_threads)
