"""Parameters as they were used: automatic ones with the value that was chosen."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trigpoint.metrics._suspects import is_complete

_MOST_CHARACTERS = 120


def used_parameters(fitted: Any, decided: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a fit as text, by name.

    `decided` holds values of automatic parameters that the result alone does not show.
    """
    found = {name: value for name, value in _found(fitted).items() if value is not None}
    found |= decided
    texts = {}
    for name, value in fitted.parameters.items():
        is_automatic = value is None or (isinstance(value, str) and value == "auto")
        if name == "random_state" and value is None:
            texts[name] = "not fixed"
        elif is_automatic and name in found:
            texts[name] = f"{_short(found[name])} (default)"
        else:
            texts[name] = "default" if value is None else _short(value)
    return texts


def _found(fitted: Any) -> dict[str, Any]:
    """Return the automatic parameters that the result shows."""
    landmarks, graph = fitted.landmarks, fitted.graph
    found = {
        "landmarks": len(landmarks.points),
        "extension": fitted.extended_by,
        "bandwidth": fitted.bandwidth,
    }
    if graph is not None:
        metric = "euclidean" if landmarks.covariances is None else "bhattacharyya"
        found["graph"] = "complete" if is_complete(graph) else metric
    return found


def _short(value: Any) -> str:
    """Describe a value briefly; an array by its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    if np.ndim(value) > 0:
        return f"array of shape {np.shape(value)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
