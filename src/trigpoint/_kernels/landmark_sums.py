"""Weighted sums over the landmarks that support each point of a block."""

import math
from typing import Any, NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled

# exp(x) = 2^n exp(x - n log 2), with log 2 in two parts and the series of exp up to power 13. The
# result is accurate to the last digit or two above 1e-9, and to 13 digits below, since the compiler
# may join the two parts again. The exponential of the C library is not vectorized and would take
# half of the time.
_LOG2_E = 1.4426950408889634
_LOG_2, _LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SERIES = tuple(1 / math.factorial(power) for power in range(13, -1, -1))

# Number of columns whose squares are summed together in the precision of the points.
_CHUNK = 64

# Number of columns above which distances are stored to be reused.
_WIDE = 8

# Exponent below which a weight is negligible, unless a point is far from all landmarks.
_SMALLEST_EXPONENT = -700.0


class GraphRows(NamedTuple):
    """Rows of a landmark graph, each starting with its own landmark, with kernel parameters."""

    starts: np.ndarray  # Start (k + 1,) of the row of each landmark.
    columns: np.ndarray  # Landmarks (e,) of a row, in uint32.
    measured: np.ndarray  # Landmark (e,) to measure the distance from, of the column or the row.
    half_precisions: np.ndarray  # ``0.5 / bandwidth^2`` (e,).
    factors: np.ndarray  # Factors (e,) that multiply the kernel of the distance.


@compiled
def shepard_shares(squares: np.ndarray, most: int) -> np.ndarray:
    """Return the shares (b, parts) of each point's nearest landmarks; each row sums to 1.

    If `squares`, the squared distances, have more than `most` columns, shares are
    ``((r - distance) / distance)^2``, normalized, where `r` is the distance to the next landmark.
    This is the method of D. Shepard (1968) as modified by R. Franke and G. Nielson (1980). Shares
    are continuous functions of the point.
    """
    parts = min(most, squares.shape[1])
    shares = np.empty((len(squares), parts))
    for i in range(len(shares)):
        first = math.sqrt(squares[i, 0])
        total = 0.0
        for p in range(parts):
            distance = math.sqrt(squares[i, p])
            # Divide by the first distance, so that a point on a landmark is not a special case.
            closeness = first / distance if distance > first else 1.0
            if squares.shape[1] > parts:
                beyond = math.sqrt(squares[i, parts])
                closeness *= (beyond - distance) / beyond if beyond > 0 else 1.0
            shares[i, p] = closeness * closeness
            total += shares[i, p]
        for p in range(parts):
            # Equally distant landmarks have equal shares.
            shares[i, p] = shares[i, p] / total if total > 0 else 1.0 / parts
    return shares


@compiled
def graph_sums(
    rows: GraphRows,
    nearest: np.ndarray,
    shares: np.ndarray,
    X: np.ndarray,
    landmarks: np.ndarray,
    to_all: np.ndarray,
    values: np.ndarray,
    far: float,
    sums: np.ndarray,
    shifts: np.ndarray,
) -> None:
    """Fill `sums` (b, l) with landmarks' `values` (l, k), weighted by rows of nearest landmarks.

    A row is weighted by its share (b, parts), and its entries by the factor and the kernel of the
    distances between points (b, d) and landmarks (k, d), or of the squared distances `to_all`
    (b, k) landmarks, if given. If the logarithms of all weights are below `far`, the weights would
    nearly vanish, so they are relative to the largest, whose logarithm is the shift. Otherwise, the
    shift is 0.
    """
    starts, columns, measured = rows.starts, rows.columns, rows.measured
    half_precisions, factors = rows.half_precisions, rows.factors
    room = nearest.shape[1] * _longest(starts)
    exponents, weights, amounts = np.empty(room), np.empty(room), np.empty(room)
    places = np.empty(room, dtype=np.uint64)
    bits = np.empty(room, dtype=np.int64)
    powers = bits.view(np.float64)
    smallest = math.exp(far)
    is_given, is_wide = len(to_all) > 0, X.shape[1] > _WIDE
    last, known = np.empty(len(starts), dtype=np.int64), np.empty(len(starts))
    for j in range(len(starts)):
        last[j] = -1
    for i in range(len(nearest)):
        size = int(np.int64(0))
        for p in range(nearest.shape[1]):
            share = shares[i, p]
            for e in range(starts[nearest[i, p]], starts[nearest[i, p] + 1]):
                landmark = np.uint64(measured[np.uint64(e)])
                if is_given:
                    square = to_all[i, landmark]
                elif not is_wide:
                    square = 0.0
                    for c in range(X.shape[1]):
                        difference = X[i, c] - landmarks[landmark, np.uint64(c)]
                        square += difference * difference
                else:
                    # Rows of nearby landmarks have many entries in common.
                    if last[landmark] != i:
                        last[landmark] = i
                        known[landmark] = _squared_length(X, np.uint64(i), landmarks, landmark)
                    square = known[landmark]
                exponents[size] = -square * half_precisions[np.uint64(e)]
                amounts[size] = share * factors[np.uint64(e)]
                places[size] = columns[np.uint64(e)]
                size += 1
        _exponentiate(exponents, weights, size, bits, powers)
        total = 0.0
        for j in range(size):
            weights[j] *= amounts[j]
            total += weights[j]
        shifts[i] = 0.0
        if total < size * smallest:
            shifts[i] = _relative_weights(exponents, amounts, size, far, weights)
        for c in range(values.shape[0]):
            total = 0.0
            for j in range(size):
                total += weights[j] * values[c, places[j]]
            sums[i, c] = total


