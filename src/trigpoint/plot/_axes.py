"""Axes and argument checks shared by all plots."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from trigpoint._common.checks import as_array, refuse_non_numbers
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._sources.problems import require

# Axes have equal scales unless one range is more than this many times the other.
_MAX_ASPECT = 4.0


def make_axes(ax: Any) -> Any:
    """Return `ax`, or the axes of a new figure if it is None."""
    require("matplotlib", "plotting")
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise not_understood("ax", ax, "Matplotlib Axes, as of plt.subplots(), or None")
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained").add_subplot()


def is_estimator(value: Any) -> bool:
    """Return whether `value` is an estimator."""
    return hasattr(value, "fit") and not isinstance(value, type)


def check_estimator(name: str, value: Any, attribute: str, wanted: str) -> None:
    """Reject values that are not fitted estimators or lack `attribute`."""
    if not is_estimator(value):
        raise not_understood(name, value, wanted)
    check_is_fitted(value)
    if not hasattr(value, attribute):
        raise ParameterTypeError(f"{name}={short(value)} has no {attribute}: pass {wanted}", name)


def not_understood(name: str, value: Any, wanted: str) -> ParameterTypeError:
    """Return an error about a value of the wrong type, with the size of an array or list."""
    shown, size = f"{name}={short(value)}", ""
    if (shape := getattr(value, "shape", None)) is not None:
        size = f"shape {tuple(shape)}"
    elif isinstance(value, (list, tuple)):
        size = f"length {len(value)}"
    if size:
        shown = f"{name} of type {type(value).__name__} and {size}"
    return ParameterTypeError(f"{shown} is not understood: pass {wanted}", name)


def check_points(name: str, values: Any, plane: Any) -> np.ndarray:
    """Return two columns of `values` as an array (n, 2) of finite numbers."""
    values = as_array(values, name)
    if values.ndim >= 1 and len(values) == 0:
        raise ParameterValueError(f"{name} has no points: pass at least one", name)
    if values.ndim != 2 or values.shape[1] < 2:
        raise ParameterValueError(
            f"{name} has shape {values.shape}: pass points with at least two columns", name
        )
    points = values[:, check_plane(plane, values.shape[1])]
    refuse_non_numbers(points, name)
    points = points.astype(np.float64) if points.dtype.kind == "O" else points
    if not np.isfinite(points).all():
        raise ParameterValueError(f"{name} has NaN or infinity: omit these points", name)
    return points


def check_plane(plane: Any, n_columns: int) -> list[int]:
    """Check and return the two columns to draw."""
    columns = list(plane) if isinstance(plane, (tuple, list)) else [plane]
    whole = all(isinstance(column, Integral) for column in columns)
    if not (
        whole
        and len(columns) == 2
        and columns[0] != columns[1]
        and all(0 <= column < n_columns for column in columns)
    ):
        raise ParameterValueError(
            f"plane={short(plane)} is not a pair of columns: choose two different ones from 0 to "
            f"{n_columns - 1}",
            "plane",
        )
    return [int(column) for column in columns]


def label_coordinates(ax: Any, plane: Any, title: str | None) -> None:
    """Label the axes of an embedding."""
    first, second = plane
    ax.set(xlabel=f"coordinate {first + 1}", ylabel=f"coordinate {second + 1}")
    _finish(ax, title)


def label_columns(ax: Any, plane: Any, source: Any, title: str | None) -> None:
    """Label the axes with the columns that `source` was fitted to, and equalize their scales."""
    names = getattr(source, "feature_names_in_", None)
    labels = [f"column {column}" if names is None else names[column] for column in plane]
    ax.set(xlabel=labels[0], ylabel=labels[1])
    width, height = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    if 1 / _MAX_ASPECT <= width / height <= _MAX_ASPECT:
        ax.set_aspect("equal")
    _finish(ax, title)


def _finish(ax: Any, title: str | None) -> None:
    if title is not None:
        ax.set_title(title)
    ax.locator_params(nbins=5)
