"""Columns of numbers in Arrow's formats: Parquet files and folders, Tables and Datasets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._numerics.blocks import block_rows
from trigpoint._sources.base import Columns, Source
from trigpoint._sources.choosing import (
    check_shape,
    choose_columns,
    listed,
    point_dtype,
    refuse_columns,
    refuse_key,
)
from trigpoint._sources.problems import naming_errors

# Batches are converted one by one, so they are kept small.
BATCH_ROWS = 2**16

# Yields (number of the first row, record batch) from positions of columns, a number of rows and the
# ascending row numbers that are wanted, or None.
Batches = Callable[[list[int], int, np.ndarray | None], Iterator[tuple[int, Any]]]


class ArrowSource(Source):
    """Points in the columns of Arrow record batches.

    Parameters
    ----------
    name : str
        What messages call it.
    names : sequence of str or None
        All its columns.
    types : sequence of sequence of pyarrow.DataType
        The types of each column, one for each file.
    columns : str, int, sequence of them, or None
        Columns to read.
    labels : collection of int
        Columns of row labels, which are left out if `columns` is None.
    n : int or None
        Number of rows, if it is known.
    batches : callable
        See `Batches`.
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str] | None,
        types: Sequence[Sequence[Any]],
        columns: Any,
        labels: set[int],
        n: int | None,
        batches: Batches,
    ) -> None:
        count = len(types)
        check_shape((1 if n is None else n, count), name)
        chosen = choose_columns(columns, count, names, name)
        self._chosen = (
            [j for j in range(count) if j not in labels] if chosen is None else chosen.tolist()
        )
        shown = list(map(str, range(count))) if names is None else list(names)
        numeric = [j for j in range(count) if all(map(holds_numbers, types[j])) and j not in labels]
        refused = [
            f"column {shown[j]!r} of type {types[j][0]}" for j in self._chosen if j not in numeric
        ]
        refuse_columns(name, refused, shown, [shown[j] for j in numeric])
        dtypes = [
            point_dtype(kind.to_pandas_dtype(), name) for j in self._chosen for kind in types[j]
        ]
        width = len(self._chosen)
        check_shape((1, width), name)
        picked = None if names is None else tuple(names[j] for j in self._chosen)
        super().__init__(name, Columns(picked, width, np.result_type(*dtypes)), n)
        self._batches, self._labels = batches, [shown[j] for j in self._chosen]

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, Any]]:
        at_once = min(BATCH_ROWS, block_rows(self.columns.count * self.dtype.itemsize))
        yield from self._batches(self._chosen, at_once, rows)

    def _cut(self, piece: Any, part: Any) -> Any:
        if isinstance(part, slice):
            return piece.slice(part.start, part.stop - part.start)
        import pyarrow

        return piece.take(pyarrow.array(part))

    def _values(self, piece: Any, rows: int | np.ndarray) -> np.ndarray:
        values = np.empty((piece.num_rows, self.columns.count), dtype=self.dtype)
        # A fitted precision may be less than the one stored.
        with np.errstate(over="ignore", invalid="ignore"):
            for j, column in enumerate(piece.columns):
                if column.null_count:
                    place = int(np.flatnonzero(np.asarray(column.is_null()))[0])
                    row = rows[place] if isinstance(rows, np.ndarray) else rows + place
                    raise ParameterValueError(
                        f"column {self._labels[j]!r} of {self.name} has missing values, the first "
                        f"in row {row}: fill them in, remove the rows or choose other columns",
                        "X",
                    )
                values[:, j] = column.to_numpy(zero_copy_only=False)
        return values


def from_path(path: Path, key: str | None, columns: Any) -> ArrowSource:
    """Points in the columns of a Parquet file, or of a folder of them in sequence."""
    name = str(path)
    refuse_key(key, name)
    schemas, groups = [], []
    for file in parquet_files(path):
        with opened_parquet(file) as opened:
            schemas.append((str(file), opened.schema_arrow))
            meta = opened.metadata
            groups.append((file, [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]))
    n = sum(sum(sizes) for _, sizes in groups)
    names, types = _merged(schemas)
    labels = {names.index(label) for label in index_columns(schemas[0][1]) & set(names)}
    batches = partial(_parquet_batches, groups, names)
    return ArrowSource(name, names, types, columns, labels, n, batches)


