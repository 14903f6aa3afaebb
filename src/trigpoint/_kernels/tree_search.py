"""Searches of a k-d tree with buckets, nearest box first.

SciPy's tree is slow for the thousands of neighbors that Algorithm 2 needs: it keeps them in a heap
and sorts them. Here, whole buckets are read from contiguous memory, and the smallest distances are
selected at the end, which is about ten times faster for 8,000 neighbors of 10 million points.

numba's cache looks at one file at a time, so a loop and all compiled functions that it calls are in
one file. `_squared_distance` and `_box_square` are therefore duplicated in `distances`; a test
compares them.
"""

from typing import NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly

# Number of coincident points above which a search reads only as many as it needs.
MANY_COPIES = 512


class Tree(NamedTuple):
    """Points in the order of their buckets, and the boxes around them."""

    points: np.ndarray  # The points (n, d); points of a bucket are contiguous.
    # Original row numbers (n,) of the points, ascending where over `MANY_COPIES` points coincide.
    rows: np.ndarray
    starts: np.ndarray  # Range of the points of each node (nodes,).
    stops: np.ndarray
    children: np.ndarray  # The first (nodes,) of a node's two adjacent children; 0 for a bucket.
    lower: np.ndarray  # Smallest box around a node's points (nodes, d).
    upper: np.ndarray


@compiled_strictly
def _squared_distance(points: np.ndarray, i: int, query: np.ndarray) -> float:
    """Return the squared distance from point `i` to a query."""
    square = 0.0
    for c in range(points.shape[1]):
        difference = np.float64(points[i, c]) - np.float64(query[c])
        square += difference * difference
    return square


@compiled
def neighborhoods(tree: Tree, queries: np.ndarray, squares: np.ndarray, places: np.ndarray) -> None:
    """Fill the (q, m) `squares` and `places` with the `m` nearest points of each query.

    Neighbors are in no particular order, and places are positions in ``tree.points``. Among equally
    distant points, lower rows are taken.
    """
    m = places.shape[1]
    found_squares, found, heap_squares, heap_nodes = scratch(tree, m)
    for q in range(len(queries)):
        nearest(tree, queries[q], m, found_squares, found, heap_squares, heap_nodes)
        for i in range(m):
            squares[q, i], places[q, i] = found_squares[i], found[i]


@compiled
def reaches(
    tree: Tree, queries: np.ndarray, m: int, squared_radii: np.ndarray, last_rows: np.ndarray
) -> None:
    """Fill (q,) arrays with the extents of the `m` nearest points of each query; see `reach`."""
    squares, found, heap_squares, heap_nodes = scratch(tree, m)
    for q in range(len(queries)):
        nearest(tree, queries[q], m, squares, found, heap_squares, heap_nodes)
        squared_radii[q], last_rows[q] = reach(tree, squares, found, m)


@compiled
def reach(tree: Tree, squares: np.ndarray, places: np.ndarray, m: int) -> tuple[float, int]:
    """Return the largest of the first `m` squared distances, and the last row at that distance."""
    farthest = largest(squares, m)
    last = -1
    for i in range(m):
        if squares[i] == farthest:
            last = max(last, tree.rows[places[i]])
    return farthest, last


