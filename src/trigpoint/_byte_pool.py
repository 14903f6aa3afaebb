"""Pool of all rows of 8-bit integers, for maps."""

from typing import Any, Self

import numpy as np

from trigpoint._numerics.blocks import block_rows, row_blocks, sample_points, thread_map
from trigpoint._numerics.projection import (
    PROJECTION_SAMPLE,
    SEARCHED,
    principal_projection,
    projected,
)
from trigpoint._pool import Pool
from trigpoint._spaces import Space


class BytePool(Pool):
    """All rows of an array of 8-bit integers, whose Euclidean rows are computed in blocks.

    All columns in float64 would take eight times the memory of the array. The results are bitwise
    the same as those of an ordinary pool.
    """

    dtype: np.dtype  # Type to which blocks are converted.

    @classmethod
    def read(cls, source: Any, space: Space) -> "BytePool | None":
        """Return the pool, or ``None`` if the source is of another type or has few columns."""
        rows, count = source.octets(), source.columns.count
        is_plain = not space.learns and source.weights is None
        if rows is None or not is_plain or count <= SEARCHED or space.width(count) != count:
            return None
        pool = cls(rows, source.n, None, space, count)
        pool.dtype = source.dtype
        return pool

    def reduced(self, n_components: int, rng: np.random.Generator, n_threads: int) -> Self:
        """Return the pool in its leading principal components."""
        raw = self.points
        sample = self._mapped(sample_points(np.arange(len(raw)), PROJECTION_SAMPLE, rng))
        projection = principal_projection(sample, n_components, rng)
        points: np.ndarray = np.empty((len(raw), n_components), dtype=np.float32)

        def fill(part: slice) -> float:
            points[part], residuals = projected(
                projection, self._mapped(np.arange(part.start, part.stop))
            )
            return float(residuals.max())

        parts = row_blocks(len(raw), block_rows(8 * raw.shape[1]))
        residual = max(thread_map(fill, parts, n_threads))
        pool = self.moved(points)
        pool.projection, pool.residual, pool.full = projection, residual, raw
        return pool

    def squares(self, rows: np.ndarray, neighbors: np.ndarray, n_threads: int) -> np.ndarray:
        """Return squared distances (k, m) in all columns from rows to others, `rows[neighbors]`."""
        from trigpoint._kernels.cell_search import squares_of_pairs

        found = np.empty(neighbors.shape)

        def fill(part: slice) -> None:
            own = rows[part]
            others, places = np.unique(rows[neighbors[part]], return_inverse=True)
            near = self._mapped(np.concatenate([own, others]))
            pairs = len(own) + places.reshape(len(own), -1)
            squares_of_pairs(near, pairs, 0, len(own), found[part])

        row_bytes = 8 * self.full.shape[1] * (neighbors.shape[1] + 1)
        for _ in thread_map(fill, row_blocks(len(rows), block_rows(row_bytes)), n_threads):
            pass
        return found

    def _mapped(self, rows: np.ndarray) -> np.ndarray:
        """Return the Euclidean rows with the given numbers."""
        return np.asarray(self.space(np.asarray(self.full)[rows].astype(self.dtype), rows))
