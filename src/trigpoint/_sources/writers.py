"""Writers of .npy, .csv and .parquet files, block by block."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.checks import refuse_nul
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._numerics.blocks import block_rows
from trigpoint._sources.atomic import atomic_write, check_place, followed

# Bytes of a row group of Parquet, and of the rows that other formats write together.
_ROW_GROUP_BYTES, _TOGETHER_BYTES = 16 * 2**20, 2**20


@dataclass(frozen=True)
class Output:
    """A file for points.

    Attributes
    ----------
    path : path
        A ``.npy``, ``.csv``, ``.parquet`` or ``.pq`` file.
    replace : bool, default=True
        Whether to replace an existing file when the points are complete.
    names : sequence of str or None, default=None
        Names of the columns; ``.npy`` files have none. None names them x0, x1 and so on.
    """

    path: str | os.PathLike[str]
    replace: bool = True
    names: Sequence[str] | None = None

    def check(self, reading: Path | None = None) -> "type[Writer]":
        """Return the writer of this format, or raise an error before any work.

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
        if reading is not None and target.is_relative_to(os.path.realpath(reading)):
            raise ParameterValueError(f"{name} is being read: write to another file", "out")
        check_place(target, name)
        if target.is_dir():
            raise IsADirectoryError(f"{name} is a folder: write to another name")
        if target.exists() and not self.replace:
            raise FileExistsError(f"{name} exists: write to another name")
        return fitting[0]


def check_output(out: Any, X: Any = None) -> None:
    """Reject `out` before any work if it cannot be written, or is what `X` is read from.

    Parameters
    ----------
    out : path or Output
    X : object, default=None
        What will be read.
    """
    output = out if isinstance(out, Output) else Output(out)
    reading = X if isinstance(X, (str, os.PathLike)) else getattr(X, "path", None)
    output.check(Path(reading) if isinstance(reading, (str, os.PathLike)) else None)


@contextmanager
def open_output(
    output: Output, shape: tuple[int, int], dtype: Any, reading: Path | None = None
) -> Iterator["Writer"]:
    """Yield a writer of blocks of rows; the file appears once all are written.

    Parameters
    ----------
    output : Output
    shape : (int, int)
        Rows and columns to come.
    dtype : dtype
        float32 or float64.
    reading : Path or None
        A file or folder that must not be written to.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from trigpoint._sources import Output, open_output
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_output(Output(f"{folder}/Y.npy"), (3, 2), np.float32) as writer:
    ...         writer.write(np.zeros((2, 2)))
    ...         writer.write(np.ones((1, 2)))
    ...     print(np.load(f"{folder}/Y.npy").sum())
    2.0
    """
    kind = output.check(reading)
    names = [f"x{j}" for j in range(shape[1])] if output.names is None else list(output.names)
    if len(names) != shape[1] or len(set(names)) != shape[1]:
        raise ParameterValueError(
            f"{names=} is not {shape[1]} different names: give each column one", "names"
        )
    path = Path(output.path)
    with atomic_write(path, replace=output.replace) as partial:
        writer = kind(path, partial, shape, np.dtype(dtype), names)
        try:
            yield writer
            writer.finish()
        except BaseException:
            with suppress(Exception):
                writer.close()
            raise
        writer.close()
        # What appeared meanwhile may be something else.
        output.check(reading)


class Writer(ABC):
    """Writer of rows to a new file; see `open_output`.

    Rows are gathered, so that the file does not depend on the blocks that they came in.
    """

    together_bytes = _TOGETHER_BYTES

    def __init__(
        self, path: Path, partial: Path, shape: tuple[int, int], dtype: np.dtype, names: list[str]
    ) -> None:
        self.path, self.shape, self.dtype, self.names = path, shape, dtype, names
        rows = min(shape[0], block_rows(shape[1] * dtype.itemsize, self.together_bytes))
        self._gathered, self._filled = np.empty((rows, shape[1]), dtype=dtype), 0
        self.rows_written = 0
        self._open(partial)

    def write(self, block: np.ndarray) -> None:
        """Append rows."""
        if block.ndim != 2 or block.shape[1] != self.shape[1]:
            raise ValueError(
                f"a block of shape {block.shape} was written to {self.path}: give rows of "
                f"{self.shape[1]} columns"
            )
        self.rows_written += len(block)
        if self.rows_written > self.shape[0]:
            raise ValueError(
                f"{self.rows_written} rows were written to {self.path}, which was opened for "
                f"{self.shape[0]}"
            )
        while len(block):
            count = min(len(block), len(self._gathered) - self._filled)
            self._gathered[self._filled : self._filled + count] = block[:count]
            self._filled, block = self._filled + count, block[count:]
            if self._filled == len(self._gathered):
                self._flush()

    def finish(self) -> None:
        """Write what is left, or reject a file in which rows are missing."""
        self._flush()
        if self.rows_written != self.shape[0]:
            raise ValueError(
                f"{self.rows_written} rows were written to {self.path}, which was opened for "
                f"{self.shape[0]}: nothing is kept"
            )

    def _flush(self) -> None:
        if self._filled:
            self._store(self._gathered[: self._filled])
            self._filled = 0

    @abstractmethod
    def _open(self, partial: Path) -> None: ...

    @abstractmethod
    def _store(self, rows: np.ndarray) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class NpyWriter(Writer):
    """Writer of a ``.npy`` file; a memory map would count as memory."""

    def _open(self, partial: Path) -> None:
        self._file = partial.open("wb")
        descr = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def _store(self, rows: np.ndarray) -> None:
        self._file.write(rows.data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ArrowWriter(Writer):
    """Writer of a file with a named column for each coordinate, by pyarrow."""

    def _open(self, partial: Path) -> None:
        self._writer = self._opened(partial, self._table(self._gathered[:0]).schema)

    @abstractmethod
    def _opened(self, partial: Path, schema: Any) -> Any: ...

    def _store(self, rows: np.ndarray) -> None:
        self._writer.write_table(self._table(rows))

    def _table(self, rows: np.ndarray) -> Any:
        import pyarrow

        columns = [np.ascontiguousarray(column) for column in rows.T]
        return pyarrow.table(columns, names=self.names)

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class CsvWriter(ArrowWriter):
    """Writer of text with a header line and enough digits to restore the numbers exactly."""

    def _opened(self, partial: Path, schema: Any) -> Any:
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(partial, schema)


class ParquetWriter(ArrowWriter):
    """Writer of a Parquet file in row groups of a fixed size."""

    together_bytes = _ROW_GROUP_BYTES

    def _opened(self, partial: Path, schema: Any) -> Any:
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(partial, schema)


WRITERS: dict[tuple[str, ...], type[Writer]] = {
    (".npy",): NpyWriter,
    (".csv",): CsvWriter,
    (".parquet", ".pq"): ParquetWriter,
}
