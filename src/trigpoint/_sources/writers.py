"""Write .npy, .csv and .parquet files block by block."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.checks import refuse_nul
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._numerics.blocks import block_rows
from trigpoint._sources.atomic import atomic_write, check_target, followed

# Bytes of rows written at once; in Parquet, one row group.
_TOGETHER_BYTES = 16 * 2**20

# Function that writes rows to an open file.
Store = Callable[[np.ndarray], object]
# Function that opens a file, given its path, the shape and type of all rows, column names, and
# other columns.
Storing = Callable[
    [Path, tuple[int, int], np.dtype, list[str], Mapping[str, Any]], AbstractContextManager[Store]
]


@dataclass(frozen=True)
class Output:
    """Output file for points: ``.npy``, ``.csv``, ``.parquet`` or ``.pq``."""

    path: str | os.PathLike[str]
    replace: bool = True  # Whether to replace an existing file once all points are written.
    names: Sequence[str] | None = None  # Column names; if None, x0, x1 and so on.
    # Arrow arrays, by name, to write before the points; for tables only.
    beside: Mapping[str, Any] = field(default_factory=dict)

    def check(self, reading: Path | None = None) -> Storing:
        """Return the function that opens files of this format, or reject the output early.

        `reading` is a file or folder that is being read and must not be overwritten.
        """
        path = self.path
        if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
            raise ParameterTypeError(
                f"out must be a path, got {type(path).__name__}: name a .npy, .csv or .parquet "
                "file",
                "out",
            )
        name = os.fspath(path)
        refuse_nul("out", name, "write to another name")
        target = followed(path)
        fitting = [kind for ends, kind in WRITERS.items() if target.name.lower().endswith(ends)]
        if not fitting:
            known = ", ".join(suffix for suffixes in WRITERS for suffix in suffixes)
            raise ParameterValueError(
                f"{name} has an unknown suffix: points can be written to {known}", "out"
            )
        if self.beside and fitting[0] is _npy:
            raise ParameterValueError(
                f"{name} holds only coordinates: to keep columns, write .csv or .parquet", "keep"
            )
        check_target(path, [] if reading is None else [reading])
        if os.path.exists(target) and not self.replace:
            raise FileExistsError(f"{name} exists: write to another name")
        return fitting[0]


def check_output(out: Any, X: Any = None) -> None:
    """Reject `out` early if it cannot be written or if `X` is read from it."""
    output = out if isinstance(out, Output) else Output(out)
    reading = X if isinstance(X, (str, os.PathLike)) else getattr(X, "path", None)
    output.check(Path(reading) if isinstance(reading, (str, os.PathLike)) else None)


@contextmanager
def open_output(
    output: Output, shape: tuple[int, int], dtype: Any, reading: Path | None = None
) -> Iterator["Writer"]:
    """Yield a writer of blocks; the file appears once all rows of `shape` are written.

    `reading` is a file or folder that must not be written to.
    """
    storing = output.check(reading)
    names = [f"x{j}" for j in range(shape[1])] if output.names is None else list(output.names)
    if both := set(output.beside) & set(names):
        raise ParameterValueError(
            f"{min(both)!r} is also the name of a coordinate: rename that column", "keep"
        )
    if len(names) != shape[1] or len(set(names)) != shape[1]:
        raise ParameterValueError(
            f"{names=} is not {shape[1]} different names: give each column one", "names"
        )
    path, kind = Path(output.path), np.dtype(dtype)
    with (
        atomic_write(path, replace=output.replace) as partial,
        storing(partial, shape, kind, names, output.beside) as store,
    ):
        writer = Writer(path, shape, kind, store)
        yield writer
        writer.finish()


class Writer:
    """Writer of rows to a new file; see `open_output`.

    Rows are buffered, so that the file does not depend on the size of the blocks.
    """

    def __init__(self, path: Path, shape: tuple[int, int], dtype: np.dtype, store: Store) -> None:
        self.path, self.shape, self._store = path, shape, store
        rows = min(shape[0], block_rows(shape[1] * dtype.itemsize, _TOGETHER_BYTES))
        self._gathered, self._filled = np.empty((rows, shape[1]), dtype=dtype), 0
        self.rows_written = 0

    def write(self, block: np.ndarray) -> None:
        """Append rows."""
        if block.ndim != 2 or block.shape[1] != self.shape[1]:
            raise ValueError(
                f"a block of shape {block.shape} was written to {self.path}: write rows of "
                f"{self.shape[1]} columns"
            )
        self.rows_written += len(block)
        if self.rows_written > self.shape[0]:
            raise self._wrong_number()
        while len(block):
            count = min(len(block), len(self._gathered) - self._filled)
            self._gathered[self._filled : self._filled + count] = block[:count]
            self._filled, block = self._filled + count, block[count:]
            if self._filled == len(self._gathered):
                self._flush()

    def finish(self) -> None:
        """Flush the buffer, or raise an error if rows are missing."""
        self._flush()
        if self.rows_written != self.shape[0]:
            raise self._wrong_number()

    def _flush(self) -> None:
        if self._filled:
            self._store(self._gathered[: self._filled])
            self._filled = 0

    def _wrong_number(self) -> ValueError:
        return ValueError(
            f"{self.rows_written} rows were written to {self.path}, which was opened for "
            f"{self.shape[0]}: the file was discarded"
        )


@contextmanager
def _npy(
    partial: Path,
    shape: tuple[int, int],
    dtype: np.dtype,
    names: list[str],
    beside: Mapping[str, Any],
) -> Iterator[Store]:
    """Write a ``.npy`` file. A memory map is avoided, as it would count toward memory limits."""
    layout = np.lib.format
    with partial.open("wb") as file:
        header = {"descr": layout.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        layout.write_array_header_1_0(file, header)
        yield lambda rows: file.write(rows.data)


@contextmanager
def _arrow(
    partial: Path,
    shape: tuple[int, int],
    dtype: np.dtype,
    names: list[str],
    beside: Mapping[str, Any],
) -> Iterator[Store]:
    """Write one named column per coordinate, as Parquet or as text that restores every bit."""
    import pyarrow.csv
    import pyarrow.parquet

    is_text = partial.suffix.lower() == ".csv"
    opened = pyarrow.csv.CSVWriter if is_text else pyarrow.parquet.ParquetWriter
    fields = [(name, column.type) for name, column in beside.items()]
    fields += [(name, pyarrow.from_numpy_dtype(dtype)) for name in names]
    schema, done = pyarrow.schema(fields), 0
    with opened(partial, schema) as writer:

        def store(rows: np.ndarray) -> None:
            nonlocal done
            kept = [column.slice(done, len(rows)) for column in beside.values()]
            done += len(rows)
            # Rows without coordinates are NaN here and empty in the file.
            columns = [pyarrow.array(column.copy(), from_pandas=True) for column in rows.T]
            writer.write_table(pyarrow.table(kept + columns, schema=schema))

        yield store


WRITERS: dict[tuple[str, ...], Storing] = {
    (".npy",): _npy,
    (".csv", ".parquet", ".pq"): _arrow,
}
