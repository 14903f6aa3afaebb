"""Text files such as CSV, optionally compressed with gzip, read by pyarrow."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv

from trigpoint._common.errors import DamagedFileError, ParameterValueError, ParameterWarning
from trigpoint._common.warn import warn_user
from trigpoint._sources.arrow import ArrowSource
from trigpoint._sources.choosing import refuse_key
from trigpoint._sources.problems import naming_errors

SUFFIXES = (".csv", ".tsv", ".txt")
# Possible separators by suffix; the first one that occurs in the first line is used.
_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t,;| "}
# Starts of comments, and of the line that tells Excel which separator is used.
_NOT_ROWS = ("#", "sep=")

MISSING = [
    *("", "NA", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "none"),
    *("missing", "-", "?", "."),
]
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")

# Number of bytes and rows to read when determining the layout, and number of bytes to parse at
# once.
_HEAD_BYTES, _ROWS_SEEN, _BLOCK_BYTES = 2**20, 100, 2**22


@dataclass(frozen=True)
class Layout:
    """Layout of a text file."""

    path: Path
    separator: str
    names: tuple[str, ...] | None  # None if there is no header.
    n_columns: int
    skipped: int  # Number of lines before the header or the first row.
    decimal: str  # Decimal point or comma.

    @property
    def labels(self) -> set[int]:
        """Position of the unnamed first column in which pandas writes its index, if any."""
        return {0} if self.names and not self.names[0] and self.n_columns > 1 else set()

    def head(self) -> Any:
        """Return the first rows of all columns as a record batch, with inferred types."""
        for _, batch in self.batches(list(range(self.n_columns))):
            return batch
        raise DamagedFileError(f"{self.path} has a header but no rows to read below it")

    def stored(self, columns: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield (first row, record batch) of some columns as text."""
        return self.batches(columns, dict.fromkeys(columns, pyarrow.string()))

    def batches(
        self,
        columns: list[int],
        types: dict[int, Any] | None = None,
        at_once: int = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Yield (first row, record batch) of some columns; types are inferred if None."""
        convert = pyarrow.csv.ConvertOptions(
            include_columns=list(map(str, columns)),
            column_types={str(column): kind for column, kind in (types or {}).items()},
            null_values=MISSING,
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        read = pyarrow.csv.ReadOptions(
            # Number the columns, because names may be duplicated.
            column_names=list(map(str, range(self.n_columns))),
            skip_rows=self.skipped,
            skip_rows_after_names=int(self.names is not None),
            block_size=_BLOCK_BYTES,
        )
        parse = pyarrow.csv.ParseOptions(
            delimiter=self.separator,
            newlines_in_values=True,
            # In a single-column file, a blank line is a missing value.
            ignore_empty_lines=self.n_columns > 1,
        )
        first = 0
        with (
            naming_errors(str(self.path), "text"),
            self._bytes() as stream,
            # The reader prefetches, so it must be closed before the file.
            pyarrow.csv.open_csv(stream, read, parse, convert) as reader,
        ):
            for batch in reader:
                step = at_once or max(1, batch.num_rows)
                for start in range(0, batch.num_rows, step):
                    yield first + start, batch.slice(start, step)
                first += batch.num_rows

    def _bytes(self) -> Any:
        if self.separator == " ":
            return pyarrow.PythonFile(_SingleBlanks(_opened(self.path)), mode="r")
        is_compressed = self.path.name.lower().endswith(".gz")
        return pyarrow.input_stream(str(self.path), compression="gzip" if is_compressed else None)


def from_path(path: Path, key: str | None, columns: Any) -> "TextSource":
    """Open a text file, optionally compressed with gzip."""
    refuse_key(key, str(path))
    return TextSource(read_layout(path), columns)


class TextSource(ArrowSource):
    """Points in the rows of a text file, as float64.

    If `columns` is None, the unnamed first column in which pandas writes its index is omitted.
    """

    def __init__(self, layout: Layout, columns: Any) -> None:
        self.layout, self._types = layout, list(map(_read_as, layout.head().columns))
        types = [[kind] for kind in self._types]
        super().__init__(
            str(layout.path), layout.names, types, columns, layout.labels, None, self._numbers
        )

    def _numbers(
        self, columns: list[int], at_once: int, rows: np.ndarray | None
    ) -> Iterator[tuple[int, Any]]:
        types = {number: self._types[number] for number in columns}
        try:
            yield from self.layout.batches(columns, types, at_once)
        except DamagedFileError as error:
            if "conversion error" not in str(error):
                raise
            raise ParameterValueError(
                f"{self.name} has a value that is not a number, {self._first_text(columns)}: "
                "correct it, remove the row or choose other columns",
                "X",
            ) from error

    def _first_text(self, columns: list[int]) -> str:
        """Describe the first value of some columns that is not a number."""
        as_text = dict.fromkeys(columns, pyarrow.string())
        for first, batch in self.layout.batches(columns, as_text):
            for label, column in zip(self.labels, batch.columns, strict=True):
                for row, value in enumerate(column.to_pylist(), first):
                    if value is not None and not is_number(value, self.layout.decimal):
                        return f"{value!r} in column {label!r}, row {row}"
        return "in a column of true and false"

    def _counted(self) -> int:
        last, n, ending = self.layout.n_columns - 1, 0, b""
        for first, batch in self.layout.batches([last], {last: pyarrow.binary()}):
            n, ending = first + batch.num_rows, batch.column(0)[-1].as_py() or b""
        if b"\n" in ending.rstrip(b"\r\n") and ending.endswith(b"\n"):
            raise DamagedFileError(
                f"{self.name} has a quote in row {n - 1} that is not closed: close every quote, "
                "and write quotes inside quotes twice"
            )
        return n


def _read_as(column: Any) -> Any:
    """Infer the type of a column from its first values."""
    kind, types = column.type, pyarrow.types
    if types.is_integer(kind) or types.is_null(kind):
        return pyarrow.float64()
    return pyarrow.float64() if are_mostly_numbers(column) else kind


def are_mostly_numbers(column: Any) -> bool:
    """Return whether at least half of the values of a text column are numbers.

    The remaining text then counts as mistakes, which are reported with their rows.
    """
    if not pyarrow.types.is_string(column.type):
        return False
    some = [value for value in column[:_ROWS_SEEN].to_pylist() if value is not None]
    return bool(some) and sum(map(is_number, some)) >= len(some) / 2


def is_number(field: str, decimal: str = ".") -> bool:
    """Return whether a field can be read as a number."""
    field = field.strip().replace(decimal, ".") if "." not in field or decimal == "." else "text"
    try:
        float(field)
    except ValueError:
        return False
    # Python would also accept non-ASCII digits, and underscores as in 1_000.
    return "_" not in field and field.isascii()


def text_suffix(path: Path) -> str:
    """Return the suffix of a text file without .gz; empty for other files."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in SUFFIXES else ""


def usual_separator(path: Path) -> str:
    """Return the usual column separator for a file with this suffix."""
    return _SEPARATORS[text_suffix(path)][0]


def read_layout(path: Path) -> Layout:
    """Determine the layout of a text file from its first lines.

    Blank lines and lines that begin with ``#`` or ``sep=`` are skipped at the top of the file.
    """
    name = str(path)
    text = _first_lines(path)
    lines = iter(text)
    top, skipped = "", 0
    for top in lines:
        if top.strip() and not top.lstrip().lower().startswith(_NOT_ROWS):
            break
        skipped += 1
    else:
        raise DamagedFileError(f"{name} has no data lines: there are no rows to read")
    separator = _separator(path, top)
    # The field size limit is global to the process, so never lower it.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * _HEAD_BYTES))
    rows = csv.reader(chain([top], lines), delimiter=separator, skipinitialspace=separator == " ")
    with naming_errors(name, "text"):
        records = [[field.strip() for field in row] for row in islice(rows, _ROWS_SEEN) if row]
    if separator == " ":
        records = [row if row[-1] else row[:-1] for row in records]
    decimal = "," if separator != "," and _have_decimal_commas(records) else "."
    fields, below = records[0], records[1] if len(records) > 1 else []
    names = tuple(fields) if _is_header(fields, below, decimal) else None
    if names is None and len(fields) > 1 and fields == [str(j) for j in range(len(fields))]:
        warn_user(
            ParameterWarning(
                f"the first line of {name} numbers its columns and is read as a point: if it is a "
                "header written by pandas, give the columns names that are not numbers"
            )
        )
    return Layout(path, separator, names, len(fields), skipped, decimal)


def _first_lines(path: Path) -> list[str]:
    name = str(path)
    with naming_errors(name, "text"), _opened(path) as file:
        raw = file.read(_HEAD_BYTES) + file.readline()
    if b"\0" in raw:
        raise DamagedFileError(f"{name} has a NUL byte, so it is damaged or not text in UTF-8")
    try:
        # Decode incrementally, because the last character may be cut.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(raw)
    except UnicodeDecodeError as error:
        raise DamagedFileError(
            f"{name} is not text in UTF-8 ({error.reason} at byte {error.start:,}): if it is text, "
            "save it as UTF-8, in spreadsheets as 'CSV UTF-8'"
        ) from error
    return text.splitlines(keepends=True)


def _opened(path: Path) -> Any:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


class _SingleBlanks(io.RawIOBase):
    """Binary file with runs of blanks collapsed to one and lines stripped of outer blanks."""

    def __init__(self, file: Any) -> None:
        self._file, self._ready = file, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        if not self._ready:
            lines = self._file.read(_HEAD_BYTES) + self._file.readline()
            single = re.sub(rb"[ \t]+", b" ", lines)
            self._ready = re.sub(rb"(?m)^ | (?=\r?$)", b"", single)
        some, self._ready = self._ready[:size], self._ready[size:]
        return some

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _have_decimal_commas(rows: list[list[str]]) -> bool:
    """Return whether some numbers have a decimal comma and none has a decimal point."""
    fields = [field for row in rows for field in row]
    has_comma = any(map(_DECIMAL_COMMA.fullmatch, fields))
    return has_comma and not any("." in field and is_number(field) for field in fields)


def _separator(path: Path, line: str) -> str:
    """Return the first usual separator that occurs in the line outside quotes and numbers."""
    usual, unquoted = _SEPARATORS[text_suffix(path)], re.sub(r'"[^"]*"', "", line.strip())
    # If semicolons separate columns, numbers may have decimal commas.
    if ";" in usual and _have_decimal_commas([unquoted.split(";")]) and ";" in unquoted:
        return ";"
    return next((separator for separator in usual if separator in unquoted), usual[0])


def _is_header(fields: list[str], below: list[str], decimal: str) -> bool:
    """Return whether the first line is a header; some names may be whole numbers, such as years.

    If some fields are numbers, at least one name must stand above a number. Missing values do not
    count as names, except an empty first field, as pandas writes it.
    """
    numbers = [field for field in fields if is_number(field, decimal)]
    if not numbers:
        return True
    names = [
        not is_number(field, decimal) and (field not in MISSING or (not j and not field))
        for j, field in enumerate(fields)
    ]
    above = any(
        name and is_number(value, decimal) for name, value in zip(names, below, strict=False)
    )
    return above and all(number.isdecimal() for number in numbers)
