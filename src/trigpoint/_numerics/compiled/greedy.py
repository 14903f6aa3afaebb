"""What is left of a kernel when a landmark has been chosen."""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled


@compiled
def deflate(
    rows: np.ndarray, factors: np.ndarray, explained: np.ndarray, squares: np.ndarray
) -> None:
    """Take multiples of `explained` (p,) from `rows` (b, p), and fill `squares` (b,) with norms.

    In one pass: reading the rows takes longer than computing with them.
    """
    for i in range(len(rows)):
        square = 0.0
        for j in range(rows.shape[1]):
            value = rows[i, j] - factors[i] * explained[j]
            rows[i, j] = value
            square += value * value
        squares[i] = square
