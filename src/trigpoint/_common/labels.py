"""Labels of classes: their order, and which are missing."""

import re
from math import isfinite
from typing import Any

import numpy as np


def natural_order(text: str) -> tuple[Any, ...]:
    """Sort numbers by value and before words, and words by the numbers in them."""
    parts = re.split(r"(\d+)", text.casefold())
    # Digits by how many they are and then as text, since whole numbers may be too long to read.
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    words = tuple((len(part) if place % 2 else 0, part) for place, part in enumerate(parts))
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    return (0, value, words, text) if isfinite(value) else (1, 0.0, words, text)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    # None of the latter three is equal to itself in a way that is true.
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True
