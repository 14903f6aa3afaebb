"""Columns encoded for the page: exact numbers, dates, or labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.palette import CLASS_COLORS
from trigpoint.plot._values import coded_labels

# Quantiles at the ends of the color scale. Outliers would otherwise compress all other colors.
_COLOR_QUANTILES = (0.01, 0.99)

# Decimal numbers are stored as integers, which compress well.
MISSING_NUMBER = -(2**31)
_MOST_DECIMALS = 15
_FIRST = 1_000

# Largest relative error of the values of landmarks, which are only drawn.
_ROUNDING = 1e-6

# Display units of dates, in milliseconds, coarsest first.
_UNITS = {"day": 86_400_000, "minute": 60_000, "second": 1000}
# Maximum number of years from 1970 that both NumPy microseconds and JavaScript dates can represent.
_MOST_YEARS = 200_000


@dataclass(frozen=True)
class Column:
    """Encoded values of the sampled points."""

    name: str
    # Numbers (s,), or positions in `labels`. Missing values are NaN in floats, `MISSING_NUMBER` in
    # integers, and the largest code of the type among positions.
    codes: np.ndarray
    divisor: float = 1.0  # Numbers are `codes / divisor`, exactly.
    low: float = 0.0  # Smallest number; for dates, in milliseconds since 1970.
    high: float = 1.0  # Largest number.
    color_low: float = 0.0  # Numbers at the ends of the color scale.
    color_high: float = 1.0
    unit: str = ""  # Finest unit in which dates are shown; empty for numbers.
    labels: tuple[str, ...] | None = None  # Distinct labels, those with a color first.
    n_colored: int = 0  # Number of labels with a color of their own.
    landmarks: np.ndarray | None = None  # Values (k,) of the landmarks.

    @property
    def is_missing(self) -> np.ndarray:
        """Mask (s,) of missing values."""
        if self.codes.dtype.kind == "f":
            return np.isnan(self.codes)
        missing = MISSING_NUMBER if self.labels is None else np.iinfo(self.codes.dtype).max
        return np.asarray(self.codes == missing)


def number_column(name: str, values: np.ndarray, landmarks: np.ndarray | None = None) -> Column:
    """Encode numbers without loss; non-finite values become missing."""
    values = np.asarray(values)
    values = values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64)
    codes, divisor = _encoded(values)
    if landmarks is not None:
        with np.errstate(over="ignore"):
            rounded = landmarks.astype(np.float32)
        # Very large or tiny values are outside the range of float32.
        fits = np.allclose(rounded, landmarks, rtol=_ROUNDING, atol=0, equal_nan=True)
        landmarks = rounded if fits else landmarks
    finite = values[np.isfinite(values)].astype(np.float64)
    if not len(finite):
        return Column(name, codes, divisor, landmarks=landmarks)
    low, high = float(finite.min()), float(finite.max())
    # Halve values so that very large ranges do not overflow.
    ends = 2 * np.quantile(finite / 2, _COLOR_QUANTILES)
    if ends[0] == ends[1]:
        ends = np.array([low, high])
    first, last = map(float, ends)
    return Column(name, codes, divisor, low, high, first, last, landmarks=landmarks)


def rounded_column(name: str, values: np.ndarray, landmarks: np.ndarray | None = None) -> Column:
    """Encode numbers, rounded to six significant digits of the largest."""
    largest = float(np.abs(values).max(initial=0))
    decimals = 5 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    # With more decimals, powers of ten are not exact.
    rounded = np.round(values, decimals) if abs(decimals) <= _MOST_DECIMALS else values
    return number_column(name, rounded, landmarks)


def _encoded(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return codes and a divisor; values are the quotients, exactly."""
    finite = np.isfinite(values)
    known = values[finite].astype(np.float64)
    for decimals in range(_MOST_DECIMALS + 1):
        divisor = 10.0**decimals
        # The first values rule out most columns that do not hold decimals.
        if _are_multiples(known[:_FIRST], divisor, values.dtype) and _are_multiples(
            known, divisor, values.dtype
        ):
            codes = np.full(len(values), MISSING_NUMBER, dtype=np.int32)
            codes[finite] = np.rint(known * divisor)
            return codes, divisor
    with np.errstate(over="ignore"):
        fits = bool((known.astype(np.float32) == known).all())
    dtype = np.float32 if fits else np.float64
    return np.where(finite, values, np.nan).astype(dtype), 1.0


def _are_multiples(known: np.ndarray, divisor: float, dtype: np.dtype) -> bool:
    """Return whether numbers are quotients of 32-bit integers and the divisor."""
    with np.errstate(over="ignore"):
        scaled = np.rint(known * divisor)
    if not (abs(scaled) < -MISSING_NUMBER).all():
        return False
    return bool(((scaled / divisor).astype(dtype) == known).all())


def date_column(name: str, values: np.ndarray) -> Column:
    """Encode dates in any NumPy unit as milliseconds."""
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
    whole = (unit for unit, size in _UNITS.items() if not (milliseconds[known] % size).any())
    return replace(number_column(name, milliseconds), unit=next(whole, "millisecond"))


def label_column(name: str, values: np.ndarray, order: Sequence[str] | None = None) -> Column:
    """Encode labels; if there are more labels than colors, the most frequent ones get a color.

    Labels follow the given order, or otherwise natural order, with 2 before 10.
    """
    places, names = coded_labels(values, order)
    known = places >= 0
    n_colored, listed = min(len(names), len(CLASS_COLORS)), np.arange(len(names))
    if len(names) > n_colored:
        counts = np.bincount(places[known])
        colored = np.zeros(len(names), dtype=bool)
        colored[np.argsort(-counts, kind="stable")[:n_colored]] = True
        listed = np.concatenate([listed[colored], listed[~colored]])
    # An empty label would be invisible in the legend.
    labels = [names[place] if names[place].strip() else "(empty)" for place in listed]
    dtype = next(t for t in (np.uint8, np.uint16, np.uint32) if len(names) < np.iinfo(t).max)
    codes = np.full(len(values), np.iinfo(dtype).max, dtype=dtype)
    codes[known] = np.argsort(listed)[places[known]]
    return Column(name, codes, labels=tuple(labels), n_colored=n_colored)
