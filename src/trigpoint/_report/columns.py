"""Columns of values in two bytes each: numbers on a scale, dates, or labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.labels import MOST_CLASSES, is_missing, natural_order

_STEPS = 65534
MISSING = 65535

# The color scale omits outliers, which would make all other colors alike.
_COLOR_QUANTILES = (0.01, 0.99)

# Units in which dates are shown, in milliseconds, finest first.
_UNITS = {"millisecond": 1, "second": 1000, "minute": 60_000, "day": 86_400_000}
# Years from 1970 that numpy's microseconds and browsers' dates can both represent.
_MOST_YEARS = 200_000


@dataclass(frozen=True)
class Column:
    """Values of the sampled points.

    Attributes
    ----------
    name : str
    codes : uint16 ndarray of shape (s,)
        Numbers in steps from `low` to `high`, or positions in `labels`; 65535 for missing values.
    low, high : float
        Smallest and largest number; for dates, in milliseconds since 1970.
    color_low, color_high : float
        Numbers at the ends of the color scale.
    unit : {"", "millisecond", "second", "minute", "day", "year"}
        The finest unit in which dates are shown; empty for plain numbers.
    labels : tuple of str or None
        The distinct labels, in legend order; ``None`` for numbers.
    others : bool
        Whether the last of `labels` stands for all labels without a color of their own.
    """

    name: str
    codes: np.ndarray
    low: float = 0.0
    high: float = 1.0
    color_low: float = 0.0
    color_high: float = 1.0
    unit: str = ""
    labels: tuple[str, ...] | None = None
    others: bool = False


def number_column(name: str, values: np.ndarray) -> Column:
    """Column of numbers on their own scale; those that are not finite are missing."""
    values = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(values)
    codes = np.full(len(values), MISSING, dtype=np.uint16)
    if not finite.any():
        return Column(name, codes)
    low, high = float(values[finite].min()), float(values[finite].max())
    # Halved, here and for the quantiles, so that a range beyond the largest float does not
    # overflow.
    width = high / 2 - low / 2
    share = (values[finite] / 2 - low / 2) / (width if width > 0 else 1.0)
    codes[finite] = np.round(_STEPS * share).astype(np.uint16)
    ends = 2 * np.quantile(values[finite] / 2, _COLOR_QUANTILES)
    if ends[0] == ends[1]:
        ends = np.array([low, high])
    return Column(name, codes, low, high, float(ends[0]), float(ends[1]))


def date_column(name: str, values: np.ndarray) -> Column:
    """Column of dates in any numpy unit, on a scale like numbers."""
    known = ~np.isnat(values)
    years = values[known].astype("datetime64[Y]").astype(np.int64)
    if (abs(years) > _MOST_YEARS).any():
        raise ParameterValueError(
            "color",
            name,
            "{parameter} {name!r} has dates more than {most:,} years from 1970",
            "pass years as numbers",
            name=name,
            most=_MOST_YEARS,
        )
    milliseconds = np.full(len(values), np.nan)
    milliseconds[known] = values[known].astype("datetime64[us]").astype(np.int64) / 1000
    column = number_column(name, milliseconds)
    return replace(column, unit=_unit(milliseconds[known], (column.high - column.low) / _STEPS))


def _unit(milliseconds: np.ndarray, step: float) -> str:
    """The largest unit in which all dates are whole, or a larger one if steps are coarser.

    Midnights are shown as days. So are times that span three years, whose steps are 24 minutes.
    """
    found = "millisecond"
    for unit, size in _UNITS.items():
        if step >= _UNITS[found] or not (milliseconds % size).any():
            found = unit
    return "year" if step >= _UNITS[found] else found


def label_column(name: str, values: np.ndarray, order: Sequence[str] | None = None) -> Column:
    """Column of labels; with more than 14, all but the 13 most frequent are merged.

    They are in the given order, otherwise in natural order: 2 before 10.
    """
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    texts = np.array([label_text(value) for value in values[~missing]], dtype=str)
    kinds, places, counts = np.unique(texts, return_inverse=True, return_counts=True)
    names = [str(kind) for kind in kinds]
    rank = {kind: place for place, kind in enumerate(order or sorted(names, key=natural_order))}
    shown = np.array(sorted(range(len(names)), key=lambda kind: rank[names[kind]]), dtype=np.int64)
    if others := len(names) > MOST_CLASSES:
        frequent = np.argsort(-counts[shown], kind="stable")[: MOST_CLASSES - 1]
        shown = shown[np.sort(frequent)]
    # An empty label would leave a color unexplained.
    labels = [names[kind] if names[kind].strip() else "(empty)" for kind in shown]
    if others:
        labels.append(f"{len(names) - len(shown):,} others")
    new_places = np.full(len(names), len(shown))
    new_places[shown] = np.arange(len(shown))
    codes = np.full(len(values), MISSING, dtype=np.uint16)
    codes[~missing] = new_places[places.reshape(-1)]
    return Column(name, codes, labels=tuple(labels), others=others)


def label_text(value: Any) -> str:
    """A label as text; bytes are decoded."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
