"""Loops over the values of dense rows, which are processed independently of each other."""

from typing import Any

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly


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


@compiled
def jaccard_distances(
    bits: np.ndarray,
    sizes: np.ndarray,
    others: np.ndarray,
    other_sizes: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill `out` (b, m) with Jaccard distances between packed rows (b, w) and (m, w), uint64.

    `sizes` and `other_sizes` are the numbers of ones of each row. Empty rows are equal.
    """
    for i in range(len(bits)):
        for j in range(len(others)):
            out[i, j] = _jaccard(bits[i], sizes[i], others[j], other_sizes[j])


@compiled
def jaccard_of_pairs(
    bits: np.ndarray, sizes: np.ndarray, first: int, others: np.ndarray, out: np.ndarray
) -> None:
    """Fill `out` (b, m) with distances from b rows, beginning with `first`, to rows `others`."""
    for i in range(len(others)):
        for j in range(others.shape[1]):
            a, b = first + i, others[i, j]
            if j > 0 and b == others[i, j - 1]:
                out[i, j] = out[i, j - 1]
                continue
            out[i, j] = _jaccard(bits[a], sizes[a], bits[b], sizes[b])


@compiled
def manhattan_of_pairs(X: np.ndarray, first: int, others: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` (b, m) with distances from b rows, beginning with `first`, to rows `others`."""
    for i in range(len(others)):
        for j in range(others.shape[1]):
            total = 0.0
            for c in range(X.shape[1]):
                total += abs(np.float64(X[first + i, c]) - np.float64(X[others[i, j], c]))
            out[i, j] = total


@compiled
def count_ones(bits: np.ndarray) -> np.ndarray:
    """Return the number of ones in each packed row (b, w) of uint64."""
    sizes = np.zeros(len(bits), dtype=np.int64)
    for i in range(len(bits)):
        for w in range(bits.shape[1]):
            sizes[i] += _ones(bits[i, w])
    return sizes


@compiled
def _jaccard(a: np.ndarray, size_a: int, b: np.ndarray, size_b: int) -> float:
    shared = np.int64(0)
    for w in range(len(a)):
        shared += _ones(a[w] & b[w])
    union = size_a + size_b - shared
    return 1.0 - shared / union if union > 0 else 0.0


@compiled
def _ones(word: Any) -> Any:
    """Return the number of ones of a uint64, by adding neighboring groups of bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
