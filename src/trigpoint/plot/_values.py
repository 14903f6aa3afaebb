"""Conversion of the values that color points: numbers, dates and labels in any container."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Self

import numpy as np

from trigpoint._common.checks import as_array
from trigpoint._common.labels import are_classes, is_missing, natural_order


@dataclass(frozen=True)
class Given:
    """Values that determine the colors of points."""

    values: np.ndarray  # One per point (n,).
    order: tuple[str, ...] | None = None  # The labels in user-defined order; None if unordered.

    def take(self, rows: np.ndarray) -> Self:
        """Return the values of some of the points."""
        return replace(self, values=self.values[rows])

    @property
    def are_classes(self) -> bool:
        """Whether the values are labels rather than numbers or dates."""
        return self.order is not None or are_classes(self.values)


def read_values(values: Any, name: str = "color") -> Given:
    """Convert values to an array; keep the order of a pandas Categorical."""
    dtype = getattr(values, "dtype", None)
    codes = getattr(getattr(values, "cat", values), "codes", None)
    if codes is not None and hasattr(dtype, "categories"):
        return _read_categories(np.asarray(codes), dtype)
    if getattr(dtype, "tz", None) is not None:
        # Convert to local time without a zone; NumPy would create objects, which is slow for ten
        # million values.
        values = getattr(values, "dt", values).tz_localize(None)
    if isinstance(values, np.ma.MaskedArray):
        values = _unmasked(values)
    array = as_array(values, name)
    # A single column is often passed as a one-column table.
    return Given(array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array)


def _unmasked(values: np.ma.MaskedArray) -> np.ndarray:
    """Replace masked values by missing values."""
    if values.dtype.kind == "M":
        # Converting to objects would turn nanoseconds into integers.
        return np.asarray(values.filled(np.datetime64("NaT")))
    filled: np.ndarray = values.data.astype(object)
    filled[np.ma.getmaskarray(values)] = None
    return filled


def _read_categories(codes: np.ndarray, dtype: Any) -> Given:
    names = [label_text(name) for name in dtype.categories]
    # Missing values have code -1.
    values = np.array([*names, None], dtype=object)[codes]
    # By default, pandas sorts categories, with 10 before 2; any other order was chosen by the user.
    chosen = dtype.ordered or names != sorted(names)
    return Given(values, tuple(names) if chosen else None)


def numbers_or_dates(values: np.ndarray) -> np.ndarray:
    """Convert objects to numbers or dates if all known values are; leave others unchanged."""
    if values.dtype.kind != "O":
        return values
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    if any(isinstance(value, date | np.datetime64) for value in values[~missing]):
        dates = np.full(len(values), "NaT", dtype="datetime64[us]")
        dates[~missing] = [_without_zone(value) for value in values[~missing]]
        return dates
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = values[~missing].astype(np.float64)
    return numbers


def _without_zone(value: Any) -> Any:
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value


def coded_labels(
    values: np.ndarray, order: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str]]:
    """Encode labels as positions among the distinct labels, -1 if missing; return both.

    Distinct labels follow the given order, or otherwise natural order, with 2 before 10.
    """
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values], dtype=bool)
        values = np.array([label_text(value) for value in values], dtype=str)
    else:
        missing = np.asarray(values != values)
    found, places = np.unique(values[~missing], return_inverse=True)
    texts = [label_text(value) for value in found]
    distinct = set(texts)
    if order is None:
        order = sorted(distinct, key=natural_order)
    names = [name for name in order if name in distinct]
    code = {name: place for place, name in enumerate(names)}
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[~missing] = np.array([code[text] for text in texts], dtype=np.int64)[places.reshape(-1)]
    return codes, names


def label_text(value: Any) -> str:
    """Return a label as text; decode bytes, and write integers stored as floats without ".0"."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value)
