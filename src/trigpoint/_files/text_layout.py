"""Layout of a text file: what separates its columns, and whether they have names."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from trigpoint._common.errors import DamagedFileError, ParameterWarning
from trigpoint._common.warn import warn_user

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
# Possible separators by suffix; the first one that occurs in the first line is used.
_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t,;|"}
# Comments, and the line that tells a spreadsheet what separates columns.
_NOT_ROWS = ("#", "sep=")

# Fields that stand for a missing value, in a row but not in a header.
_MISSING = ("", "na", "n/a", "null", "none", "missing", "-", "?", ".")

# Such as 1,5 and 1.234,5; and 1,500, which to others is one and a half thousand.
_DECIMAL_COMMA = re.compile(r"[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_THOUSANDS_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}")
_SWAPPED = str.maketrans(",.", ".,")

# Rows that show how numbers are written.
_ROWS_SEEN = 100

_QUOTED = re.compile(r'"[^"]*"')
_WHOLE = re.compile(r"[+-]?\d+")

# Python's limit for one field is 128 KB, in columns that are not read too. A longer field than this
# is a quote that was not closed.
_LONGEST_FIELD = 2**28


@dataclass(frozen=True)
class TextLayout:
    """Layout of a text file; created by `read_layout`.

    Attributes
    ----------
    path : Path
    name : str
        What messages call the file.
    separator : str or None
        Separator of fields; ``None`` for blanks.
    names : list of str or None
        Names of the columns, if the file has a header.
    n_columns : int
    first_line : int
        Number of lines before the first row: comments, blank lines and the header.
    n_comments : int
        How many of them are comments.
    comma : bool
        Whether numbers have a decimal comma.
    """

    path: Path
    name: str
    separator: str | None
    names: list[str] | None
    n_columns: int
    first_line: int
    n_comments: int
    comma: bool = False

    def plain(self, text: str) -> str:
        """Numbers of the file with a point; one that had a point is a number no more."""
        return text.translate(_SWAPPED) if self.comma and not is_missing(text) else text

    def label(self, number: int) -> str:
        """What messages call a column."""
        return str(number) if self.names is None else repr(self.names[number])

    def index_column(self) -> int | None:
        """The unnamed column in which pandas writes its index, if there is one."""
        return 0 if self.names and not self.names[0] and self.n_columns > 1 else None


def read_layout(path: Path, name: str) -> TextLayout:
    """Determine the layout of a text file from its first lines; messages call it `name`.

    Blank lines and lines that begin with ``#`` or ``sep=`` are skipped at the top of the file. The
    next line is a header if none of its fields is a number, or if its fields are names, some of
    them whole numbers, above numbers.
    """
    with open_text(path) as lines:
        first, skipped, n_comments = "", 0, 0
        for first in lines:
            if first.strip() and not first.lstrip().lower().startswith(_NOT_ROWS):
                break
            skipped, n_comments = skipped + 1, n_comments + bool(first.strip())
        else:
            raise DamagedFileError(f"{name} has no lines of numbers: there are no rows to read")
        refuse_nul(first, name, skipped)
        separator = _separator(path, first)
        records = _records(chain([first], lines), separator)
        top, n_lines = next(records)
        rows = [fields for fields, _ in islice(records, _ROWS_SEEN) if fields]
    below = rows[0] if rows else []
    names = _header(top, below, name)
    comma = separator != "," and _have_decimal_commas([top, *rows])
    if names is None:
        return TextLayout(path, name, separator, None, len(top), skipped, n_comments, comma)
    if below and len(names) != len(below):
        remedy = "give every column one name"
        if len(below) == 2 * len(names) and separator == "," and all(map(_WHOLE.fullmatch, below)):
            remedy = "if these are decimal commas, write numbers with a point"
        raise DamagedFileError(
            f"{name} has {len(names)} names in its header and {len(below)} values in its "
            f"first row: {remedy}"
        )
    skipped += n_lines
    return TextLayout(path, name, separator, names, len(names), skipped, n_comments, comma)


@contextmanager
def refuse_unreadable(name: str) -> Iterator[None]:
    """Raise a clear error if a file is not text or is truncated."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DamagedFileError(
            f"{name} is not text in UTF-8 ({error.reason} at byte {error.start:,}): if it is text, "
            "save it as UTF-8, in spreadsheets as 'CSV UTF-8'"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error, csv.Error) as error:
        raise DamagedFileError(f"{name} cannot be read as text: {error}") from error


