"""Sources that can be sliced by rows: arrays, memory maps, HDF5 and Zarr, sparse matrices."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from trigpoint._common.checks import check_count, refuse_masked, refuse_non_finite
from trigpoint._common.errors import ParameterValueError
from trigpoint._files.selection import check_shape, choose_columns, picked_names, point_dtype
from trigpoint._files.source import PointSource
from trigpoint._numerics.blocks import BLOCK_BYTES, block_rows, row_blocks

# Rows stored in one chunk are decoded together, so they are kept to avoid decoding them again.
_BAND_BYTES = 256 * 2**20


class SlicedSource(PointSource):
    """Points in an object with `shape` and `dtype` whose rows can be sliced.

    Parameters
    ----------
    open_rows : callable
        Returns a context manager around the object to slice. A file is opened for every pass and
        closed at its end, so that a source does not hold a file open.
    name : str
        What messages call it.
    columns : str, int, sequence of them, or None
        Columns to read.
    feature_names : sequence of str or None
        Names of all columns.
    """

    def __init__(
        self,
        open_rows: Callable[[], AbstractContextManager[Any]],
        name: str,
        columns: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self._open_rows = open_rows
        with open_rows() as stored:
            _refuse_columnwise(stored, name)
            n_rows, n_columns = check_shape(stored.shape, name)
            dtype = point_dtype(stored.dtype, name, "convert it to float32 or float64 first")
            self._row_bytes = n_columns * stored.dtype.itemsize
            n_stored, stored_dtype = getattr(stored, "nnz", None), np.dtype(stored.dtype)
            # Rows that are stored, and decoded, together.
            self.chunk_rows = int((getattr(stored, "chunks", None) or (1,))[0])
        self._chosen = choose_columns(columns, n_columns, feature_names, name)
        width = n_columns if self._chosen is None else len(self._chosen)
        super().__init__(name, (n_rows, width), dtype, picked_names(feature_names, self._chosen))
        self.stored_dtype = stored_dtype
        # An estimate, with some of the columns.
        self.n_stored = None if n_stored is None else int(n_stored) * width // n_columns

    @property
    def columns(self) -> list[int] | None:
        """Numbers of the columns that are read; None for all."""
        return None if self._chosen is None else [int(column) for column in self._chosen]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return consecutive rows of points that are not sparse; values unchecked."""
        with self._open_rows() as stored:
            part = np.asarray(stored[start:stop])
        return (part if self._chosen is None else part[:, self._chosen]).astype(self.dtype)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by number, in this order; values unchecked."""
        with self._open_rows() as stored:
            if not isinstance(stored, csr_array):
                return super().take(rows)
            taken = stored[rows]
        taken = taken if self._chosen is None else taken[:, self._chosen]
        return taken.toarray().astype(self.dtype, copy=False)

    def sparse_blocks(self, rows: int) -> Iterator[csr_array]:
        """Iterate over sparse points like `blocks`, without making them dense."""
        if self.n_stored is None:
            return super().sparse_blocks(rows)
        return self._counted(self._sparse_pieces(check_count("rows", rows)), self._checked_sparse)

    def _sparse_pieces(self, rows: int) -> Iterator[Any]:
        with self._open_rows() as stored:
            for band in row_blocks(self.shape[0], rows):
                # A slice would be a copy.
                whole = issparse(stored) and rows >= self.shape[0]
                part = stored if whole else stored[band]
                yield part if self._chosen is None else part[:, self._chosen]

    def _checked_sparse(self, piece: Any, first_row: int) -> csr_array:
        block = csr_array(piece).astype(self.dtype, copy=False)
        if not block.has_canonical_format or not block.data.all():
            block = block.copy()
            block.sum_duplicates()
            block.eliminate_zeros()
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.data.sum())
        if not finite:
            for part in row_blocks(block.shape[0], block_rows(8 * block.shape[1])):
                dense = block[part].toarray()
                refuse_non_finite(dense, self.name, self.feature_names, first_row + part.start)
        return block

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        if self._chosen is not None:
            # Whole rows are read before columns are selected, so they limit the block size.
            rows = min(rows, block_rows(self._row_bytes, 4 * BLOCK_BYTES))
        with self._open_rows() as stored:
            for band in row_blocks(self.shape[0], self._band_rows(rows)):
                _refuse_cut(stored, self.name)
                part = stored[band]
                if self._chosen is not None:
                    part = part[:, self._chosen]
                if hasattr(part, "toarray"):
                    part = part.toarray()
                for piece in row_blocks(part.shape[0], rows):
                    yield part[piece]
                del part

    def _band_rows(self, rows: int) -> int:
        """Rows to read at once, so that no chunk is decoded twice."""
        chunk = self.chunk_rows
        if chunk <= rows:
            return rows - rows % chunk
        return chunk if chunk * self._row_bytes <= _BAND_BYTES else rows


def check_inside(matrix: Any) -> None:
    """Reject a compressed sparse array that would be read or written outside its arrays.

    Raises
    ------
    ValueError
    """
    matrix.check_format(full_check=True)
    # Which SciPy does not look at if the last of them says that nothing is stored.
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its rows run backward")


def from_sparse(
    X: Any, name: str, columns: Any, feature_names: Sequence[str] | None = None
) -> SlicedSource:
    """Points in a SciPy sparse array of any format."""
    rows = csr_array(X)
    return SlicedSource(lambda: nullcontext(rows), name, columns, feature_names)


class ArraySource(SlicedSource):
    """Points in an array in memory, or in a memory map.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The points.
    name : str
        What messages call it.
    columns : str, int, sequence of them, or None
        Columns to read.
    feature_names : sequence of str or None
        Names of all columns.
    """

    def __init__(
        self,
        X: np.ndarray,
        name: str = "X",
        columns: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        refuse_masked(X)
        # Other subclasses, such as np.matrix, slice differently.
        self._X = X if type(X) is np.memmap else np.asarray(X)
        super().__init__(lambda: nullcontext(self._X), name, columns, feature_names)

    def array(self) -> np.ndarray | None:
        """Return the array itself, unless it must be converted first."""
        flags = self._X.flags
        as_needed = self._X.dtype == self.dtype and flags.c_contiguous and flags.aligned
        return self._X if as_needed and self._chosen is None else None


def _refuse_cut(stored: Any, name: str) -> None:
    """Refuse a map of a file that has become shorter: reading what is gone ends the process."""
    mapped = getattr(stored, "_mmap", None) if type(stored) is np.memmap else None
    if mapped is not None and mapped.size() < stored.offset + stored.nbytes:
        raise ValueError(
            f"{name} has become shorter since it was opened: do not change it while it is being "
            "read"
        )


def _refuse_columnwise(stored: Any, name: str) -> None:
    """Reject sparse matrices that are not stored row by row."""
    layout = getattr(stored, "format", "csr")
    if layout != "csr":
        raise ParameterValueError(
            "X",
            layout,
            "{name} is a sparse matrix in {layout} format, whose rows cannot be read quickly",
            "convert it with .tocsr() and store it again",
            name=name,
            layout=layout.upper(),
        )
