"""Columns of numbers in Arrow's formats: Parquet files and folders, Tables and Datasets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._files.damage import name_damage
from trigpoint._files.optional import require
from trigpoint._files.selection import (
    check_shape,
    choose_columns,
    leave_out,
    listed,
    point_dtype,
    refuse_key,
)
from trigpoint._files.source import PointSource

PARQUET_SUFFIXES = (".parquet", ".pq")
# Batches are copied into the block, so they are kept small relative to it.
_BATCH_ROWS = 2**16


def parquet_files(folder: Path) -> list[Path]:
    """Parquet files of a folder, sorted by name, without hidden files and markers."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.name.lower().endswith(PARQUET_SUFFIXES) and path.name[0] not in "._"
    )


def read_parquet(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in the columns of a Parquet file, or of a folder of them in sequence."""
    refuse_key(key, name)
    pq = require("pyarrow.parquet", f"reading {name}")
    schemas, n_rows, files = [], 0, _files(path, name)
    for file, label in files:
        with _opened(pq, file, label) as opened:
            schemas.append((label, opened.schema_arrow))
            n_rows += opened.metadata.num_rows
    batches = partial(_file_batches, pq, files)
    return ArrowSource(batches, name, schemas, n_rows, columns)


def parquet_schema(path: Path, name: str) -> Any:
    """Names and types of the columns of a Parquet file, or of the first one in a folder."""
    pq = require("pyarrow.parquet", f"reading {name}")
    file, label = _files(path, name)[0]
    with _opened(pq, file, label) as opened:
        return opened.schema_arrow


def parquet_head(path: Path, name: str, column: str, rows: int) -> list[Any]:
    """First values of a column of a Parquet file, or of the first one in a folder."""
    pq = require("pyarrow.parquet", f"reading {name}")
    file, label = _files(path, name)[0]
    with _opened(pq, file, label) as opened:
        first = next(opened.iter_batches(rows, columns=[column]), None)
    return [] if first is None else first.column(0).to_pylist()


def parquet_row_groups(path: Path, name: str) -> list[tuple[Path, int, int]]:
    """Parts of a Parquet file or folder: a file, the number of a row group, and its rows."""
    pq = require("pyarrow.parquet", f"reading {name}")
    groups = []
    for file, label in _files(path, name):
        with _opened(pq, file, label) as opened:
            rows = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
            groups += [(file, group, n_rows) for group, n_rows in enumerate(rows)]
    return groups


def read_row_group(file: Path, group: int, names: Sequence[str], dtype: np.dtype) -> np.ndarray:
    """Columns of one row group; missing values are NaN."""
    pq = require("pyarrow.parquet", f"reading {file.name}")
    with _opened(pq, file, file.name) as opened:
        table = opened.read_row_group(group, columns=list(names))
    points = np.empty((table.num_rows, len(names)), dtype=dtype)
    for number, column in enumerate(names):
        points[:, number] = table.column(column).to_numpy()
    return points


def parquet_column(path: Path, name: str, column: str) -> Any:
    """One column of a Parquet file or folder, of any type, as a chunked array."""
    pyarrow = require("pyarrow", f"reading {name}")
    pq = require("pyarrow.parquet", f"reading {name}")
    parts = []
    for file, label in _files(path, name):
        with _opened(pq, file, label) as opened:
            parts.append(opened.read(columns=[column]))
    return pyarrow.concat_tables(parts, promote_options="permissive").column(column)


def _files(path: Path, name: str) -> list[tuple[Path, str]]:
    """Files to read, each with its name in messages."""
    if not path.is_dir():
        return [(path, name)]
    return [(file, f"{name}/{file.name}") for file in parquet_files(path)]


@contextmanager
def _opened(pq: Any, file: Path, label: str, memory_map: bool = False) -> Iterator[Any]:
    with name_damage(label, "Parquet"), pq.ParquetFile(file, memory_map=memory_map) as opened:
        yield opened


def from_arrow(table: Any, key: str | None, columns: Any) -> PointSource:
    """Points in the columns of a pyarrow Table or Dataset."""
    name = type(table).__name__
    refuse_key(key, name)
    is_table = hasattr(table, "num_rows")
    n_rows = table.num_rows if is_table else table.count_rows()
    batches = _table_batches if is_table else _dataset_batches
    return ArrowSource(partial(batches, table), name, [(name, table.schema)], n_rows, columns)


def _file_batches(
    pq: Any, files: Iterable[tuple[Path, str]], names: list[str], rows: int
) -> Iterator[Any]:
    for file, label in files:
        # Memory-mapped: otherwise whole columns of a row group are read before the first batch.
        with _opened(pq, file, label, memory_map=True) as opened:
            yield from opened.iter_batches(batch_size=rows, columns=names)


def _table_batches(table: Any, names: list[str], rows: int) -> Iterator[Any]:
    return table.select(names).to_batches(max_chunksize=rows)


def _dataset_batches(dataset: Any, names: list[str], rows: int) -> Iterator[Any]:
    # By default, it reads many batches of many files ahead.
    return dataset.to_batches(
        columns=names, batch_size=rows, batch_readahead=1, fragment_readahead=1
    )


class ArrowSource(PointSource):
    """Points in the columns of Arrow record batches, joined into blocks of the requested size.

    Parameters
    ----------
    batches : callable
        Takes column names and a number of rows, returns an iterator of record batches.
    name : str
        What messages call it.
    schemas : sequence of (str, pyarrow.Schema)
        Columns of every file, with its name. The first file sets the column names and order.
    n_rows : int
        Number of rows in all files.
    columns : str, int, sequence of them, or None
        Columns to read. ``None`` leaves out those in which pandas keeps its index.
    """

    def __init__(
        self,
        batches: Callable[[list[str], int], Iterator[Any]],
        name: str,
        schemas: Sequence[tuple[str, Any]],
        n_rows: int,
        columns: Any,
    ) -> None:
        first = schemas[0][1]
        for label, schema in schemas:
            _check_columns(first.names, schema.names, label, schemas[0][0])
        check_shape((n_rows, len(first.names)), name)
        chosen = choose_columns(columns, len(first.names), first.names, name)
        if chosen is None:
            names = [column for column in first.names if column not in index_columns(first)]
        else:
            names = [first.names[number] for number in chosen]
        numbers = [
            number
            for number, column in enumerate(first.names)
            if column in names and holds_numbers(first.field(number).type)
        ]
        remedy, values = leave_out(first.names, numbers)
        types = [
            _column_dtype(schema.field(column).type, column, label, remedy, values)
            for label, schema in schemas
            for column in names
        ]
        self._batches, self._names, self._all_names = batches, names, first.names
        shape = check_shape((n_rows, len(names)), name)
        super().__init__(name, shape, np.result_type(*types), names)

    def whole_batches(self) -> Iterator[Any]:
        """All columns of all rows, text included, as record batches."""
        return self._batches(self._all_names, _BATCH_ROWS)

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        n_rows, n_columns = self.shape
        block, filled, done = np.empty((min(rows, n_rows), n_columns), self.dtype), 0, 0
        for batch in self._batches(self._names, min(rows, _BATCH_ROWS)):
            taken = 0
            while taken < batch.num_rows:
                count = min(batch.num_rows - taken, len(block) - filled)
                self._fill(block[filled : filled + count], batch.slice(taken, count), done)
                taken, filled, done = taken + count, filled + count, done + count
                if filled == len(block):
                    yield block
                    del block
                    # At the end, there is room for one extra row, in case the file has grown.
                    block = np.empty((max(1, min(rows, n_rows - done)), n_columns), self.dtype)
                    filled = 0
        if filled:
            yield block[:filled]

    def _fill(self, block: np.ndarray, batch: Any, first_row: int) -> None:
        for number, name in enumerate(self._names):
            column = batch.column(name)
            if column.null_count:
                row = first_row + int(np.flatnonzero(np.asarray(column.is_null()))[0])
                raise ParameterValueError(
                    "X",
                    None,
                    "column {column!r} of {source} has missing values, the first in row {row}",
                    ("fill them in", "remove the rows", "choose other {columns}"),
                    column=name,
                    source=self.name,
                    row=row,
                )
            block[:, number] = column.to_numpy(zero_copy_only=False)


def index_columns(schema: Any) -> set[str]:
    """Columns in which pandas keeps the labels of rows."""
    kept = (schema.pandas_metadata or {}).get("index_columns", ())
    return {column for column in kept if isinstance(column, str)}


def _check_columns(first: list[str], names: list[str], label: str, first_label: str) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise DamagedFileError(f"{label} has several columns {listed(doubled)}: rename them")
    different = sorted(set(first) ^ set(names))
    if different:
        raise DamagedFileError(
            f"{label} and {first_label} differ in columns {listed(different)}: files in a folder "
            "must have the same columns"
        )


def holds_numbers(arrow_type: Any) -> bool:
    """Whether a column of this type can be read as numbers."""
    types = require("pyarrow.types", "reading columns")
    known = (types.is_floating, types.is_integer, types.is_boolean)
    return any(is_kind(arrow_type) for is_kind in known)


def _column_dtype(
    arrow_type: Any, column: str, label: str, remedy: str, values: dict[str, Any]
) -> np.dtype:
    dtype = arrow_type.to_pandas_dtype() if holds_numbers(arrow_type) else object
    what = f"column {column!r} of {label}, of type {arrow_type},"
    return point_dtype(dtype, what, remedy, **values)
