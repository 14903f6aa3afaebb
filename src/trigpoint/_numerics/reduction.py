"""Principal components, so that distances cost less and contain less noise."""

from typing import Any

import numpy as np

from trigpoint._common.records import Projection
from trigpoint._numerics.blocks import (
    block_rows,
    one_blas_thread,
    row_blocks,
    sample_points,
    thread_map,
)

# Points that components are computed from, and spare components that are iterated but not kept.
_SAMPLE = 10_000
_MORE = 10
_ROUNDS = 4


def principal_projection(X: Any, n_components: int, rng: np.random.Generator) -> Projection:
    """Leading principal directions of the points, by subspace iteration over a sample.

    References
    ----------
    N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Review,
    2011.
    """
    sample = sample_points(X, _SAMPLE, rng).astype(np.float64)
    center = sample.mean(axis=0)
    sample -= center
    # The number of threads would change the rounding of products.
    with one_blas_thread():
        width = min(n_components + _MORE, *sample.shape)
        basis = np.linalg.qr(rng.normal(size=(sample.shape[1], width)))[0]
        for _ in range(_ROUNDS):
            basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
        _, _, directions = np.linalg.svd(sample @ basis, full_matrices=False)
        components = basis @ directions[:n_components].T
    return Projection(center, np.ascontiguousarray(components))


def principal_coordinates(points: np.ndarray, masses: np.ndarray, count: int) -> np.ndarray:
    """Leading principal coordinates (k, count) of points with masses, 0 beyond their number."""
    with one_blas_thread():
        around = points - np.average(points, axis=0, weights=masses)
        # The mean of a constant is rounded: of 1e100, by more than all other columns vary.
        around[:, (points == points[0]).all(axis=0)] = 0.0
        covariance = around.T @ (masses[:, None] * around)
        directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :count]
        # Eigenvectors come with any sign.
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.sign(directions[largest, np.arange(directions.shape[1])])
        coordinates = np.zeros((len(points), count))
        coordinates[:, : directions.shape[1]] = around @ directions
    return coordinates


def projected(projection: Projection | None, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of a block of points (b, c) in float64, and the lengths (b,) of what is left."""
    if projection is None:
        return np.ascontiguousarray(X, dtype=np.float64), np.zeros(len(X))
    from trigpoint._kernels.map_placing import project

    coordinates, residuals = np.empty((len(X), projection.components.shape[1])), np.empty(len(X))
    project(np.ascontiguousarray(X), *projection, coordinates, residuals)
    return coordinates, residuals


def all_projected(projection: Projection | None, X: Any, n_threads: int) -> Any:
    """Coordinates of all points, in their precision; those of a store come here in blocks."""
    if projection is None:
        return X
    n, d = X.shape
    result = np.empty((n, projection.components.shape[1]), dtype=X.dtype)

    def fill(part: slice) -> None:
        is_here = isinstance(X, np.ndarray)
        points = X[part] if is_here else X.take(np.arange(part.start, part.stop))
        result[part] = projected(projection, points)[0]

    for _ in thread_map(fill, row_blocks(n, block_rows(8 * d)), n_threads):
        pass
    return result


def restored(projection: Projection, inside: np.ndarray) -> np.ndarray:
    """Points in all columns whose coordinates these are, and of which nothing is left."""
    with one_blas_thread():
        points = projection.center + inside.astype(np.float64) @ projection.components.T
    return np.asarray(points.astype(inside.dtype))
