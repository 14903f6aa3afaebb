"""Distances that count the columns in which two rows differ."""

from typing import Any, Self

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._neighbors.sparse import Points
from trigpoint._spaces.space import Space

# Most distinct values of a column. Columns of measurements have more, and hardly any are equal.
_MOST_LEVELS = 256


class Hamming(Space):
    """Indicators of the values of each column; the squared distance is the share that differs.

    A column of zeros and ones stays one column, and so does any other with two values. Values that
    do not occur in the pool are equally far from all values of their column.
    """

    name = "hamming"
    keeps_columns = False
    learns = True

    def __init__(self, levels: np.ndarray | None = None, starts: np.ndarray | None = None) -> None:
        # Distinct values of column j, ascending, from ``starts[j]`` to ``starts[j + 1]``.
        self.levels, self.starts = levels, starts

    def fit(self, rows: Points) -> Self:
        assert isinstance(rows, np.ndarray)
        found = []
        for number, column in enumerate(np.ascontiguousarray(rows.T)):
            levels = np.unique(column)
            if np.isin(levels, (0, 1)).all():
                # A column of zeros alone may have ones elsewhere.
                levels = np.array([0.0, 1.0])
            if len(levels) > _MOST_LEVELS:
                raise ParameterValueError(
                    f"column {number} of X has {len(levels):,} distinct values, and "
                    "metric='hamming' counts the columns in which rows differ: leave out columns "
                    "of measurements, or choose metric='manhattan'",
                    "metric",
                )
            found.append(levels.astype(np.float64))
        self.starts = np.cumsum([0, *map(len, found)])
        self.levels = np.concatenate(found)
        return self

    def _map(self, block: Points, rows: Any) -> Points:
        assert isinstance(block, np.ndarray)
        assert self.levels is not None
        assert self.starts is not None
        n, d = block.shape
        found = np.empty((self.width(d), n), dtype=block.dtype)
        done = 0
        for number, column in enumerate(np.ascontiguousarray(block.T)):
            levels = self.levels[self.starts[number] : self.starts[number + 1]]
            is_one_of = column == levels[:, None]
            if len(levels) > 2:
                found[done : done + len(levels)] = np.sqrt(0.5) * is_one_of
                done += len(levels)
                continue
            # The second of two values is at 1; unknown values are halfway, or at 1 if there is one.
            unknown = 1 / len(levels)
            found[done] = np.where(is_one_of[0], 0, np.where(is_one_of[-1], 1, unknown))
            done += 1
        return np.ascontiguousarray(found.T) / np.sqrt(block.dtype.type(d))

    def width(self, n_columns: int) -> int:
        if self.starts is None:
            return n_columns
        counts = np.diff(self.starts)
        return int(np.where(counts > 2, counts, 1).sum())

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.levels is not None
        assert self.starts is not None
        return {"levels": self.levels, "starts": self.starts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        levels, starts = arrays["levels"], arrays["starts"]
        is_right = starts.shape == (n_columns + 1,) and starts.dtype.kind == "i"
        if not is_right or starts[0] or (np.diff(starts) < 1).any() or starts[-1] != len(levels):
            raise DamagedFileError("its levels are inconsistent with the rest")
        return cls(levels, starts)
