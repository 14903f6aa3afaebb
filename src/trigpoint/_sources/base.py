"""Base class of sources."""

import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, vstack

from trigpoint._common.checks import check_magnitude
from trigpoint._common.device import resolve_device
from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import Report, one_blas_thread, row_blocks, thread_map
from trigpoint._sources.choosing import listed_names
from trigpoint._sources.problems import refuse_distance_matrix
from trigpoint._sources.values import Columns, applied, as_dense, checked, narrowed
from trigpoint._sources.writers import Output, open_output

# Errors raised by readers for files that were truncated, damaged or deleted after opening.
_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile)

# Number of rows from which the overall scale is estimated.
_SCALE_ROWS = 1000


class Source(ABC):
    """Points that can be read repeatedly, in blocks of rows; see `open_source`.

    `fit` and `transform` accept a source in place of an array. ``np.asarray`` reads all of it.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint._sources import open_source
    >>> source = open_source(np.arange(6).reshape(3, 2))
    >>> source
    <ArraySource X (3, 2) float64>
    >>> source.take(np.array([0, 2]))
    array([[0., 1.],
           [4., 5.]])
    """

    # Subclasses implement `_pieces`, which yields whatever the format reads at once. `_cut` selects
    # rows of a piece, and `_values` converts the selection to a dense or sparse array of any
    # numeric type and memory order. This class converts and checks the values.

    path: Path | None = None  # The file or folder that is read.
    representation: str | None = None  # "X", or the entry of an AnnData object that is read.

    takes_bits = True  # Whether the rows may be packed bits.

    # PyTorch device of the rows, if they can be fitted there.
    device: Any = None

    # Weights (n,) of the rows, checked; None if all count the same.
    weights: np.ndarray | None = None

    def __init__(self, name: str, columns: Columns, n: int | None = None) -> None:
        self.name, self.columns = name, columns
        if n is not None:
            self.n = n

    def __repr__(self) -> str:
        # The rows may not have been counted yet.
        n = self.__dict__.get("n", "?")
        return f"<{type(self).__name__} {self.name} ({n}, {self.columns.count}) {self.dtype}>"

    def __len__(self) -> int:
        return self.n

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return all points as a dense array."""
        points = self.take(None)
        dense = points.toarray() if isinstance(points, csr_array) else points
        return np.array(dense, dtype=dtype, copy=copy)

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return self._counted()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n, self.columns.count

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return self.columns.dtype

    @property
    def usable(self) -> int | np.ndarray:
        """Number of rows or, if some rows have no coordinates, the numbers of all other rows."""
        return self.n

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return the unsorted numbers of up to `size` random rows that can be fitted."""
        usable = self.usable
        count = usable if isinstance(usable, int) else len(usable)
        return rng.choice(usable, min(size, count), replace=False)

    def under(self, space: Any) -> "Source":
        """Return this source in the form that a space takes, and describe its columns to it."""
        if self.columns.holds not in space.takes:
            remedy = "choose metric='jaccard' or 'hamming', or unpack them with np.unpackbits"
            if self.columns.holds == "objects":
                remedy = "pass a function as metric, which returns the distance of two objects"
            raise ParameterValueError(
                f"metric={space.name!r} does not take {self.columns.holds}: {remedy}", "metric"
            )
        space.describe(self.columns)
        read: Source = space.reading(self)
        if read is self:
            refuse_distance_matrix(self)
        return read

    def choosing(self, numbers: np.ndarray) -> "Source":
        """Return this source restricted to some columns, given by their ascending numbers."""
        found = copy(self)
        found.columns = replace(self.columns, chosen=tuple(numbers.tolist()))
        return found

    def array(self) -> np.ndarray | None:
        """Return all points as an array or memory map, with values unchecked.

        Returns None if the points would have to be read or converted.
        """
        return None

    def octets(self) -> np.ndarray | None:
        """Return all points if they are stored as an array of 8-bit integers, otherwise None."""
        return None

    def pooled(self, space: Any, rows: np.ndarray | None) -> tuple[Points, Any]:
        """Fit a space on the given rows, or all if None, and return them, mapped by it.

        Row numbers are ascending, and may be repeated if rows have weights. The second value is the
        result of `Space.exact` for the rows.
        """
        space.pool_rows = rows
        if rows is None or self.weights is None:
            raw = self.take(rows)
            found: Points = space.fit(raw)(raw, 0 if rows is None else rows)
        else:
            # Readers of files expect distinct rows, and mapping a row twice may be expensive.
            distinct, places = np.unique(rows, return_inverse=True)
            taken = self.take(distinct)
            raw = taken[places]
            found = space.fit(raw)(taken, distinct)[places]
        space.pool_rows = None
        return found, space.exact(raw)

    def returned(self, coordinates: np.ndarray) -> Any:
        """Return coordinates of all rows as `map` returns them; ``None`` to compute them again."""
        return None

    def take(self, rows: np.ndarray | None) -> Points:
        """Return the given rows, or all if None, in one pass, with values checked.

        `rows` are ascending row numbers. The result is a C-contiguous array of `dtype`, or a CSR
        array if the columns are sparse. It may share memory with the input, so do not modify it.

        Raises
        ------
        ValueError
            If a value is missing, infinite or not a number; the message names its row.
        """
        numbers = 0 if rows is None else rows
        points = checked(self._taken(rows), self.columns, self.name, numbers)
        is_scale_known = self.columns.holds == "numbers" and self.columns.chosen is None
        if is_scale_known and (rows is None or len(rows) >= _SCALE_ROWS):
            check_magnitude(points, self.name)
        return points

    def blocks(self) -> Iterator[tuple[int, Points]]:
        """Yield (number of the first row, block) in order, each block as `take` returns it."""
        for first, piece in self._walk():
            yield first, checked(self._values(piece, first), self.columns, self.name, first)

    def matching(self, columns: Columns) -> "Source":
        """Return this source with the precision and sparsity of fitted columns."""
        own = self.columns
        if own.count != columns.count:
            raise ParameterValueError(
                f"{self.name} has {own.count} features, but the model is expecting "
                f"{columns.count} features as input: pass the same columns",
                "X",
            )
        if own.holds != columns.holds:
            raise ParameterValueError(
                f"{self.name} holds {own.holds}, and the model was fitted on {columns.holds}: pass "
                f"{columns.holds}; tp.open_source(X, bits=...) opens packed bits",
                "X",
            )
        if own.names and columns.names and own.names != columns.names:
            raise ParameterValueError(
                f"{self.name} has columns {listed_names(own.names)}, but the model was fitted with "
                f"{listed_names(columns.names)}: pass these columns in this order, as in "
                "tp.open_source(X, columns=model.feature_names_in_)",
                "columns",
            )
        if any(kind.kind in ("category", "date") for kind in columns.kinds or ()):
            raise ParameterValueError(
                f"{self.name} is not a table with named columns, but the model was fitted to one "
                "with categories or dates: pass a DataFrame or the path of a table",
                "X",
            )
        matched = copy(self)
        matched.columns = columns
        return matched

    def map(
        self,
        model: Any,
        *,
        out: Any = None,
        n_threads: int = 1,
        report: Report | None = None,
        device: Any = None,
    ) -> tuple[Any, int]:
        """Apply a model to all rows; return their coordinates and the number of far points.

        The model takes a block and the number of its first row, and returns coordinates and a mask
        of points far from all landmarks. It has ``columns``, ``n_components`` and ``step``, the
        number of rows to pass at once. If `out` is a path or an `Output`, the path of the written
        file is returned instead of coordinates. With a `device`, PyTorch computes.
        """
        mapped: Any = self._mapped(model, n_threads)
        there = None if device is None else resolve_device(device)
        if there is not None:
            from trigpoint._sources.torch import mapped_on_device

            mapped = mapped_on_device(self.blocks(), model, there)
        shape, dtype = (self.n, model.n_components), np.dtype(model.columns.dtype)
        result: Any = np.empty(shape, dtype=dtype) if out is None else None
        output = out if isinstance(out, Output) else Output(out)
        opened = open_output(output, shape, dtype, self.path) if result is None else nullcontext()
        n_far = 0
        with opened as writer, closing(mapped) as parts:
            for first, coordinates, count in parts:
                done = first + len(coordinates)
                if writer is None:
                    result[first:done] = coordinates
                else:
                    writer.write(coordinates)
                n_far += count
                if report is not None:
                    report("points", done, self.n)
        return result if writer is None else writer.path, n_far

    def _mapped(
        self, model: Any, n_threads: int
    ) -> Generator[tuple[int, np.ndarray, int], None, None]:
        """Yield (first row, coordinates, number of far points) in order."""

        def apply(part: tuple[int, Any]) -> tuple[int, np.ndarray, int]:
            first, piece = part
            block = checked(self._values(piece, first), self.columns, self.name, first)
            return first, *applied(model, block, first)

        # Parts run in parallel, so each uses one BLAS thread.
        with one_blas_thread():
            yield from thread_map(apply, self._parts(model.step), n_threads)

    def _parts(self, step: int) -> Iterator[tuple[int, Any]]:
        """Split pieces into parts of at most `step` rows."""
        for first, piece in self._walk():
            for part in row_blocks(_length(piece), step):
                yield first + part.start, self._cut(piece, part)

    def _walk(self, rows: np.ndarray | None = None) -> Iterator[tuple[int, Any]]:
        """Yield (first row, piece); pieces without any of `rows` may be skipped."""
        done = 0
        try:
            for first, piece in self._pieces(rows):
                done = first + _length(piece)
                yield first, piece
                # Release the piece before the next one is read.
                del piece
        except _DAMAGE as error:
            raise OSError(f"reading {self.name} failed after row {done}: {error}") from error
        if rows is None and done != self.n:
            raise DamagedFileError(
                f"{self.name} yielded {done} rows but had {self.n} when it was opened: it is "
                "damaged, or was changed while it was being read"
            )

    def _taken(self, rows: np.ndarray | None) -> Any:
        """Return the given rows, or all if None, with any type and memory order."""
        n = self.n if rows is None else len(rows)
        is_listed = self.columns.sparse or self.columns.holds != "numbers"
        width = self.columns.count if self.columns.chosen is None else len(self.columns.chosen)
        result = np.empty((0 if is_listed else n, width), self.dtype)
        found: list[Any] = []
        done = 0
        for first, piece in self._walk(rows):
            numbers: Any = first
            if rows is not None:
                numbers = rows[slice(*np.searchsorted(rows, (first, first + _length(piece))))]
                if not len(numbers):
                    continue
                piece = self._cut(piece, numbers - first)
            values = self._values(piece, numbers)
            if is_listed:
                found.append(csr_array(values) if self.columns.sparse else values)
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    dense = narrowed(as_dense(values), self.columns)
                    result[done : done + len(dense)] = dense
            done += values.shape[0]
        if done != n:
            raise DamagedFileError(f"{self.name} has only {done} of {n} requested rows")
        if found:
            return csr_array(vstack(found)) if self.columns.sparse else np.concatenate(found)
        return result

    @abstractmethod
    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, Any]]:
        """Yield (first row, piece) in order; pieces without any of `rows` may be skipped."""

    def _cut(self, piece: Any, part: Any) -> Any:
        """Return some rows of a piece, given by a slice or an array of positions."""
        return piece[part]

    def _values(self, piece: Any, rows: int | np.ndarray) -> Any:
        """Convert a piece, or a selection of its rows, to an array.

        `rows` is the number of its first row, or an array with the numbers of all its rows.
        """
        del rows
        return piece

    def _counted(self) -> int:
        """Count the rows in a separate pass."""
        raise NotImplementedError


def _length(piece: Any) -> int:
    return int(piece.shape[0] if hasattr(piece, "shape") else len(piece))
