"""Save a fitted estimator to one file and load it again, without pickle.

The file (``.trig``) holds the landmarks, their graph and coordinates, and the parameters as JSON.
Its size grows with the number of landmarks, not of points. It uses the safetensors layout, which
other programs can read.
"""

import hashlib
import json
import os
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from trigpoint import _graph as graphs
from trigpoint import _landmarks as samplers
from trigpoint._common.checks import check_count, check_path
from trigpoint._common.errors import DamagedFileError
from trigpoint._common.records import EmbeddedLandmarks, FittedEmbedding
from trigpoint._estimators.base import HOW_IT_RUNS, LandmarkEmbedding
from trigpoint._estimators.graph_based import ANCHORS, GraphEmbedding
from trigpoint._estimators.model_arrays import as_arrays, as_csr, from_arrays, require
from trigpoint._files.naming import naming_file
from trigpoint._sources.tensors import read_tensors, write_tensors
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION

FORMAT, FORMAT_VERSION = "trigpoint", 1

# Classes that parameters may be instances of; no other class is created from a file.
_PARTS: dict[str, Any] = {
    name: getattr(samplers, name)
    for name in samplers.__all__
    if isinstance(getattr(samplers, name), type)
    if issubclass(getattr(samplers, name), BaseEstimator)
} | {
    graph.__name__: graph
    for graph in (graphs.KNNGraph, graphs.RadiusGraph, graphs.CompleteGraph, graphs.AnchorGraph)
}

# Exceptions that an inconsistent or malicious file may raise while it is loaded.
_NONSENSE = (
    *(KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError),
    *(RecursionError, OverflowError, FloatingPointError),
)


def save_model(
    estimator: LandmarkEmbedding, path: str | os.PathLike[str], *, replace: bool = True
) -> None:
    """Write a fitted estimator to `path`; see `LandmarkEmbedding.save`."""
    path = check_path(path, "name the file to write, such as 'model.trig'")
    write_tensors(path, *_contents(estimator), replace=replace)


def model_digest(estimator: LandmarkEmbedding) -> str:
    """Digest of all that `save_model` writes."""
    arrays, metadata = _contents(estimator)
    digest = hashlib.sha256(json.dumps(metadata).encode())
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def described_parameters(estimator: LandmarkEmbedding) -> dict[str, Any]:
    """Parameters of an estimator as JSON; a TypeError if one cannot be serialized."""
    parameters = estimator.get_params(deep=False)
    return {name: _as_json(value) for name, value in parameters.items() if name not in HOW_IT_RUNS}


