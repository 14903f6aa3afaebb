"""Chunked arrays whose rows are read by slicing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import Members, choose_member, refuse_key
from trigpoint._sources.values import described, stays_sparse

# Chunks of up to this many bytes are read whole; larger ones are read and decoded several times.
_BAND_BYTES = 256 * 2**20


class ChunkedSource(Source):
    """Points in an object with `shape` and `dtype` whose rows can be sliced.

    `open_rows` returns a context manager around the object, so that a file is opened and closed for
    every pass. `names` lists all column names.
    """

    def __init__(
        self,
        open_rows: Callable[[], AbstractContextManager[Any]],
        name: str,
        columns: Any,
        names: Sequence[str] | None = None,
    ) -> None:
        self._open_rows = open_rows
        with open_rows() as stored:
            layout = getattr(stored, "format", "csr")
            if layout != "csr":
                raise ParameterValueError(
                    f"{name} is a sparse matrix in {layout.upper()} format, whose rows cannot be "
                    "read quickly: convert it with .tocsr() and store it again",
                    "X",
                )
            shape, dtype = stored.shape, stored.dtype
            self._chunk = int((getattr(stored, "chunks", None) or (1,))[0])
            n_stored = getattr(stored, "nnz", None)
        n, self._chosen, found = described(shape, dtype, name, columns, names)
        self._row_bytes = shape[1] * dtype.itemsize
        if n_stored is not None:
            # This is an estimate if only some columns were chosen.
            n_stored = int(n_stored) * found.count // shape[1]
            found = replace(found, sparse=stays_sparse(n_stored, (n, found.count), found.dtype))
        super().__init__(name, found, n)

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, Any]]:
        with self._open_rows() as stored:
            for band in row_blocks(self.n, self._band_rows()):
                if rows is None or np.diff(np.searchsorted(rows, (band.start, band.stop)))[0]:
                    part = stored[band]
                    yield band.start, part if self._chosen is None else part[:, self._chosen]

    def _band_rows(self) -> int:
        """Return the number of rows to read at once, so that no chunk is decoded twice."""
        rows = block_rows(self._row_bytes)
        if self._chunk <= rows:
            return rows - rows % self._chunk
        return self._chunk if self._chunk * self._row_bytes <= _BAND_BYTES else rows


def array_in(
    open_root: Callable[[], AbstractContextManager[Any]],
    members: Callable[[Any], Members],
    name: str,
    key: str | None,
    columns: Any,
) -> ChunkedSource:
    """Open an array, or one of the arrays that `members` lists in a group or file."""
    with open_root() as root:
        member = None
        if hasattr(root, "shape"):
            refuse_key(key, name)
        else:
            member = choose_member(key, members(root), name)

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with open_root() as root:
            yield root[member] if member else root

    return ChunkedSource(open_rows, f"{name}::{member}" if member else name, columns)
