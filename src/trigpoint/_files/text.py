"""Points in text files: numbers separated by commas, semicolons, tabs or blanks, a row per line."""

from collections.abc import Iterator, Sequence
from itertools import islice
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
from trigpoint._files.text_layout import (
    has_decimal_comma,
    has_thousands_points,
    is_missing,
    is_number,
    refuse_unreadable,
)
from trigpoint._files.text_table import open_table


def read_text(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in a text file, optionally compressed with gzip."""
    refuse_key(key, name)
    with refuse_unreadable(name):
        return TextSource(path, name, columns)


class TextSource(PointSource):
    """Points in the rows of a text file, as float64.

    A first column without a name, as pandas writes its index, is left out. Opening the file reads
    it once to count its rows.

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
        All its columns.
    """

    def __init__(self, path: Path, name: str, columns: Any) -> None:
        self.table = open_table(path, name)
        layout = self.table.layout
        check_shape((self.table.n_rows, layout.n_columns), name)
        if columns is None and layout.index_column() is not None:
            columns = list(range(1, layout.n_columns))
        chosen = choose_columns(columns, layout.n_columns, layout.names, name)
        self._chosen = list(range(layout.n_columns)) if chosen is None else chosen.tolist()
        shape = (self.table.n_rows, len(self._chosen))
        labels = picked_names(layout.names, chosen)
        super().__init__(name, shape, np.dtype(np.float64), labels)
        first = next(self.table.records())
        numbers = [number for number in self._chosen if is_number(layout.plain(first[number]))]
        remedy, values = leave_out(layout.names, numbers)
        self._refuse_text(first, "in its first row", remedy, **values)

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        with refuse_unreadable(self.name):
            yield from self._read_pieces(rows)

    def _read_pieces(self, rows: int) -> Iterator[np.ndarray]:
        done = 0
        try:
            for piece in self.table.numbers(self._chosen, rows):
                done += len(piece)
                yield piece
                del piece
        except ValueError as error:
            # Searched again for the row, because NumPy counts from the first row it was given.
            remedy, values = self._remedy()
            for row, fields in enumerate(islice(self.table.records(), done, None), done):
                self._refuse_text(fields, f"in row {row}", remedy, **values)
            raise DamagedFileError(f"{self.name}, from row {done} on: {error}") from error

    def _remedy(self) -> tuple[Sequence[str], dict[str, Any]]:
        """What helps against text among numbers, with the columns to paste that have none."""
        whole = set(self._chosen)
        for fields in self.table.records():
            whole = {j for j in whole if is_number(self.table.layout.plain(fields[j]))}
        remedy, values = leave_out(self.table.layout.names, sorted(whole))
        if values:
            remedy = "keep to the complete ones with {columns=}"
        return ("fill it in", "remove the row", remedy), values

    def _refuse_text(
        self, fields: Sequence[str], where: str, remedy: str | Sequence[str], **values: Any
    ) -> None:
        """Reject a row with a field that is not a number among the columns to read."""
        for number in self._chosen:
            field = fields[number].strip()
            if is_number(self.table.layout.plain(field)):
                continue
            if has_decimal_comma(field) or is_number(field):
                mark = "point" if is_number(field) else "comma"
                what, remedy = f"has a decimal {mark}, {field!r},", "write numbers with a point"
                if self.table.layout.comma:
                    remedy = "write all numbers alike, with a point or with a comma"
            elif has_thousands_points(field):
                what, remedy = f"has points between thousands, {field!r},", "write 1.234 as 1234"
            else:
                what = "has a missing value," if is_missing(field) else "holds text,"
                what = f"{what} {field!r}," if field else "is empty"
            raise ParameterValueError(
                "X",
                field,
                "column {column} of {source} {what} {where}",
                remedy,
                column=self.table.layout.label(number),
                source=self.name,
                what=what,
                where=where,
                **values,
            )
