"""Walking through many rows in blocks of bounded size."""

from collections.abc import Iterator

import numpy as np

# Large enough that NumPy's per-call cost vanishes, small enough to stay near the caches.
BLOCK_BYTES = 16 * 2**20


def block_rows(bytes_per_row: int, limit: int = BLOCK_BYTES) -> int:
    """Return how many rows of `bytes_per_row` bytes fit in a block of `limit` bytes."""
    return max(1, limit // max(1, bytes_per_row))


def row_blocks(n_rows: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most `rows` rows that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))


def sample_points(X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `size` points without replacement, in their order; all of them if there are no more."""
    if len(X) <= size:
        return X
    return X[np.sort(rng.choice(len(X), size, replace=False))]


def distinct_rows(X: np.ndarray, most: int) -> np.ndarray | None:
    """First rows of all distinct points, in order; ``None`` if there are more than `most`."""
    # A few rows settle it for nearly all data; only for the rest is everything sorted.
    some = X[:: max(1, len(X) // (4 * most))]
    if len(np.unique(some, axis=0)) > most:
        return None
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return rows if len(rows) <= most else None
