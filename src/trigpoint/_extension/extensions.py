"""Nystrom extension: from the coordinates of the landmarks to those of every point.

A support says, for a block of points, which landmarks speak for each and how much; an *extension*
turns that into coordinates, block by block, so that memory does not grow with n.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from trigpoint._common.errors import ParameterWarning
from trigpoint._common.records import Spectrum
from trigpoint._common.warn import warn_user
from trigpoint._extension.support import FAR_LOG_WEIGHT, LocalSupport, Support
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.threads import one_blas_thread, thread_map

# Temporaries of a few megabytes stay in the caches, and products of so many rows are efficient: on
# MNIST blocks of 512 images took 1.05 s, of 64 took 1.7 s.
_BLOCK_BYTES = 2**21
_MIN_BLOCK_ROWS = 64

# Geodesics in float32 are lost beside a way to the landmarks that is so many times as long.
_FAR = 10.0


class FarPointsWarning(ParameterWarning):
    """Some points are so far from all landmarks that their coordinates tell little."""


class Extension(Protocol):
    """Coordinates of points; `row_bytes` are held for each at most."""

    n_components: int
    row_bytes: int

    def coordinates(self, X: np.ndarray, far: list[int]) -> np.ndarray:
        """Coordinates (b, l) of a block of points; the number of those that are far joins `far`."""


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

    def coordinates(self, X: np.ndarray, far: list[int]) -> np.ndarray:
        """Coordinates (b, l) of a block of points; those that are far go where the nearest are."""
        weights = self._support.log_weights(X)
        far.append(weights.shift())
        sums = weights.sums(self._scaled)
        return sums[:, :-1] / sums[:, -1:]


class KernelExtension:
    """Extension of kernel PCA: projection of a point's kernel row on the components."""

    def __init__(self, support: Support, kernel_means: np.ndarray, spectrum: Spectrum) -> None:
        self.n_components = spectrum.coordinates.shape[1]
        self.row_bytes = support.row_bytes
        self._support = support
        components = _components(spectrum)
        # Projections, and the kernels' total, come from one pass.
        self._summed = np.column_stack([components, np.ones(len(components))])
        # Components sum to zero over the landmarks, so only the means of the kernel's columns
        # remain of the centring.
        self._offset = kernel_means @ components

    def coordinates(self, X: np.ndarray, far: list[int]) -> np.ndarray:
        """Coordinates (b, l) of a block of points; those that are far all go to one place."""
        sums = self._support.log_weights(X).sums(self._summed)
        far.append(int((sums[:, -1] < np.exp(FAR_LOG_WEIGHT)).sum()))
        return sums[:, :-1] - self._offset


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
        self._components = _components(spectrum)
        squares = np.square(geodesics).mean(axis=0)
        self._centring = squares - squares.mean()

    def coordinates(self, X: np.ndarray, far: list[int]) -> np.ndarray:
        """Coordinates (b, l) of a block of points; those that are far come out far."""
        result = np.zeros((len(X), self.n_components))
        for shares, lengths, columns in self._support.starts(X):
            paths = self._shortest(lengths, columns, X.dtype)
            # Rows are centred as the landmarks' are, so squares may count from any of them; as a
            # product of sum and difference they keep their digits for points far away.
            first = paths[:, :1]
            squares = (paths - first) * (paths + first)
            squares -= squares.mean(axis=1, keepdims=True) + self._centring
            result -= shares[:, None] * (squares @ self._components) / 2
        return result

    def _shortest(self, lengths: np.ndarray, columns: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Shortest paths (b, k) to all landmarks, float64."""
        from trigpoint._numerics.compiled.extension import shortest_paths

        exact = self._geodesics[np.dtype(np.float64)]
        # Reading geodesics is what costs: for float32 points, half of it, unless they are far.
        if lengths[np.isfinite(lengths)].max(initial=0) > _FAR * exact.max():
            dtype = exact.dtype
        if dtype not in self._geodesics:
            self._geodesics[dtype] = exact.astype(dtype)
        paths = np.empty((len(lengths), len(exact)), dtype=dtype)
        shortest_paths(lengths.astype(dtype), columns, self._geodesics[dtype], paths)
        return paths.astype(np.float64, copy=False)


def _components(spectrum: Spectrum) -> np.ndarray:
    """What kernel rows are multiplied by, row by row: products round by the order in memory."""
    return np.ascontiguousarray(spectrum.coordinates / spectrum.eigenvalues)


def extend(
    extension: Extension,
    X: np.ndarray,
    n_threads: int = 1,
    rows: int | None = None,
    far: list[int] | None = None,
) -> np.ndarray:
    """Coordinates of every row of `X`, in the precision of `X`.

    Parameters
    ----------
    extension : Extension
    X : ndarray of shape (n, d)
    n_threads : int, default=1
    rows : int or None, default=None
        Rows per block; ``None`` keeps the temporaries of a block near the caches.
    far : list of int or None, default=None
        Numbers of points that are far from all landmarks are appended to it.

    Returns
    -------
    ndarray of shape (n, l)
    """
    if rows is None:
        rows = max(_MIN_BLOCK_ROWS, block_rows(extension.row_bytes, _BLOCK_BYTES))
    result = np.empty((len(X), extension.n_components), dtype=X.dtype)

    every = [] if far is None else far

    def fill(part: slice, counts: list[int] = every) -> None:
        result[part] = extension.coordinates(np.ascontiguousarray(X[part]), counts)

    # Blocks are what runs side by side: products within them keep to their thread.
    with one_blas_thread():
        # One row first, alone: what is prepared for a precision is prepared once.
        fill(slice(0, 1), [])
        for _ in thread_map(fill, row_blocks(len(X), rows), n_threads):
            pass
    return result


def extended_blocks(
    extension: Extension, blocks: Iterable[np.ndarray], n_threads: int
) -> Iterator[np.ndarray]:
    """Yield the coordinates of blocks of points as they come; at the end, warn of far points."""
    far: list[int] = []
    n_points = 0
    for block in blocks:
        n_points += len(block)
        yield extend(extension, block, n_threads, far=far)
    warn_of_far(sum(far), n_points)


def warn_of_far(n_far: int, n_points: int) -> None:
    """Warn of points that are far from all landmarks, if there are any."""
    if n_far:
        warn_user(
            FarPointsWarning(
                "{n_far:,} of {n_points:,} points are more than ten bandwidths away from every "
                "landmark, and their coordinates tell little",
                "check the units and the order of the columns, or fit to points like these",
                n_far=n_far,
                n_points=n_points,
            )
        )
