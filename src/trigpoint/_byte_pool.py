"""Pool of all rows of 8-bit integers, for maps."""

from typing import Any, Self

import numpy as np

from trigpoint._common.records import Projection
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

    def reduced(
        self, n_components: int, rng: np.random.Generator, n_threads: int, *, searched: int = 0
    ) -> Self:
        """Return the pool in its leading principal components."""
        rows = MappedRows(np.asarray(self.points), self.space, self.dtype)
        sample = rows[sample_points(np.arange(len(rows)), PROJECTION_SAMPLE, rng)]
        center, components = principal_projection(sample, max(n_components, searched), rng)
        projection = Projection(center, np.ascontiguousarray(components[:, :n_components]))
        points: np.ndarray = np.empty((len(rows), n_components), dtype=np.float32)

        def fill(part: slice) -> float:
            points[part], residuals = projected(projection, rows[part])
            return float(residuals.max())

        parts = row_blocks(len(rows), block_rows(8 * rows.shape[1]))
        residual = max(thread_map(fill, parts, n_threads))
        pool = self.moved(points)
        pool.projection, pool.residual, pool.full = projection, residual, rows
        pool._components = Projection(center, components)
        return pool

    def some_in_full(self, places: np.ndarray) -> "MappedRows":
        """Return some rows in all columns."""
        full: Any = self.full
        return MappedRows(full.raw, full.space, full.dtype, full.numbers[places])


class MappedRows:
    """Euclidean rows (k, d) of some rows of an array, computed when they are read."""

    def __init__(
        self, raw: np.ndarray, space: Space, dtype: np.dtype, numbers: np.ndarray | None = None
    ) -> None:
        self.raw, self.space, self.dtype = raw, space, dtype
        self.numbers = np.arange(len(raw)) if numbers is None else numbers
        self.shape = len(self.numbers), raw.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        numbers = self.numbers[rows]
        return np.asarray(self.space(self.raw[numbers].astype(self.dtype), numbers))
