"""Values passed as ``color``: one column, or several by name."""

from collections.abc import Mapping
from typing import Any

from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._report.columns import Column, date_column, label_column, number_column
from trigpoint.plot._values import Given, numbers_or_dates, read_values

MOST_COLORS = 24


def named_colors(color: Any, n_points: int, parameter: str = "color") -> dict[str, Given]:
    """Return the columns passed as ``color`` by name; each must have one value per point."""
    if color is None:
        return {}
    named = {
        name: read_values(values, parameter) for name, values in _by_name(color, parameter).items()
    }
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
    """Encode values of the sampled points as labels, dates or numbers."""
    if given.are_classes:
        return label_column(name, given.values, given.order)
    values = numbers_or_dates(given.values)
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
