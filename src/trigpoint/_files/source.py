"""The interface of everything that points are read from."""

import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from trigpoint._common.checks import check_count, refuse_non_finite
from trigpoint._common.errors import DamagedFileError
from trigpoint._numerics.blocks import block_rows

Block = TypeVar("Block", np.ndarray, csr_array)

# Raised by readers for files that are truncated, damaged or gone since they were opened.
_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile)


class PointSource(ABC):
    """Points that can be read repeatedly in blocks of rows; created by `read_points`.

    `fit` and `transform` accept one in place of an array. ``np.asarray`` reads all of it.

    Parameters
    ----------
    name : str
        What messages call it.
    shape : (int, int)
        Rows and columns.
    dtype : dtype
        float32 or float64.
    feature_names : sequence of str or None
        Names of the columns, if they have any.

    Attributes
    ----------
    name, shape, dtype, feature_names
        As above.
    path : Path or None
        The file or folder that is read, if it was given by its path.
    n_stored : int or None
        How many values are stored, where zeros are not; ``None`` for points that are not sparse.
    stored_dtype : dtype or None
        Type of the values as they are stored; ``None`` if columns differ, or are text.

    Examples
    --------
    >>> import numpy as np
    >>> import trigpoint as tp
    >>> source = tp.read_points(np.arange(6).reshape(3, 2))
    >>> source
    <PointSource X (3, 2) float64>
    >>> source.take(np.array([2, 0]))
    array([[4., 5.],
           [0., 1.]])
    """

    # A new kind of source implements `_pieces`, which may yield rows of any numeric type and memory
    # order; conversion and checks are done here, once for all.

    path: Path | None = None
    n_stored: int | None = None
    stored_dtype: np.dtype | None = None

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        dtype: np.dtype,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.feature_names = None if feature_names is None else list(feature_names)

    def __repr__(self) -> str:
        return f"<PointSource {self.name} {self.shape} {self.dtype}>"

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """All points in memory, for ``np.asarray``."""
        points = np.concatenate(list(self.blocks(max(1, self.shape[0]))))
        return points if dtype is None else points.astype(dtype)

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Iterate over all points in order, in blocks of at most `rows` rows.

        Blocks are C-contiguous, of `dtype`, and finite. They may be views of the caller's array, so
        do not write to them. No block is kept once the next one is requested.

        Raises
        ------
        ValueError
            If a value is missing, infinite or not a number; the message names its row.
        """
        return self._checked_blocks(check_count("rows", rows))

    def array(self) -> np.ndarray | None:
        """Return all points as a C-contiguous array or memory map of `dtype`, values unchecked.

        ``None`` if that would need reading or conversion.
        """
        return None

    def sparse_blocks(self, rows: int) -> Iterator[csr_array]:
        """Iterate over sparse points like `blocks`, without making them dense.

        Columns are in order, each at most once in a row; stored zeros are left out.
        """
        raise TypeError(f"{self.name} is not sparse")

    def sparse(self) -> csr_array:
        """Return all points of a sparse source, checked, as one array that is not to be changed."""
        (whole,) = self.sparse_blocks(self.shape[0])
        return whole

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by number, in this order, in one pass over the points; values unchecked."""
        pieces = self._pieces(block_rows(self.shape[1] * self.dtype.itemsize))
        return picked_rows(pieces, rows).astype(self.dtype)

    @abstractmethod
    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        """Yield all points in order, in pieces of at most `rows` rows."""

    def _checked_blocks(self, rows: int) -> Iterator[np.ndarray]:
        def checked(piece: Any, first_row: int) -> np.ndarray:
            block = np.ascontiguousarray(piece, dtype=self.dtype)
            refuse_non_finite(block, self.name, self.feature_names, first_row)
            return block

        return self._counted(self._pieces(rows), checked)

    def _counted(
        self, pieces: Iterator[Any], checked: Callable[[Any, int], Block]
    ) -> Iterator[Block]:
        """Yield all pieces, each converted and checked."""
        done = 0
        try:
            for piece in pieces:
                block = checked(piece, done)
                # Deleted at once; otherwise two blocks would be in memory while the next is read.
                del piece
                done += block.shape[0]
                yield block
                del block
        except _DAMAGE as error:
            raise OSError(f"reading {self.name} failed after row {done}: {error}") from error
        if done != self.shape[0]:
            raise DamagedFileError(
                f"{self.name} gave {done} rows but had {self.shape[0]} when it was opened: it is "
                "damaged, or was changed while it was being read"
            )


def picked_rows(blocks: Iterable[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Rows by number, in this order, from consecutive blocks."""
    order = np.argsort(rows)
    ascending, found, start = rows[order], [], 0
    for block in blocks:
        low, high = np.searchsorted(ascending, (start, start + len(block)))
        found.append(block[ascending[low:high] - start])
        start += len(block)
    return np.concatenate(found)[np.argsort(order)]