def _contents(estimator: LandmarkEmbedding) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays and metadata of a model file."""
    if _estimators().get(type(estimator).__name__) is not type(estimator):
        raise TypeError(
            f"{type(estimator).__name__} is not one of trigpoint's estimators, so it could not be "
            "loaded again: save one of those, or use pickle"
        )
    fitted = estimator.fitted_
    arrays = as_arrays(fitted)
    if fitted.parameters["metric"] == "seuclidean":
        arrays["column_scales"] = estimator.column_scales_
    names = getattr(estimator, "feature_names_in_", None)
    model = {
        "estimator": type(estimator).__name__,
        "parameters": _described(fitted),
        "bandwidth": fitted.bandwidth,
        "dimension": fitted.dimension,
        "extension": fitted.extended_by,
        "decided": fitted.decided,
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "dtype": estimator.landmark_embedding_.dtype.name,
        "trigpoint": version("trigpoint"),
    }
    return arrays, {
        "format": FORMAT,
        "version": str(FORMAT_VERSION),
        "model": json.dumps(model),
    }


def load(path: str | os.PathLike[str]) -> LandmarkEmbedding:
    """Load an estimator saved with its ``save`` method.

    Parameters
    ----------
    path : path

    Returns
    -------
    LaplacianEigenmaps, DiffusionMaps, Isomap, KernelPCA or LandmarkMap
        Ready to `transform`, with the same results as the saved one.

    Raises
    ------
    FileNotFoundError
    ParameterError
        `path` is no path, or that of a folder.
    DamagedFileError
        A `ValueError`: the file is truncated, altered, of another kind, or in a format that this
        version does not know. Nothing in the file is executed.

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
    with naming_file(path):
        arrays, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise DamagedFileError(f"{path} holds arrays, but not a model that trigpoint saved")
    if metadata.get("version") != str(FORMAT_VERSION):
        raise DamagedFileError(
            f"{path} has format version {metadata.get('version')!r} and this trigpoint "
            f"({version('trigpoint')}) reads version {FORMAT_VERSION}: install a newer trigpoint"
        )
    try:
        model = json.loads(metadata["model"])
        kind = _estimators()[model["estimator"]]
        n_features, dtype = int(model["n_features"]), np.dtype(model["dtype"])
        require(dtype in (np.float32, np.float64), "types")
        embedded = from_arrays(kind.__name__, arrays, n_features, model["bandwidth"])
        embedded = replace(
            embedded,
            dimension=_dimension(model.get("dimension")),
            decided={str(name): str(value) for name, value in model.get("decided", {}).items()},
        )
        estimator = kind(**_parameters(model["parameters"], arrays))
        if "dimension" not in model and estimator.extension == "auto":
            # Files of the first release: which one was automatic depended on the columns alone.
            estimator.extension = "graph" if n_features <= TREE_MAX_DIMENSION else "all"
        estimator.n_features_in_ = n_features
        if model["feature_names"] is not None:
            estimator.feature_names_in_ = np.array(model["feature_names"], dtype=object)
        estimator.stage_seconds_ = {}
        estimator._check_parameters()
        if estimator.metric == "seuclidean":
            scales = estimator.column_scales_ = arrays["column_scales"]
            usable = np.isfinite(scales) & (scales > 0)
            require(scales.shape == (n_features,) and bool(usable.all()), "scales")
        extended_by = _extended_by(model, estimator, embedded)
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            estimator._set_fitted(replace(embedded, extended_by=extended_by), dtype)
    except _NONSENSE as error:
        raise DamagedFileError(f"{path} does not describe a model: {error!r}") from error
    return estimator


def _extended_by(
    model: dict[str, Any], estimator: LandmarkEmbedding, embedded: EmbeddedLandmarks
) -> str | int:
    """How points are extended; files of earlier versions do not say."""
    extended_by = model.get("extension", estimator._extended_by(embedded, None))
    if isinstance(extended_by, str):
        require(extended_by in (*estimator._extensions, ANCHORS), "extension")
    else:
        check_count("extension", extended_by)
    require(extended_by != "auto" or not isinstance(estimator, GraphEmbedding), "extension")
    require((extended_by == ANCHORS) == (embedded.anchor_values is not None), "extension")
    result: str | int = extended_by
    return result


def _estimators() -> dict[str, Any]:
    # Imported here because the estimators import this module.
    from trigpoint._estimators import (
        DiffusionMaps,
        Isomap,
        KernelPCA,
        LandmarkMap,
        LaplacianEigenmaps,
    )

    kinds = DiffusionMaps, Isomap, KernelPCA, LandmarkMap, LaplacianEigenmaps
    return {kind.__name__: kind for kind in kinds}


def _dimension(value: Any) -> float | None:
    require(value is None or 0 <= float(value) < float("inf"), "dimension")
    return None if value is None else float(value)


def _described(fitted: FittedEmbedding) -> dict[str, Any]:
    """Parameters as JSON; one that cannot be serialized is replaced by its result."""
    described: dict[str, Any] = {}
    for name, value in fitted.parameters.items():
        try:
            described[name] = _as_json(value)
        except TypeError:
            described[name] = _stand_in(name, fitted)
    if isinstance(described.get("graph"), dict) and "array" in described["graph"]:
        # A matrix belongs to specific landmarks, not to ones yet to be drawn.
        described["landmarks"] = _stand_in("landmarks", fitted)
    return described


def _stand_in(name: str, fitted: FittedEmbedding) -> Any:
    if name == "landmarks":
        rows = fitted.landmarks.indices is not None
        return {"array": "landmarks.indices" if rows else "landmarks.points"}
    if name == "graph":
        return {"array": "graph.weights"}
    # A random generator, whose state has changed.
    return None


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
