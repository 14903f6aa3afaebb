"""Text files: numbers separated by commas, semicolons, tabs or blanks, a row a line."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._files.selection import (
    check_shape,
    choose_columns,
    leave_out,
    picked_names,
    refuse_key,
)
from trigpoint._files.source import PointSource
from trigpoint._files.text_layout import has_decimal_comma, is_number, open_text, refuse_unreadable


def read_text(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in a text file, compressed by gzip or not."""
    refuse_key(key, name)
    with refuse_unreadable(name):
        return TextSource(path, name, columns)


class TextSource(PointSource):
    """Points in the lines of a text file, as float64.

    A first column without a name, which is how pandas writes its index, is left out. Opening reads
    the file once to count its lines.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What messages call it.
    columns : str, int, sequence of them, or None
        Columns to read.

    Attributes
    ----------
    table : TextTable
        How the file is laid out.
    """

    def __init__(self, path: Path, name: str, columns: Any) -> None:
        self.table = table = open_text(path, name)
        with table.rows() as rows:
            first = next(rows, "")
            n_rows = (first != "") + sum(1 for _ in rows)
        check_shape((n_rows, table.n_columns), name)
        if columns is None and table.row_labels() is not None:
            columns = list(range(1, table.n_columns))
        self._chosen = choose_columns(columns, table.n_columns, table.names, name)
        self._numbers = list(range(table.n_columns)) if self._chosen is None else [*self._chosen]
        labels = picked_names(table.names, self._chosen)
        super().__init__(name, (n_rows, len(self._numbers)), np.dtype(np.float64), labels)
        fields = table.fields(first)
        numbers = [number for number in self._numbers if is_number(fields[number])]
        remedy, values = leave_out(table.names, numbers)
        self._refuse_text(fields, "in its first row", remedy, **values)

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        done = 0
        with self.table.rows() as lines:
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
                delimiter=self.table.separator,
                comments=None,
                quotechar='"',
                usecols=None if self._chosen is None else self._chosen.tolist(),
                ndmin=2,
            )
        except ValueError as error:
            self._refuse_rows(first_row)
            raise ValueError(f"{self.name}, from row {first_row} on: {error}") from error
        if piece.shape[1] != self.shape[1]:
            self._refuse_rows(first_row)
        return piece

    def _refuse_rows(self, first_row: int) -> None:
        """Look again at rows that NumPy could not read, to say which one is wrong, and how.

        NumPy counts from the first row that it was given, and its remedies are not ours.
        """
        table = self.table
        with table.rows() as lines:
            for row, line in enumerate(islice(lines, first_row, None), first_row):
                fields = table.fields(line)
                if len(fields) != table.n_columns:
                    raise DamagedFileError(
                        f"{self.name} has {table.n_columns} columns at first and {len(fields)} in "
                        f"row {row}: give every row as many"
                    )
                self._refuse_text(
                    fields,
                    f"in row {row}",
                    ("fill it in", "remove the row", "choose other {columns}"),
                )

    def _refuse_text(
        self, fields: Sequence[str], where: str, remedy: str | Sequence[str], **values: Any
    ) -> None:
        """Refuse a row with a field that is no number among the columns to read."""
        for number in self._numbers:
            field = fields[number]
            if is_number(field):
                continue
            if has_decimal_comma(field):
                what, remedy = f"has a decimal comma, {field!r},", "write numbers with a point"
            else:
                what = f"holds text, {field!r}," if field else "is empty"
            raise ParameterValueError(
                "X",
                field,
                "column {column} of {source} {what} {where}",
                remedy,
                column=self.table.label(number),
                source=self.name,
                what=what,
                where=where,
                **values,
            )
