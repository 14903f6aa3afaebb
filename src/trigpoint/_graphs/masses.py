"""How many points each landmark stands for."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import dense_blocks
from trigpoint._numerics.blocks import block_rows, row_blocks, sample_points, thread_map

# Points that are looked at for each landmark, and numbers that these may have in all; bytes to
# search at once.
COUNTED = 10
_MOST_NUMBERS = 2**23
_BYTES_AT_ONCE = 2**22


def masses_of(X: Any, landmarks: np.ndarray, n_threads: int) -> np.ndarray:
    """Points (k,) nearest to each landmark, among up to ten for each, relative to the mean."""
    most = max(min(COUNTED * len(landmarks), _MOST_NUMBERS // X.shape[1]), 1)
    points = sample_points(X, most, np.random.default_rng(0))

    def count(part: slice) -> np.ndarray:
        some = points[part]
        some = some.toarray() if isinstance(some, csr_array) else some
        return np.bincount(nearest(landmarks, some, 1, 1)[1].ravel(), minlength=len(landmarks))

    if isinstance(points, csr_array):
        blocks = dense_blocks(points)
    else:
        # Few at once, for memory.
        blocks = row_blocks(len(points), block_rows(8 * sum(landmarks.shape), _BYTES_AT_ONCE))
    counts = thread_map(count, blocks, n_threads)
    # A landmark is a point itself, even if the sample has none near it.
    masses = np.maximum(sum(counts), 1.0)
    return np.asarray(masses / masses.mean())
