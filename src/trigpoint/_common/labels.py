"""Class labels: detection, sorting and missing values."""

import re
from datetime import date
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

# Maximum number of classes with their own color; integers with more distinct values are numeric.
MOST_CLASSES = 14

# Number of values to check first, enough to rule out most numeric columns.
_FIRST = 10_000


def are_classes(values: np.ndarray) -> bool:
    """Return whether values are classes rather than numbers or dates.

    Text and booleans are classes. Integers are classes if they have at most 14 distinct values. The
    same holds for whole floats with missing values, since tables store integers with missing values
    as floats.
    """
    kind = values.dtype.kind
    if kind in "iu":
        return _are_few(values)
    if kind == "f":
        known = values[~np.isnan(values)]
        return (
            0 < len(known) < len(values)
            and bool(np.isfinite(known).all())
            and bool((known == np.rint(known)).all())
            and _are_few(known)
        )
    if kind == "O":
        missing = np.array([is_missing(value) for value in values], dtype=bool)
        return _objects_are_classes(values[~missing])
    return kind in "bSUT"


def _objects_are_classes(known: np.ndarray) -> bool:
    types = {type(value) for value in known}
    if types and all(issubclass(one, Integral) and not issubclass(one, bool) for one in types):
        return len(set(known)) <= MOST_CLASSES
    if all(issubclass(one, Real) and not issubclass(one, bool) for one in types):
        # Integers are stored as objects if some are missing.
        return are_classes(np.append(known.astype(np.float64), np.nan))
    return not all(issubclass(one, date | np.datetime64) for one in types)


def _are_few(values: np.ndarray) -> bool:
    return all(len(np.unique(some)) <= MOST_CLASSES for some in (values[:_FIRST], values))


def natural_order(text: str) -> tuple[Any, ...]:
    """Return a natural sort key: numbers first, by value, then words by the numbers in them."""
    parts = re.split(r"(\d+)", text.casefold())
    # Compare digits by their count and then as text, since numbers may be too long to convert.
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    words = tuple((len(part) if place % 2 else 0, part) for place, part in enumerate(parts))
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    return (0, value, words, text) if isfinite(value) else (1, 0.0, words, text)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    # NaN, NaT and NA do not equal themselves.
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True
