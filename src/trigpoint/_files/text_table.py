"""Rows of text files, in blocks; quoted fields may contain separators and line breaks.

No row is skipped because of its content. Only blank lines are skipped, except in a file of one
column, where they may be missing values.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from trigpoint._common.errors import DamagedFileError
from trigpoint._files.text_layout import TextLayout, open_text, read_layout


@dataclass(frozen=True)
class TextTable:
    """Rows below the header of a text file; created by `open_table`.

    Attributes
    ----------
    layout : TextLayout
    n_rows : int
    """

    layout: TextLayout
    n_rows: int

    def records(self) -> Iterator[list[str]]:
        """Fields of each row, as in the file; rows of a different length are errors."""
        return _records(self.layout)

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
            lines = _with_content(file, self.layout)
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


def open_table(path: Path, name: str) -> TextTable:
    """Open a text file and count its rows in one pass; messages call it `name`."""
    layout = read_layout(path, name)
    n_rows = 0
    with open_text(path) as file:
        for line in _below_header(file, layout):
            if '"' in line:
                # A row may span several lines.
                n_rows = sum(1 for _ in _records(layout))
                break
            n_rows += layout.n_columns == 1 or not _is_blank(line, layout)
    return TextTable(layout, n_rows)


def _records(layout: TextLayout) -> Iterator[list[str]]:
    with open_text(layout.path) as file:
        lines = _below_header(file, layout)
        if layout.separator is None:
            records: Iterator[list[str]] = map(str.split, lines)
        else:
            # Strict; otherwise an unclosed quote would swallow all following rows into one field.
            records = csv.reader(lines, delimiter=layout.separator, strict=True)
        row = 0
        try:
            for fields in records:
                if layout.n_columns == 1:
                    fields = fields or [""]
                elif not fields or (len(fields) == 1 and not fields[0].strip()):
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
    return islice(lines, layout.first_line, None)


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
