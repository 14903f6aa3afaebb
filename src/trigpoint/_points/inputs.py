"""Points as users pass them: arrays, validated by scikit-learn, and files, which are read."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from trigpoint._common.checks import (
    check_choice,
    check_magnitude,
    holds_text,
    refuse_masked,
    refuse_non_finite,
    refuse_non_numbers,
)
from trigpoint._common.device import resolve_device
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report
from trigpoint._common.words import counted
from trigpoint._files import PointSource, load, read_points
from trigpoint._files.source import Block
from trigpoint._numerics.blocks import block_rows
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION
from trigpoint._numerics.sparse import Points
from trigpoint._points.dask.recognition import is_dask
from trigpoint._points.scaling import METRICS, ScaledColumns, UnitRows, column_scales
from trigpoint._points.store import Store
from trigpoint._sources.torch import TorchSource, is_on_torch

_FILE_LIBRARIES = ("h5py", "zarr", "pyarrow", "anndata", "polars", "xarray")

_NAMES_SHOWN = 5

# Of the column of a stored value.
_INDEX_BYTES = 4


def is_file(X: Any) -> bool:
    """Whether `X` is a path, or an object that a file is read through."""
    library = type(X).__module__.partition(".")[0]
    return (
        isinstance(X, (str, os.PathLike, PointSource, np.lib.npyio.NpzFile))
        or library in _FILE_LIBRARIES
    )


def points_to_fit(estimator: Any, X: Any, report: Report) -> Points | Store:
    """Validate points for `fit`: an array in memory, or mapped to it from a file.

    Sparse points stay sparse, and Dask partitions stay on the workers, in a store. If the metric of
    `estimator` is not Euclidean, scaled points are returned in a new array.
    """
    scaled = check_choice("metric", estimator.metric, METRICS) != "euclidean"
    if hasattr(estimator, "column_scales_"):
        del estimator.column_scales_
    if is_dask(X):
        refuse_standardized_dask(estimator.metric)
        return _dask_points(estimator, X, scaled, report)
    return _points_here(estimator, X, scaled, report)


def device_for(estimator: Any, X: Any) -> Any:
    """The local GPU that an estimator uses for some points, or None for the host or workers."""
    return None if is_dask(X) else resolve_device(estimator.device, X)


def device_of_workers(estimator: Any) -> str | None:
    """The GPU that each worker of a Dask cluster is to use; there need not be one here."""
    asked = getattr(estimator, "device", None)
    return None if asked in (None, "cpu", "auto") else str(asked)


def _points_here(estimator: Any, X: Any, scaled: bool, report: Report) -> Points:
    """Validated points in memory, or mapped to it."""
    X = _in_memory(X)
    refuse_masked(X)
    from_file = is_file(X)
    if not from_file:
        _refuse_text(X)
        X = _validated(estimator, X, ensure_min_samples=2)
        if not issparse(X):
            refuse_non_finite(X, "X", _names(estimator))
    if from_file or scaled or issparse(X):
        source = read_points(X)
        if source.shape[0] < 2:
            raise ParameterValueError(
                "X",
                source.name,
                "{source} has {rows}, and at least two are needed",
                "choose a file with more",
                source=source.name,
                rows=counted(source.shape[0], "row"),
            )
        if estimator.metric == "seuclidean":
            if stays_sparse(source):
                raise ParameterValueError(
                    "metric",
                    estimator.metric,
                    "{parameter=} takes no sparse points",
                    "choose 'cosine', or divide the columns beforehand",
                )
            estimator.column_scales_ = column_scales(source)
        X = _loaded(scaled_source(source, estimator.metric, estimator), report)
        if from_file:
            X = _validated(estimator, X, ensure_min_samples=2)
            if source.feature_names is not None:
                estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    check_magnitude(X, source.name if from_file else "X")
    return X


def _validated(estimator: Any, X: Any, **options: Any) -> Any:
    """Points as scikit-learn accepts them, finite or not, in the precision that we use."""
    half = isinstance(X, np.ndarray) and X.dtype == np.float16
    dtype = np.float32 if half else [np.float64, np.float32]
    return validate_data(
        estimator, X, accept_sparse="csr", dtype=dtype, ensure_all_finite=False, **options
    )


def _in_memory(X: Any) -> Any:
    """Tensors, and arrays on a GPU, as arrays of NumPy; anything else as it is."""
    return TorchSource(X).take(None) if is_on_torch(X) else X


def _dask_points(estimator: Any, X: Any, scaled: bool, report: Report) -> Store:
    from trigpoint._points.dask.collections import Partitions
    from trigpoint._points.dask.reading import stored_partitions

    partitions = Partitions(X)
    estimator.n_features_in_ = partitions.n_features
    if partitions.feature_names is not None:
        estimator.feature_names_in_ = np.array(partitions.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    store = stored_partitions(partitions, scaled, device_of_workers(estimator), report)
    # So that a transform of the same collection need not count its rows.
    estimator._partition_sizes = partitions.name, partitions.sizes
    return store


def remember_traffic(estimator: Any, X: Points | Store) -> None:
    """Set `traffic_` if the points are in a store that answers over a network."""
    traffic = getattr(X, "traffic", None)
    if traffic is not None:
        estimator.traffic_ = {question: asdict(counts) for question, counts in traffic.items()}
    elif hasattr(estimator, "traffic_"):
        del estimator.traffic_


def _loaded(source: PointSource, report: Report) -> Points:
    """All points of a source, checked."""
    if stays_sparse(source):
        return source.sparse()
    X = load(source, progress=lambda done, total: report("reading", done, total))
    if source.array() is not None:
        # Mapped points have not been read or checked yet; an error here names the row.
        for _ in source.blocks(block_rows(source.shape[1] * source.dtype.itemsize)):
            pass
    return X


def stays_sparse(source: PointSource) -> bool:
    """Whether sparse points stay sparse instead of becoming an array.

    Trees need dense points, and an array takes less memory if few values are zero.
    """
    if source.n_stored is None or source.shape[1] <= TREE_MAX_DIMENSION:
        return False
    itemsize = source.dtype.itemsize
    return source.n_stored * (itemsize + _INDEX_BYTES) < math.prod(source.shape) * itemsize


def _refuse_text(X: Any) -> None:
    """Refuse text and dates, and name the columns of a pandas table that hold them."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        refuse_non_numbers(X)
        return
    if not len(X.columns):
        raise ParameterValueError(
            "X", X.shape, "{parameter} has no columns", "pass a table of numbers"
        )
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ParameterValueError(
            "X",
            twice,
            "{parameter} has several columns of the name {twice!r}",
            ("rename them", "pass {parameter}.to_numpy()"),
            twice=twice,
        )
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
    # Dates would become numbers in an unknown unit; text may look like numbers.
    return values.dtype.kind not in "mM" and not holds_text(values)


