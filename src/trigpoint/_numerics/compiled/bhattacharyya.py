"""Bhattacharyya distances between the Gaussians of pairs of landmarks."""

import math
from typing import Any

import numpy as np

from trigpoint._numerics.compiled.jit import compiled

# Factors multiplied before their logarithm is taken.
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
    """Fill `distances` (p,) of the pairs, for covariances (k, d, d), by a Cholesky factor each."""
    d = points.shape[1]
    lower, rest = np.empty((d, d)), np.empty(d)
    for pair in range(len(left)):
        # Always in this order, so that the distance is symmetric to the last bit.
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
    """Fill `distances` (p,) of the pairs, for variances (k, d).

    `half_precisions` are ``sqrt(1 / (2 variance))``. The logarithm of ``|C| / sqrt(|C_x| |C_y|)``
    is that of factors of at least 1, so nothing cancels.
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


# Loops of one operation with unsigned indices are vectorized; rows taken as arrays of their own
# would be reference-counted, and threads would wait for each other.


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
    """Logarithm of the product of ``(v + w) / (2 sqrt(v w))`` over some coordinates."""
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


@compiled
def low_rank_distances(
    points: np.ndarray,
    rows: np.ndarray,
    homes: np.ndarray,
    spreads: np.ndarray,
    rest: np.ndarray,
    log_determinants: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    distances: np.ndarray,
) -> None:
    """Fill `distances` (p,) of the pairs, for covariances ``rest I + A^T A`` with A of r x d.

    `rows` (k, r + 1, d) are those of A and, below them, the point, so that one product gives all
    that two landmarks have in common. Rows of A are orthogonal; `spreads` (k, r) are their squared
    lengths and `homes` (k, r) their products with the landmark's own point.

    The mean of two covariances is ``s I + V^T V / 2``, where V has the rows of both A, so its
    inverse and its determinant follow from ``2 s I + V V^T``, of size 2 r. The first half of that
    is diagonal, which leaves its Schur complement, of size r, to factor.
    """
    r, d = spreads.shape[1], points.shape[1]
    shared = np.empty((r + 1, r + 1), dtype=rows.dtype)
    schur, reduced = np.empty((r, r)), np.empty(r)
    for pair in range(len(left)):
        # Always in this order, so that the distance is symmetric to the last bit.
        i, j = min(left[pair], right[pair]), max(left[pair], right[pair])
        np.dot(rows[i], rows[j].T, shared)
        s = (rest[i] + rest[j]) / 2
        explained = 0.0
        log_determinant = d * math.log(s)
        for b in range(r):
            reduced[b] = shared[r, b] - homes[j, b]
            for c in range(b):
                schur[b, c] = 0.0
            schur[b, b] = 2 * s + spreads[j, b]
        for a in range(r):
            scale = 2 * s + spreads[i, a]
            along = homes[i, a] - shared[a, r]
            log_determinant += math.log(scale / (2 * s))
            explained += along * along / scale
            for b in range(r):
                factor = shared[a, b] / scale
                reduced[b] -= factor * along
                for c in range(b + 1):
                    schur[b, c] -= factor * shared[a, c]
        for b in range(r):
            for c in range(b + 1):
                value = schur[b, c]
                for a in range(c):
                    value -= schur[b, a] * schur[c, a]
                if c < b:
                    schur[b, c] = value / schur[c, c]
                    reduced[b] -= schur[b, c] * reduced[c]
                else:
                    schur[b, b] = math.sqrt(value)
                    log_determinant += math.log(value / (2 * s))
            reduced[b] /= schur[b, b]
            explained += reduced[b] * reduced[b]
        separate = (log_determinants[i] + log_determinants[j]) / 2
        quadratic = (_square(points, np.uint64(i), np.uint64(j)) - explained) / s
        distances[pair] = max(quadratic / 8 + (log_determinant - separate) / 2, 0.0)


@compiled
def _square(points: np.ndarray, i: Any, j: Any) -> float:
    """Squared distance."""
    square = 0.0
    for c in range(points.shape[1]):
        difference = points[i, c] - points[j, c]
        square += difference * difference
    return square
