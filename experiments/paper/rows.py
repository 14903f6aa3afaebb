"""The table of all runs, a CSV file that grows by a row as each run ends."""

import csv
import io
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from experiments.paper.experiment import Row, Value

logger = logging.getLogger(__name__)


class RowFile:
    """Rows of an experiment on the disk; whatever was written there before is kept.

    A half-written last line, of a run that was killed, is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        self._columns: list[str] = []
        self._half_line = False
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.path} is damaged ({error}): move it away, or name another folder"
            ) from error
        whole = text[: text.rfind("\n") + 1]
        # Left as it is until a row is added: another run may just be writing it.
        self._half_line = whole != text
        reader = csv.DictReader(io.StringIO(whole))
        self._columns = list(reader.fieldnames or [])
        self.rows = [{name: _parsed(cell) for name, cell in row.items()} for row in reader]

    def find(self, case: Row) -> Row | None:
        """Return the latest row of a case, if it was run."""
        wanted = {name: _written(value) for name, value in case.items()}
        for row in reversed(self.rows):
            if all(_written(row.get(name)) == cell for name, cell in wanted.items()):
                return row
        return None

    def add(self, row: Row) -> None:
        """Append a row, and see to it that it stays on the disk."""
        if self._columns and list(row) != self._columns:
            raise ValueError(
                f"{self.path} has the columns {', '.join(self._columns)} and the new row has "
                f"{', '.join(row)}: it is from another version; move it away, or name another "
                "folder"
            )
        if self._half_line:
            self._drop_half_line()
        if not self._columns:
            self._columns = list(row)
            self._append(self._columns)
        self.rows.append(row)
        self._append([_written(value) for value in row.values()])

    def _drop_half_line(self) -> None:
        os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
        self._half_line = False

    def _append(self, cells: Sequence[str]) -> None:
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(cells)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a table, where the system has locks that end with one.

    Two that run the same experiment would otherwise do all of it twice, side by side.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{path} is being written by another run: wait for it, or name another folder"
            ) from None
        except OSError:
            # Some file systems have no locks.
            logger.info("%s cannot be kept from other runs", path)
        try:
            yield
        finally:
            # Opening has made it, and nothing has come to be written; or it was moved away.
            with suppress(FileNotFoundError):
                if path.stat().st_size == 0:
                    path.unlink()


def _written(value: Value) -> str:
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def _parsed(cell: str | None) -> Value:
    if not cell:
        return None
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        # Text such as 007 or 1_000 only looks like a number, and would not be found again.
        if _written(number) == cell:
            return number
    return cell
