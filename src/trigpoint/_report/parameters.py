"""Parameters as they were used: what was left to the library is shown as it was decided."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trigpoint._common.records import FittedEmbedding, LowRankCovariances
from trigpoint.metrics._suspects import is_complete

_MOST_CHARACTERS = 120


def used_parameters(fitted: FittedEmbedding, decided: Mapping[str, Any]) -> dict[str, str]:
    """Texts of the parameters, by name.

    Parameters
    ----------
    fitted : FittedEmbedding
    decided : mapping
        What some of them stand for, where the result alone does not show it.
    """
    found = {**_found(fitted), **decided}
    texts = {}
    for name, value in fitted.parameters.items():
        left_open = value is None or (isinstance(value, str) and value == "auto")
        if name == "random_state" and value is None:
            texts[name] = "not fixed"
        elif left_open and name in found:
            texts[name] = f"{_short(found[name])} (default)"
        elif value is None:
            texts[name] = "default"
        else:
            texts[name] = _short(value)
    return texts


def _found(fitted: FittedEmbedding) -> dict[str, Any]:
    """What the result shows of the parameters."""
    landmarks, graph = fitted.landmarks, fitted.graph
    found: dict[str, Any] = {
        "landmarks": len(landmarks.points),
        "extension": fitted.extended_by,
        "bandwidth": fitted.bandwidth,
        "device": "cpu",
    }
    if graph is None:
        return found
    found["covariance"] = _kind_of_covariance(landmarks.covariances)
    found["bandwidth"] = f"of each landmark, median {np.median(graph.bandwidths):.3g}"
    if fitted.anchor_values is not None:
        return found | {"graph": "anchors", "n_neighbors": "none"}
    if is_complete(graph):
        return found | {"graph": "complete", "n_neighbors": "all"}
    if not isinstance(fitted.parameters.get("graph"), str):
        return found | {"n_neighbors": "by the graph"}
    found["graph"] = "euclidean" if landmarks.covariances is None else "bhattacharyya"
    return found


def _kind_of_covariance(covariances: Any) -> str:
    if covariances is None:
        return "none"
    if isinstance(covariances, LowRankCovariances):
        return f"low-rank, rank {covariances.rank}"
    return "full" if covariances.ndim == 3 else "diag"


def _short(value: Any) -> str:
    """A short description of a value; arrays by their shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape) > 0:
        return f"array of shape {tuple(shape)}"
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