def _names(estimator: Any) -> list[str] | None:
    """Names of the columns that were passed to an estimator, if any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)


def points_to_transform(estimator: Any, X: Any) -> PointSource:
    """Validate points for `transform`, as much as possible before they are read.

    They are scaled as the fitted ones were.
    """
    source = _validated_source(estimator, X)
    return scaled_source(source, estimator.fitted_.parameters["metric"], estimator)


def scaled_source(source: PointSource, metric: str, estimator: Any) -> PointSource:
    """Points scaled for the metric of an estimator, as measured in its fit."""
    if metric == "cosine":
        return UnitRows(source)
    return ScaledColumns(source, estimator.column_scales_) if metric == "seuclidean" else source


def refuse_standardized_dask(metric: str) -> None:
    """Reject a metric that would need a pass over all partitions first."""
    if metric == "seuclidean":
        raise ParameterValueError(
            "metric",
            metric,
            "{parameter=} takes no Dask collections",
            "divide the columns beforehand: X / X.std(axis=0)",
        )


def source_of(X: Any) -> PointSource:
    """A source of which a few rows are wanted; Dask workers send only these."""
    if not is_dask(X):
        refuse_masked(X)
        return read_points(np.asarray(X) if isinstance(X, list | tuple) else X)
    from trigpoint._points.dask.collections import Partitions, known_sizes
    from trigpoint._points.dask.source import PartitionSource

    partitions = Partitions(X)
    return PartitionSource(partitions, known_sizes(None, partitions))


def _validated_source(estimator: Any, X: Any) -> PointSource:
    if is_dask(X):
        from trigpoint._points.dask.collections import known_sizes, validated_partitions
        from trigpoint._points.dask.source import PartitionSource

        partitions = validated_partitions(estimator, X)
        return PartitionSource(partitions, known_sizes(estimator, partitions))
    X = _in_memory(X)
    refuse_masked(X)
    if not is_file(X):
        _refuse_text(X)
        mapped = getattr(X, "filename", None) if isinstance(X, np.memmap) else None
        X = _validated(estimator, X, reset=False)
        if not issparse(X):
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
    rows = block_rows(source.shape[1] * source.dtype.itemsize)
    return _reported(source, source.blocks(rows), report, stage)


def blocks_as_stored(source: PointSource, report: Report) -> Iterator[Points]:
    """Yield checked blocks, sparse ones if that is how the points are used."""
    if not stays_sparse(source):
        return checked_blocks(source, report)
    assert source.n_stored is not None
    width = source.n_stored * (source.dtype.itemsize + _INDEX_BYTES) // source.shape[0]
    return _reported(source, source.sparse_blocks(block_rows(width)), report, "points")


def _reported(
    source: PointSource, blocks: Iterator[Block], report: Report, stage: str
) -> Iterator[Block]:
    n = source.shape[0]
    done = 0
    report(stage, done, n)
    for block in blocks:
        check_magnitude(block, source.name, may_be_tiny=True)
        yield block
        # A caller that asks for the next block is done with this one.
        done += block.shape[0]
        report(stage, done, n)
