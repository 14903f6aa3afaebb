"""How much the landmarks drawn so far repel a point.

Strictly compiled: the same pair of points gives the same bits in every loop, so whoever decides
about a proposal decides alike.
"""

import numpy as np

from trigpoint._numerics.compiled.distance import squared_distance
from trigpoint._numerics.compiled.jit import compiled_strictly


@compiled_strictly
def log_factor(square: float, bandwidth: float, is_sine: bool) -> float:
    """Logarithm of `kernels.sin2` or `kernels.welsch` at a squared distance."""
    half = square / bandwidth / bandwidth / 2
    if is_sine:
        return 2 * np.log(np.sin(min(np.sqrt(half), np.pi / 2)))
    return np.log(-np.expm1(-half))


@compiled_strictly
def log_factors(squares: np.ndarray, bandwidth: float, is_sine: bool) -> np.ndarray:
    """Logarithms of the factors at some squared distances."""
    factors = np.empty(len(squares))
    for i in range(len(squares)):
        factors[i] = log_factor(squares[i], bandwidth, is_sine)
    return factors


@compiled_strictly
def repelling(
    points: np.ndarray,
    rows: np.ndarray,
    landmarks: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances from each point to the landmarks that repel it, in the landmarks' order.

    Parameters
    ----------
    points : ndarray of shape (p, d)
    rows : int64 ndarray of shape (p,)
        Rows of the points, which decide where distances are equal.
    landmarks : ndarray of shape (k, d)
    squared_radii, last_rows : ndarray of shape (k,)
        How far their neighborhoods reach.
    bounds : ndarray of shape (p, k) or (0, 0)
        Lower bounds of the squared distances; those above the radius are not computed.

    Returns
    -------
    squares : ndarray of shape (found,)
    starts : int64 ndarray of shape (p + 1,)
        Where those of each point begin.
    """
    starts = np.zeros(len(points) + 1, dtype=np.int64)
    squares = np.empty(8 * len(points) + 64)
    found = 0
    bounded = len(bounds) > 0
    for p in range(len(points)):
        for k in range(len(landmarks)):
            if bounded and bounds[p, k] > squared_radii[k]:
                continue
            square = squared_distance(landmarks, k, points[p])
            if square > squared_radii[k]:
                continue
            # A copy of the landmark is repelled even if there are more of them than neighbors.
            if square == squared_radii[k] and rows[p] > last_rows[k] and square > 0:
                continue
            if found == len(squares):
                longer = np.empty(2 * found)
                longer[:found] = squares
                squares = longer
            squares[found] = square
            found += 1
        starts[p + 1] = found
    return squares[:found], starts


@compiled_strictly
def sums_in_order(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum of each run of values, one after the other."""
    sums = np.zeros(len(starts) - 1)
    for p in range(len(sums)):
        for i in range(starts[p], starts[p + 1]):
            sums[p] += values[i]
    return sums
