"""Describe, read and copy tables with columns of any kind."""

import csv
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from trigpoint._common.words import VALUE_FORMATS
from trigpoint._sources.anndata import read_obs
from trigpoint._sources.arrow import SUFFIXES, ParquetFiles, parquet_table, stored_kind
from trigpoint._sources.atomic import atomic_write
from trigpoint._sources.choosing import NUMBERING, choose_name, split_place
from trigpoint._sources.problems import check_is_file, naming_errors
from trigpoint._sources.text import (
    Layout,
    are_mostly_numbers,
    read_layout,
    text_suffix,
    usual_separator,
)

# Names of columns that number the rows.
_COUNTER = re.compile(r".*(id|index|row|nr|no|number|#)\.?", re.IGNORECASE)


class TableColumn(NamedTuple):
    """A column of a table."""

    name: str | None  # None in a file without a header.
    kind: str  # "number", "text", "date", "boolean", "row label" (names or numbers), or "other".


def is_table(path: Path) -> bool:
    """Return whether a path is a table in text or Parquet, whose columns may hold text."""
    if path.is_dir():
        return any(file.name.lower().endswith(SUFFIXES) for file in path.iterdir())
    return path.name.lower().endswith(SUFFIXES) or bool(text_suffix(path))


def _opened(path: Path) -> Layout | ParquetFiles:
    check_is_file(path)
    return read_layout(path) if text_suffix(path) else parquet_table(path)


def table_columns(path: Path) -> list[TableColumn]:
    """Return the names and kinds of all columns of a table, in order."""
    table, found = _opened(path), []
    some = table.head()
    for j, name in enumerate(table.names or [None] * some.num_columns):
        kind = "row label" if j in table.labels else _kind(some.column(j), name or "")
        if kind == "text" and text_suffix(path) and are_mostly_numbers(some.column(j)):
            kind = "number"
        found.append(TableColumn(name, kind))
    return found


def _kind(column: Any, name: str) -> str:
    kind = stored_kind(column.type)
    if pyarrow.types.is_integer(column.type) and _COUNTER.fullmatch(name) and not column.null_count:
        numbers = column.to_numpy(zero_copy_only=False)
        steps = np.diff(np.sort(numbers) if name.lower() in NUMBERING else numbers)
        # Consecutive numbers, or unique identifiers in any order.
        if len(numbers) and (steps > 0 if name.lower() in NUMBERING else steps == 1).all():
            return "row label"
    if pyarrow.types.is_dictionary(column.type) and stored_kind(column.type.value_type) == "text":
        return "text"
    return {"empty": "text", "decimal": "other"}.get(kind, kind)


def read_values(place: str) -> np.ndarray:
    """Read one column as numbers, datetime64 or objects; missing values are NaN, NaT or None.

    `place` is ``"file.npy"``, ``"file.npz::key"``, ``"table.csv::column"`` (also ``.tsv``,
    ``.txt``, each also ``.gz``), ``"table.parquet::column"`` (also a folder of them), or
    ``"cells.h5ad::obs/column"``. A single array or column need not be named.
    """
    file, carried = split_place(place)
    path, key = Path(file), carried or ""
    check_is_file(path)
    ending = path.name.lower()
    if is_table(path):
        values = _table_values(path, key)
    elif ending.endswith(".h5ad"):
        values = read_obs(path, key)
    elif ending.endswith((".npy", ".npz")):
        values = _numpy_values(path, key)
    else:
        raise ValueError(f"{path} holds no readable column: give {VALUE_FORMATS}")
    if values.ndim != 1 and max(values.shape, default=0) != values.size:
        raise ValueError(f"{place} has shape {values.shape}: pass one column, one value per point")
    return values.ravel()


def _numpy_values(path: Path, key: str) -> np.ndarray:
    with naming_errors(str(path), "an array of numbers, text or dates, as np.save writes it"):
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            values = loaded[choose_name(key, loaded.files, "array", f"{path}::")]
            # NumPy returns members without the .npy header as bytes.
            if not isinstance(values, np.ndarray):
                raise ValueError("it is not an array")
            return values


def read_column(path: Path, key: str) -> tuple[str, Any]:
    """Read a column by name or, without a header, by number; return its name and values."""
    table = _opened(path)
    names = list(table.names or map(str, range(table.head().num_columns)))
    number = names.index(choose_name(key, names, "column", f"{path}::"))
    column = pyarrow.chunked_array([batch.column(0) for _, batch in table.stored([number])])
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return names[number], typed(column) if text_suffix(path) else column


def _table_values(path: Path, key: str) -> np.ndarray:
    name, column = read_column(path, key)
    kind = column.type
    if pyarrow.types.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    elif pyarrow.types.is_nested(kind):
        raise ValueError(
            f"column {name!r} of {path} has type {kind}: choose a column of single values"
        )
    values: np.ndarray = column.to_numpy()
    return values


def typed(column: Any) -> Any:
    """Convert text to numbers or dates, if every value can be converted."""
    plain = pyarrow.compute.utf8_trim_whitespace(column)
    # Values with a leading zero, such as 007, are identifiers.
    is_name = pyarrow.compute.match_substring_regex(plain, r"^[+-]?0\d")
    if column.null_count == len(column) or pyarrow.compute.any(is_name).as_py():
        return column
    for kind in (pyarrow.int64(), pyarrow.float64(), pyarrow.timestamp("us")):
        try:
            return plain.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
    return column


def copy_rows(source: Path, rows: Sequence[int], target: Path, *, replace: bool = True) -> int:
    """Copy rows of a table, in the given order and with all columns, to text or Parquet.

    The table is read in a single pass, and only the copied rows are held in memory. Returns the
    number of columns.
    """
    order = np.argsort(rows)
    ascending, found = np.asarray(rows)[order], []
    stored = _opened(source)
    header = stored.names
    for first, batch in stored.stored(list(range(stored.head().num_columns))):
        low, high = np.searchsorted(ascending, (first, first + batch.num_rows))
        if low < high:
            places = pyarrow.array(ascending[low:high] - first)
            found.append(pyarrow.Table.from_batches([batch.take(places)]))
    # Numeric types may differ between the files of a folder.
    table = pyarrow.concat_tables(found, promote_options="permissive")
    table = table.take(pyarrow.array(np.argsort(order)))
    with atomic_write(target, replace=replace) as partial:
        if text_suffix(target):
            _write_text(table, header, target, partial)
            return int(table.num_columns)
        if text_suffix(source):
            names = list(header or (f"x{j}" for j in range(table.num_columns)))
            table = pyarrow.table(list(map(typed, table.columns)), names=names)
        pyarrow.parquet.write_table(table, partial)
    return int(table.num_columns)


def _write_text(table: Any, header: Sequence[str] | None, target: Path, partial: Path) -> None:
    is_compressed = target.name.lower().endswith(".gz")
    opener: Any = gzip.open if is_compressed else open
    with opener(partial, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=usual_separator(target), lineterminator="\n")
        if header is not None:
            writer.writerow(header)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
