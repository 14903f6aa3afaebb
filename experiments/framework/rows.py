"""Tables of runs: files that grow by a line as each run ends.

A table is read back as a list of flat rows, case and result together. `CsvTable` is for rows with
the same columns throughout, `JsonTable` for any others.
"""

import csv
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.framework.experiment import Row

# Significant digits of measurements: no page shows more.
_DIGITS = 6


def _rounded(value: Any) -> Any:
    """The same value with few digits in its floats, those of lists and mappings included."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return value


class Table(ABC):
    """Rows of an experiment on disk; existing rows are kept.

    A half-written last line from a killed run is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        self._by_case: dict[tuple[str, ...], dict[tuple[str, ...], Row]] = {}
        self._half_line = False
        if path.exists():
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path} is damaged ({error}): move it away, or name another folder"
                ) from error
            whole = text[: text.rfind("\n") + 1]
            # Left alone until a row is added: another run may be writing it.
            self._half_line = whole != text
            self._read(whole)

    @abstractmethod
    def _read(self, text: str) -> None:
        """Read the rows of a file."""

    @abstractmethod
    def _lines(self, case: Row, result: Row) -> str:
        """Text that is written for a new row."""

    @staticmethod
    @abstractmethod
    def _written(value: Any) -> str:
        """One value as it stands in the file."""

    def find(self, case: Row) -> Row | None:
        """Return the latest row of a case, if it was run."""
        names = tuple(case)
        if names not in self._by_case:
            self._by_case[names] = {self._key(row, names): row for row in self.rows}
        return self._by_case[names].get(self._key(case, names))

    def _key(self, row: Row, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._written(row.get(name)) for name in names)

    def add(self, case: Row, result: Row) -> Row:
        """Append a row, flush it to disk, and return it."""
        result = _rounded(result)
        lines = self._lines(case, result)
        if self._half_line:
            os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
            self._half_line = False
        self._append(lines)
        row = {**case, **result}
        self.rows.append(row)
        for names, found in self._by_case.items():
            found[self._key(row, names)] = row
        return row

    def _append(self, text: str) -> None:
        with self.path.open("a", newline="", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


class CsvTable(Table):
    """Rows with the same columns, whose cells are text, numbers or empty."""

    def __init__(self, path: Path) -> None:
        self._columns: list[str] = []
        super().__init__(path)

    def _read(self, text: str) -> None:
        reader = csv.DictReader(io.StringIO(text))
        self._columns = list(reader.fieldnames or [])
        self.rows = [{name: _parsed(cell, name) for name, cell in row.items()} for row in reader]

    def _lines(self, case: Row, result: Row) -> str:
        row = {**case, **result}
        if self._columns and list(row) != self._columns:
            raise ValueError(
                f"{self.path} has the columns {', '.join(self._columns)} and the new row has "
                f"{', '.join(row)}: it is from another version; move it away, or name another "
                "folder"
            )
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._columns:
            self._columns = list(row)
            writer.writerow(self._columns)
        writer.writerow(map(self._written, row.values()))
        return text.getvalue()

    @staticmethod
    def _written(value: Any) -> str:
        if value is None:
            return ""
        return repr(float(value)) if isinstance(value, float) else str(value)


# Digests, some of which have no letters.
_TEXTS = ("source",)


def _parsed(cell: str | None, name: str) -> str | int | float | None:
    if not cell:
        return None
    if name in _TEXTS:
        return cell
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        # Text such as 007 or 1_000 only looks like a number, and would not be found again.
        if CsvTable._written(number) == cell:
            return number
    return cell


# The header says when and with which state of the library the rows of a `JsonTable` were measured.
_NOT_KEPT = ("run_seconds", "source", "when")


class JsonTable(Table):
    """Rows of any shape, of one run: first the machine it is on, last when it was finished."""

    def __init__(self, path: Path) -> None:
        self.header: Row = {}
        self.finished: Row | None = None
        super().__init__(path)

    def _read(self, text: str) -> None:
        for line in map(json.loads, text.splitlines()):
            if "header" in line:
                self.header = line["header"]
            elif "finished" in line:
                self.finished = line["finished"]
            else:
                self.rows.append({**line["spec"], **line["result"]})

    def _lines(self, case: Row, result: Row) -> str:
        result = {name: value for name, value in result.items() if name not in _NOT_KEPT}
        return json.dumps({"spec": case, "result": result}, separators=(",", ":")) + "\n"

    @staticmethod
    def _written(value: Any) -> str:
        return json.dumps(value)

    def start(self, when: str, environment: Row) -> None:
        """Continue an interrupted run in the same environment, or start over."""
        if self.rows and not self.finished and self.header["environment"] == environment:
            return
        self.header = {"started": when, "environment": environment}
        self.rows, self.finished = [], None
        self._by_case.clear()
        self.path.write_text("")
        self._half_line = False
        self._append(json.dumps({"header": self.header}) + "\n")

    def finish(self, when: str, source: str) -> None:
        """Note that nothing is missing, and which state of the library was measured last."""
        self.finished = {"when": when, "source": source}
        self._append(json.dumps({"finished": self.finished}) + "\n")
