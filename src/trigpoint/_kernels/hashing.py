"""Hashes of rows, to find equal ones."""

import numpy as np

from trigpoint._kernels.jit import compiled_strictly


@compiled_strictly
def hash_rows(bits: np.ndarray, keys: np.ndarray) -> None:
    """Fill `keys` with 64-bit hashes of the rows of floating-point numbers, given as bits."""
    # The sign bit alone represents -0.0, which equals 0.0.
    negative_zero = np.uint64(1) << np.uint64(8 * bits.itemsize - 1)
    for i in range(len(bits)):
        key = np.uint64(0xCBF29CE484222325)
        for c in range(bits.shape[1]):
            value = np.uint64(bits[i, c])
            if value == negative_zero:
                value = np.uint64(0)
            key = (key ^ value) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        keys[i] = key
