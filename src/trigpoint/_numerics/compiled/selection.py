"""The smallest few of many distances, with the points they belong to."""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled


@compiled
def select(values: np.ndarray, places: np.ndarray, rows: np.ndarray, count: int, m: int) -> None:
    """Move the `m` smallest of the first `count` values in front, and their `places` with them.

    Ties go to the lower ``rows[place]``. Hoare's quickselect.
    """
    low, high = 0, count - 1
    target = m - 1
    while low < high:
        middle = (low + high) // 2
        # The median of three keeps sorted input from being the worst case.
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
    """Largest of the first `m` values."""
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
