"""Rows of text files, in blocks; quoted fields may contain separators and line breaks.

No row is skipped because of its content. Only blank lines are skipped, and counted, except in a
file of one column, where they may be missing values.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterWarning
from trigpoint._common.warn import warn_user
from trigpoint._common.words import counted
from trigpoint._files.text_layout import (
    TextLayout,
    open_text,
    read_layout,
    refuse_nul,
    split_fields,
)


@dataclass(frozen=True)
class TextTable:
    """Rows below the header of a text file; created by `open_table`.

    Attributes
    ----------
    layout : TextLayout
    n_rows : int
    n_blank : int
        Number of blank lines between rows, which are not rows.
    """

    layout: TextLayout
    n_rows: int
    n_blank: int

    def records(self) -> Iterator[list[str]]:
        """Fields of each row, as in the file; rows of a different length are errors."""
        return records_of(self.layout)

    def column(self, number: int) -> list[str]:
        """All fields of a column, stripped of surrounding blanks."""
        return [fields[number].strip() for fields in self.records()]

    def numbers(self, columns: Sequence[int], rows: int) -> Iterator[np.ndarray]:
        """Blocks of at most `rows` rows of some columns.

        Raises
        ------
        ValueError
            If a field is not a number.
        """
        every = list(columns) == list(range(self.layout.n_columns))
        with open_text(self.layout.path) as file:
            lines = map(self.layout.plain, _with_content(file, self.layout))
            # NumPy warns if there are no lines, so the first is checked beforehand.
            while (first := next(lines, None)) is not None:
                block = np.loadtxt(
                    chain([first], lines),
                    delimiter=self.layout.separator,
                    comments=None,
                    quotechar='"',
                    # If given all columns by number, NumPy would not notice that a row has more.
                    usecols=None if every else list(columns),
                    max_rows=rows,
                    ndmin=2,
                )
                if block.shape[1] != len(columns):
                    raise ValueError("rows have a different number of columns")
                yield block
                del block


def records_of(layout: TextLayout) -> Iterator[list[str]]:
    """Fields of each row, without counting the rows first."""
    return (fields for fields in _records(layout) if fields is not None)


def open_table(path: Path, name: str) -> TextTable:
    """Open a text file and count its rows in one pass; messages call it `name`.

    Blank lines between rows lead to a warning; elsewhere they change no row's number.
    """
    layout = read_layout(path, name)
    n_rows, n_blank = _counts(_row_lines(layout))
    if not n_rows:
        raise no_rows(name)
    if n_blank:
        warn_user(
            ParameterWarning(
                "{name} has {blank} between its rows, not counted as {rows}",
                "if they stand for missing rows, fill them in",
                name=name,
                blank=counted(n_blank, "blank line"),
                rows="a row" if n_blank == 1 else "rows",
            )
        )
    return TextTable(layout, n_rows, n_blank)


def no_rows(name: str) -> DamagedFileError:
    """The error about a file of a single line of text."""
    return DamagedFileError(f"{name} has a header, and there are no rows to read below it")


def _counts(is_row: Iterator[bool]) -> tuple[int, int]:
    """Number of rows, and of blank lines between two of them."""
    n_rows = n_blank = waiting = 0
    for row in is_row:
        if row:
            n_rows, n_blank, waiting = n_rows + 1, n_blank + waiting, 0
        elif n_rows:
            waiting += 1
    return n_rows, n_blank


def _row_lines(layout: TextLayout) -> Iterator[bool]:
    """Whether each line below the header is a row; those of a row over several lines count once."""
    done = 0
    with open_text(layout.path) as file:
        for line in _below_header(file, layout):
            if '"' in line:
                break
            yield layout.n_columns == 1 or not _is_blank(line, layout)
            done += 1
        else:
            return
    yield from (fields is not None for fields in islice(_records(layout), done, None))


def _records(layout: TextLayout) -> Iterator[list[str] | None]:
    """Fields of each row, and None for each blank line."""
    with open_text(layout.path) as file:
        lines = _below_header(file, layout)
        if layout.separator is None:
            records: Iterator[list[str]] = map(str.split, lines)
        else:
            # Strict; otherwise an unclosed quote would swallow all following rows into one field.
            records = split_fields(lines, layout.separator, strict=True)
        row = 0
        try:
            for fields in records:
                if layout.n_columns == 1:
                    fields = fields or [""]
                elif not fields or (len(fields) == 1 and not fields[0].strip()):
                    yield None
                    continue
                if len(fields) != layout.n_columns:
                    raise DamagedFileError(
                        f"{layout.name} has {layout.n_columns} columns at first but {len(fields)} "
                        f"in row {row}: give every row the same number"
                    )
                yield fields
                row += 1
        except csv.Error as error:
            raise DamagedFileError(
                f"{layout.name} cannot be read in row {row} ({error}): close every quote, and "
                "write quotes inside quotes twice"
            ) from error


def _below_header(lines: Iterator[str], layout: TextLayout) -> Iterator[str]:
    for number, line in enumerate(islice(lines, layout.first_line, None), layout.first_line):
        refuse_nul(line, layout.name, number)
        yield line


def _with_content(lines: Iterator[str], layout: TextLayout) -> Iterator[str]:
    """Lines below the header, without blank lines that are not rows; NumPy would skip all."""
    for line in _below_header(lines, layout):
        if line.strip():
            yield line
        elif layout.n_columns == 1 or not _is_blank(line, layout):
            raise ValueError("a row is empty")


def _is_blank(line: str, layout: TextLayout) -> bool:
    # Tabs separate missing values, so a line of them is not blank.
    return not line.strip(None if layout.separator is None else " \r\n")
