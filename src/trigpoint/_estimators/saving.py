"""Save a fitted estimator to one file and load it again, without pickle.

The file (``.trig``) holds the landmarks, their graph and coordinates, and the parameters as JSON.
Its size grows with the number of landmarks, not the number of rows. It uses the safetensors layout,
which other programs can read. `model_arrays` converts a fit to arrays, and checks loaded arrays.
"""

import json
import os
from dataclasses import astuple, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from trigpoint import _samplers as samplers
from trigpoint._common.checks import check_count, check_path
from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._common.records import ColumnKind, Fit
from trigpoint._embedding import HOW_IT_RUNS, Embedding
from trigpoint._estimators.graph_embedding import GraphEmbedding
from trigpoint._estimators.model_arrays import as_arrays, as_csr, fit_from_arrays, require, under
from trigpoint._estimators.tensors import read_tensors, write_tensors
from trigpoint._graphs import GRAPHS
from trigpoint._model import Model
from trigpoint._sources import Columns
from trigpoint._spaces import SPACES, Space, space_for

FORMAT, FORMAT_VERSION = "trigpoint", 3

# The only classes that loading a file may instantiate, as values of parameters.
_PARTS: dict[str, Any] = GRAPHS | {
    name: kind
    for name, kind in vars(samplers).items()
    if isinstance(kind, type) and issubclass(kind, BaseEstimator)
}

# Exceptions that an inconsistent or malicious file may raise while it is loaded.
_NONSENSE = (
    *(KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError),
    *(RecursionError, OverflowError, FloatingPointError),
)

# Prefix of the arrays of a space in the file.
_SPACE = "space."


