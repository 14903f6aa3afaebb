"""Running search in low dimension for the rows nearest to queries that are sorted into a grid."""

import numpy as np

from trigpoint._kernels.jit import compiled_strictly


@compiled_strictly
def list_queries(
    low: np.ndarray, high: np.ndarray, size: int, starts: np.ndarray, listed: np.ndarray
) -> None:
    """List the queries of each cell, where query q is in the cells from `low` to `high` (q, 2).

    Those of cell ``(a, b)`` are in `listed`, from ``starts[size * a + b]``. If `listed` is empty,
    only the starts are set.
    """
    counts = np.zeros(size * size, dtype=np.int64)
    for q in range(len(low)):
        for a in range(low[q, 0], high[q, 0] + 1):
            for b in range(low[q, 1], high[q, 1] + 1):
                cell = size * a + b
                if len(listed):
                    listed[starts[cell] + counts[cell]] = q
                counts[cell] += 1
    if len(listed) == 0:
        starts[0] = 0
        for cell in range(len(counts)):
            starts[cell + 1] = starts[cell] + counts[cell]


@compiled_strictly
def add_rows(
    points: np.ndarray,
    keys: np.ndarray,
    cells: np.ndarray,
    queries: np.ndarray,
    query_keys: np.ndarray,
    starts: np.ndarray,
    listed: np.ndarray,
    squares: np.ndarray,
    found_keys: np.ndarray,
    others: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Add points (n, d), in some `cells` (n,), to the nearest distinct ones of the queries.

    `squares` (q, m) are their squared distances, `found_keys` their keys, and `others` a value of
    each, which moves with it. `rows` gets the numbers of points that were added. Points with equal
    keys count as one, and as none if they equal the query. Ties are in the order of the keys.
    """
    m = squares.shape[1]
    for i in range(len(points)):
        for j in listed[starts[cells[i]] : starts[cells[i] + 1]]:
            square = 0.0
            for c in range(points.shape[1]):
                step = points[i, c] - queries[j, c]
                square += step * step
            last = squares[j, m - 1]
            if square > last or (square == last and keys[i] >= found_keys[j, m - 1]):
                continue
            known = keys[i] == query_keys[j]
            for place in range(m):
                known |= found_keys[j, place] == keys[i] and squares[j, place] == square
            if known:
                continue
            place = m - 1
            while place > 0 and (
                squares[j, place - 1] > square
                or (squares[j, place - 1] == square and found_keys[j, place - 1] > keys[i])
            ):
                squares[j, place] = squares[j, place - 1]
                found_keys[j, place] = found_keys[j, place - 1]
                others[j, place] = others[j, place - 1]
                rows[j, place] = rows[j, place - 1]
                place -= 1
            squares[j, place], found_keys[j, place], rows[j, place] = square, keys[i], i