def refuse_nul(line: str, name: str, lines_before: int) -> None:
    """Reject a line with a NUL byte, which no text has."""
    if "\0" in line:
        raise DamagedFileError(
            f"{name} has a NUL byte in line {lines_before + 1:,}, so it is damaged or not text: "
            "write it again, or remove such bytes"
        )


def open_text(path: Path) -> TextIO:
    """Open a text file, optionally compressed with gzip."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    # A byte order mark would otherwise become part of the first name.
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def open_to_write(path: Path, compressed: bool) -> TextIO:
    """Open a new text file without translating line endings."""
    if compressed:
        return gzip.open(path, "xt", encoding="utf-8", newline="")
    return path.open("x", encoding="utf-8", newline="")


def text_suffix(path: Path) -> str:
    """Suffix of a text file, ignoring .gz; empty for other kinds of files."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in TEXT_SUFFIXES else ""


def usual_separator(path: Path) -> str:
    """Usual separator of columns in files with this suffix."""
    return _SEPARATORS[text_suffix(path)][0]


def is_number(field: str) -> bool:
    """Whether a field is read as a number."""
    try:
        float(field)
    except ValueError:
        return False
    # Python allows 1_000, which in a file is a name, and digits of all scripts, which NumPy lacks.
    return "_" not in field and field.strip().isascii()


def is_missing(field: str) -> bool:
    """Whether a field stands for a missing value."""
    return field.lower() in _MISSING


def has_decimal_comma(field: str) -> bool:
    """Whether a field is a number written with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(field) is not None


def has_thousands_points(field: str) -> bool:
    """Whether a field is a number, beyond doubt, with points between thousands: 1.234.567."""
    return _THOUSANDS_POINTS.fullmatch(field) is not None


def _have_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether numbers have decimal commas, beyond doubt, and none has a point."""
    fields = [field for row in rows for field in row]
    with_comma = [field for field in fields if has_decimal_comma(field)]
    return not all(map(_THOUSANDS.fullmatch, with_comma)) and not any(
        "." in field and (is_number(field) or has_decimal_comma(field)) for field in fields
    )


def _separator(path: Path, line: str) -> str | None:
    """Separator of columns; ``None`` for blanks."""
    suffix = text_suffix(path)
    # Commas inside numbers separate nothing.
    if _are_numbers([part.strip() for part in line.split(";")]):
        return ";"
    if suffix == ".txt" and "\t" not in line and _are_numbers(line.split()):
        return None
    unquoted = _QUOTED.sub("", line)
    for separator in _SEPARATORS[suffix]:
        if separator in unquoted:
            return separator
    return None if suffix == ".txt" else _SEPARATORS[suffix][0]


def _are_numbers(parts: list[str]) -> bool:
    return len(parts) > 1 and all(is_number(part) or has_decimal_comma(part) for part in parts)


def split_fields(lines: Iterator[str], separator: str, *, strict: bool = False) -> Any:
    """Fields of each row; quoted ones may contain separators and line breaks."""
    # The limit belongs to the whole process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    return csv.reader(lines, delimiter=separator, strict=strict)


def _records(lines: Iterator[str], separator: str | None) -> Iterator[tuple[list[str], int]]:
    """Fields of each row, and the number of lines up to its end."""
    if separator is None:
        yield from ((line.split(), number) for number, line in enumerate(lines, 1))
        return
    reader = split_fields(lines, separator)
    for fields in reader:
        yield [field.strip() for field in fields], reader.line_num


def _header(fields: list[str], below: list[str], name: str) -> list[str] | None:
    """Names of the columns, if the first line has them; a mixture is an error, not a guess."""
    numbers = [field for field in fields if is_number(field) or has_decimal_comma(field)]
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
    text = next(field for field in fields if field not in numbers)
    raise DamagedFileError(
        f"the first line of {name} has both text ({text!r}) and numbers ({numbers[0]!r}), so it is "
        "neither a header nor a row: give the file a header line of names"
    )


def _names_numbers(fields: list[str], below: list[str]) -> bool:
    """Whether a first line of text and numbers is a header: years among names, or pandas' index.

    In a header, a name stands above a number; a possible row with missing values is not a header.
    """
    if len(below) != len(fields):
        return False
    # Only the first column may be unnamed, where pandas writes its index.
    if any(is_missing(field) for field in fields[1:]) or fields[0].lower() in _MISSING[1:]:
        return False
    whole = all(field.isdecimal() for field in fields if is_number(field))
    named = any(
        is_number(value) and not is_number(field)
        for field, value in zip(fields, below, strict=True)
    )
    return whole and named
