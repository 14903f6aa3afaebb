"""Description of the columns of points, and conversion and checks of their values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_magnitude, refuse_non_finite, row_numbers
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import ColumnKind
from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._sources.choosing import choose_columns

# Bytes per column index of a sparse array.
_INDEX_BYTES = 4


@dataclass(frozen=True)
class Columns:
    """Names, number and type of the columns of points."""

    names: tuple[str, ...] | None
    count: int
    dtype: np.dtype  # float32 or float64.
    sparse: bool = False  # Whether blocks are CSR arrays.
    # For tables with columns of any kind, the meaning of the numbers, and the treatment of missing
    # values: "error", "median", "drop", or "mark" if the space replaces them.
    kinds: tuple[ColumnKind, ...] | None = None
    missing: str = "error"
    # Content of blocks: "numbers", "bits" (packed in uint8; `count` is the number of bits) or
    # "objects" (1-D arrays of objects; `count` is 1).
    holds: str = "numbers"
    chosen: tuple[int, ...] | None = None  # Numbers of the columns that blocks hold, if not all.


def described(
    shape: Sequence[int],
    dtype: Any,
    name: str,
    columns: Any = None,
    names: Sequence[str] | None = None,
) -> tuple[int, np.ndarray | None, Columns]:
    """Check a table whose columns share a type, and choose columns as `choose_columns` does.

    Returns the number of rows, the positions of the chosen columns (None for all), and their
    description.
    """
    n, count = check_shape(shape, name)
    kind, chosen = point_dtype(dtype, name), None
    if columns is not None:
        chosen = choose_columns(columns, count, names, name)
        names, count = names and [names[number] for number in chosen], len(chosen)
    return n, chosen, Columns(None if names is None else tuple(names), count, kind)


def point_dtype(dtype: Any, what: str) -> np.dtype:
    """Return the floating-point type in which values of `dtype` are read, or reject `what`.

    float32 and float64 are preserved; float16 becomes float32; integers and booleans become
    float64.
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "f" and dtype.itemsize in (2, 4, 8):
        return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    problem = "which is not supported" if dtype.kind == "f" else "not numbers"
    raise ParameterValueError(
        f"{what} holds values of type {dtype}, {problem}: convert it to float64 first", "X"
    )


def check_shape(shape: Sequence[int], name: str) -> tuple[int, int]:
    """Return `shape` as (rows, columns), or reject an array that does not hold points."""
    shape = tuple(shape)
    if len(shape) != 2:
        raise ParameterValueError(
            f"{name} has shape {shape}. Expected 2D array, got {len(shape)}D array instead: points "
            "are rows. Reshape your data with .reshape(-1, 1) if there is one column, or with "
            ".reshape(1, -1) if there is one point",
            "X",
        )
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count < 1:
            raise ParameterValueError(
                f"{name} has 0 {what}(s) (shape={shape}) while a minimum of 1 is required: pass "
                "a table with rows and columns",
                "X",
            )
    return int(shape[0]), int(shape[1])


def as_dense(values: Any) -> Any:
    """Convert sparse rows to an array; leave others unchanged."""
    return values.toarray() if hasattr(values, "toarray") else values


def checked(values: Any, columns: Columns, name: str, rows: int | np.ndarray) -> Points:
    """Convert points as `columns` specifies, and check that they are finite and of usable size.

    `rows` is the number of the first row, or an array with the numbers of all rows.
    """
    if columns.holds == "objects":
        return np.asarray(values)
    if columns.holds == "bits":
        if values.dtype != np.uint8:
            raise ParameterValueError(
                f"{name} holds {values.dtype}: packed bits have the type uint8, as from "
                "np.packbits(X, axis=1)",
                "X",
            )
        return np.ascontiguousarray(values)
    names: Sequence[Any] | None = columns.names
    if columns.chosen is not None:
        values = narrowed(values, columns)
        names = columns.chosen if names is None else [names[number] for number in columns.chosen]
    # Values may overflow if they are float64 but the model was fitted on float32.
    block: Any
    with np.errstate(over="ignore", invalid="ignore"):
        if columns.sparse:
            block = _canonical(values, columns.dtype)
            finite = np.isfinite(block.data.sum())
        else:
            dense = values if isinstance(values, np.ndarray) else as_dense(values)
            block = np.ascontiguousarray(dense, dtype=columns.dtype)
            # The sum of finite values is nearly always finite, and needs no temporary array.
            finite = np.isfinite(block.sum())
    may_be_missing = columns.missing in ("drop", "mark")
    if not finite and may_be_missing:
        finite = not np.isinf(block).any()
    if not finite:
        for part in row_blocks(block.shape[0], block_rows(8 * columns.count)):
            some = as_dense(block[part])
            if may_be_missing:
                some = np.where(np.isnan(some), 0.0, some)
            refuse_non_finite(some, name, names, row_numbers(rows, part))
    if block.shape[0]:
        # All points of a single block may be near the origin.
        check_magnitude(block, name, may_be_tiny=True, rows=rows)
    return block


def narrowed(values: Any, columns: Columns) -> Any:
    """Return the chosen columns of rows, unless the rows hold only these."""
    if columns.chosen is None or values.shape[1] == len(columns.chosen):
        return values
    return values[:, list(columns.chosen)]


def _canonical(values: Any, dtype: np.dtype) -> csr_array:
    """Return a CSR array with sorted, unique column indices and no explicit zeros."""
    block = csr_array(values).astype(dtype, copy=False)
    if not block.has_canonical_format or not block.data.all():
        block = block.copy()
        block.sum_duplicates()
        block.eliminate_zeros()
    return block


def applied(model: Any, block: Points, first: int) -> tuple[np.ndarray, int]:
    """Apply a model to a block; return coordinates in the fitted precision, and the far count."""
    if model.columns.missing == "drop" and (gone := np.isnan(as_dense(block)).any(axis=1)).any():
        # Keep these rows in the result, without coordinates, so that row numbers still refer to X.
        result = np.full((len(block), model.n_components), np.nan, dtype=model.columns.dtype)
        rows = np.flatnonzero(~gone)
        result[rows], n_far = applied(model, block[rows], first) if len(rows) else (0.0, 0)
        return result, n_far
    coordinates, far = model(block, first)
    coordinates = np.asarray(coordinates, dtype=model.columns.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(coordinates.sum())
    if not (finite or np.isfinite(coordinates).all()):
        bad = np.flatnonzero(~np.isfinite(coordinates).all(axis=1))
        raise ParameterValueError(
            f"the coordinates of row {first + int(bad[0])} are not finite: this model is "
            "damaged, so fit it again",
            "X",
        )
    return coordinates, int(np.count_nonzero(far))


def stays_sparse(n_stored: int, shape: tuple[int, int], dtype: np.dtype) -> bool:
    """Return whether points with this many stored values stay sparse.

    Trees need dense points, and a dense array is smaller if few values are zero.
    """
    if shape[1] <= TREE_MAX_DIMENSION:
        return False
    return n_stored * (dtype.itemsize + _INDEX_BYTES) < shape[0] * shape[1] * dtype.itemsize
