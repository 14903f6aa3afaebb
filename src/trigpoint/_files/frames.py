"""pandas data frames."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._files.selection import (
    check_shape,
    choose_columns,
    leave_out,
    picked_names,
    point_dtype,
    refuse_key,
)
from trigpoint._files.source import PointSource
from trigpoint._numerics.blocks import row_blocks


def from_pandas(frame: Any, key: str | None, columns: Any, name: str = "DataFrame") -> PointSource:
    """Points in the columns of a pandas data frame."""
    refuse_key(key, name)
    return FrameSource(frame, name, columns)


class FrameSource(PointSource):
    """Points in the columns of a data frame, of any numeric types, converted block by block.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns.
    name : str
        What messages call it.
    columns : str, int, sequence of them, or None
        Columns to read, by name or position.
    """

    def __init__(self, frame: Any, name: str, columns: Any) -> None:
        n_rows, n_columns = check_shape(frame.shape, name)
        names = [str(label) for label in frame.columns]
        chosen = choose_columns(columns, n_columns, names, name)
        self._numbers = np.arange(n_columns) if chosen is None else chosen
        self._frame = frame
        dtypes = {j: _numpy_dtype(frame.dtypes.iloc[j]) for j in self._numbers}
        numeric = [int(j) for j, dtype in dtypes.items() if dtype.kind in "fbiu"]
        remedy, values = leave_out(names, numeric)
        types = [
            point_dtype(
                dtype,
                f"column {names[j]!r} of {name}, of type {frame.dtypes.iloc[j]},",
                remedy,
                **values,
            )
            for j, dtype in dtypes.items()
        ]
        shape = (n_rows, len(self._numbers))
        super().__init__(name, shape, np.result_type(*types), picked_names(names, chosen))

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        for part in row_blocks(self.shape[0], rows):
            block = np.empty((part.stop - part.start, self.shape[1]), dtype=self.dtype)
            for place, number in enumerate(self._numbers):
                column = self._frame.iloc[part, number]
                block[:, place] = column.to_numpy(dtype=self.dtype, na_value=np.nan)
            yield block
            del block


def _numpy_dtype(dtype: Any) -> np.dtype:
    # pandas' own types, which allow missing values, know the NumPy type of the other values.
    numbers = getattr(dtype, "numpy_dtype", dtype)
    return numbers if isinstance(numbers, np.dtype) else np.dtype(object)
