"""pandas and polars DataFrames, and xarray DataArrays."""

from typing import Any

import numpy as np

from trigpoint._common.checks import holds_text
from trigpoint._common.errors import ParameterValueError
from trigpoint._sources import arrow
from trigpoint._sources.array import ArraySource
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import choose_columns, refuse_columns, refuse_key
from trigpoint._sources.problems import is_from
from trigpoint._sources.values import check_shape


def from_object(X: Any, key: str | None, columns: Any) -> Source:
    """Open a data frame or a labeled array."""
    name = type(X).__name__
    refuse_key(key, name)
    if is_from(X, "pandas", "DataFrame"):
        return from_pandas(X, columns)
    if is_from(X, "polars", "DataFrame", "LazyFrame"):
        frame = X.collect() if hasattr(X, "collect") else X
        return arrow.from_object(frame.to_arrow(), None, columns, name)
    check_shape(X.shape, name)
    labels = X.coords.get(X.dims[1])
    has_names = labels is not None and labels.dtype.kind in "UO"
    names = [str(label) for label in labels.values] if has_names else None
    return ArraySource(np.asarray(X.values), name, columns, names)


def from_pandas(frame: Any, columns: Any, name: str = "DataFrame", *more: str) -> ArraySource:
    """Convert the columns of a pandas data frame to one array; see `refuse_columns` for `more`."""
    shown = [str(label) for label in frame.columns]
    check_shape(frame.shape, name)
    if columns is not None:
        frame = frame.iloc[:, choose_columns(columns, len(shown), shown, name)]
    refuse_repeated_names(frame, name)
    dtypes = [_number_type(frame.iloc[:, j]) for j in range(frame.shape[1])]
    refused = [
        f"column {str(label)!r} of type {kind}"
        for label, kind, dtype in zip(frame.columns, frame.dtypes, dtypes, strict=True)
        if dtype is None
    ]
    numeric = [str(label) for label, dtype in zip(frame.columns, dtypes, strict=True) if dtype]
    refuse_columns(name, refused, columns, shown, numeric, *more)
    known = [dtype for dtype in dtypes if dtype is not None]
    values = frame.to_numpy(dtype=np.result_type(*known), na_value=np.nan)
    has_names = all(isinstance(label, str) for label in frame.columns)
    return ArraySource(values, name, None, list(frame.columns) if has_names else None)


def refuse_repeated_names(frame: Any, name: str = "DataFrame") -> None:
    """Reject a pandas data frame in which several columns have the same name."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ParameterValueError(f"{name} has several columns named {twice!r}: rename them", "X")


def arrow_source(frame: Any, chosen: Any) -> Any:
    """Open a pandas data frame as an Arrow table; columns of several types become text."""
    import pyarrow

    columns = []
    for j in range(frame.shape[1]):
        values = frame.iloc[:, j]
        if is_from(values.dtype, "pandas", "SparseDtype"):
            values = values.sparse.to_dense()
        elif is_from(values.dtype, "pandas", "CategoricalDtype"):
            values = values.cat.rename_categories(str)
        try:
            columns.append(pyarrow.array(values, from_pandas=True))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
            columns.append(pyarrow.array(values.map(str, na_action="ignore"), from_pandas=True))
    table = pyarrow.table(columns, names=list(map(str, frame.columns)))
    return arrow.from_object(table, None, chosen, "DataFrame")


def _number_type(column: Any) -> np.dtype | None:
    """Return the NumPy type in which a numeric column is read; None for other columns."""
    kind = column.dtype
    # Nullable and sparse pandas types expose the NumPy type of their values.
    dtype = getattr(kind, "numpy_dtype", getattr(kind, "subtype", kind))
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return np.dtype(np.float64)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return dtype
    # Dates would become numbers in an unknown unit, and text may look like numbers.
    if dtype != np.dtype(object) or holds_text(np.asarray(column)):
        return None
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return None
    return np.dtype(np.float64)
