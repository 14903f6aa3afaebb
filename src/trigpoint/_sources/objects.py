"""Lists of texts, time series or other objects that a user-defined function compares."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import row_blocks
from trigpoint._sources.base import Source
from trigpoint._sources.values import Columns

# Objects per piece.
_ROWS = 2**16


class ObjectSource(Source):
    """Objects of any type, in the order of a list."""

    def __init__(self, items: Any) -> None:
        if not len(items):
            raise ParameterValueError("X is empty: pass a list of objects", "X")
        super().__init__("X", Columns(None, 1, np.dtype(np.float64), holds="objects"), len(items))
        self._items = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            self._items[place] = item

    def returned(self, coordinates: np.ndarray) -> np.ndarray:
        return coordinates

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        for part in row_blocks(self.n, _ROWS):
            yield part.start, self._items[part]


def is_list(X: Any) -> bool:
    """Return whether `X` holds one object per row, rather than a table."""
    return isinstance(X, (list, tuple)) or getattr(X, "ndim", None) == 1
