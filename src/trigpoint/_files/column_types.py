"""What the columns of a table hold: numbers, dates or text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._files.arrow import (
    PARQUET_SUFFIXES,
    holds_numbers,
    index_columns,
    parquet_files,
    parquet_head,
    parquet_schema,
)
from trigpoint._files.damage import check_is_file
from trigpoint._files.optional import require
from trigpoint._files.text_layout import (
    has_decimal_comma,
    is_missing,
    is_number,
    read_layout,
    refuse_unreadable,
    text_suffix,
)
from trigpoint._files.text_table import no_rows, records_of

# Rows of a text file that are examined to find out what its columns hold.
_ROWS_SEEN = 1000

DECIMAL_COMMA = "number with a decimal comma"

# Ends of names of columns that count rows, and text that may have been meant as a number.
_COUNTER = re.compile(r".*(id|index|row|nr|no|number|#)\.?", re.IGNORECASE)
_LIKE_NUMBER = re.compile(r"[^\w\s]?\s?[\d.,'\s]*\d[\d.,'\s]*[^\w\s]?|\d+[.,]?\d*\s?[a-zA-Z]{1,3}")
_LONGEST_NUMBER = 30

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Attributes
    ----------
    name : str or None
        ``None`` in a file without a header.
    kind : str
        ``"number"``, ``"number with a decimal comma"``, ``"date"``, ``"text"``, ``"other"``,
        ``"row number"`` for ids that count the rows, or ``"row label"`` for the index that pandas
        keeps beside the columns.
    example : str, default=""
        A value of text with digits, such as ``"$5"``, which may have been meant as a number.
    """

    name: str | None
    kind: str
    example: str = ""

    def described(self) -> str:
        """What it holds, in words."""
        return f"{self.kind} such as {self.example}" if self.example else self.kind


def is_table(path: Path) -> bool:
    """Whether a file or folder is a table, whose columns may hold text."""
    if path.is_dir():
        return bool(parquet_files(path))
    return path.name.lower().endswith(PARQUET_SUFFIXES) or bool(text_suffix(path))


def table_columns(path: Path) -> list[TableColumn]:
    """All columns of a table, in order."""
    check_is_file(path)
    name = str(path)
    if text_suffix(path):
        with refuse_unreadable(name):
            return _text_columns(path, name)
    schema = parquet_schema(path, name)
    labels = index_columns(schema)
    columns = []
    for field in schema:
        kind = "row label" if field.name in labels else _arrow_kind(field.type)
        if kind == "number" and _COUNTER.fullmatch(field.name):
            seen = parquet_head(path, name, field.name, _ROWS_SEEN)
            kind = "row number" if _counts([str(value) for value in seen]) else kind
        columns.append(TableColumn(field.name, kind))
    return columns


def _text_columns(path: Path, name: str) -> list[TableColumn]:
    layout = read_layout(path, name)
    seen = list(islice(records_of(layout), _ROWS_SEEN))
    if not seen:
        raise no_rows(name)
    names: Sequence[str | None] = layout.names or [None] * layout.n_columns
    columns = []
    for number, column in enumerate(names):
        fields = [layout.plain(fields[number].strip()) for fields in seen]
        kind = "row label" if number == layout.index_column() else text_kind(fields)
        if kind == "number" and _COUNTER.fullmatch(column or "") and _counts(fields):
            kind = "row number"
        example = ""
        if kind == "text":
            texts = (field for field in fields if not is_number(field) and not is_missing(field))
            example = layout.plain(next(texts, ""))
        # Longer ones are no numbers, and would take long to match.
        if len(example) > _LONGEST_NUMBER or not _LIKE_NUMBER.fullmatch(example):
            example = ""
        columns.append(TableColumn(column, kind, example))
    return columns


def _counts(fields: list[str]) -> bool:
    """Whether a column counts the rows, from any number on."""
    first = fields[0] if fields else ""
    return first.isdecimal() and fields == [str(int(first) + row) for row in range(len(fields))]


def text_kind(fields: list[str]) -> str:
    """Kind of a column of text fields, ignoring missing ones."""
    given = [field for field in fields if not is_missing(field)]
    if not given:
        return "text"
    if all(map(is_number, given)):
        return "number"
    if all(is_number(field) or has_decimal_comma(field) for field in given):
        return DECIMAL_COMMA
    return "date" if all(map(_is_date, given)) else "text"


def _is_date(field: str) -> bool:
    # NumPy alone would read a number as a year, and warn about time zones.
    if not _DATE.fullmatch(field):
        return False
    try:
        np.datetime64(field)
    except ValueError:
        return False
    return True


def _arrow_kind(arrow_type: Any) -> str:
    types = require("pyarrow.types", "reading columns")
    if holds_numbers(arrow_type):
        return "number"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "date"
    held = arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return "text" if any(is_kind(held) for is_kind in texts) else "other"
