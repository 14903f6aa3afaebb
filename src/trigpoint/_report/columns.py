"""Columns encoded for the page: quantized numbers or dates, or labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.labels import MOST_CLASSES
from trigpoint.plot._values import coded_labels

# Quantiles at the ends of the color scale. Outliers would otherwise compress all other colors.
_COLOR_QUANTILES = (0.01, 0.99)

# Display units of dates, in milliseconds, finest first.
_UNITS = {"millisecond": 1, "second": 1000, "minute": 60_000, "day": 86_400_000}
# Years from 1970 that both NumPy microseconds and JavaScript dates can represent.
_MOST_YEARS = 200_000


@dataclass(frozen=True)
class Column:
    """Encoded values of the sampled points."""

    name: str
    # Numbers (s,) quantized between `low` and `high`, or positions in `labels`; the largest code of
    # the type, uint16 or uint32, means a missing value.
    codes: np.ndarray
    low: float = 0.0  # Smallest number; for dates, in milliseconds since 1970.
    high: float = 1.0  # Largest number.
    color_low: float = 0.0  # Values at the ends of the color scale.
    color_high: float = 1.0
    unit: str = ""  # Finest unit in which dates are shown; empty for numbers.
    labels: tuple[str, ...] | None = None  # Distinct labels, those in the legend first.
    n_colored: int = 0  # Number of labels with a color of their own.

    @property
    def is_missing(self) -> np.ndarray:
        """Mask (s,) of missing values."""
        return np.asarray(self.codes == _missing(self.codes.dtype))

    @property
    def step(self) -> float:
        """Difference between the values of consecutive codes."""
        n_steps = _missing(self.codes.dtype) - 1
        return self.high / n_steps - self.low / n_steps


def number_column(name: str, values: np.ndarray, dtype: Any = np.uint32) -> Column:
    """Encode numbers between their extremes; non-finite values become missing.

    uint32 codes resolve nine digits of the range; uint16 codes, four.
    """
    values = np.asarray(values, dtype=np.float64)
    codes = np.full(len(values), _missing(dtype), dtype=dtype)
    finite = np.isfinite(values)
    if not finite.any():
        return Column(name, codes)
    low, high = float(values[finite].min()), float(values[finite].max())
    # Halve values, here and for the quantiles, so that very large ranges do not overflow.
    width = high / 2 - low / 2
    share = (values[finite] / 2 - low / 2) / (width if width > 0 else 1.0)
    codes[finite] = np.round((_missing(dtype) - 1) * share).astype(dtype)
    ends = 2 * np.quantile(values[finite] / 2, _COLOR_QUANTILES)
    if ends[0] == ends[1]:
        ends = np.array([low, high])
    return Column(name, codes, low, high, float(ends[0]), float(ends[1]))


def date_column(name: str, values: np.ndarray) -> Column:
    """Encode dates in any NumPy unit like numbers."""
    known = ~np.isnat(values)
    years = values[known].astype("datetime64[Y]").astype(np.int64)
    if (abs(years) > _MOST_YEARS).any():
        raise ParameterValueError(
            f"color {name!r} has dates more than {_MOST_YEARS:,} years from 1970: pass years as "
            "numbers",
            "color",
        )
    milliseconds = np.full(len(values), np.nan)
    milliseconds[known] = values[known].astype("datetime64[us]").astype(np.int64) / 1000
    column = number_column(name, milliseconds)
    return replace(column, unit=_unit(milliseconds[known], column.step))


def _unit(milliseconds: np.ndarray, step: float) -> str:
    """Return the largest unit in which all dates are whole numbers, or one no finer than `step`."""
    found = "millisecond"
    for unit, size in _UNITS.items():
        if step >= _UNITS[found] or not (milliseconds % size).any():
            found = unit
    return "year" if step >= _UNITS[found] else found


def label_column(name: str, values: np.ndarray, order: Sequence[str] | None = None) -> Column:
    """Encode labels; if there are more than 14, only the 13 most frequent get their own color.

    Labels follow the given order, or otherwise natural order, with 2 before 10.
    """
    places, names = coded_labels(values, order)
    known = places >= 0
    n_colored, listed = len(names), np.arange(len(names))
    if len(names) > MOST_CLASSES:
        n_colored = MOST_CLASSES - 1
        counts = np.bincount(places[known])
        colored = np.zeros(len(names), dtype=bool)
        colored[np.argsort(-counts, kind="stable")[:n_colored]] = True
        listed = np.concatenate([listed[colored], listed[~colored]])
    # An empty label would be invisible in the legend.
    labels = [names[place] if names[place].strip() else "(empty)" for place in listed]
    codes = np.full(len(values), _missing(np.uint32), dtype=np.uint32)
    codes[known] = np.argsort(listed)[places[known]]
    return Column(name, codes, labels=tuple(labels), n_colored=n_colored)


def _missing(dtype: Any) -> int:
    """Return the code of missing values."""
    return int(np.iinfo(dtype).max)
