"""Principal components of points, on which maps are fitted."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.records import Projection
from trigpoint._neighbors.sparse import Points, stored_row_bytes
from trigpoint._numerics.blocks import (
    block_rows,
    one_blas_thread,
    row_blocks,
    sample_points,
    thread_map,
)

# Sample size, number of extra components to iterate and then drop, and number of iterations for
# principal components.
PROJECTION_SAMPLE = 5_000
_MORE = 10
_ROUNDS = 3
# Rows farther from the median row than this multiple of the 90 % quantile of distances are weighted
# down to that distance.
_CLIPPED = 3.0

# With more columns, candidates for the neighbors of all rows are searched in this many components.
SEARCHED = 128
# Rows that one matrix product projects.
_PRODUCT_ROWS = 4096

# Squares of larger values would exceed the range of float32.
LARGE = 1e15


def principal_projection(X: Points, n_components: int, rng: np.random.Generator) -> Projection:
    """Return the leading principal directions of the points, by subspace iteration on a sample.

    The influence of outliers is limited.

    References
    ----------
    N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Review,
    2011.
    """
    sample = sample_points(X, PROJECTION_SAMPLE, rng).astype(np.float64)
    if isinstance(sample, csr_array):
        # Take 0 as the medians, since columns of sparse points are mostly 0.
        center = np.zeros(sample.shape[1])
        lengths = np.sqrt(np.asarray(sample.multiply(sample).sum(axis=1)))
    else:
        center = np.median(sample, axis=0)
        lengths = np.sqrt(np.square(sample - center).sum(axis=1))
    longest = _CLIPPED * np.quantile(lengths, 0.9)
    weights = np.minimum(1.0, longest / np.maximum(lengths, longest)) if longest > 0 else lengths
    # Mean of the clipped sample.
    center = center + (sample.T @ weights - weights.sum() * center) / len(weights)
    weights = weights[:, None]
    # The rounding of products depends on the number of threads.
    with one_blas_thread():
        width = min(n_components + _MORE, *sample.shape)
        basis = np.linalg.qr(rng.normal(size=(sample.shape[1], width)))[0]
        for _ in range(_ROUNDS):
            inside = weights**2 * (sample @ basis - center @ basis)
            basis = np.linalg.qr(sample.T @ inside - np.outer(center, inside.sum(axis=0)))[0]
        inside = weights * (sample @ basis - center @ basis)
        _, _, directions = np.linalg.svd(inside, full_matrices=False)
        components = basis @ directions[:n_components].T
    return Projection(center, np.ascontiguousarray(components))


def projected(projection: Projection | None, X: Points) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 coordinates (b, c) of a block of points, and their residual lengths (b,)."""
    if projection is None:
        dense = X.toarray() if isinstance(X, csr_array) else X
        return np.ascontiguousarray(dense, dtype=np.float64), np.zeros(len(dense))
    if isinstance(X, csr_array):
        # SciPy sums row by row, so a row has the same bits in any block.
        center, components = projection
        coordinates = X @ components - center @ components
        squares = np.asarray(X.multiply(X).sum(axis=1)) - 2 * (X @ center) + center @ center
        squares -= np.square(coordinates).sum(axis=1)
        return coordinates, np.sqrt(np.maximum(squares, 0.0))
    from trigpoint._kernels.map_placing import project

    coordinates, residuals = np.empty((len(X), projection.components.shape[1])), np.empty(len(X))
    project(np.ascontiguousarray(X), *projection, coordinates, residuals)
    return coordinates, residuals


def projected_there(center: Any, components: Any, X: Any) -> tuple[Any, Any]:
    """Return float64 coordinates (b, c) of a block of a tensor, and residual lengths (b,).

    `center` and `components` are those of a projection, on the device.
    """
    around = X - center
    inside = around @ components
    left = around.square().sum(dim=1) - inside.square().sum(dim=1)
    return inside, left.clamp(min=0).sqrt()


def roughly_projected(projection: Projection, X: Points, dtype: Any, n_threads: int) -> np.ndarray:
    """Return coordinates of all points from products in their precision, fast but less accurate."""
    center, components = (array.astype(X.dtype) for array in projection)
    coordinates = np.empty((X.shape[0], components.shape[1]), dtype=dtype)
    offset = center @ components

    def fill(part: slice) -> None:
        if isinstance(X, csr_array):
            coordinates[part] = X[part] @ components - offset
        else:
            coordinates[part] = (X[part] - center) @ components

    with one_blas_thread():
        for _ in thread_map(fill, row_blocks(len(coordinates), _PRODUCT_ROWS), n_threads):
            pass
    return coordinates


def all_projected(projection: Projection, X: Points, n_threads: int) -> tuple[np.ndarray, float]:
    """Return coordinates of all points, and the largest distance of a point from its projection.

    Coordinates are float32 if their squares do not overflow, so that models with many landmarks are
    small.
    """
    n, d = X.shape
    values = X.data if isinstance(X, csr_array) else X
    largest = max(abs(float(values.min(initial=0))), abs(float(values.max(initial=0))))
    dtype = np.float32 if largest < LARGE else np.float64
    result: np.ndarray = np.empty((n, projection.components.shape[1]), dtype=dtype)

    def fill(part: slice) -> float:
        coordinates, residuals = projected(projection, X[part])
        result[part] = coordinates
        return float(residuals.max())

    row_bytes = stored_row_bytes(X) if isinstance(X, csr_array) else 8 * d
    parts = row_blocks(n, block_rows(row_bytes))
    return result, max(thread_map(fill, parts, n_threads))


def restored(projection: Projection, inside: np.ndarray) -> np.ndarray:
    """Map projected coordinates back to the original columns."""
    with one_blas_thread():
        points = projection.center + inside.astype(np.float64) @ projection.components.T
    return np.asarray(points.astype(inside.dtype))
