"""Text files as lines of fields: what separates them, and the names in a header."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from trigpoint._common.errors import ParameterWarning
from trigpoint._common.warn import warn_user

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
# By suffix, what may separate columns; the first that occurs in the first line does.
_SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".txt": "\t,;"}
_COMMENT = "#"

# What stands for no value, in a row and not in a header.
_MISSING = ("", "na", "n/a", "null", "none", "missing", "-", "?", ".")

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class TextTable:
    """How a text file is laid out; made by `open_text`.

    Attributes
    ----------
    path : Path
    separator : str or None
        Between fields; ``None`` stands for blanks.
    header : str or None
        The line of names, as it is in the file.
    names : list of str or None
        Names of the columns, if the file has a header.
    n_columns : int
    """

    path: Path
    separator: str | None
    header: str | None
    names: list[str] | None
    n_columns: int

    @contextmanager
    def rows(self) -> Iterator[Iterator[str]]:
        """Open the file and give its lines below the header, one for each row."""
        with _lines(self.path) as lines:
            yield islice(lines, 0 if self.header is None else 1, None)

    def fields(self, line: str) -> list[str]:
        """Fields of a line."""
        return _fields(line, self.separator)

    def label(self, number: int) -> str:
        """What messages call a column."""
        return str(number) if self.names is None else repr(self.names[number])

    def row_labels(self) -> int | None:
        """The column without a name in which pandas writes its row numbers, if there is one."""
        return 0 if self.names and not self.names[0] and self.n_columns > 1 else None


def open_text(path: Path, name: str) -> TextTable:
    """Find out how a text file is laid out; messages call it `name`.

    Empty lines and lines that begin with ``#`` are skipped. The first of the others is a header
    when none of its fields is a number, or when names, some of them whole numbers, stand above
    numbers.
    """
    with _lines(path) as lines:
        first, second = next(lines, None), next(lines, None)
    if first is None:
        raise ValueError(f"{name} has no lines of numbers: there are no rows to read")
    separator = _separator(path, first)
    top = _fields(first, separator)
    below = _fields(second, separator) if second else []
    names = _header(top, below, name)
    if names is None:
        return TextTable(path, separator, None, None, len(top))
    if below and len(names) != len(below):
        raise ValueError(
            f"{name} has {len(names)} names in its header and {len(below)} values in its "
            "first row: give every column one name"
        )
    return TextTable(path, separator, first, names, len(names))


@contextmanager
def refuse_unreadable(name: str) -> Iterator[None]:
    """Say of a file that it is no text, or cut short."""
    try:
        yield
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name} cannot be read as text: {error}") from error


def open_to_write(path: Path, compressed: bool) -> TextIO:
    """Open a new text file whose lines end as they are given."""
    if compressed:
        return gzip.open(path, "xt", encoding="utf-8", newline="")
    return path.open("x", encoding="utf-8", newline="")


def text_suffix(path: Path) -> str:
    """Suffix of a text file, without that of its compression; another kind of file has none."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in TEXT_SUFFIXES else ""


def usual_separator(path: Path) -> str:
    """What separates columns in files of this suffix."""
    return _SEPARATORS[text_suffix(path)][0]


def is_number(field: str) -> bool:
    """Whether a field is read as a number."""
    try:
        float(field)
    except ValueError:
        return False
    # Python allows 1_000, which in a file is no number but a name.
    return "_" not in field


def is_missing(field: str) -> bool:
    """Whether a field stands for no value."""
    return field.lower() in _MISSING


def has_decimal_comma(field: str) -> bool:
    """Whether a field is a number written with a comma instead of a point."""
    return _DECIMAL_COMMA.fullmatch(field) is not None


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    """Open a file and give the lines that count, so that every reader counts the same."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    # A byte order mark would otherwise become part of the first name.
    with opener(path, "rt", encoding="utf-8-sig") as file:
        yield (line for line in file if (text := line.strip()) and text[0] != _COMMENT)


def _separator(path: Path, line: str) -> str | None:
    """What separates columns; ``None`` stands for blanks."""
    suffix = text_suffix(path)
    parts = [part.strip() for part in line.split(";")]
    if len(parts) > 1 and all(is_number(part) or has_decimal_comma(part) for part in parts):
        # Commas inside numbers separate nothing.
        return ";"
    for separator in _SEPARATORS[suffix]:
        if separator in line:
            return separator
    return None if suffix == ".txt" else _SEPARATORS[suffix][0]


def _fields(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    fields = next(csv.reader([line.rstrip("\r\n")], delimiter=separator))
    return [field.strip() for field in fields]


def _header(fields: list[str], below: list[str], name: str) -> list[str] | None:
    """Names of the columns, if the first line has them; refuse to guess at a mixture."""
    numbers = [field for field in fields if is_number(field)]
    if len(numbers) == len(fields):
        if len(fields) > 1 and fields == [str(number) for number in range(len(fields))]:
            warn_user(
                ParameterWarning(
                    "the first line of {name} counts its columns ({first}...) and is read as a "
                    "point",
                    "if it is a header, as pandas writes it, give the columns names",
                    name=name,
                    first=", ".join(fields[:3]),
                )
            )
        return None
    if not numbers or _names_numbers(fields, below):
        return fields
    text = next(field for field in fields if not is_number(field))
    raise ValueError(
        f"the first line of {name} has both text ({text!r}) and numbers ({numbers[0]!r}), so it is "
        "neither a header nor a row: give the file a header line of names"
    )


def _names_numbers(fields: list[str], below: list[str]) -> bool:
    """Whether a first line of text and numbers is a header: years among names, or pandas' index.

    A name stands above a number; what may be a row with missing values is none.
    """
    if len(below) != len(fields):
        return False
    # Only the first may be without a name, where pandas writes its index.
    if any(is_missing(field) for field in fields[1:]) or fields[0].lower() in _MISSING[1:]:
        return False
    whole = all(field.isdecimal() for field in fields if is_number(field))
    named = any(
        is_number(value) and not is_number(field)
        for field, value in zip(fields, below, strict=True)
    )
    return whole and named
