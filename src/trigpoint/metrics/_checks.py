"""Checks of the arguments of quality measures."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from trigpoint._common.checks import as_array, check_magnitude, check_rows
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.words import counted


def as_matrix(name: str, values: Any, *, column: bool = False) -> np.ndarray:
    """Return a finite array with one point per row; `column` also allows 1-D arrays."""
    if issparse(values):
        raise ParameterTypeError(
            f"{name} is sparse: pass a dense array, for example {name}.toarray()", name
        )
    if type(values).__module__.partition(".")[0] == "dask":
        raise ParameterTypeError(
            f"{name} is a Dask collection, but this metric needs an array in memory: pass a "
            "sample of it or use the quality method of the estimator, which samples X itself",
            name,
        )
    array = as_array(values, name)
    if array.dtype.kind not in "biuf":
        raise ParameterTypeError(
            f"{name} must hold real numbers, got dtype {array.dtype}: convert it first", name
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
            f"{name} has NaN or infinity in {counted(int(np.sum(~finite)), 'row')}, the first "
            f"being row {np.argmin(finite)}: remove or fill in these values",
            name,
        )
    # Only complete sets of points are checked for a tiny scale; a few may all be near the origin.
    check_magnitude(array, name, may_be_tiny=name not in ("X", "embedding", "intrinsic"))
    return array


def _bad_shape(name: str, values: np.ndarray, remedy: str) -> ParameterValueError:
    state = "has" if values.size else "is empty, with"
    return ParameterValueError(f"{name} {state} shape {values.shape}: {remedy}", name)


def as_landmarks(X: Any, landmarks: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return landmark points, and their rows in `X` if rows were given."""
    given = as_array(landmarks, "landmarks")
    if given.size == 0:
        raise _bad_shape("landmarks", given, "pass at least one")
    if given.ndim == 2:
        points = as_matrix("landmarks", given)
        if points.shape[1] != X.shape[1]:
            raise ParameterValueError(
                f"landmarks has {counted(points.shape[1], 'column')} and X has {X.shape[1]}: pass "
                "points from the same space or a 1-D array of row numbers",
                "landmarks",
            )
        return points, None
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ParameterTypeError(
            "landmarks must be a 1-D array of row numbers or a 2-D array of points, got "
            f"{given.dtype} of shape {given.shape}",
            "landmarks",
        )
    rows = check_rows("landmarks", given, len(X))
    return X[rows], rows


def as_edges(graph: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of every undirected edge, lower landmarks first."""
    if not issparse(graph):
        graph = as_array(graph, "graph")
        if graph.dtype.kind not in "biuf" or graph.ndim != 2:
            raise ParameterTypeError(
                f"graph must be a sparse or a 2-D array, got {graph.dtype} of shape {graph.shape}",
                "graph",
            )
    entries = coo_array(graph)
    if entries.shape != (k, k):
        raise ParameterValueError(
            f"graph has shape {entries.shape} and intrinsic has {k} rows: pass the {k} x {k} "
            "graph and the coordinates of the same landmarks",
            "graph",
        )
    row, col = (ends.astype(np.int64) for ends in entries.coords)
    code = np.unique(np.minimum(row, col)[row != col] * k + np.maximum(row, col)[row != col])
    if len(code) == 0:
        raise ParameterValueError(
            "graph has no edges: pass a graph with at least one edge", "graph"
        )
    return code // k, code % k


def as_labels(name: str, labels: Any, points: str, n_points: int) -> np.ndarray:
    """Check that there is one label per point."""
    array = as_array(labels, name)
    if array.shape != (n_points,):
        raise ParameterValueError(
            f"{name} has shape {array.shape} and {points} has {n_points} rows: pass one label per "
            "row",
            name,
        )
    return array


def check_same_length(name: str, a: np.ndarray, other_name: str, b: np.ndarray) -> None:
    """Reject arrays with different numbers of points."""
    if len(a) != len(b):
        raise ParameterValueError(
            f"{name} has {counted(len(a), 'row')} and {other_name} has {len(b)}: pass the same "
            "points to both",
            name,
        )
