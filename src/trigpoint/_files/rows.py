"""Copy whole rows of a table, including text, to another table."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from trigpoint._files.arrow import PARQUET_SUFFIXES, ArrowSource
from trigpoint._files.atomic import atomic_write
from trigpoint._files.formulas import disarm
from trigpoint._files.optional import require
from trigpoint._files.source import PointSource
from trigpoint._files.text import TextSource
from trigpoint._files.text_layout import open_to_write, text_suffix, usual_separator
from trigpoint._files.text_table import TextTable


def can_copy_rows(source: PointSource, path: Path) -> bool:
    """Whether `copy_rows` can write to `path`: text to text, Parquet to Parquet or text."""
    if isinstance(source, TextSource):
        return bool(text_suffix(path))
    is_parquet = path.name.lower().endswith(PARQUET_SUFFIXES)
    return isinstance(source, ArrowSource) and (is_parquet or bool(text_suffix(path)))


def copy_rows(source: PointSource, rows: Sequence[int], path: Path, *, replace: bool = True) -> int:
    """Copy rows of the table that `source` reads to `path`, with all their columns.

    The table is read once, front to back, and only the copied rows are kept in memory. `path` is
    replaced only by a complete file.

    Parameters
    ----------
    source : PointSource
        Points in some columns of a table; the other columns are copied too.
    rows : sequence of int
        Row numbers, in the order to write them.
    path : Path
        File to write; see `can_copy_rows`.
    replace : bool, default=True
        Whether to replace an existing file.

    Returns
    -------
    n_columns : int
        Number of columns written.
    """
    with atomic_write(path, replace=replace) as partial:
        if isinstance(source, TextSource):
            return _copy_records(source.table, rows, path, partial)
        assert isinstance(source, ArrowSource)
        return _copy_columns(source, rows, path, partial)


def _copy_records(table: TextTable, rows: Sequence[int], path: Path, partial: Path) -> int:
    """Copy rows of text verbatim."""
    layout, wanted = table.layout, set(rows)
    found = {row: fields for row, fields in enumerate(table.records()) if row in wanted}
    same_kind = text_suffix(path) == text_suffix(layout.path)
    separator = layout.separator or " " if same_kind else usual_separator(path)
    with _created(partial, path) as file:
        writer = _fields_to(file, separator)
        if layout.names is not None:
            writer.writerow(layout.names)
        writer.writerows(found[row] for row in rows)
    return layout.n_columns


def _copy_columns(source: ArrowSource, rows: Sequence[int], path: Path, partial: Path) -> int:
    table = _taken(source, np.asarray(rows))
    if path.name.lower().endswith(PARQUET_SUFFIXES):
        require("pyarrow.parquet", f"writing {path}").write_table(table, partial)
    else:
        columns = [[name, *table.column(name).to_pylist()] for name in table.column_names]
        disarm(columns)
        with _created(partial, path) as file:
            _fields_to(file, usual_separator(path)).writerows(zip(*columns, strict=True))
    return int(table.num_columns)


def _taken(source: ArrowSource, rows: np.ndarray) -> Any:
    """Some rows of all columns, as a table in the requested order."""
    pyarrow = require("pyarrow", f"reading {source.name}")
    order = np.argsort(rows)
    ascending, found, start = rows[order], [], 0
    for batch in source.whole_batches():
        low, high = np.searchsorted(ascending, (start, start + batch.num_rows))
        if low < high:
            places = pyarrow.array(ascending[low:high] - start)
            found.append(pyarrow.Table.from_batches([batch]).take(places))
        start += batch.num_rows
    # Files in a folder may differ in number types and column order.
    table = pyarrow.concat_tables(found, promote_options="permissive")
    return table.take(pyarrow.array(np.argsort(order)))


def _created(partial: Path, path: Path) -> TextIO:
    return open_to_write(partial, compressed=path.name.lower().endswith(".gz"))


def _fields_to(file: TextIO, separator: str) -> Any:
    return csv.writer(file, delimiter=separator, lineterminator="\n")
