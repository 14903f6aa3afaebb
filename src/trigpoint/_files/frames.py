"""Data frames of pandas and polars, and labeled arrays of xarray."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from trigpoint._files.arrays import ArraySource
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

    def read(part: slice, number: int, dtype: np.dtype) -> np.ndarray:
        values: np.ndarray = frame.iloc[part, number].to_numpy(dtype=dtype, na_value=np.nan)
        return values

    # pandas' own types, which allow missing values, know the NumPy type of the other values.
    types = [(getattr(dtype, "numpy_dtype", dtype), str(dtype)) for dtype in frame.dtypes]
    names = [str(label) for label in frame.columns]
    return FrameSource(name, len(frame), names, types, columns, read)


def from_polars(frame: Any, key: str | None, columns: Any) -> PointSource:
    """Points in the columns of a polars data frame, or of a lazy one, which is collected."""
    name = type(frame).__name__
    refuse_key(key, name)
    if hasattr(frame, "collect"):
        frame = frame.collect()
    series = frame.get_columns()

    def read(part: slice, number: int, dtype: np.dtype) -> np.ndarray:
        values: np.ndarray = series[number][part].to_numpy().astype(dtype)
        return values

    types = [(column.head(0).to_numpy().dtype, str(column.dtype)) for column in series]
    return FrameSource(name, frame.height, frame.columns, types, columns, read)


def from_xarray(array: Any, key: str | None, columns: Any) -> PointSource:
    """Points in a labeled array; text along its second dimension names the columns."""
    name = type(array).__name__
    refuse_key(key, name)
    check_shape(array.shape, name)
    labels = array.coords.get(array.dims[1])
    has_names = labels is not None and labels.dtype.kind in "UO"
    names = [str(label) for label in labels.values] if has_names else None
    return ArraySource(np.asarray(array.values), name, columns, names)


def labeled_as(array: Any, coordinates: np.ndarray) -> Any:
    """Coordinates as a labeled array, with the labels that the rows of another one have."""
    rows = array.dims[0]
    labels = {name: values for name, values in array.coords.items() if values.dims == (rows,)}
    return type(array)(coordinates, dims=(rows, "component"), coords=labels, name="embedding")


class FrameSource(PointSource):
    """Points in the columns of a data frame, of any numeric types, converted block by block.

    Parameters
    ----------
    name : str
        What messages call it.
    n_rows : int
    names : sequence of str
        All its columns.
    types : sequence of (dtype or other type, str)
        Their types, and what messages call these.
    columns : str, int, sequence of them, or None
        Columns to read, by name or position.
    read : callable
        Returns some rows of the column of a number, as an array of a type.
    """

    def __init__(
        self,
        name: str,
        n_rows: int,
        names: Sequence[str],
        types: Sequence[tuple[Any, str]],
        columns: Any,
        read: Callable[[slice, int, np.dtype], np.ndarray],
    ) -> None:
        check_shape((n_rows, len(names)), name)
        chosen = choose_columns(columns, len(names), names, name)
        self._numbers = np.arange(len(names)) if chosen is None else chosen
        self._read = read
        other = np.dtype(object)
        dtypes = {
            j: types[j][0] if isinstance(types[j][0], np.dtype) else other
            for j in map(int, self._numbers)
        }
        remedy, values = leave_out(names, [j for j in dtypes if dtypes[j].kind in "fbiu"])
        read_as = [
            point_dtype(
                dtype, f"column {names[j]!r} of {name}, of type {types[j][1]},", remedy, **values
            )
            for j, dtype in dtypes.items()
        ]
        shape = (n_rows, len(self._numbers))
        super().__init__(name, shape, np.result_type(*read_as), picked_names(names, chosen))

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        for part in row_blocks(self.shape[0], rows):
            block = np.empty((part.stop - part.start, self.shape[1]), dtype=self.dtype)
            for place, number in enumerate(self._numbers):
                block[:, place] = self._read(part, int(number), self.dtype)
            yield block
            del block
