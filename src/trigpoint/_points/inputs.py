"""Points as users pass them: arrays, which scikit-learn validates, and files, which are read."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from trigpoint._common.checks import (
    check_magnitude,
    refuse_masked,
    refuse_non_finite,
    refuse_non_numbers,
)
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report
from trigpoint._common.words import counted
from trigpoint._files import PointSource, load, read_points
from trigpoint._numerics.blocks import block_rows

_DTYPES = [np.float64, np.float32]
_FILE_LIBRARIES = ("h5py", "zarr", "pyarrow", "anndata")

_NAMES_SHOWN = 5


def is_file(X: Any) -> bool:
    """Whether `X` is a path, or an object that a file is read through."""
    library = type(X).__module__.partition(".")[0]
    return (
        isinstance(X, (str, os.PathLike, PointSource, np.lib.npyio.NpzFile))
        or library in _FILE_LIBRARIES
    )


def points_to_fit(estimator: Any, X: Any, report: Report) -> np.ndarray:
    """Validate points for `fit`: an array in memory, or mapped to it from a file."""
    refuse_masked(X)
    source = read_points(X) if is_file(X) else None
    if source is not None:
        X = load(source, progress=lambda done, total: report("reading", done, total))
        if source.array() is not None:
            # Mapped points have not been read or checked yet; this names the row.
            for _ in source.blocks(block_rows(source.shape[1] * source.dtype.itemsize)):
                pass
    _refuse_text(X)
    X = validate_data(estimator, X, dtype=_DTYPES, ensure_min_samples=2, ensure_all_finite=False)
    if source is None:
        refuse_non_finite(X, "X", _names(estimator))
    check_magnitude(X)
    if source is not None and source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    return X


def _refuse_text(X: Any) -> None:
    """Refuse text and dates, and name the columns of a pandas table that hold them."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        refuse_non_numbers(X)
        return
    refused = [
        str(name)
        for j, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True))
        if dtype.kind not in "biufc" and not _holds_numbers(X.iloc[:, j])
    ]
    if refused:
        raise ParameterValueError(
            "X",
            refused,
            "{parameter} has text or dates in column {names}",
            "leave such columns out, or turn them into numbers",
            names=", ".join(map(repr, refused)),
        )


def _holds_numbers(column: Any) -> bool:
    """Whether a column of objects consists of numbers."""
    values = np.asarray(column)
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    # Dates would become numbers in an unknown unit.
    return values.dtype.kind not in "mM"


def _names(estimator: Any) -> list[str] | None:
    """Names of the columns that were passed to an estimator, if any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)


def points_to_transform(estimator: Any, X: Any) -> PointSource:
    """Validate points for `transform`, as much as possible before they are read."""
    refuse_masked(X)
    if not is_file(X):
        _refuse_text(X)
        mapped = getattr(X, "filename", None) if isinstance(X, np.memmap) else None
        X = validate_data(estimator, X, dtype=_DTYPES, reset=False, ensure_all_finite=False)
        refuse_non_finite(X, "X", _names(estimator))
        source = read_points(X)
        # So that nothing is written over the file that a memory map reads.
        source.path = None if mapped is None else Path(mapped)
        return source
    source = read_points(X)
    if source.shape[1] != estimator.n_features_in_:
        raise ParameterValueError(
            "X",
            source.shape,
            "{source} has {found}, but {estimator} was fitted with {fitted}",
            "read the same {columns}",
            source=source.name,
            found=counted(source.shape[1], "column"),
            estimator=type(estimator).__name__,
            fitted=estimator.n_features_in_,
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and source.feature_names is not None:
        names = source.feature_names
        if list(fitted) != names:
            raise ParameterValueError(
                "columns",
                names,
                "{source} has columns {names}, but {estimator} was fitted with {fitted}",
                "read those, in that order, with {parameter}",
                source=source.name,
                names=_first(names),
                estimator=type(estimator).__name__,
                fitted=_first(fitted),
            )
    return source


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + ("..." if len(names) > _NAMES_SHOWN else "")


def checked_blocks(
    source: PointSource, report: Report, stage: str = "points"
) -> Iterator[np.ndarray]:
    """Yield blocks of points as they are read, refusing values that cannot be used."""
    n, d = source.shape
    done = 0
    report(stage, done, n)
    for block in source.blocks(block_rows(d * source.dtype.itemsize)):
        check_magnitude(block, source.name, may_be_tiny=True)
        yield block
        # A caller that asks for the next block is done with this one.
        done += len(block)
        report(stage, done, n)
