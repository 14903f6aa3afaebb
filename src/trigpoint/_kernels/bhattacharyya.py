"""Bhattacharyya distances between the Gaussians of pairs of landmarks."""

import math
from typing import Any

import numpy as np

from trigpoint._kernels.jit import compiled

# Number of factors multiplied before taking the logarithm.
_CHUNK = 64


@compiled
def full_distances(
    points: np.ndarray,
    covariances: np.ndarray,
    log_determinants: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    distances: np.ndarray,
) -> None:
    """Fill `distances` (p,) of pairs, for covariances (k, d, d), by Cholesky factorization."""
    d = points.shape[1]
    lower, rest = np.empty((d, d)), np.empty(d)
    for pair in range(len(left)):
        # Fix the order of the pair, so that the distance is symmetric to the last bit.
        i, j = min(left[pair], right[pair]), max(left[pair], right[pair])
        quadratic, log_determinant = 0.0, 0.0
        for r in range(d):
            rest[r] = points[i, r] - points[j, r]
            for c in range(r + 1):
                value = (covariances[i, r, c] + covariances[j, r, c]) / 2
                for b in range(c):
                    value -= lower[r, b] * lower[c, b]
                if c < r:
                    lower[r, c] = value / lower[c, c]
                    rest[r] -= lower[r, c] * rest[c]
                else:
                    lower[r, r] = math.sqrt(value)
                    log_determinant += math.log(value)
            rest[r] /= lower[r, r]
            quadratic += rest[r] * rest[r]
        separate = (log_determinants[i] + log_determinants[j]) / 2
        distances[pair] = max(quadratic / 8 + (log_determinant - separate) / 2, 0.0)


@compiled
def diagonal_distances(
    points: np.ndarray,
    variances: np.ndarray,
    half_precisions: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    distances: np.ndarray,
) -> None:
    """Fill `distances` (p,) of pairs, for variances (k, d).

    `half_precisions` are ``sqrt(1 / (2 variance))``. ``|C| / sqrt(|C_x| |C_y|)`` is a product of
    factors of at least 1, so its logarithm is computed without cancellation.
    """
    d = points.shape[1]
    for pair in range(len(left)):
        i, j = min(left[pair], right[pair]), max(left[pair], right[pair])
        quadratic = _quadratic(points, variances, np.uint64(i), np.uint64(j))
        logarithm = 0.0
        for start in range(0, d, _CHUNK):
            stop = min(start + _CHUNK, d)
            logarithm += _log_of_product(
                variances, half_precisions, np.uint64(i), np.uint64(j), start, stop
            )
        distances[pair] = max(quadratic / 4 + logarithm / 2, 0.0)


# Simple loops with unsigned indices are vectorized. Views of rows would be reference-counted, which
# makes threads wait for each other.


@compiled
def _quadratic(points: np.ndarray, variances: np.ndarray, i: Any, j: Any) -> float:
    quadratic = 0.0
    for c in range(points.shape[1]):
        difference = points[i, c] - points[j, c]
        quadratic += difference * difference / (variances[i, c] + variances[j, c])
    return quadratic


@compiled
def _log_of_product(
    variances: np.ndarray, half_precisions: np.ndarray, i: Any, j: Any, start: int, stop: int
) -> float:
    """Return the logarithm of the product of ``(v + w) / (2 sqrt(v w))`` over coordinates."""
    product = 1.0
    for c in range(stop - start):
        place = np.uint64(start + c)
        total = variances[i, place] + variances[j, place]
        product *= total * (half_precisions[i, place] * half_precisions[j, place])
    if product < np.inf:
        return math.log(product)
    logarithm = 0.0
    for c in range(stop - start):
        place = np.uint64(start + c)
        total = variances[i, place] + variances[j, place]
        logarithm += math.log(total * (half_precisions[i, place] * half_precisions[j, place]))
    return logarithm
