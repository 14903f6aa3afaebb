"""Values passed as ``color=``: numbers, dates or labels, in any of many containers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Self

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.labels import are_classes, is_missing
from trigpoint._report.columns import (
    Column,
    date_column,
    label_column,
    label_text,
    number_column,
)

MOST_COLORS = 24


@dataclass(frozen=True)
class Given:
    """Values to color by.

    Attributes
    ----------
    values : ndarray of shape (n,)
    order : tuple of str or None
        The labels in the order the user chose; ``None`` if unordered.
    """

    values: np.ndarray
    order: tuple[str, ...] | None = None

    def take(self, rows: np.ndarray) -> Self:
        """Return the values of some of the points."""
        return replace(self, values=self.values[rows])


def named_colors(color: Any, n_points: int, parameter: str = "color") -> dict[str, Given]:
    """Return the columns passed as ``color=`` by name; each must have one value per point."""
    if color is None:
        return {}
    named = {name: _read(values) for name, values in _by_name(color, parameter).items()}
    if len(named) > MOST_COLORS:
        raise ParameterValueError(
            f"color has {len(named)} columns: choose at most {MOST_COLORS}, or the page would "
            "become too large",
            "color",
        )
    for name, given in named.items():
        shape, dtype = given.values.shape, given.values.dtype
        if shape != (n_points,):
            several = " and several columns by name" if len(shape) > 1 else ""
            raise ParameterValueError(
                f"{parameter} {name!r} has shape {shape} and X has {n_points} rows: pass one "
                f"value per row{several}",
                parameter,
            )
        if dtype.kind in "mc":
            raise ParameterTypeError(
                f"{parameter} {name!r} has dtype {dtype}: pass real numbers, dates or labels, "
                "such as seconds for durations",
                parameter,
            )
    return named


def color_column(name: str, given: Given) -> Column:
    """Convert values of the sampled points to a column of labels, dates or numbers."""
    if given.order is not None:
        return label_column(name, given.values, given.order)
    if are_classes(given.values):
        return label_column(name, _without_points(given.values))
    values = _with_gaps(given.values)
    return date_column(name, values) if values.dtype.kind == "M" else number_column(name, values)


def _by_name(color: Any, unnamed: str) -> dict[str, Any]:
    if isinstance(color, Mapping):
        return {str(name): values for name, values in color.items()}
    if hasattr(color, "columns"):
        names = list(map(str, color.columns))
        if len(set(names)) < len(names):
            raise ParameterValueError(
                f"color has duplicate column names: {', '.join(names)}; rename them", "color"
            )
        return {str(label): color[label] for label in color.columns}
    name = getattr(color, "name", None)
    return {unnamed if name is None else str(name): color}


def _read(values: Any) -> Given:
    """Convert values to an array; note the order of a pandas Categorical."""
    dtype = getattr(values, "dtype", None)
    codes = getattr(getattr(values, "cat", values), "codes", None)
    if codes is not None and hasattr(dtype, "categories"):
        return _read_categories(np.asarray(codes), dtype)
    if getattr(dtype, "tz", None) is not None:
        # In local time of their zone; numpy would convert them to objects, which is slow for ten
        # million.
        values = getattr(values, "dt", values).tz_localize(None)
    if isinstance(values, np.ma.MaskedArray):
        values = _unmasked(values)
    array = np.asarray(values)
    # A single column is often passed as a one-column table.
    return Given(array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array)


def _unmasked(values: np.ma.MaskedArray) -> np.ndarray:
    """Replace masked values by missing ones."""
    if values.dtype.kind == "M":
        # As objects, nanoseconds would become integers.
        return np.asarray(values.filled(np.datetime64("NaT")))
    filled: np.ndarray = values.data.astype(object)
    filled[np.ma.getmaskarray(values)] = None
    return filled


def _read_categories(codes: np.ndarray, dtype: Any) -> Given:
    names = [label_text(name) for name in dtype.categories]
    # Missing values have code -1.
    values = np.array([*names, None], dtype=object)[codes]
    # pandas sorts categories that have no explicit order, with 10 before 2.
    chosen = dtype.ordered or names != sorted(names)
    return Given(values, tuple(names) if chosen else None)


def _with_gaps(values: np.ndarray) -> np.ndarray:
    """Convert objects that are all numbers, or all dates, or missing; leave others unchanged."""
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


def _without_points(labels: np.ndarray) -> np.ndarray:
    """Convert floats back to integers if they are floats only because some are missing."""
    if labels.dtype.kind not in "fO":
        return labels
    whole = np.empty(len(labels), dtype=object)
    whole[:] = [
        int(label) if isinstance(label, float | np.floating) and label.is_integer() else label
        for label in labels
    ]
    return whole
