"""Covariances of a landmark's neighbors, from differences."""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled


@compiled
def variances(points: np.ndarray, places: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Variance (d,) of each coordinate of some points; `query` is one of them or near them."""
    d, m = points.shape[1], len(places)
    sums, sums_of_squares = np.zeros(d), np.zeros(d)
    for i in range(m):
        for c in range(d):
            # Measured from the query, little cancels, and one pass is enough.
            difference = np.float64(points[places[i], c]) - np.float64(query[c])
            sums[c] += difference
            sums_of_squares[c] += difference * difference
    for c in range(d):
        mean = sums[c] / m
        sums_of_squares[c] = max(sums_of_squares[c] / m - mean * mean, 0.0)
    return sums_of_squares


@compiled
def covariance(points: np.ndarray, places: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Covariance (d, d) of some points, measured from `query` and then from their mean."""
    d, m = points.shape[1], len(places)
    mean, offset, result = np.zeros(d), np.empty(d), np.zeros((d, d))
    for i in range(m):
        for c in range(d):
            mean[c] += np.float64(points[places[i], c]) - np.float64(query[c])
    mean /= m
    for i in range(m):
        for c in range(d):
            offset[c] = np.float64(points[places[i], c]) - np.float64(query[c]) - mean[c]
            for b in range(c + 1):
                result[c, b] += offset[b] * offset[c]
    for c in range(d):
        for b in range(c + 1):
            result[c, b] /= m
            result[b, c] = result[c, b]
    return result