@compiled
def scratch(tree: Tree, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Allocate workspace for `nearest`."""
    n_nodes = len(tree.starts)
    # The room is large enough that intermediate selections of candidates are rare.
    room = min(4 * m + 64, len(tree.points))
    return (
        np.empty(room),
        np.empty(room, dtype=np.int64),
        np.empty(n_nodes),
        np.empty(n_nodes, dtype=np.int64),
    )


@compiled
def nearest(
    tree: Tree,
    query: np.ndarray,
    m: int,
    squares: np.ndarray,
    found: np.ndarray,
    heap_squares: np.ndarray,
    heap_nodes: np.ndarray,
) -> None:
    """Put the `m` nearest points first in `squares` and `found`, which have extra room."""
    points, rows = tree.points, tree.rows
    heap_nodes[0] = 0
    heap_squares[0] = _box_square(tree, heap_nodes[0], query)
    waiting, count = int(np.int64(1)), int(np.int64(0))
    bound = np.inf
    while waiting and heap_squares[0] <= bound:
        node = heap_nodes[0]
        waiting = _pop(heap_squares, heap_nodes, waiting)
        child = tree.children[node]
        if child:
            for side in range(child, child + 2):
                square = _box_square(tree, side, query)
                if square <= bound:
                    waiting = _push(heap_squares, heap_nodes, waiting, square, side)
            continue
        for i in range(tree.starts[node], _end(tree, node, m)):
            square = _squared_distance(points, i, query)
            if square <= bound:
                if count == len(squares):
                    select(squares, found, rows, count, m)
                    count = m
                    bound = largest(squares, m)
                squares[count] = square
                found[count] = i
                count += 1
        if bound == np.inf and count >= m:
            select(squares, found, rows, count, m)
            bound = largest(squares, m)
    select(squares, found, rows, count, m)


@compiled
def ball(
    tree: Tree,
    query: np.ndarray,
    squared_radius: float,
    last_row: int,
    m: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and squared distances of the `m` points within a radius.

    Points at exactly this distance are included up to `last_row`.
    """
    squares, places = np.empty(m), np.empty(m, dtype=np.int64)
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    stack[0] = 0
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        if _box_square(tree, node, query) > squared_radius:
            continue
        child = tree.children[node]
        if child:
            stack[waiting], stack[waiting + 1] = child, child + 1
            waiting += 2
            continue
        for i in range(tree.starts[node], _end(tree, node, m + 1)):
            square = _squared_distance(tree.points, i, query)
            if square > squared_radius or (square == squared_radius and tree.rows[i] > last_row):
                continue
            assert count < m, "the radius of other points"
            squares[count], places[count] = square, i
            count += 1
    assert count == m, "the radius of other points"
    return places, squares


@compiled
def _end(tree: Tree, node: int, m: int) -> int:
    """Return the end of a bucket's points, or of the first `m` if many points coincide.

    The remaining points have higher rows, so they are not among the `m` nearest of any query.
    """
    start, stop = tree.starts[node], tree.stops[node]
    few = max(m, MANY_COPIES)
    if stop - start <= few:
        return int(stop)
    for c in range(tree.lower.shape[1]):
        if tree.lower[node, c] < tree.upper[node, c]:
            return int(stop)
    return int(start + few)


@compiled
def _box_square(tree: Tree, node: int, query: np.ndarray) -> float:
    """Return the squared distance from a query to a node's box, not overestimated by rounding."""
    square = 0.0
    for c in range(len(query)):
        beyond = max(max(tree.lower[node, c] - query[c], query[c] - tree.upper[node, c]), 0.0)
        square += beyond * beyond
    return square * (1 - 1e-12)


@compiled
def _push(keys: np.ndarray, nodes: np.ndarray, count: int, key: float, node: int) -> int:
    """Add a node to a binary heap; return the heap's new size."""
    i = count
    while i > 0 and keys[(i - 1) // 2] > key:
        keys[i], nodes[i] = keys[(i - 1) // 2], nodes[(i - 1) // 2]
        i = (i - 1) // 2
    keys[i], nodes[i] = key, node
    return count + 1


@compiled
def _pop(keys: np.ndarray, nodes: np.ndarray, count: int) -> int:
    """Remove the nearest node from a binary heap; return the heap's new size."""
    count -= 1
    key, node = keys[count], nodes[count]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i], nodes[i] = keys[child], nodes[child]
        i = child
    keys[i], nodes[i] = key, node
    return count


@compiled
def select(values: np.ndarray, places: np.ndarray, rows: np.ndarray, count: int, m: int) -> None:
    """Move the `m` smallest of the first `count` values to the front, with their `places`.

    Ties go to the lower ``rows[place]``. This is Hoare's quickselect.
    """
    low, high = int(np.int64(0)), count - 1
    target = m - 1
    while low < high:
        middle = (low + high) // 2
        # Use the median of three, so that sorted input is not the worst case.
        if _before(values, places, rows, middle, low):
            _swap(values, places, middle, low)
        if _before(values, places, rows, high, low):
            _swap(values, places, high, low)
        if _before(values, places, rows, high, middle):
            _swap(values, places, high, middle)
        pivot, pivot_row = values[middle], rows[places[middle]]
        i, j = low, high
        while i <= j:
            while values[i] < pivot or (values[i] == pivot and rows[places[i]] < pivot_row):
                i += 1
            while values[j] > pivot or (values[j] == pivot and rows[places[j]] > pivot_row):
                j -= 1
            if i <= j:
                _swap(values, places, i, j)
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@compiled
def largest(values: np.ndarray, m: int) -> float:
    """Return the largest of the first `m` values."""
    result = values[0]
    for i in range(1, m):
        result = max(result, values[i])
    return result


@compiled
def _before(values: np.ndarray, places: np.ndarray, rows: np.ndarray, i: int, j: int) -> bool:
    if values[i] == values[j]:
        return bool(rows[places[i]] < rows[places[j]])
    return bool(values[i] < values[j])


@compiled
def _swap(values: np.ndarray, places: np.ndarray, i: int, j: int) -> None:
    values[i], values[j] = values[j], values[i]
    places[i], places[j] = places[j], places[i]


@compiled_strictly
def log_factor(square: float, precision: float, is_sine: bool) -> float:
    """Return the logarithm of `gaussian.sin2` or `gaussian.welsch` at a squared distance.

    `precision` is ``1 / bandwidth^2``.
    """
    half = square * precision / 2
    if is_sine:
        return 2 * np.log(np.sin(min(np.sqrt(half), np.pi / 2)))
    return np.log(-np.expm1(-half))


@compiled_strictly
def log_factors(squares: np.ndarray, precision: float, is_sine: bool) -> np.ndarray:
    """Return the log factors at squared distances."""
    factors = np.empty(len(squares))
    for i in range(len(squares)):
        factors[i] = log_factor(squares[i], precision, is_sine)
    return factors


@compiled
def race(
    tree: Tree,
    proposed: np.ndarray,
    thresholds: np.ndarray,
    points: np.ndarray,
    m: int,
    log_weights: np.ndarray,
    precision: float,
    is_sine: bool,
    rejections: int,
    accepted: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
) -> tuple[int, int, int]:
    """Accept proposals whose log weight reaches their threshold, and lower weights around them.

    Proposals (p,) are rows of `points` (n, d). Each accepted one repels its `m` nearest neighbors,
    whose `log_weights` (n,) are updated in place. The race stops after a number of `rejections`,
    when `accepted` (a,) is full, or at a landmark whose neighbors all coincide with it, since still
    more points may coincide. `squared_radii` and `last_rows` (a,) are filled with the extents of
    the neighborhoods. The repulsion is the sine or the Welsch function, and `precision` is
    ``1 / bandwidth^2``.

    Returns the numbers of proposals decided, of proposals accepted, and of neighbor searches.
    """
    squares, places, heap_squares, heap_nodes = scratch(tree, m)
    count = searches = 0
    for i in range(len(proposed)):
        if i - count == rejections:
            return i, count, searches
        if thresholds[i] > log_weights[proposed[i]]:
            continue
        query = points[proposed[i]].astype(np.float64)
        searches += 1
        nearest(tree, query, m, squares, places, heap_squares, heap_nodes)
        for t in range(m):
            log_weights[tree.rows[places[t]]] += log_factor(squares[t], precision, is_sine)
        accepted[count] = i
        squared_radii[count], last_rows[count] = reach(tree, squares, places, m)
        count += 1
        if count == len(accepted) or squared_radii[count - 1] == 0:
            return i + 1, count, searches
    return len(proposed), count, searches


@compiled
def spreads(
    tree: Tree,
    queries: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    m: int,
    result: np.ndarray,
) -> None:
    """Fill `result` with covariances (q, d, d) or variances (q, d) of the points in each `ball`."""
    for q in range(len(queries)):
        places, _ = ball(tree, queries[q], squared_radii[q], last_rows[q], m)
        if result.ndim == 3:
            covariances = covariance(tree.points, places, queries[q])
            for c in range(len(covariances)):
                for b in range(len(covariances)):
                    result[q, c, b] = covariances[c, b]
        else:
            spread = variances(tree.points, places, queries[q])
            for c in range(len(spread)):
                result[q, c] = spread[c]


@compiled
def variances(points: np.ndarray, places: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return the variance (d,) of each coordinate of some points, which are near `query`."""
    d, m = points.shape[1], len(places)
    sums, sums_of_squares = np.zeros(d), np.zeros(d)
    for i in range(m):
        for c in range(d):
            # Differences from the query avoid cancellation, so one pass is enough.
            difference = np.float64(points[places[i], c]) - np.float64(query[c])
            sums[c] += difference
            sums_of_squares[c] += difference * difference
    for c in range(d):
        mean = sums[c] / m
        sums_of_squares[c] = max(sums_of_squares[c] / m - mean * mean, 0.0)
    return sums_of_squares


@compiled
def covariance(points: np.ndarray, places: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return the covariance (d, d) of some points, centered at `query` and then at their mean."""
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
