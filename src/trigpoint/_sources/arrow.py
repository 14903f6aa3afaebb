"""Numeric columns of Parquet files and folders, and of pyarrow Tables and Datasets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from trigpoint._common.checks import row_numbers
from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._numerics.blocks import block_rows
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import choose_columns, listed, refuse_columns, refuse_key
from trigpoint._sources.problems import naming_errors
from trigpoint._sources.values import Columns, check_shape, point_dtype

SUFFIXES = (".parquet", ".pq")

# Number of rows per batch. Batches are converted one at a time, so small batches save memory.
BATCH_ROWS = 2**16

# Number of rows to read when inferring the types of columns.
_HEAD_ROWS = 1000

_TYPES = pyarrow.types
_KINDS = {
    "boolean": (_TYPES.is_boolean,),
    "number": (_TYPES.is_integer, _TYPES.is_floating),
    "decimal": (_TYPES.is_decimal,),
    "date": (_TYPES.is_timestamp, _TYPES.is_date),
    "text": (_TYPES.is_string, _TYPES.is_large_string, _TYPES.is_string_view),
    "empty": (_TYPES.is_null,),
}

# Takes column positions, the rows per batch, and the requested row numbers in ascending order (None
# for all); yields (number of the first row, record batch).
Batches = Callable[[list[int], int, np.ndarray | None], Iterator[tuple[int, Any]]]


@dataclass(frozen=True)
class ParquetFiles:
    """A Parquet file, or the files of a folder in sequence."""

    groups: list[tuple[Path, list[int]]]  # Each file and the number of rows in its row groups.
    names: list[str]  # Column names shared by all files, in the order of the first file.
    types: list[list[Any]]  # For each column, its type in each file.
    labels: set[int]  # Columns in which pandas stores its index.

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(sum(sizes) for _, sizes in self.groups)

    def head(self) -> Any:
        """Return the first rows of all columns as a record batch."""
        with opened_parquet(self.groups[0][0]) as opened:
            empty = pyarrow.RecordBatch.from_pylist([], opened.schema_arrow)
            return next(opened.iter_batches(_HEAD_ROWS), empty)

    def stored(self, columns: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield (first row, record batch) of some columns."""
        return self.batches(columns, BATCH_ROWS, None)

    def batches(
        self, columns: list[int], at_once: int, rows: np.ndarray | None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (first row, record batch) of some columns, skipping row groups without `rows`."""
        first = 0
        wanted = [self.names[number] for number in columns]
        for path, sizes in self.groups:
            # Without a memory map, pyarrow reads whole columns of a row group before the first
            # batch.
            with opened_parquet(path, memory_map=True) as opened:
                for group, size in enumerate(sizes):
                    if rows is None or np.diff(np.searchsorted(rows, (first, first + size)))[0]:
                        start = first
                        for batch in opened.iter_batches(
                            batch_size=at_once, row_groups=[group], columns=wanted
                        ):
                            # The reader returns columns in file order.
                            yield start, batch.select(wanted)
                            start += batch.num_rows
                        if start != first + size:
                            raise DamagedFileError(
                                f"{path} has {start - first} rows where its row group {group} "
                                f"declares {size}: it is damaged, write it again"
                            )
                    first += size


class ArrowSource(Source):
    """Points in the columns of Arrow record batches.

    `names` and `types` describe all columns, as in `ParquetFiles`; `labels` are columns of row
    labels, which are omitted if `columns` is None.
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
        if columns is None:
            self._chosen = [j for j in range(count) if j not in labels]
        else:
            self._chosen = choose_columns(columns, count, names, name).tolist()
        shown = list(map(str, range(count))) if names is None else list(names)
        numeric = [j for j in range(count) if all(map(holds_numbers, types[j])) and j not in labels]
        refused = [
            f"column {shown[j]!r} of type {types[j][0]}" for j in self._chosen if j not in numeric
        ]
        self._refused = name, refused, columns, shown, [shown[j] for j in numeric]
        dtypes = [
            point_dtype(kind.to_pandas_dtype(), name)
            for j in self._chosen
            for kind in (types[j] if j in numeric else [pyarrow.float64()])
        ]
        width = len(self._chosen)
        check_shape((1, width), name)
        picked = None if names is None else tuple(names[j] for j in self._chosen)
        super().__init__(name, Columns(picked, width, np.result_type(*dtypes)), n)
        self._batches, self.labels = batches, [shown[j] for j in self._chosen]

    def check_numbers(self) -> None:
        """Reject columns that are not numbers."""
        refuse_columns(*self._refused)

    def batches_of(
        self, places: Sequence[int], rows: np.ndarray | None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (first row, record batch) of some of the chosen columns; see `Batches`."""
        at_once = min(BATCH_ROWS, block_rows(max(len(places), 1) * self.dtype.itemsize))
        yield from self._batches([self._chosen[place] for place in places], at_once, rows)

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, Any]]:
        yield from self.batches_of(range(self.columns.count), rows)

    def _cut(self, piece: Any, part: Any) -> Any:
        if isinstance(part, slice):
            return piece.slice(part.start, part.stop - part.start)
        return piece.take(pyarrow.array(part))

    def _values(self, piece: Any, rows: int | np.ndarray) -> np.ndarray:
        values = np.empty((piece.num_rows, self.columns.count), dtype=self.dtype)
        # Values may overflow when stored as float64 but fitted as float32.
        with np.errstate(over="ignore", invalid="ignore"):
            for j, column in enumerate(piece.columns):
                if column.null_count:
                    place = int(np.flatnonzero(np.asarray(column.is_null()))[0])
                    raise ParameterValueError(
                        f"column {self.labels[j]!r} of {self.name} has missing values, the first "
                        f"in row {row_numbers(rows, place)}: pass tp.open_source(X, "
                        "missing='median') or missing='drop', or choose other columns",
                        "X",
                    )
                values[:, j] = column.to_numpy(zero_copy_only=False)
        return values


def from_path(path: Path, key: str | None, columns: Any) -> ArrowSource:
    """Open a Parquet file, or a folder of Parquet files, concatenated."""
    refuse_key(key, str(path))
    files = parquet_table(path)
    return ArrowSource(
        str(path), files.names, files.types, columns, files.labels, files.n, files.batches
    )


def from_object(X: Any, key: str | None, columns: Any, name: str = "") -> ArrowSource:
    """Open a pyarrow Table or Dataset."""
    name = name or type(X).__name__
    refuse_key(key, name)
    names, types, labels = _merged([(name, X.schema)])
    n = X.num_rows if hasattr(X, "num_rows") else X.count_rows()
    return ArrowSource(name, names, types, columns, labels, n, partial(_batches, X))


def parquet_table(path: Path) -> ParquetFiles:
    """Read the metadata of a Parquet file, or of all visible ones in a folder, sorted by name."""
    files = [path]
    if path.is_dir():
        found = (file for file in path.iterdir() if file.name.lower().endswith(SUFFIXES))
        files = sorted(file for file in found if file.name[0] not in "._")
    if not files:
        raise DamagedFileError(f"{path} has no visible Parquet files")
    schemas, groups = [], []
    for file in files:
        with opened_parquet(file) as opened:
            schemas.append((str(file), opened.schema_arrow))
            meta = opened.metadata
            groups.append((file, [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]))
    return ParquetFiles(groups, *_merged(schemas))


@contextmanager
def opened_parquet(path: Path, memory_map: bool = False) -> Iterator[Any]:
    """Open a Parquet file, and name it in errors raised while it is open."""
    reader = pyarrow.parquet.ParquetFile
    with naming_errors(str(path), "Parquet"), reader(path, memory_map=memory_map) as opened:
        yield opened


def _batches(
    data: Any, columns: list[int], at_once: int, rows: np.ndarray | None
) -> Iterator[tuple[int, Any]]:
    """Yield (first row, record batch) of some columns of a Table or Dataset."""
    if hasattr(data, "num_rows"):
        found = data.select(columns).to_batches(max_chunksize=at_once)
    else:
        # By default, pyarrow prefetches many batches of many files.
        names = [data.schema.names[number] for number in columns]
        options = {"batch_readahead": 1, "fragment_readahead": 1}
        found = data.to_batches(columns=names, batch_size=at_once, **options)
    first = 0
    for batch in found:
        yield first, batch
        first += batch.num_rows


def _merged(schemas: Sequence[tuple[str, Any]]) -> tuple[list[str], list[list[Any]], set[int]]:
    """Return the shared column names, the type of each column per file, and the index columns."""
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
    index = (first.pandas_metadata or {}).get("index_columns", ())
    return first.names, types, {j for j, name in enumerate(first.names) if name in index}


def stored_kind(arrow_type: Any) -> str:
    """Return "boolean", "number", "decimal", "date", "text", "empty" or "other" for a type."""
    kinds = (kind for kind, tests in _KINDS.items() if any(test(arrow_type) for test in tests))
    return next(kinds, "other")


def holds_numbers(arrow_type: Any) -> bool:
    """Return whether a column of this type can be read as numbers."""
    return stored_kind(arrow_type) in ("boolean", "number")