def from_object(X: Any, key: str | None, columns: Any, name: str = "") -> ArrowSource:
    """Points in the columns of a pyarrow Table or Dataset."""
    name = name or type(X).__name__
    refuse_key(key, name)
    is_table = hasattr(X, "num_rows")
    names, types = _merged([(name, X.schema)])
    labels = {names.index(label) for label in index_columns(X.schema) & set(names)}
    batches = partial(_table_batches if is_table else _dataset_batches, X)
    n = X.num_rows if is_table else X.count_rows()
    return ArrowSource(name, names, types, columns, labels, n, batches)


def parquet_files(path: Path) -> list[Path]:
    """The file, or the Parquet files of a folder by name, without hidden files and markers."""
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.iterdir()
        if file.name.lower().endswith((".parquet", ".pq")) and file.name[0] not in "._"
    )


@contextmanager
def opened_parquet(path: Path, memory_map: bool = False) -> Iterator[Any]:
    """A Parquet file; errors while it is open name it."""
    import pyarrow.parquet as pq

    with naming_errors(str(path), "Parquet"), pq.ParquetFile(path, memory_map=memory_map) as opened:
        yield opened


def _parquet_batches(
    groups: list[tuple[Path, list[int]]],
    names: list[str],
    columns: list[int],
    at_once: int,
    rows: np.ndarray | None,
) -> Iterator[tuple[int, Any]]:
    first = 0
    wanted = [names[number] for number in columns]
    for path, sizes in groups:
        # Memory-mapped: otherwise whole columns of a row group are read before the first batch.
        with opened_parquet(path, memory_map=True) as opened:
            for group, size in enumerate(sizes):
                if rows is None or np.diff(np.searchsorted(rows, (first, first + size)))[0]:
                    start = first
                    for batch in opened.iter_batches(
                        batch_size=at_once, row_groups=[group], columns=wanted
                    ):
                        # The reader gives them in the order of the file.
                        yield start, batch.select(wanted)
                        start += batch.num_rows
                    if start != first + size:
                        raise DamagedFileError(
                            f"{path} has {start - first} rows where its row group {group} declares "
                            f"{size}: it is damaged, write it again"
                        )
                first += size


def _table_batches(
    table: Any, columns: list[int], at_once: int, rows: np.ndarray | None
) -> Iterator[tuple[int, Any]]:
    yield from _numbered(table.select(columns).to_batches(max_chunksize=at_once))


def _dataset_batches(
    dataset: Any, columns: list[int], at_once: int, rows: np.ndarray | None
) -> Iterator[tuple[int, Any]]:
    # By default, it reads many batches of many files ahead.
    names = [dataset.schema.names[number] for number in columns]
    options = {"batch_readahead": 1, "fragment_readahead": 1}
    yield from _numbered(dataset.to_batches(columns=names, batch_size=at_once, **options))


def _numbered(batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    first = 0
    for batch in batches:
        yield first, batch
        first += batch.num_rows


def _merged(schemas: Sequence[tuple[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns of all files, and their types in each; the first gives the order."""
    first_label, first = schemas[0]
    for label, schema in schemas:
        doubled = sorted({name for name in schema.names if schema.names.count(name) > 1})
        if doubled:
            raise DamagedFileError(f"{label} has several columns {listed(doubled)}: rename them")
        different = sorted(set(first.names) ^ set(schema.names))
        if different:
            raise DamagedFileError(
                f"{label} and {first_label} differ in columns {listed(different)}: files in a "
                "folder must have the same columns"
            )
    types = [[schema.field(name).type for _, schema in schemas] for name in first.names]
    return list(first.names), types


def index_columns(schema: Any) -> set[str]:
    """Columns in which pandas keeps the labels of rows."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    return {column for column in stored if isinstance(column, str)}


def holds_numbers(arrow_type: Any) -> bool:
    """Whether a column of this type can be read as numbers."""
    from pyarrow import types

    known = (types.is_floating, types.is_integer, types.is_boolean)
    return any(is_kind(arrow_type) for is_kind in known)
