"""Checks of the arguments of the metrics."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from trigpoint._common.checks import as_array, check_magnitude
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.words import counted


def as_matrix(name: str, values: Any, *, column: bool = False) -> np.ndarray:
    """Check finite numbers, one point per row; with ``column``, a 1-D array is one column."""
    if issparse(values):
        raise ParameterTypeError(
            name,
            type(values).__name__,
            "{parameter} is sparse",
            "pass a dense array, for example {parameter}.toarray()",
        )
    if type(values).__module__.partition(".")[0] == "dask":
        raise ParameterTypeError(
            name,
            type(values).__name__,
            "{parameter} is a Dask collection, and this metric needs it in one array",
            ("pass a sample of it", "the estimator's quality(X), which takes one itself"),
        )
    array = as_array(values, name)
    if array.dtype.kind not in "biuf":
        raise ParameterTypeError(
            name,
            array.dtype,
            "{parameter} must hold real numbers, got dtype {dtype}",
            "convert it first",
            dtype=array.dtype,
        )
    if column and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise _bad_shape(name, array, "pass a 2-D array, one point per row")
    if array.size == 0:
        raise _bad_shape(name, array, "pass at least one point")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise ParameterValueError(
            name,
            array[np.argmin(finite)],
            "{parameter} has NaN or infinity in {rows}, the first being row {first}",
            "remove or fill in those values",
            rows=counted(int(np.sum(~finite)), "row"),
            first=np.argmin(finite),
        )
    # Only the full set of points can be too small; a few points may be near the origin.
    check_magnitude(array, name, may_be_tiny=name not in ("X", "embedding", "intrinsic"))
    return array


def _bad_shape(name: str, values: np.ndarray, remedy: str) -> ParameterValueError:
    state = "has" if values.size else "is empty, with"
    return ParameterValueError(
        name,
        values.shape,
        "{parameter} {state} shape {shape}",
        remedy,
        state=state,
        shape=values.shape,
    )


def as_landmarks(X: Any, landmarks: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Landmark points, and their rows in `X` if rows were given."""
    given = as_array(landmarks, "landmarks")
    if given.size == 0:
        raise _bad_shape("landmarks", given, "pass at least one")
    if given.ndim == 2:
        points = as_matrix("landmarks", given)
        if points.shape[1] != X.shape[1]:
            raise ParameterValueError(
                "landmarks",
                landmarks,
                "{parameter} has {found} and X has {wanted}",
                ("pass points from the same space", "a 1-D array of row numbers"),
                found=counted(points.shape[1], "column"),
                wanted=X.shape[1],
            )
        return points, None
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ParameterTypeError(
            "landmarks",
            landmarks,
            "{parameter} must be a 1-D array of row numbers or a 2-D array of points, got {dtype} "
            "of shape {shape}",
            dtype=given.dtype,
            shape=given.shape,
        )
    if given.min() < 0 or given.max() >= len(X):
        raise ParameterValueError(
            "landmarks",
            landmarks,
            "{parameter} has row numbers from {first} to {last}",
            "choose them from 0 to {most} (X has {n_points} points)",
            first=given.min(),
            last=given.max(),
            most=len(X) - 1,
            n_points=len(X),
        )
    rows = given.astype(np.int64)
    return X[rows], rows


def as_edges(graph: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every undirected edge, lower row first."""
    if not issparse(graph):
        graph = as_array(graph, "graph")
        if graph.dtype.kind not in "biuf" or graph.ndim != 2:
            raise ParameterTypeError(
                "graph",
                graph.shape,
                "{parameter} must be a sparse or a 2-D array, got {dtype} of shape {shape}",
                dtype=graph.dtype,
                shape=graph.shape,
            )
    entries = coo_array(graph)
    if entries.shape != (k, k):
        raise ParameterValueError(
            "graph",
            entries.shape,
            "{parameter} has shape {shape} and intrinsic has {k} rows",
            "pass the {k} x {k} graph and the coordinates of the same landmarks",
            shape=entries.shape,
            k=k,
        )
    row, col = (ends.astype(np.int64) for ends in entries.coords)
    code = np.unique(np.minimum(row, col)[row != col] * k + np.maximum(row, col)[row != col])
    if len(code) == 0:
        raise ParameterValueError(
            "graph", 0, "{parameter} has no edges", "pass a graph that links some landmarks"
        )
    return code // k, code % k


def as_labels(name: str, labels: Any, points: str, n_points: int) -> np.ndarray:
    """Check that there is one label for each point."""
    array = as_array(labels, name)
    if array.shape != (n_points,):
        raise ParameterValueError(
            name,
            array.shape,
            "{parameter} has shape {shape} and {points} has {n_points} rows",
            "pass one label per row",
            shape=array.shape,
            points=points,
            n_points=n_points,
        )
    return array


def check_same_length(name: str, a: np.ndarray, other_name: str, b: np.ndarray) -> None:
    """Reject arrays with different numbers of points."""
    if len(a) != len(b):
        raise ParameterValueError(
            name,
            a.shape,
            "{parameter} has {rows} and {other} has {other_rows}",
            "pass the same points to both",
            rows=counted(len(a), "row"),
            other=other_name,
            other_rows=len(b),
        )
