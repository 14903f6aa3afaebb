"""Checks of the arguments of the metrics."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from trigpoint._common.checks import check_magnitude


def as_matrix(name: str, values: Any, *, column: bool = False) -> np.ndarray:
    """Check finite numbers, one point per row; with ``column``, a 1-D array is one column."""
    if issparse(values):
        raise TypeError(f"{name} is sparse: pass a dense array, for example {name}.toarray()")
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}: convert it first")
    if column and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}: pass a 2-D array, one point per row")
    if array.size == 0:
        raise ValueError(f"{name} is empty, with shape {array.shape}: pass at least one point")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name} has NaN or infinity in {np.sum(~finite)} rows, the first being row "
            f"{np.argmin(finite)}: remove or fill in those values"
        )
    # Only the full set of points can be too small; a few points may be near the origin.
    check_magnitude(array, name, may_be_tiny=name not in ("X", "embedding", "intrinsic"))
    return array


def as_landmarks(X: np.ndarray, landmarks: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Landmark points, and their rows in `X` if rows were given."""
    given = np.asarray(landmarks)
    if given.size == 0:
        raise ValueError(f"landmarks is empty, with shape {given.shape}: pass at least one")
    if given.ndim == 2:
        points = as_matrix("landmarks", given)
        if points.shape[1] != X.shape[1]:
            raise ValueError(
                f"landmarks has {points.shape[1]} columns and X has {X.shape[1]}: pass points from "
                "the same space, or a 1-D array of row numbers"
            )
        return points, None
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(
            f"landmarks must be a 1-D array of row numbers or a 2-D array of points, got "
            f"{given.dtype} of shape {given.shape}"
        )
    if given.min() < 0 or given.max() >= len(X):
        raise ValueError(
            f"landmarks has row numbers from {given.min()} to {given.max()}: choose them from 0 "
            f"to {len(X) - 1} (X has {len(X)} points)"
        )
    rows = given.astype(np.int64)
    return X[rows], rows


def as_edges(graph: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every undirected edge, lower row first."""
    if not issparse(graph):
        graph = np.asarray(graph)
        if graph.dtype.kind not in "biuf" or graph.ndim != 2:
            raise TypeError(
                f"graph must be a sparse or a 2-D array, got {graph.dtype} of shape {graph.shape}"
            )
    entries = coo_array(graph)
    if entries.shape != (k, k):
        raise ValueError(
            f"graph has shape {entries.shape} and intrinsic has {k} rows: pass the {k} x {k} graph "
            "and the coordinates of the same landmarks"
        )
    row, col = (ends.astype(np.int64) for ends in entries.coords)
    code = np.unique(np.minimum(row, col)[row != col] * k + np.maximum(row, col)[row != col])
    if len(code) == 0:
        raise ValueError("graph has no edges: pass a graph that links some landmarks")
    return code // k, code % k


def as_labels(name: str, labels: Any, points: str, n_points: int) -> np.ndarray:
    """Check that there is one label for each point."""
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise ValueError(
            f"{name} has shape {array.shape} and {points} has {n_points} rows: pass one label "
            "per row"
        )
    return array


def check_same_length(name: str, a: np.ndarray, other_name: str, b: np.ndarray) -> None:
    """Reject arrays with different numbers of points."""
    if len(a) != len(b):
        raise ValueError(
            f"{name} has {len(a)} rows and {other_name} has {len(b)}: pass the same points to both"
        )
