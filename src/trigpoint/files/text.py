"""Text files: numbers separated by commas, semicolons, tabs or blanks, a row a line."""

import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint.files.choices import check_shape, choose_columns, picked_names, refuse_key
from trigpoint.files.source import PointSource
from trigpoint.warn import warn_user

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
# By suffix, what may separate columns; the first that occurs in the first line does.
_SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".txt": "\t,;"}
_COMMENT = "#"

# What stands for no value, in a row and not in a header.
_MISSING = ("", "na", "n/a", "null", "none", "missing", "-", "?", ".")


def read_text(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in a text file, compressed by gzip or not."""
    refuse_key(key, name)
    try:
        return TextSource(path, name, columns)
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{name} cannot be read as text: {error}") from error


class TextSource(PointSource):
    """Points in the lines of a text file, as float64.

    Empty lines and lines that begin with ``#`` are skipped. The first of the others is a header
    with names of the columns when none of its fields is a number, or when names, some of them whole
    numbers, stand above numbers; a first column without a name, which is how pandas writes its
    index, is left out. Opening reads the file once to count its lines.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What messages call it.
    columns : str, int, sequence of them, or None
        Columns to read.
    """

    def __init__(self, path: Path, name: str, columns: Any) -> None:
        self._path = path
        with _lines(path) as lines:
            first = next(lines, None)
            if first is None:
                raise ValueError(f"{name} has no lines of numbers: there are no rows to read")
            self._separator = _separator(path, first)
            second = next(lines, None)
            below = _fields(second, self._separator) if second else []
            names = _header(_fields(first, self._separator), below, name)
            self._header_lines = 1 if names else 0
            row = second if names else first
            n_rows = (names is None) + (second is not None) + sum(1 for _ in lines)
        fields = _fields(row, self._separator) if row else names or []
        check_shape((n_rows, len(fields)), name)
        if names and len(names) != len(fields):
            raise ValueError(
                f"{name} has {len(names)} names in its header and {len(fields)} values in its "
                "first row: give every column one name"
            )
        if columns is None and names and not names[0] and len(names) > 1:
            # The column without a name in which pandas writes its row numbers.
            columns = list(range(1, len(names)))
        self._chosen = choose_columns(columns, len(fields), names, name)
        _refuse_text(fields, self._chosen, names, name)
        self._n_fields, self._names = len(fields), names
        width = len(fields) if self._chosen is None else len(self._chosen)
        labels = picked_names(names, self._chosen)
        super().__init__(name, (n_rows, width), np.dtype(np.float64), labels)

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        done = 0
        with _lines(self._path) as lines:
            next(islice(lines, self._header_lines, self._header_lines), None)
            # NumPy warns about no lines at all, so the first is looked at before.
            while (first := next(lines, None)) is not None:
                piece = self._parsed(chain([first], islice(lines, rows - 1)), done)
                done += len(piece)
                yield piece
                del piece

    def _parsed(self, lines: Iterator[str], first_row: int) -> np.ndarray:
        try:
            piece = np.loadtxt(
                lines,
                delimiter=self._separator,
                comments=None,
                quotechar='"',
                usecols=None if self._chosen is None else self._chosen.tolist(),
                ndmin=2,
            )
        except ValueError as error:
            raise ValueError(self._what_is_wrong(str(error), first_row)) from error
        if piece.shape[1] != self.shape[1]:
            raise ValueError(
                f"{self.name} has {self._n_fields} columns at first and {piece.shape[1]} from row "
                f"{first_row} on: give every row as many"
            )
        return piece

    def _what_is_wrong(self, said: str, first_row: int) -> str:
        """Say which row and column of the file NumPy could not read, where it says so."""
        found = re.search(r"string '(.*)' to float64 at row (\d+), column (\d+)", said)
        if found is None:
            return f"{self.name}, in rows counted from row {first_row}: {said}"
        place = int(found[3]) - 1
        column = place if self._names is None else repr(self._names[place])
        value = f"holds text, {found[1]!r}," if found[1] else "is empty"
        return (
            f"column {column} of {self.name} {value} in row {first_row + int(found[2])}: fill it "
            "in, remove the row, or leave the column out with columns="
        )


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    """Open a file and give the lines that count, so that every reader counts the same."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    # A byte order mark would otherwise become part of the first name.
    with opener(path, "rt", encoding="utf-8-sig") as file:
        yield (line for line in file if (text := line.strip()) and text[0] != _COMMENT)


def _separator(path: Path, line: str) -> str | None:
    """What separates columns; ``None`` stands for blanks."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
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
    numbers = [field for field in fields if _is_number(field)]
    if len(numbers) == len(fields):
        if len(fields) > 1 and fields == [str(number) for number in range(len(fields))]:
            warn_user(
                f"the first line of {name} counts its columns ({', '.join(fields[:3])}...) and is "
                "read as a point: if it is a header, as pandas writes it, give the columns names",
                UserWarning,
            )
        return None
    if not numbers or _names_numbers(fields, below):
        return fields
    text = next(field for field in fields if not _is_number(field))
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
    if any(field.lower() in _MISSING for field in fields[1:]) or fields[0].lower() in _MISSING[1:]:
        return False
    whole = all(field.isdecimal() for field in fields if _is_number(field))
    named = any(
        _is_number(value) and not _is_number(field)
        for field, value in zip(fields, below, strict=True)
    )
    return whole and named


def _refuse_text(
    fields: list[str], chosen: np.ndarray | None, names: list[str] | None, name: str
) -> None:
    for number in range(len(fields)) if chosen is None else chosen:
        if not _is_number(fields[number]):
            label = repr(names[number]) if names else number
            raise ValueError(
                f"column {label} of {name} holds text, {fields[number]!r} in its first row: "
                "leave it out with columns="
            )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
