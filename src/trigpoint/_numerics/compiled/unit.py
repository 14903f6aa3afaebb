"""Rows scaled to unit length."""

import math

import numpy as np

from trigpoint._numerics.compiled.jit import compiled_strictly


@compiled_strictly
def scale_to_unit(values: np.ndarray, starts: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Fill `units` with rows of unit length; return the numbers of those that are all zero.

    Row i is the stretch of the 1-D `values` from ``starts[i]`` to ``starts[i + 1]``, with its zeros
    or without: squares are summed in order in float64, so these change no bit. Nor does a factor
    that is a power of two, because every row is brought to the same magnitude first.
    """
    zero = np.zeros(len(starts) - 1, dtype=np.bool_)
    for i in range(len(zero)):
        largest = 0.0
        for place in range(starts[i], starts[i + 1]):
            largest = max(largest, abs(np.float64(values[place])))
        if largest == 0:
            zero[i] = True
            continue
        # Squares of the largest value neither overflow nor vanish.
        scale = math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
        square = 0.0
        for place in range(starts[i], starts[i + 1]):
            value = np.float64(values[place]) * scale
            square += value * value
        norm = np.sqrt(square)
        for place in range(starts[i], starts[i + 1]):
            units[place] = np.float64(values[place]) * scale / norm
    return np.flatnonzero(zero)
