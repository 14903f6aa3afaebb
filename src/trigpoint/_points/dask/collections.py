"""Dask arrays and DataFrames as users pass them, validated.

What can be judged from their metadata is refused before anything is computed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trigpoint._common.checks import refuse_non_finite
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, ParameterWarning
from trigpoint._common.warn import warn_user
from trigpoint._common.words import counted
from trigpoint._files.optional import is_from
from trigpoint._points.scaling import unit_rows

_NAMES_SHOWN = 5


class UnknownChunksWarning(ParameterWarning):
    """The rows of a Dask collection had to be counted, which reads all of it."""


class Partitions:
    """A validated Dask array, or a DataFrame as one.

    Attributes
    ----------
    array : dask.array.Array
        The points, in partitions of rows.
    name : str
        The key that the collection has in Dask.
    n_features : int
    dtype : dtype
        float32 or float64.
    feature_names : list of str or None
    sizes : list of int or None
        Number of rows of each partition, if known.
    """

    def __init__(self, X: Any) -> None:
        if is_from(X, "dask", "DataFrame"):
            self.name, names = str(X._name), list(X.columns)
            _refuse_columns(X)
            self.dtype = _float_type([np.dtype(getattr(t, "numpy_dtype", t)) for t in X.dtypes])
            self.feature_names = (
                names if names and all(isinstance(label, str) for label in names) else None
            )
            self.array = X.map_partitions(
                _frame_values, self.dtype, meta=X._meta.iloc[:0]
            ).to_dask_array(meta=np.empty((0, len(names)), dtype=self.dtype))
        else:
            _refuse_array(X)
            self.name, self.array = str(X.name), X
            self.dtype, self.feature_names = _float_type([X.dtype]), None
        self.n_features = int(self.array.shape[1])
        rows = self.array.chunks[0]
        self.sizes = None if np.isnan(rows).any() else [int(size) for size in rows]

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return int(self.array.numblocks[0])

    def first_rows(self) -> list[int] | list[None]:
        """The first row of each partition, if sizes are known."""
        if self.sizes is None:
            return [None] * self.n_partitions
        return np.cumsum([0, *self.sizes[:-1]]).tolist()


def _frame_values(frame: Any, dtype: np.dtype) -> Any:
    """A partition of a DataFrame, all of one type; missing values become NaN."""
    return type(frame)(
        frame.to_numpy(dtype=dtype, na_value=np.nan), index=frame.index, columns=frame.columns
    )


def _float_type(dtypes: Sequence[np.dtype]) -> np.dtype:
    """float32 if everything is, else float64."""
    return np.dtype(np.float32 if all(t == np.float32 for t in dtypes) else np.float64)


def _refuse_columns(X: Any) -> None:
    kinds = {
        label: getattr(dtype, "kind", "O") for label, dtype in zip(X.columns, X.dtypes, strict=True)
    }
    refused = [str(label) for label, kind in kinds.items() if kind not in "biuf"]
    if refused:
        raise ParameterTypeError(
            "X",
            refused,
            "{parameter} has columns that are not numbers: {names}",
            "leave them out, as with X[[...]], or convert them with X.astype(float)",
            names=", ".join(map(repr, refused[:_NAMES_SHOWN])),
        )


def _refuse_array(X: Any) -> None:
    if not is_from(X, "dask", "Array"):
        raise ParameterTypeError(
            "X",
            type(X).__name__,
            "{parameter} is a Dask {kind}",
            "pass a Dask array of shape (n, d), or a Dask DataFrame",
            kind=type(X).__name__,
        )
    if X.ndim != 2:
        raise ParameterValueError(
            "X",
            X.shape,
            "{parameter} must have rows and columns, and has shape {shape}",
            "pass a Dask array of shape (n, d)",
            shape=X.shape,
        )
    if not isinstance(X._meta, np.ndarray):
        raise ParameterTypeError(
            "X",
            type(X._meta).__name__,
            "{parameter} has chunks of type {kind}",
            "convert them to NumPy arrays: X.map_blocks(lambda block: block.toarray())",
            kind=type(X._meta).__name__,
        )
    if X.dtype.kind not in "biuf":
        raise ParameterTypeError(
            "X",
            X.dtype,
            "{parameter} has values of type {dtype}, not numbers",
            "pass both parts as columns: dask.array.hstack([X.real, X.imag]).rechunk({{1: -1}})"
            if X.dtype.kind == "c"
            else "convert them: {parameter}.astype('float64')",
            dtype=X.dtype,
        )
    if X.numblocks[1] > 1 or np.isnan(X.shape[1]):
        raise ParameterValueError(
            "X",
            X.chunks[1],
            "{parameter} is divided along its columns, into {count}; a point must be in one chunk",
            "use {parameter}.rechunk({{1: -1}})",
            count=counted(X.numblocks[1], "part"),
        )


def checked_points(
    block: Any,
    partition: int,
    dtype: np.dtype,
    names: Sequence[str] | None,
    scaled: bool,
    n_features: int,
    first_row: int | None,
) -> np.ndarray:
    """Points of a partition in the form that is used; errors name rows with unusable values."""
    points = np.ascontiguousarray(block, dtype=dtype)
    if points.ndim != 2 or points.shape[1] != n_features:
        raise ParameterValueError(
            "X",
            points.shape,
            "partition {partition} of {parameter} has shape {shape}, and {n_features} columns were "
            "announced",
            "let every partition have the same columns",
            partition=partition,
            shape=points.shape,
            n_features=n_features,
        )
    if not len(points):
        return points
    # Where the sizes of partitions are not known, neither is the row.
    within = f"partition {partition} of X (rows are counted within it)"
    where, first = (within, 0) if first_row is None else ("X", first_row)
    refuse_non_finite(points, where, names, first)
    return unit_rows(points, where, first) if scaled else points


def validated_partitions(estimator: Any, X: Any) -> Partitions:
    """A Dask collection with the columns that the estimator was fitted with."""
    partitions = Partitions(X)
    fitted = getattr(estimator, "feature_names_in_", None)
    if partitions.n_features != estimator.n_features_in_:
        raise ParameterValueError(
            "X",
            partitions.n_features,
            "{parameter} has {found}, but {estimator} was fitted with {fitted}",
            "pass the same columns",
            found=counted(partitions.n_features, "column"),
            estimator=type(estimator).__name__,
            fitted=estimator.n_features_in_,
        )
    names = partitions.feature_names
    if fitted is not None and names is not None and list(fitted) != names:
        raise ParameterValueError(
            "X",
            names,
            "{parameter} has columns {found}, but {estimator} was fitted with {fitted}",
            "pass those, in that order, as with X[{fitted_names}]",
            found=", ".join(names),
            estimator=type(estimator).__name__,
            fitted=", ".join(fitted),
            fitted_names=list(map(str, fitted)),
        )
    return partitions


def known_sizes(estimator: Any, partitions: Partitions) -> list[int]:
    """Rows of each partition: declared, known from a fit of the same collection, or counted."""
    if partitions.sizes is not None:
        return partitions.sizes
    name, sizes = getattr(estimator, "_partition_sizes", ("", []))
    if name == partitions.name:
        return list(sizes)
    import dask

    warn_user(
        UnknownChunksWarning(
            "the chunks of X have unknown sizes: their rows are counted now, in a pass of its own",
            ("use X.compute_chunk_sizes()", "X.to_dask_array(lengths=True)"),
        )
    )
    count = dask.delayed(len)
    return list(dask.compute(*map(count, partitions.array.to_delayed().ravel())))
