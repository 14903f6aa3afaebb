"""Squared distances that decide: differences in float64, summed in the order of the coordinates.

Whatever is decided by a distance is decided by these, whoever computes it: who is a neighbor, and
how much a landmark repels. Strictly compiled, so that all callers get the same bits.
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
    """Squared distances from the points in some places to a query."""
    squares = np.empty(len(places))
    for i in range(len(places)):
        squares[i] = squared_distance(points, places[i], query)
    return squares
