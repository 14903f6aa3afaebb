"""Squared distances that decide: differences in float64, summed in the order of the coordinates.

Every decision that depends on a distance uses these: which points are neighbors, and how much a
landmark repels. Strictly compiled, so that all callers get the same bits.
"""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled_strictly


@compiled_strictly
def squared_distance(points: np.ndarray, i: int, query: np.ndarray) -> float:
    """Squared distance from point `i` to a query."""
    square = 0.0
    for c in range(points.shape[1]):
        difference = np.float64(points[i, c]) - np.float64(query[c])
        square += difference * difference
    return square


@compiled_strictly
def squares_to(points: np.ndarray, places: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Squared distances from the points in some places to a query.

    Four at a time: each sum keeps its order, and no addition waits for the one before it.
    """
    squares = np.empty(len(places))
    whole = len(places) - len(places) % 4
    for i in range(0, whole, 4):
        a, b, c, d = places[i], places[i + 1], places[i + 2], places[i + 3]
        sum_a = sum_b = sum_c = sum_d = 0.0
        for column in range(points.shape[1]):
            value = np.float64(query[column])
            to_a = np.float64(points[a, column]) - value
            to_b = np.float64(points[b, column]) - value
            to_c = np.float64(points[c, column]) - value
            to_d = np.float64(points[d, column]) - value
            sum_a += to_a * to_a
            sum_b += to_b * to_b
            sum_c += to_c * to_c
            sum_d += to_d * to_d
        squares[i], squares[i + 1], squares[i + 2], squares[i + 3] = sum_a, sum_b, sum_c, sum_d
    for i in range(whole, len(places)):
        squares[i] = squared_distance(points, places[i], query)
    return squares
