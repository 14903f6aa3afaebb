"""Walking through many rows in blocks of bounded size."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

# Large enough that NumPy's per-call cost vanishes, small enough to stay near the caches.
BLOCK_BYTES = 16 * 2**20


def block_rows(bytes_per_row: int, limit: int = BLOCK_BYTES) -> int:
    """Return how many rows of `bytes_per_row` bytes fit in a block of `limit` bytes."""
    return max(1, limit // max(1, bytes_per_row))


def row_blocks(n_rows: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most `rows` rows that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))


def sample_points(X: Any, size: int, rng: np.random.Generator) -> Any:
    """Draw `size` points without replacement, in their order; all of them if there are no more.

    Those of a store are fetched.
    """
    return points_in(X, sample_rows(X.shape[0], size, rng))


def points_in(X: Any, rows: np.ndarray) -> Any:
    """The points in some rows, each given once; `X` itself if these are all in its memory."""
    if not isinstance(X, (np.ndarray, csr_array)):
        return X.take(rows)
    return X if len(rows) == X.shape[0] else X[rows]


def sample_rows(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `size` of `n` rows without replacement, in their order; all if there are no more."""
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))


def distinct_rows(X: Any, most: int) -> np.ndarray | None:
    """First rows of all distinct points, in order; ``None`` if there are more than `most`."""
    if isinstance(X, csr_array):
        return _distinct_sparse_rows(X, most)
    if not isinstance(X, np.ndarray):
        distinct: np.ndarray | None = X.distinct(most)
        return distinct
    # A few rows settle it for nearly all data; only for the rest is everything sorted.
    some = X[:: max(1, len(X) // (4 * most))]
    if len(np.unique(some, axis=0)) > most:
        return None
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return rows if len(rows) <= most else None


def _distinct_sparse_rows(X: csr_array, most: int) -> np.ndarray | None:
    found: dict[bytes, int] = {}
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        found.setdefault(X.indices[part].tobytes() + X.data[part].tobytes(), row)
        if len(found) > most:
            return None
    return np.array(list(found.values()), dtype=np.int64)