def save_model(estimator: Embedding, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to `path`; see `FittedMixin.save`."""
    path = check_path(path, "name the file to write, such as 'model.trig'")
    if _estimators().get(type(estimator).__name__) is not type(estimator):
        raise TypeError(
            f"{type(estimator).__name__} is not one of trigpoint's estimators, so it could not be "
            "loaded again: save a trigpoint estimator, or use pickle"
        )
    fit, model = estimator.fitted_, estimator.model_
    arrays = as_arrays(fit, estimator._stored(fit))
    for name, values in model.space.arrays().items():
        values = np.asarray(values)
        if values.dtype.kind not in "biuf":
            raise TypeError(
                f"metric={model.space.name} stores {name!r} of type {values.dtype}, but a model "
                "file holds only numbers: return arrays of numbers from arrays()"
            )
        arrays[_SPACE + name] = values
    described = {
        "estimator": type(estimator).__name__,
        "parameters": _described(fit),
        "space": model.space.name,
        "dimension": fit.dimension,
        "extension": fit.extended_by,
        "decided": fit.decided,
        "columns": {
            "names": model.columns.names,
            "count": model.columns.count,
            "dtype": model.columns.dtype.name,
            "sparse": model.columns.sparse,
            "kinds": model.columns.kinds and [astuple(kind) for kind in model.columns.kinds],
            "missing": model.columns.missing,
            "holds": model.columns.holds,
            "chosen": model.columns.chosen,
        },
        "representation": getattr(estimator, "anndata_key_", None),
        "trigpoint": version("trigpoint"),
    }
    metadata = {
        "format": FORMAT,
        "version": str(FORMAT_VERSION),
        "model": json.dumps(described),
    }
    write_tensors(path, arrays, metadata)


def load(path: str | os.PathLike[str], *, metric: Any = None) -> Embedding:
    """Load an estimator saved with its ``save`` method.

    Parameters
    ----------
    path : path
    metric : object or None, default=None
        The custom object that the estimator was fitted with as ``metric=``, if any. The file stores
        only its name and arrays. If the object has a method ``from_arrays(arrays)``, the result of
        that method is used instead of the object.

    Returns
    -------
    LaplacianEigenmaps, DiffusionMaps, Isomap, KernelPCA or LandmarkMap
        The fitted estimator, whose `transform` gives the same results as before saving.

    Raises
    ------
    FileNotFoundError
    ParameterError
        `path` is not a path, or is a folder; or `metric` is missing or has another name.
    DamagedFileError
        The file is truncated, altered, of another kind, or in a format that this version does not
        know. Nothing in the file is executed or imported. This is a `ValueError`.

    Examples
    --------
    >>> import tempfile
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> emb = tp.LaplacianEigenmaps(landmarks=200, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     emb.save(f"{folder}/roll.trig")
    ...     again = tp.load(f"{folder}/roll.trig")
    >>> bool((again.transform(X) == emb.transform(X)).all())
    True
    """
    path = check_path(path, "name a file that trigpoint saved")
    arrays, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise DamagedFileError(f"{path} holds arrays, but not a model that trigpoint saved")
    if metadata.get("version") != str(FORMAT_VERSION):
        raise DamagedFileError(
            f"{path} has format version {metadata.get('version')!r} and this trigpoint "
            f"({version('trigpoint')}) reads version {FORMAT_VERSION}: install a newer trigpoint"
        )
    try:
        described = json.loads(metadata["model"])
        name = str(described["space"])
    except _NONSENSE as error:
        raise DamagedFileError(f"{path} does not describe a model: {error!r}") from error
    given = _given_metric(name, metric)
    try:
        return _restored(described, arrays, given)
    except _NONSENSE as error:
        raise DamagedFileError(f"{path} does not describe a model: {error!r}") from error


def _given_metric(name: str, metric: Any) -> Space | None:
    """Check that a metric is passed if, and only if, the model was fitted with a custom one."""
    if name in SPACES:
        if metric is not None:
            raise ParameterValueError(
                f"the model was fitted with metric={name!r}: leave metric None", "metric"
            )
        return None
    if metric is None:
        raise ParameterValueError(
            f"the model was fitted with a metric of your own, {name!r}, which is not in the file: "
            "pass an object of that name as metric",
            "metric",
        )
    space = space_for(metric)
    if not space.is_given or space.name != name:
        raise ParameterValueError(
            f"metric is named {space.name!r} and the model was fitted with {name!r}: pass that one",
            "metric",
        )
    return space


def _restored(
    described: dict[str, Any], arrays: dict[str, np.ndarray], given: Space | None
) -> Embedding:
    """Build an estimator from the description and arrays of a file."""
    kind = _estimators()[described["estimator"]]
    columns = _columns(described["columns"])
    space = _space(str(described["space"]), arrays, columns, given)
    n_stored = arrays["landmarks.points"].shape[1]
    # If there are many columns, a map stores its landmarks as principal components.
    n_euclidean = len(arrays.get("extras.components", arrays["landmarks.points"].T))
    require(given is not None or n_euclidean == space.width(columns.count), "landmarks")
    estimator = kind(**_parameters(described["parameters"], arrays))
    if given is not None:
        estimator.metric = given.given  # type: ignore[attr-defined]
    estimator._check_parameters()
    extended_by = described["extension"]
    require(extended_by in estimator._extensions, "extension")
    require(extended_by != "auto" or not isinstance(estimator, GraphEmbedding), "extension")
    fit = fit_from_arrays(arrays, n_stored, extended_by, estimator._has_eigenvalues)
    dimension = float(described["dimension"])
    require(0 <= dimension < float("inf"), "dimension")
    decided = {str(name): str(value) for name, value in described["decided"].items()}
    fit = replace(fit, dimension=dimension, decided=decided)
    estimator.n_features_in_ = columns.count
    if columns.names is not None:
        estimator.feature_names_in_ = np.array(columns.names, dtype=object)
    if described.get("representation") is not None:
        estimator.anndata_key_ = str(described["representation"])
    estimator.stage_seconds_ = {}
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        estimator._check_restored(fit)
        estimator._set_fitted(fit, Model(columns, space, estimator._extension(fit)))
    return estimator


def _columns(described: dict[str, Any]) -> Columns:
    names, dtype = described["names"], np.dtype(described["dtype"])
    count = check_count("columns", described["count"])
    require(dtype in (np.float32, np.float64), "types")
    require(names is None or len(names) == count, "columns")
    names = None if names is None else tuple(str(name) for name in names)
    kinds = described.get("kinds")
    kinds = None if kinds is None else tuple(_kind(*kind) for kind in kinds)
    require(kinds is None or names == tuple(kind.name for kind in kinds), "columns")
    missing = described.get("missing", "error")
    require(missing in ("error", "median", "drop", "mark"), "columns")
    holds, chosen = described["holds"], described["chosen"]
    require(holds in ("numbers", "bits", "objects"), "columns")
    if chosen is not None:
        chosen = tuple(check_count("columns", number, low=0, high=count - 1) for number in chosen)
    sparse = bool(described["sparse"])
    return Columns(names, count, dtype, sparse, kinds, missing, holds, chosen)


def _kind(
    name: str, kind: str, center: float, scale: float, levels: list[str], gaps: int
) -> ColumnKind:
    found = ColumnKind(
        str(name), kind, float(center), float(scale), tuple(map(str, levels)), int(gaps)
    )
    require(kind in ("number", "boolean", "date", "category"), "columns")
    require(np.isfinite(found.center) and 0 < found.scale < np.inf, "columns")
    require(bool(found.levels) == (kind == "category") and found.gaps >= 0, "columns")
    require(len(set(found.levels)) == len(found.levels), "columns")
    return found


def _space(
    name: str, arrays: dict[str, np.ndarray], columns: Columns, given: Space | None
) -> Space:
    own = under(arrays, _SPACE)
    require(all(bool(np.isfinite(values).all()) for values in own.values()), "metric")
    space = (SPACES[name]() if given is None else given).restored(own, columns.count)
    space.describe(columns)
    return space


def _estimators() -> dict[str, Any]:
    # Imported here because the estimators import this module.
    from trigpoint import _estimators

    return {
        name: kind
        for name, kind in vars(_estimators).items()
        if isinstance(kind, type) and issubclass(kind, Embedding)
    }


def _described(fit: Fit) -> dict[str, Any]:
    """Return the parameters as JSON, replacing those that cannot be serialized by their result."""
    described: dict[str, Any] = {}
    for name, value in fit.parameters.items():
        try:
            described[name] = _as_json(value)
        except TypeError:
            described[name] = _stand_in(name, fit)
    if isinstance(described.get("graph"), dict) and "array" in described["graph"]:
        # A matrix belongs to specific landmarks, not to landmarks yet to be drawn.
        described["landmarks"] = _stand_in("landmarks", fit)
    return described


def _stand_in(name: str, fit: Fit) -> Any:
    if name == "landmarks":
        rows = fit.landmarks.indices is not None
        return {"array": "landmarks.indices" if rows else "landmarks.points"}
    if name == "graph":
        return {"array": "graph.weights"}
    if name == "init":
        # Coordinates belong to the rows of X, which are not in the file.
        return "auto"
    # A custom metric is passed to `load`, and the state of a random generator has changed since.
    return "euclidean" if name == "metric" else None


def _as_json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    name = type(value).__name__
    if _PARTS.get(name) is type(value):
        parameters = {
            parameter: _as_json(given)
            for parameter, given in value.get_params(deep=False).items()
            if parameter not in HOW_IT_RUNS
        }
        return {"class": name, "parameters": parameters}
    raise TypeError(f"{value!r} cannot be serialized")


def _parameters(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: _from_json(value, arrays) for name, value in described.items()}


def _from_json(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if set(value) == {"array"}:
        if value["array"] == "graph.weights":
            return as_csr(arrays, "graph.weights", len(arrays["landmarks.points"]))
        return arrays[value["array"]]
    return _PARTS[value["class"]](**_parameters(value["parameters"], arrays))
