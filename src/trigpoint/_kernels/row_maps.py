"""Loops over the values of dense rows, each of which is computed independently of the others."""

import numpy as np

from trigpoint._kernels.jit import compiled_strictly


@compiled_strictly
def center_rows(X: np.ndarray, centered: np.ndarray) -> None:
    """Fill `centered` with the differences of the values of each dense row from their mean.

    Rows whose differences are as small as rounding errors become rows of zeros.
    """
    n, d = X.shape
    for i in range(n):
        total = largest = farthest = 0.0
        for j in range(d):
            total += np.float64(X[i, j]) / d
            largest = max(largest, abs(np.float64(X[i, j])))
        for j in range(d):
            centered[i, j] = np.float64(X[i, j]) - total
            farthest = max(farthest, abs(centered[i, j]))
        if farthest <= 4 * d * np.finfo(np.float64).eps * largest:
            for j in range(d):
                centered[i, j] = 0.0
