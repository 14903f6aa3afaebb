"""What a source of rows is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from trigpoint._numerics.sparse import Points


@dataclass(frozen=True)
class Columns:
    """The columns of a source."""

    names: tuple[str, ...] | None
    count: int
    dtype: np.dtype
    sparse: bool


class Source(ABC):
    """Rows that are stored somewhere. A minimal base class, until the other sources have one."""

    name: str
    path: Path | None = None
    columns: Columns

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.columns.count

    @property
    def dtype(self) -> np.dtype:
        return self.columns.dtype

    @abstractmethod
    def take(self, rows: np.ndarray | None) -> Points:
        """Return rows by ascending number, or all of them."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[int, Points]]:
        """Yield the number of the first row, and a checked block."""

    @abstractmethod
    def matching(self, columns: Columns) -> Self:
        """Return this source with the columns that were fitted."""

    def map(
        self,
        model: Any,
        *,
        out: Any = None,
        n_threads: int = 1,
        report: Any = None,
        device: Any = None,
    ) -> tuple[Any, int]:
        """Return the coordinates of all rows, and how many rows are far."""
        from trigpoint._sources.torch import map_blocks_on_device

        result = np.empty((self.n, model.extension.n_components), dtype=model.columns.dtype)
        n_far = 0
        if device is not None:
            for first, coordinates, count in map_blocks_on_device(self.blocks(), model, device):
                result[first : first + len(coordinates)] = coordinates
                n_far += count
            return result, n_far
        for first, block in self.blocks():
            coordinates, far = model(block, first)
            result[first : first + len(coordinates)] = coordinates
            n_far += int(np.count_nonzero(far))
        return result, n_far
