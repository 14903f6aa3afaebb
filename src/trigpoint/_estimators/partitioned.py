"""Coordinates of points in Dask partitions: lazy, or written to a file by the workers."""

import os
import pickle
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.checks import check_magnitude
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report, reporter
from trigpoint._common.records import Extension
from trigpoint._common.warn import warn_user
from trigpoint._estimators.on_device import block_by_device
from trigpoint._estimators.output import wanted_container
from trigpoint._extension.extensions import extend, far_points
from trigpoint._files import open_writer
from trigpoint._files.sinks import ZarrSink
from trigpoint._files.writers import PointWriter
from trigpoint._points.dask.collections import (
    Partitions,
    checked_points,
    known_sizes,
    validated_partitions,
)
from trigpoint._points.dask.source import computed_blocks
from trigpoint._points.inputs import device_of_workers, refuse_standardized_dask
from trigpoint._points.torch.device import resolve_device

# A model of more bytes goes to the workers directly, so that the graph stays small.
_MODEL_IN_GRAPH = 4 * 2**20


def coordinates_of_partitions(estimator: Any, X: Any) -> Any:
    """Coordinates of a Dask array or DataFrame, as a lazy array.

    No task runs before the array is computed, unless the sizes of its chunks are not known: then
    they are counted, with a warning.
    """
    _refuse_frames(estimator)
    partitions = validated_partitions(estimator, X)
    return _lazy(estimator, partitions, known_sizes(estimator, partitions))


def write_partitions(
    estimator: Any, X: Any, path: str | os.PathLike[str], *, replace: bool
) -> Path:
    """Write the coordinates of a Dask array or DataFrame to a file."""
    coordinates = coordinates_of_partitions(estimator, X)
    names = list(estimator.get_feature_names_out())
    n, n_components = coordinates.shape
    writer = open_writer(path, n, n_components, coordinates.dtype, names, replace=replace)
    report = reporter(estimator.verbose, estimator.callback)
    with writer:
        if isinstance(writer.sink, ZarrSink):
            _write_on_workers(writer, coordinates, writer.sink, report)
        else:
            _write_here(writer, coordinates, report)
    return writer.path


def _refuse_frames(estimator: Any) -> None:
    container = wanted_container(estimator)
    if container != "default":
        raise ParameterValueError(
            "X",
            container,
            "set_output or set_config asks for a {container} frame, which a lazy Dask array cannot "
            "be",
            "use set_output(transform='default') and convert the result with "
            "dask.dataframe.from_dask_array",
            container=container,
        )


def _lazy(estimator: Any, partitions: Partitions, sizes: list[int]) -> Any:
    n_components = estimator._n_features_out
    fitted = estimator.fitted_
    refuse_standardized_dask(fitted.parameters["metric"])
    return partitions.array.map_blocks(
        _extended_block,
        model=_shared(fitted.extension),
        names=partitions.feature_names,
        scaled=fitted.parameters["metric"] == "cosine",
        n_features=partitions.n_features,
        first_rows=np.cumsum([0, *sizes]).tolist(),
        device=device_of_workers(estimator),
        dtype=partitions.dtype,
        chunks=(tuple(sizes), (n_components,)),
        meta=np.empty((0, n_components), dtype=partitions.dtype),
        name=f"trigpoint-coordinates-{uuid.uuid4().hex}",
    )


def _shared(model: Extension) -> Any:
    """One key of the graph for all blocks, whose value is the model, or is on the workers."""
    import dask

    if len(pickle.dumps(model, protocol=5)) > _MODEL_IN_GRAPH:
        try:
            from distributed import get_client

            client = get_client()
        except (ImportError, ValueError):
            pass
        else:
            # On every worker, so that it outlives any of them.
            return dask.delayed(client.scatter(model, broadcast=True, hash=False))
    return dask.delayed(model, name=f"trigpoint-model-{uuid.uuid4().hex}", traverse=False)


def _extended_block(
    block: Any,
    *,
    model: Extension,
    names: list[str] | None,
    scaled: bool,
    n_features: int,
    first_rows: list[int],
    device: str | None,
    block_id: tuple[int, int],
) -> np.ndarray:
    """Coordinates of one partition; Dask runs as many at once as a worker has threads."""
    dtype = np.dtype(np.float32 if getattr(block, "dtype", None) == np.float32 else np.float64)
    part = block_id[0]
    points = checked_points(block, part, dtype, names, scaled, n_features, first_rows[part])
    if not len(points):
        return np.empty((0, model.n_components), dtype=dtype)
    check_magnitude(points, f"partition {part} of X", may_be_tiny=True)
    there = resolve_device(device)
    coordinates, n_far = (
        extend(model, points) if there is None else block_by_device(model, points, there)
    )
    n_far = int(np.sum(n_far))
    if n_far:
        _warn_of_far(n_far, len(points), part)
    return coordinates


def _warn_of_far(n_far: int, n_points: int, partition: int) -> None:
    """Warn where the user is, not only in the log of a worker."""
    warning = far_points(n_far, n_points, f" of partition {partition}")
    try:
        from distributed.worker import warn
    except ImportError:
        warn_user(warning)
    else:
        warn(warning)


def _write_on_workers(
    writer: PointWriter, coordinates: Any, sink: ZarrSink, report: Report
) -> None:
    """Let the workers write the chunks of a Zarr array, each chunk by one of them."""
    import dask.array

    rows = sink.array.chunks[0]
    # Chunks that do not end where those of the array do would be written by two workers at once.
    if any(end % rows for end in np.cumsum(coordinates.chunks[0])[:-1]):
        coordinates = coordinates.rechunk({0: max(1, _typical(coordinates) // rows) * rows})
    report("points", 0, writer.shape[0])
    dask.array.store(coordinates, sink.array, lock=False, compute=True, return_stored=False)
    writer.rows_written = writer.shape[0]
    report("points", writer.shape[0], writer.shape[0])


def _typical(coordinates: Any) -> int:
    return int(max(coordinates.chunks[0]))


def _write_here(writer: PointWriter, coordinates: Any, report: Report) -> None:
    """Write blocks as they come from the workers, a few at a time."""
    report("points", 0, writer.shape[0])
    for block in computed_blocks(coordinates):
        writer.write(block)
        report("points", writer.rows_written, writer.shape[0])
