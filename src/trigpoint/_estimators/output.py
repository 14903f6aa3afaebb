"""Writing coordinates to a file, from the start or from where an interrupted run stopped."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import get_config

from trigpoint._common.checkpoints import NOTHING_KEPT
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.progress import reporter
from trigpoint._common.warn import warn_user
from trigpoint._estimators.saving import described_parameters, load, model_digest
from trigpoint._extension.extensions import warn_of_far
from trigpoint._files import PointWriter, open_writer, read_points, refuse_same_file
from trigpoint._files.atomic import Staging, kept_folder
from trigpoint._files.checkpoints import StagedCheckpoints
from trigpoint._files.resuming import ResumableWriter
from trigpoint._numerics.sparse import Points
from trigpoint._points.dask.recognition import is_dask
from trigpoint._points.inputs import blocks_as_stored, device_for, is_file, points_to_transform

# With this many points or more, work is kept if a run ends early, so that another can resume it.
LONG = 10_000_000

# Rows that a run is recognized by, besides the size and time of its files.
_FIRST_ROWS = 100

# Whose versions may change the last digits of a result.
_LIBRARIES = ("trigpoint", "numpy", "scipy", "numba")

_MODEL = "model.trig"


@dataclass(frozen=True)
class Output:
    """A file for coordinates.

    Attributes
    ----------
    path : path
        The file.
    replace : bool
        Whether to replace it if it exists when the coordinates are complete.
    resume : bool
        Whether to keep what was done if the run ends early; `LONG` runs always keep it.
    """

    path: str | os.PathLike[str]
    replace: bool = True
    resume: bool = False


def check_out(estimator: Any, X: Any, out: Any) -> None:
    """Reject an `out` that cannot be written, before any work is done."""
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out):
        remedy = "name a .npy, .csv, .zarr or .parquet file"
        if isinstance(X, (str, os.PathLike)):
            remedy = "the points come first, as in transform(X, out={path!r})"
        shape = np.shape(out)
        raise ParameterTypeError(
            "out",
            out,
            "{parameter} must be a path, got {got}",
            remedy,
            got=f"{type(out).__name__} of shape {shape}" if shape else repr(out),
            path=X,
        )
    open_writer(out, 1, 1)
    container = wanted_container(estimator)
    if container != "default":
        raise ParameterValueError(
            "out",
            os.fspath(out),
            "{parameter=} writes a file, but set_output or set_config asks for a {container} frame",
            "use only one of them",
            container=container,
        )


def wanted_container(estimator: Any) -> str:
    """What `transform` should return, as set by scikit-learn's `set_output` or `set_config`."""
    config = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return str(config or get_config()["transform_output"])


def fit_and_write(estimator: Any, X: Any, output: Output) -> Path:
    """Fit an estimator and write the coordinates of the same points."""
    if is_file(X):
        refuse_same_file(read_points(X), output.path)
    with _kept_work(estimator, X, output, fits=True) as staging:
        model = None if staging is None else staging.folder / _MODEL
        if model is not None and model.exists():
            _restore(estimator, model)
        else:
            kept = NOTHING_KEPT
            # Without a seed, another run would draw other landmarks.
            if staging is not None and estimator.random_state is not None:
                kept = StagedCheckpoints(staging)
            estimator._fit(X, kept)
            if staging is not None and model is not None:
                estimator.save(model)
                staging.keep = True
        return _write(estimator, X, output, staging)


def write_coordinates(estimator: Any, X: Any, output: Output) -> Path:
    """Write the coordinates of points by a fitted estimator."""
    with _kept_work(estimator, X, output, fits=False) as staging:
        return _write(estimator, X, output, staging)


def _write(estimator: Any, X: Any, output: Output, staging: Staging | None) -> Path:
    if is_dask(X):
        from trigpoint._estimators.partitioned import write_partitions

        return write_partitions(estimator, X, output.path, replace=output.replace)
    source = points_to_transform(estimator, X)
    refuse_same_file(source, output.path)
    shape = source.shape[0], estimator._n_features_out
    names = list(estimator.get_feature_names_out())
    writer: PointWriter
    if staging is None:
        writer = open_writer(output.path, *shape, source.dtype, names, replace=output.replace)
    else:
        writer = ResumableWriter(staging, shape, source.dtype, names)
    with writer:
        if staging is not None and (writer.rows_written or staging.goes_on):
            warn_user(
                UserWarning(
                    f"{staging.name}: an earlier run was ended after {writer.rows_written:,} of "
                    f"{shape[0]:,} points, and this one goes on from there"
                )
            )
        points = blocks_as_stored(source, reporter(estimator.verbose, estimator.callback))
        points = _rows_after(points, writer.rows_written)
        for coordinates, n_far in estimator._extended(points, device_for(estimator, X)):
            writer.write(coordinates, int(np.sum(n_far)))
    warn_of_far(writer.tally, shape[0])
    return writer.path


def _rows_after(blocks: Iterator[Points], done: int) -> Iterator[Points]:
    """Leave out the first rows, which are read again but not computed again."""
    for block in blocks:
        if done >= block.shape[0]:
            done -= block.shape[0]
        else:
            yield block[done:] if done else block
            done = 0


@contextmanager
def _kept_work(estimator: Any, X: Any, output: Output, *, fits: bool) -> Iterator[Staging | None]:
    """A folder for the work that a run has done, or None for a run that cannot be resumed."""
    run = _run(estimator, X, output, fits)
    if run is None:
        yield None
        return
    with Staging(output.path, replace=output.replace, run=run) as staging:
        yield staging


def _run(estimator: Any, X: Any, output: Output, fits: bool) -> str | None:
    """Text that is the same only if the same coordinates are to be computed.

    None if nothing is kept. Points in memory are gone with the process; only those in files can be
    found again.
    """
    if is_dask(X) or not is_file(X):
        return None
    source = read_points(X)
    wanted = output.resume or source.shape[0] >= LONG
    if source.path is None or not (wanted or kept_folder(output.path)):
        return None
    try:
        model = described_parameters(estimator) if fits else model_digest(estimator)
    except TypeError as error:
        if output.resume:
            warn_user(
                UserWarning(
                    f"nothing would be kept of a run that ends early: {error}, so that it would "
                    "not be recognized"
                )
            )
        return None
    first = next(source.blocks(_FIRST_ROWS))
    what = {
        "versions": {name: version(name) for name in _LIBRARIES},
        "estimator": type(estimator).__name__,
        "model": model,
        "device": str(device_for(estimator, X)),
        "input": str(source.path.resolve()),
        "files": _states(source.path),
        "points": [*source.shape, source.dtype.name, hashlib.sha256(first.data).hexdigest()],
    }
    run = json.dumps(what, indent=1)
    return run if wanted or kept_folder(output.path, run) else None


def _states(path: Path) -> str:
    """Digest of the sizes and times of a file, or of all files in a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = [
        (str(file), stat.st_size, stat.st_mtime_ns) for file in files if (stat := file.stat())
    ]
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()


def _restore(estimator: Any, model: Path) -> None:
    """Give an estimator what an earlier run has fitted."""
    for name, value in vars(load(model)).items():
        if name.endswith("_"):
            setattr(estimator, name, value)
