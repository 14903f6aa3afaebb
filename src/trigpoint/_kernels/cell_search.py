"""Selection of the nearest points among those in some cells."""

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly


@compiled_strictly
def nearest_of_products(
    products: np.ndarray, norms: np.ndarray, rows: np.ndarray, first: int, found: np.ndarray
) -> None:
    """Fill each row of `found` (q, m) with the nearest candidates.

    `products` (q, c) are the inner products of queries and candidates, `norms` (c,) the squared
    norms of candidates, and `rows` (c,) their row numbers. Query q is itself candidate
    ``first + q``, which is left out.
    """
    m = found.shape[1]
    heap, places = np.empty(m + 1, dtype=products.dtype), np.empty(m + 1, dtype=np.int64)
    for q in range(len(products)):
        count = int(np.int64(0))
        for j in range(products.shape[1]):
            value = norms[j] - 2 * products[q, j]
            if j != first + q and (count < m or value < heap[1]):
                count = _push(heap, places, count, value, j)
        for place in range(m):
            found[q, place] = rows[places[place + 1]]


@compiled_strictly
def nearest_columns(points: np.ndarray, centers: np.ndarray, found: np.ndarray) -> None:
    """Fill `found` (b,) with the nearest of the centers (d, m), using differences."""
    squares = np.empty(centers.shape[1], dtype=np.float32)
    for q in range(len(points)):
        _squares_to(points[q], centers, 0, len(squares), squares)
        found[q] = np.argmin(squares)


@compiled_strictly
def search_cells(
    X: np.ndarray,
    scaled: np.ndarray,
    landmarks: np.ndarray,
    centers: np.ndarray,
    starts: np.ndarray,
    order: np.ndarray,
    grouped: np.ndarray,
    probed: int,
    found: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Fill `found` (b, m) and `squares` from the cells nearest to each query, nearest first.

    The search uses `scaled` queries, the scaled `centers` (d, cells), and `grouped` (d, k), the
    scaled landmarks relative to the centers of their cells. It covers the nearest `probed` cells,
    or more if they hold fewer than m landmarks.
    """
    m, n_cells = found.shape[1], centers.shape[1]
    gaps, largest = np.empty(n_cells, dtype=np.float32), 0
    for cell in range(n_cells):
        largest = max(largest, starts[cell + 1] - starts[cell])
    sums = np.empty(largest, dtype=np.float32)
    heap, places = np.empty(m + 1), np.empty(m + 1, dtype=np.int64)
    single = np.empty(X.shape[1], dtype=np.float32)
    for q in range(len(X)):
        for c in range(len(single)):
            single[c] = scaled[q, c]
        _squares_to(single, centers, 0, n_cells, gaps)
        count = read = 0
        while count < m or read < probed:
            cell = 0
            for other in range(n_cells):
                if gaps[other] < gaps[cell]:
                    cell = other
            gaps[cell] = np.inf
            read += 1
            start, stop = starts[cell], starts[cell + 1]
            for c in range(len(single)):
                single[c] = scaled[q, c] - centers[c, cell]
            _squares_to(single, grouped, start, stop, sums)
            for j in range(stop - start):
                # Among equally distant landmarks, lower rows come first.
                before = count == m and order[start + j] < places[1]
                if count < m or sums[j] < heap[1] or (before and sums[j] == heap[1]):
                    count = _push(heap, places, count, sums[j], order[start + j])
        for place in range(1, m + 1):
            total = 0.0
            for c in range(X.shape[1]):
                step = X[q, c] - landmarks[places[place], c]
                total += step * step
            heap[place] = total
        _sort(heap, places, m)
        for place in range(m):
            found[q, place], squares[q, place] = places[place + 1], heap[place + 1]


@compiled_strictly
def _squares_to(
    query: np.ndarray, columns: np.ndarray, start: int, stop: int, sums: np.ndarray
) -> None:
    """Fill `sums` with squared distances from a query to the points from `start` to `stop`."""
    for j in range(stop - start):
        sums[j] = 0
    for c in range(len(query)):
        # A slice, whose indices need no check for negative values, which would prevent vector code.
        coordinate, column = query[c], columns[c, start:stop]
        for j in range(len(column)):
            step = coordinate - column[j]
            sums[j] += step * step


@compiled_strictly
def _push(heap: np.ndarray, places: np.ndarray, count: int, value: float, place: int) -> int:
    """Add a value to a max-heap that starts at position 1, or replace the top if it is full."""
    m = len(heap) - 1
    if count < m:
        count += 1
        at = count
        while at > 1 and _after(value, place, heap[at // 2], places[at // 2]):
            heap[at], places[at] = heap[at // 2], places[at // 2]
            at //= 2
    else:
        at = _hole(heap, places, m, value, place)
    heap[at], places[at] = value, place
    return count


@compiled_strictly
def _hole(heap: np.ndarray, places: np.ndarray, m: int, value: float, place: int) -> int:
    """Remove the top of a heap of m values, and return the position for a new value."""
    at = 1
    while 2 * at <= m:
        child = 2 * at
        if child < m and _after(heap[child + 1], places[child + 1], heap[child], places[child]):
            child += 1
        if not _after(heap[child], places[child], value, place):
            break
        heap[at], places[at] = heap[child], places[child]
        at = child
    return at


@compiled_strictly
def _sort(heap: np.ndarray, places: np.ndarray, m: int) -> None:
    """Sort the m values from position 1 on in ascending order."""
    for last in range(2, m + 1):
        value, place, at = heap[last], places[last], last
        while at > 1 and _after(heap[at - 1], places[at - 1], value, place):
            heap[at], places[at] = heap[at - 1], places[at - 1]
            at -= 1
        heap[at], places[at] = value, place


@compiled_strictly
def _after(value: float, place: int, other: float, other_place: int) -> bool:
    """Return whether a value comes after another; ties are in the order of their places."""
    return value > other or (value == other and place > other_place)


@compiled
def squares_of_pairs(
    points: np.ndarray, others: np.ndarray, start: int, stop: int, squares: np.ndarray
) -> None:
    """Fill `squares` (stop - start, m) with squared distances to the rows in `others` (n, m)."""
    for i in range(start, stop):
        for j in range(others.shape[1]):
            other, total = others[i, j], points[0, 0] * 0
            for c in range(points.shape[1]):
                step = points[i, c] - points[other, c]
                total += step * step
            squares[i - start, j] = total
