"""Dask partitions as a source of points, for what is measured on the client's machine."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._files import PointSource
from trigpoint._numerics.blocks import row_blocks
from trigpoint._points.dask.collections import Partitions

# Partitions that may be computed before the one that is used.
_AHEAD = 8


class PartitionSource(PointSource):
    """Points in Dask partitions, fetched one partition after the other."""

    def __init__(self, partitions: Partitions, sizes: list[int]) -> None:
        shape = sum(sizes), partitions.n_features
        super().__init__("X", shape, partitions.dtype, partitions.feature_names)
        self._array = partitions.array
        self._ends = np.cumsum(sizes)

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        for block in computed_blocks(self._array):
            for part in row_blocks(len(block), rows):
                yield block[part]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by number, in this order; only they travel, from partitions that have any."""
        import dask

        parts = np.searchsorted(self._ends, rows, side="right")
        blocks = self._array.to_delayed().ravel()
        starts = np.concatenate([[0], self._ends])
        asked = {part: np.flatnonzero(parts == part) for part in np.unique(parts).tolist()}
        pick = dask.delayed(_picked)
        found = dask.compute(
            *(pick(blocks[part], rows[some] - starts[part]) for part, some in asked.items())
        )
        points = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for some, taken in zip(asked.values(), found, strict=True):
            points[some] = taken
        return points


def _picked(block: Any, rows: np.ndarray) -> np.ndarray:
    return np.asarray(block)[rows]


def computed_blocks(array: Any) -> Iterator[np.ndarray]:
    """Yield the blocks of rows of a Dask array in order, computing a few ahead."""
    import dask

    blocks = list(array.to_delayed().ravel())
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        for block in blocks:
            yield dask.compute(block)[0]
        return
    ahead = max(_AHEAD, 2 * sum(client.nthreads().values()))
    waiting: list[Any] = []
    while blocks or waiting:
        while blocks and len(waiting) < ahead:
            waiting.append(client.compute(blocks.pop(0)))
        yield waiting.pop(0).result()
