"""Output of a long run that outlives it: the next run resumes after the last complete block."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from trigpoint._files.atomic import Staging, remove
from trigpoint._files.sinks import NpySink, Sink, npy_header
from trigpoint._files.writers import PointWriter, sink_for
from trigpoint._numerics.blocks import block_rows, row_blocks


class ResumableWriter(PointWriter):
    """Like its base, but what was written is kept if the run ends before it is complete.

    Rows are kept as a ``.npy`` file, since no other format can be continued after a kill at any
    moment, and are converted when all are there. So the result is the same with or without a kill.

    Parameters
    ----------
    staging : Staging
        Entered by the caller, with the text that identifies the run.
    shape : (int, int)
        Rows and columns to come.
    dtype : dtype
        Type to store.
    names : sequence of str
        Names of the columns.

    Attributes
    ----------
    rows_written : int
        Inside the ``with`` statement; at its start, how many an earlier run has left.
    """

    def __init__(
        self, staging: Staging, shape: tuple[int, int], dtype: np.dtype, names: Sequence[str]
    ) -> None:
        super().__init__(staging, sink_for(staging.name), shape, dtype, names)

    def __enter__(self) -> Self:
        staging = self._staging
        self._kept = staging.new
        if self._sink_type is not NpySink:
            self._kept = staging.folder / "rows.npy"
        with staging.naming_errors():
            self._sink = rows = _KeptRows(self._kept, self.shape, self.dtype)
        self.rows_written, self.tally = rows.done, rows.tally
        return self

    def write(self, block: np.ndarray, tally: int = 0) -> None:
        """Append the rows of `block`; they are complete when this returns."""
        super().write(block, tally)
        assert isinstance(self._sink, _KeptRows)
        with self._staging.naming_errors():
            self._sink.complete(self.rows_written, self.tally)
        self._staging.keep = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        rows, self._sink = self._sink, None
        assert rows is not None
        if kind is not None:
            with suppress(Exception):
                rows.close()
            return
        with self._staging.naming_errors():
            rows.close()
            self._refuse_missing_rows()
            if self._sink_type is not NpySink:
                self._convert(self._sink_type)
            self._put_in_place()

    def _convert(self, kind: type[Sink]) -> None:
        """Write the rows in the format that was asked for."""
        # From an earlier try.
        remove(self._staging.new)
        rows = np.load(self._kept, mmap_mode="r")
        sink = kind(self._staging.new, self.shape, self.dtype, self.names)
        for part in row_blocks(len(rows), block_rows(rows.dtype.itemsize * rows.shape[1])):
            sink.write(np.ascontiguousarray(rows[part]))
        sink.close()


class _KeptRows(Sink):
    """A ``.npy`` file, and beside it how much of it is complete."""

    def __init__(self, path: Path, shape: tuple[int, int], dtype: np.dtype) -> None:
        self._record = path.with_name("complete.json")
        header = npy_header(shape, dtype)
        row_bytes = shape[1] * dtype.itemsize
        self.done, self.tally = self._recorded()
        begun = path.stat().st_size if path.exists() else 0
        if begun < len(header) + self.done * row_bytes:
            self.done = self.tally = 0
        self._file = path.open("r+b" if self.done else "wb")
        if self.done:
            end = len(header) + self.done * row_bytes
            self._file.truncate(end)
            self._file.seek(end)
        else:
            self._file.write(header)

    def _recorded(self) -> tuple[int, int]:
        try:
            rows, tally = json.loads(self._record.read_text())
            return int(rows), int(tally)
        except (OSError, ValueError):
            return 0, 0

    def write(self, block: np.ndarray) -> None:
        """Append rows."""
        self._file.write(block.data)

    def complete(self, rows: int, tally: int) -> None:
        """Record that this many rows are complete, once they are on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        next_record = self._record.with_suffix(".next")
        next_record.write_text(json.dumps([rows, tally]))
        os.replace(next_record, self._record)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
