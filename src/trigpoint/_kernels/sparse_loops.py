"""Loops over the stored values of sparse rows, in the order of their columns.

A row is the slice of `values` and `columns` from ``starts[i]`` to ``starts[i + 1]``. Columns are in
ascending order, each at most once.
"""

import math

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly


@compiled_strictly
def sparse_squares_to(
    values: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    query: np.ndarray,
) -> np.ndarray:
    """Return squared distances from the rows at some positions to a query (d,).

    The result is bitwise the same as that of `distances.squares_to` for dense rows, because columns
    in which both are zero add nothing to a sum, and the others are in the same order.
    """
    of_query = np.flatnonzero(query)
    squares = np.empty(len(places))
    for p in range(len(places)):
        i, stop = starts[places[p]], starts[places[p] + 1]
        j, square = 0, 0.0
        while i < stop or j < len(of_query):
            # After the last column of one, continue with the other.
            own = columns[i] if i < stop else len(query)
            other = of_query[j] if j < len(of_query) else len(query)
            difference = 0.0
            if own <= other:
                difference = np.float64(values[i])
                i += 1
            if other <= own:
                difference -= np.float64(query[other])
                j += 1
            square += difference * difference
        squares[p] = square
    return squares


@compiled_strictly
def sparse_squares_of_pairs(
    values: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    others: np.ndarray,
    start: int,
    stop: int,
    squares: np.ndarray,
) -> None:
    """Fill `squares` (stop - start, m) with squared distances to the rows in `others` (n, m)."""
    for row in range(start, stop):
        for place in range(others.shape[1]):
            i, end = starts[row], starts[row + 1]
            j, other_end = starts[others[row, place]], starts[others[row, place] + 1]
            square = 0.0
            while i < end or j < other_end:
                is_first = j == other_end or (i < end and columns[i] <= columns[j])
                is_second = i == end or (j < other_end and columns[j] <= columns[i])
                difference = 0.0
                if is_first:
                    difference = np.float64(values[i])
                    i += 1
                if is_second:
                    difference -= np.float64(values[j])
                    j += 1
                square += difference * difference
            squares[row - start, place] = square


@compiled
def sparse_products(
    values: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    dense: np.ndarray,
    products: np.ndarray,
) -> None:
    """Fill `products` (b, q) with the inner products of b rows and the dense points (q, d).

    Four dense points at a time share each column index that is read, and stay in the cache for all
    rows.
    """
    whole = len(dense) - len(dense) % 4
    for q in range(0, whole, 4):
        for i in range(len(starts) - 1):
            sum_a = sum_b = sum_c = sum_d = 0.0
            for place in range(starts[i], starts[i + 1]):
                value, column = np.float64(values[place]), columns[place]
                sum_a += value * dense[q, column]
                sum_b += value * dense[q + 1, column]
                sum_c += value * dense[q + 2, column]
                sum_d += value * dense[q + 3, column]
            products[i, q], products[i, q + 1] = sum_a, sum_b
            products[i, q + 2], products[i, q + 3] = sum_c, sum_d
    for q in range(whole, len(dense)):
        for i in range(len(starts) - 1):
            total = 0.0
            for place in range(starts[i], starts[i + 1]):
                total += np.float64(values[place]) * dense[q, columns[place]]
            products[i, q] = total


@compiled
def sparse_norms(
    values: np.ndarray, columns: np.ndarray, starts: np.ndarray, center: np.ndarray
) -> np.ndarray:
    """Return the squared distance (b,) of each row from a center (d,)."""
    whole = (center * center).sum()
    norms = np.empty(len(starts) - 1)
    for i in range(len(norms)):
        total = whole
        for place in range(starts[i], starts[i + 1]):
            value, middle = np.float64(values[place]), center[columns[place]]
            # (v - c)^2 - c^2, without the cancellation.
            total += value * (value - 2.0 * middle)
        norms[i] = max(total, 0.0)
    return norms


@compiled
def sparse_variances(
    values: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    query: np.ndarray,
) -> np.ndarray:
    """Return the variance (d,) of each coordinate of some rows, which are near `query`."""
    d, m = len(query), len(places)
    sums, sums_of_squares, counts = np.zeros(d), np.zeros(d), np.zeros(d)
    for p in range(m):
        for place in range(starts[places[p]], starts[places[p] + 1]):
            c = columns[place]
            # Differences from the query avoid cancellation, so one pass is enough.
            difference = np.float64(values[place]) - query[c]
            sums[c] += difference
            sums_of_squares[c] += difference * difference
            counts[c] += 1
    for c in range(d):
        # The other rows have a zero in this column.
        sums[c] -= (m - counts[c]) * query[c]
        sums_of_squares[c] += (m - counts[c]) * query[c] * query[c]
        mean = sums[c] / m
        sums_of_squares[c] = max(sums_of_squares[c] / m - mean * mean, 0.0)
    return sums_of_squares


@compiled_strictly
def scale_to_unit(values: np.ndarray, starts: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Fill `units` with rows scaled to unit length; return the row numbers of all-zero rows.

    Row i is the slice of the 1-D `values` from ``starts[i]`` to ``starts[i + 1]``, with or without
    its zeros, which do not affect the result, because squares are summed in order in float64. A
    factor that is a power of two does not affect it either, since every row is first scaled to the
    same magnitude.
    """
    zero = np.zeros(len(starts) - 1, dtype=np.bool_)
    for i in range(len(zero)):
        largest = 0.0
        for place in range(starts[i], starts[i + 1]):
            largest = max(largest, abs(np.float64(values[place])))
        if largest == 0:
            zero[i] = True
            continue
        # Scale, so that the square of the largest value neither overflows nor underflows.
        scale = math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
        square = 0.0
        for place in range(starts[i], starts[i + 1]):
            value = np.float64(values[place]) * scale
            square += value * value
        norm = np.sqrt(square)
        for place in range(starts[i], starts[i + 1]):
            units[place] = np.float64(values[place]) * scale / norm
    return np.flatnonzero(zero)
