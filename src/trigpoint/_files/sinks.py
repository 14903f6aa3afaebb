"""The formats that points are written in: each accepts rows and is then closed."""

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trigpoint._files.arrow import PARQUET_SUFFIXES
from trigpoint._files.formulas import disarm
from trigpoint._files.optional import require
from trigpoint._files.zarrs import NAMES_ATTRIBUTE
from trigpoint._numerics.blocks import block_rows, row_blocks

_CHUNK_BYTES = 8 * 2**20
_ROW_GROUP_BYTES = 16 * 2**20
_LINES_TOGETHER = 1000


class Sink(ABC):
    """Writes rows to a new file.

    Parameters
    ----------
    path : Path
        File or folder to create.
    shape : (int, int)
        Rows and columns to come.
    dtype : dtype
        Type to store.
    names : sequence of str
        Names of the columns.
    """

    @abstractmethod
    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype, names: Sequence[str]
    ) -> None: ...

    @staticmethod
    def require(task: str) -> None:
        """Fail at once if a library is missing."""
        del task

    @abstractmethod
    def write(self, block: np.ndarray) -> None:
        """Append C-contiguous rows of the right type."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file; rows may be missing if the work was aborted."""


def npy_header(shape: tuple[int, int], dtype: np.dtype) -> bytes:
    """The beginning of a ``.npy`` file."""
    description = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": description, "fortran_order": False, "shape": shape}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


class NpySink(Sink):
    """A ``.npy`` file, appended to as a plain file: a map's pages would count as memory."""

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype, names: Sequence[str]
    ) -> None:
        del names
        self._file = path.open("xb")
        self._file.write(npy_header(shape, dtype))

    def write(self, block: np.ndarray) -> None:
        """Append rows."""
        self._file.write(block.data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class CsvSink(Sink):
    """Comma-separated text with a header line and enough digits to restore the numbers exactly."""

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype, names: Sequence[str]
    ) -> None:
        del shape, dtype
        disarm([header := list(names)])
        self._file = path.open("x", newline="", encoding="utf-8")
        csv.writer(self._file, lineterminator="\n").writerow(header)

    def write(self, block: np.ndarray) -> None:
        """Append rows."""
        for part in row_blocks(len(block), _LINES_TOGETHER):
            # As text, a float32 keeps its own shortest digits instead of those of a float64. As
            # lists, because joining the strings of an array may swallow Ctrl-C.
            rows = block[part].astype(str).tolist()
            self._file.writelines(",".join(row) + "\n" for row in rows)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _GatheringSink(Sink):
    """Collects rows, so that the stored file does not depend on the blocks they came in."""

    def _gather(self, shape: tuple[int, int], dtype: np.dtype, limit: int) -> int:
        """Allocate as many rows as fit in `limit` bytes, and return their number."""
        rows = min(shape[0], block_rows(shape[1] * dtype.itemsize, limit))
        self._gathered, self._filled = np.empty((rows, shape[1]), dtype=dtype), 0
        return rows

    @abstractmethod
    def _store(self, rows: np.ndarray) -> None: ...

    def write(self, block: np.ndarray) -> None:
        """Append rows."""
        while len(block):
            count = min(len(block), len(self._gathered) - self._filled)
            self._gathered[self._filled : self._filled + count] = block[:count]
            self._filled, block = self._filled + count, block[count:]
            if self._filled == len(self._gathered):
                self._flush()

    def _flush(self) -> None:
        if self._filled:
            self._store(self._gathered[: self._filled])
            self._filled = 0


class ZarrSink(_GatheringSink):
    """A Zarr array in chunks of whole rows, each written once."""

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype, names: Sequence[str]
    ) -> None:
        zarr = require("zarr", f"writing {path.name}")
        rows = self._gather(shape, dtype, _CHUNK_BYTES)
        self.array = zarr.create_array(
            store=str(path),
            shape=shape,
            chunks=(rows, shape[1]),
            dtype=dtype,
            attributes={NAMES_ATTRIBUTE: list(names)},
        )
        self._done = 0

    @staticmethod
    def require(task: str) -> None:
        """Fail at once if zarr is missing."""
        require("zarr", task)

    def _store(self, rows: np.ndarray) -> None:
        self.array[self._done : self._done + len(rows)] = rows
        self._done += len(rows)

    def close(self) -> None:
        """Write the last chunk."""
        self._flush()


class ParquetSink(_GatheringSink):
    """A Parquet file with one column per coordinate."""

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype, names: Sequence[str]
    ) -> None:
        self._pyarrow = require("pyarrow", f"writing {path.name}")
        pq = require("pyarrow.parquet", f"writing {path.name}")
        self._gather(shape, dtype, _ROW_GROUP_BYTES)
        kind = self._pyarrow.from_numpy_dtype(dtype)
        self._schema = self._pyarrow.schema([(name, kind) for name in names])
        self._writer = pq.ParquetWriter(path, self._schema)

    @staticmethod
    def require(task: str) -> None:
        """Fail at once if pyarrow is missing."""
        require("pyarrow.parquet", task)

    def _store(self, rows: np.ndarray) -> None:
        columns = [self._pyarrow.array(np.ascontiguousarray(column)) for column in rows.T]
        table = self._pyarrow.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=len(rows))

    def close(self) -> None:
        """Write the last row group and the footer."""
        self._flush()
        self._writer.close()


SINKS: dict[tuple[str, ...], type[Sink]] = {
    (".npy",): NpySink,
    (".csv",): CsvSink,
    (".zarr",): ZarrSink,
    PARQUET_SUFFIXES: ParquetSink,
}
