"""Parameters as they were used: automatic ones with the value that was chosen."""

from typing import Any

import numpy as np

_MOST_CHARACTERS = 120


def used_parameters(fitted: Any) -> dict[str, str]:
    """Return the parameters of a fit as text, by name; automatic ones with what was chosen."""
    chosen = {
        "landmarks": len(fitted.landmarks.points),
        "extension": fitted.extended_by,
        **fitted.decided,
    }
    texts = {}
    for name, value in fitted.parameters.items():
        is_automatic = value is None or (isinstance(value, str) and value == "auto")
        if name == "random_state" and value is None:
            texts[name] = "not fixed"
        elif is_automatic and chosen.get(name) is not None:
            texts[name] = f"{_short(chosen[name])} (default)"
        else:
            texts[name] = "default" if value is None else _short(value)
    return texts


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
