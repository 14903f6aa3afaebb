"""Where points live: walking through many rows in blocks of bounded size."""

from collections.abc import Iterator

# Large enough that NumPy's per-call cost vanishes, small enough to stay near the caches.
BLOCK_BYTES = 16 * 2**20


def block_rows(bytes_per_row: int, limit: int = BLOCK_BYTES) -> int:
    """Return how many rows of `bytes_per_row` bytes fit in a block of `limit` bytes."""
    return max(1, limit // max(1, bytes_per_row))


def row_blocks(n_rows: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most `rows` rows that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))