@compiled
def _squared_length(X: np.ndarray, i: Any, landmarks: np.ndarray, j: Any) -> float:
    """Return the squared distance from differences, accurate to 6 digits for float32 points.

    Only a few columns are summed in float32. Simple loops are vectorized.
    """
    square = 0.0
    for start in range(0, X.shape[1], _CHUNK):
        part = X.dtype.type(0)
        for c in range(start, min(start + _CHUNK, X.shape[1])):
            difference = X[i, np.uint64(c)] - landmarks[j, np.uint64(c)]
            part += difference * difference
        square += part
    if square < np.inf:
        return square
    square = 0.0
    for c in range(X.shape[1]):
        exact = np.float64(X[i, np.uint64(c)]) - np.float64(landmarks[j, np.uint64(c)])
        square += exact * exact
    return square


@compiled
def measure(
    X: np.ndarray,
    landmarks: np.ndarray,
    columns: np.ndarray,
    counts: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Fill `squares` (b, width) with squared distances to the first `counts` (b,) of `columns`."""
    for i in range(len(X)):
        for j in range(counts[i]):
            squares[i, j] = _squared_length(X, np.uint64(i), landmarks, np.uint64(columns[i, j]))


@compiled
def _interpolated(values: np.ndarray, nearest: np.ndarray, shares: np.ndarray, i: int) -> float:
    """Return the value of point `i`, interpolated between its nearest landmarks by shares."""
    total = 0.0
    for p in range(shares.shape[1]):
        total += shares[i, p] * values[nearest[i, p]]
    return total


@compiled
def _longest(starts: np.ndarray) -> int:
    longest = 0
    for row in range(len(starts) - 1):
        longest = max(longest, starts[row + 1] - starts[row])
    return longest


@compiled
def _exponentiate(
    x: np.ndarray, result: np.ndarray, size: int, bits: np.ndarray, powers: np.ndarray
) -> None:
    """Fill `result` with the exponentials of the first `size` entries of `x`, which are at most 0.

    `bits` and `powers` are views of the same workspace, as integers and as float64.
    """
    for j in range(size):
        exponent = max(x[j], _SMALLEST_EXPONENT)
        whole = math.floor(exponent * _LOG2_E + 0.5)
        rest = (exponent - whole * _LOG_2) - whole * _LOG_2_REST
        series = _SERIES[0]
        series = series * rest + _SERIES[1]
        series = series * rest + _SERIES[2]
        series = series * rest + _SERIES[3]
        series = series * rest + _SERIES[4]
        series = series * rest + _SERIES[5]
        series = series * rest + _SERIES[6]
        series = series * rest + _SERIES[7]
        series = series * rest + _SERIES[8]
        series = series * rest + _SERIES[9]
        series = series * rest + _SERIES[10]
        series = series * rest + _SERIES[11]
        series = series * rest + _SERIES[12]
        result[j] = series * rest + _SERIES[13]
        # Build the float64 with this exponent and no fraction.
        bits[j] = (np.int64(whole) + 1023) << 52
    for j in range(size):
        result[j] *= powers[j]


@compiled
def _relative_weights(
    exponents: np.ndarray, amounts: np.ndarray, size: int, far: float, weights: np.ndarray
) -> float:
    """Make weights relative to the largest if its logarithm is below `far`; return the shift.

    Weights are ``amount * exp(exponent)``.
    """
    largest = -np.inf
    for j in range(size):
        if amounts[j] > 0:
            largest = max(largest, math.log(amounts[j]) + exponents[j])
    if largest >= far:
        return 0.0
    for j in range(size):
        # If infinitely far, only the nearest landmark, which comes first, has weight.
        weights[j] = 1.0 if j == 0 else 0.0
        if largest > -np.inf:
            weights[j] = 0.0
            if amounts[j] > 0:
                weights[j] = math.exp(math.log(amounts[j]) + exponents[j] - largest)
    return largest


@compiled
def around_center(X: np.ndarray, center: np.ndarray, around: np.ndarray, norms: np.ndarray) -> None:
    """Fill `around` (b, d) with centered points, and `norms` (b,) with their squared norms."""
    for i in range(len(X)):
        square = 0.0
        for c in range(X.shape[1]):
            value = np.float64(X[i, c]) - center[c]
            around[i, c] = value
            square += value * value
        norms[i] = square


@compiled
def squares_from_products(
    products: np.ndarray, offsets: np.ndarray, norms: np.ndarray, landmark_norms: np.ndarray
) -> None:
    """Convert products (b, k) of points and landmarks, minus offsets (k,), to squared distances."""
    for i in range(len(products)):
        for j in range(products.shape[1]):
            square = norms[i] + landmark_norms[j] - 2 * (products[i, j] - offsets[j])
            products[i, j] = max(square, 0)


@compiled
def dense_weights(
    squares: np.ndarray,
    nearest: np.ndarray,
    shares: np.ndarray,
    bandwidths: np.ndarray,
    far: float,
    shifts: np.ndarray,
) -> None:
    """Convert `squares` (b, k) to all landmarks to weights, relative to the largest if far.

    The bandwidth of a point is interpolated from the nearest landmarks by their `shares`
    (b, parts). A point and a landmark use the larger of their bandwidths. See `graph_sums` for
    `far` and `shifts`.
    """
    k = squares.shape[1]
    exponents, bits = np.empty(k), np.empty(k, dtype=np.int64)
    powers = bits.view(np.float64)
    for i in range(len(squares)):
        own = _interpolated(bandwidths, nearest, shares, i)
        largest = -np.inf
        for j in range(k):
            bandwidth = max(own, bandwidths[j])
            exponents[j] = squares[i, j] * (-0.5 / (bandwidth * bandwidth))
            largest = max(largest, exponents[j])
        shifts[i] = largest if largest < far else 0.0
        if largest == -np.inf:
            # If infinitely far, only one landmark has weight.
            exponents[0] = largest = 0.0
        if largest < far:
            for j in range(k):
                exponents[j] -= largest
        _exponentiate(exponents, squares[i], k, bits, powers)


@compiled
def nearest_columns(to_all: np.ndarray, nearest: np.ndarray, squares: np.ndarray) -> None:
    """Fill `nearest` and `squares` (b, count) with the smallest entries of each row, in order."""
    last = nearest.shape[1] - 1
    for i in range(len(to_all)):
        for place in range(last + 1):
            nearest[i, place], squares[i, place] = 0, np.inf
        for j in range(to_all.shape[1]):
            square = to_all[i, j]
            if square < squares[i, last]:
                place = last
                while place > 0 and squares[i, place - 1] > square:
                    squares[i, place] = squares[i, place - 1]
                    nearest[i, place] = nearest[i, place - 1]
                    place -= 1
                squares[i, place] = square
                nearest[i, place] = j


@compiled
def shortest_paths(
    lengths: np.ndarray, columns: np.ndarray, geodesics: np.ndarray, paths: np.ndarray
) -> None:
    """Fill `paths` (b, k) with the lengths of shortest paths to all landmarks.

    A path starts with one of the finite `lengths` (b, width) to the landmark in `columns`. Paths of
    points without finite lengths are set to 0.
    """
    k = len(geodesics)
    for i in range(len(lengths)):
        started = False
        for j in range(lengths.shape[1]):
            length = lengths[i, j]
            if length == np.inf:
                continue
            through = geodesics[columns[i, j]]
            if started:
                for c in range(k):
                    paths[i, c] = min(paths[i, c], through[c] + length)
            else:
                for c in range(k):
                    paths[i, c] = through[c] + length
                started = True
        if not started:
            paths[i] = 0.0


@compiled
def add_centered(
    squares: np.ndarray, centering: np.ndarray, shares: np.ndarray, total: np.ndarray
) -> None:
    """Add to `total` shares (b,) of squared paths (b, k), minus mean and `centering` (k,)."""
    k = squares.shape[1]
    for i in range(len(squares)):
        mean = 0.0
        for j in range(k):
            mean += squares[i, j]
        mean /= k
        for j in range(k):
            total[i, j] += shares[i] * (squares[i, j] - (mean + centering[j]))
