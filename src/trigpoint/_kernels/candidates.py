"""Selection of nearest points from blocks of rounded distances."""

from typing import Any

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly

# Number of landmarks examined together.
_RUN = 128


@compiled
def sift(
    products: np.ndarray,
    norms: np.ndarray,
    query_norms: np.ndarray,
    rounding: float,
    cuts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the points of a block that may lie within the cut of each query.

    `products` are inner products of queries and points (q, b), whose extra rows are ignored;
    `norms` (b,) and `query_norms` (q,) are squared norms. The points sought have squared distances
    of up to `cuts` (q,), with errors of up to `rounding` times the sum of both squared norms.
    Returns squared distances and positions in the block of the points found, query after query, and
    the starts (q + 1,) of each query's points.
    """
    starts = np.zeros(len(cuts) + 1, dtype=np.int64)
    room = 4 * len(norms)
    squares, places = np.empty(room), np.empty(room, dtype=np.int64)
    found = int(np.int64(0))
    for q in range(len(cuts)):
        if found + len(norms) > room:
            room *= 2
            squares, places = _longer(squares, places, found, room)
        for i in range(len(norms)):
            both = query_norms[q] + norms[i]
            square = both - 2.0 * products[q, i]
            if square - rounding * both <= cuts[q]:
                squares[found] = square
                places[found] = i
                found += 1
        starts[q + 1] = found
    return squares[:found], places[:found], starts


@compiled
def _longer(
    squares: np.ndarray, places: np.ndarray, count: int, room: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of the first `count` values of two arrays, with room for more."""
    longer_squares, longer_places = np.empty(room), np.empty(room, dtype=np.int64)
    for i in range(count):
        longer_squares[i], longer_places[i] = squares[i], places[i]
    return longer_squares, longer_places


@compiled
def narrow(
    norms: np.ndarray,
    query_norm: float,
    rounding: float,
    cut: float,
    squares: np.ndarray,
    places: np.ndarray,
    m: int,
) -> tuple[int, int]:
    """Move candidates of one query that may be among the `m` nearest to the front.

    Returns the number of sure neighbors, which come first, and the number of all candidates moved,
    or -1 and -1 if neighbors may be missing. Both parts keep their order.
    """
    count = len(places)
    uppers, lowers, ranked = np.empty(count), np.empty(count), np.empty(count)
    within = 0
    for i in range(count):
        slack = rounding * (query_norm + norms[places[i]])
        lowers[i], uppers[i] = squares[i] - slack, squares[i] + slack
        ranked[i] = uppers[i]
        within += uppers[i] <= cut
    if within < m:
        return -1, -1
    # Points that are certainly beyond the m-th smallest upper bound are not among the m nearest.
    limit = _smallest(ranked, count, m - 1)
    kept = int(np.int64(0))
    for i in range(count):
        if lowers[i] <= limit:
            squares[kept], places[kept] = squares[i], places[i]
            lowers[kept], uppers[kept] = lowers[i], uppers[i]
            kept += 1
    if kept == m:
        return m, m
    # If a point is certainly nearer than the (m + 1)-th smallest lower bound, at most m - 1 others
    # may be nearer.
    limit = _smallest(lowers, kept, m)
    sure = doubtful = 0
    doubtful_squares, doubtful_places = ranked, np.empty(kept, dtype=np.int64)
    for i in range(kept):
        if uppers[i] < limit:
            squares[sure], places[sure] = squares[i], places[i]
            sure += 1
        else:
            doubtful_squares[doubtful], doubtful_places[doubtful] = squares[i], places[i]
            doubtful += 1
    for i in range(doubtful):
        squares[sure + i], places[sure + i] = doubtful_squares[i], doubtful_places[i]
    return sure, kept


@compiled
def _smallest(values: np.ndarray, count: int, rank: int) -> float:
    """Return the value of a rank among the first `count` values, which are reordered.

    This is Hoare's quickselect. ``np.partition`` takes seconds to compile.
    """
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return float(values[rank])


@compiled
def may_be_farthest(
    norms: np.ndarray,
    query_norm: float,
    rounding: float,
    squares: np.ndarray,
    places: np.ndarray,
    sure: int,
    m: int,
) -> np.ndarray:
    """Return those of the `sure` neighbors that may be the farthest of the `m` neighbors.

    Squared distances of the sure neighbors are rounded; the others are exact.
    """
    least = -1.0
    for i in range(sure, m):
        least = max(least, squares[i])
    for i in range(sure):
        least = max(least, squares[i] - rounding * (query_norm + norms[places[i]]))
    found = np.empty(sure, dtype=np.int64)
    count = 0
    for i in range(sure):
        if squares[i] + rounding * (query_norm + norms[places[i]]) >= least:
            found[count] = places[i]
            count += 1
    return found[:count]


@compiled
def mark(neighbors: np.ndarray, first: int, marks: np.ndarray) -> None:
    """Set `marks` (q, b) of a block's points to 1 for the `neighbors` (q, m), and to 0 otherwise.

    The block begins at row `first`. Each query's neighbors are in ascending order.
    """
    marks[:] = 0
    m, b = neighbors.shape[1], marks.shape[1]
    for q in range(len(neighbors)):
        j = np.searchsorted(neighbors[q], first)
        while j < m and neighbors[q, j] < first + b:
            marks[q, neighbors[q, j] - first] = 1
            j += 1


@compiled_strictly
def list_candidates(
    products: np.ndarray,
    norms: np.ndarray,
    first: int,
    slacks: np.ndarray,
    smallest: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
    counts: np.ndarray,
) -> None:
    """List landmarks, from `first` on, that may be among the nearest of each point.

    Landmarks are compared by ``norms[j] - 2 products[i, j]``, with errors up to ``slacks[i]``.
    `smallest` (b, count) holds the smallest of these values. All values that were small enough when
    examined are stored in `values`, and their landmarks in `columns` (b, room). `counts` (b,)
    exceeds the room if it runs out.
    """
    k, last, room = products.shape[1], smallest.shape[1] - 1, values.shape[1]
    two = norms.dtype.type(2)
    for i in range(len(products)):
        limit = norms.dtype.type(smallest[i, last] + 2 * slacks[i])
        for start in range(0, k, _RUN):
            stop = min(start + _RUN, k)
            # Most runs hold no candidate, so test this first, without branches. Unsigned indices
            # need no check for negative values. After overflow, all landmarks are candidates.
            some = False
            for offset in range(stop - start):
                at = np.uint64(start + offset)
                some |= not (norms[at] - two * products[i, at] > limit)
            if not some:
                continue
            for j in range(start, stop):
                value = norms[j] - two * products[i, j]
                if value > limit or counts[i] > room:
                    continue
                if counts[i] == room:
                    counts[i] = _kept_below(limit, values[i], columns[i])
                    if counts[i] == room:
                        counts[i] += 1
                        continue
                values[i, counts[i]], columns[i, counts[i]] = value, first + j
                counts[i] += 1
                if value < smallest[i, last]:
                    place = last
                    while place > 0 and smallest[i, place - 1] > value:
                        smallest[i, place] = smallest[i, place - 1]
                        place -= 1
                    smallest[i, place] = value
                    limit = norms.dtype.type(smallest[i, last] + 2 * slacks[i])


@compiled_strictly
def _kept_below(limit: float, values: np.ndarray, columns: np.ndarray) -> int:
    """Move values up to a limit to the front, in order, and return their number."""
    count = 0
    for c in range(len(values)):
        if not (values[c] > limit):
            values[count], columns[count] = values[c], columns[c]
            count += 1
    return count


@compiled
def nearest_among(
    limits: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
    counts: np.ndarray,
    X: np.ndarray,
    points: np.ndarray,
    nearest: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Fill `nearest` and `squares` (b, count), using differences, nearest first and ties by row.

    Candidates are the entries of `columns` (b, room), in ascending order, with values up to the
    `limits` (b,). If `counts` (b,) exceeds the room, all points are candidates.
    """
    n, room, last = len(points), columns.shape[1], nearest.shape[1] - 1
    for i in range(len(X)):
        for place in range(last + 1):
            nearest[i, place], squares[i, place] = n, np.inf
        among_all = counts[i] > room
        for c in range(n if among_all else counts[i]):
            if not among_all and values[i, c] > limits[i]:
                continue
            j = c if among_all else columns[i, c]
            square = _square(X, np.uint64(i), points, np.uint64(j))
            if square < squares[i, last] or nearest[i, last] == n:
                place = last
                while place > 0 and (squares[i, place - 1] > square or nearest[i, place - 1] == n):
                    squares[i, place] = squares[i, place - 1]
                    nearest[i, place] = nearest[i, place - 1]
                    place -= 1
                squares[i, place] = square
                nearest[i, place] = j


@compiled
def _square(X: np.ndarray, i: Any, landmarks: np.ndarray, j: Any) -> float:
    """Return the squared distance from differences, in a simple loop that is vectorized."""
    square = 0.0
    for c in range(X.shape[1]):
        difference = np.float64(X[i, np.uint64(c)]) - np.float64(landmarks[j, np.uint64(c)])
        square += difference * difference
    return square
