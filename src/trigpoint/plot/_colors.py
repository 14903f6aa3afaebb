"""Colors of points, legends and color bars."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.palette import CLASS_COLORS, GRAY
from trigpoint._sources.problems import require
from trigpoint.plot._values import coded_labels, numbers_or_dates, read_values

_CLASSES_PER_COLUMN = 20


@dataclass(frozen=True)
class Coloring:
    """Values that determine the colors of points, and their meaning."""

    values: np.ndarray  # Numbers (n,), float64 and NaN where missing, or class codes.
    cmap: Any
    names: tuple[str, ...] | None = None  # Names of the classes; None for numbers.

    def take(self, rows: np.ndarray) -> Self:
        """Return the coloring of some of the points; classes keep their colors."""
        return replace(self, values=self.values[rows])

    @property
    def some_missing(self) -> bool:
        """Whether numbers are missing; missing labels form a separate class."""
        return self.names is None and bool(np.isnan(self.values).any())

    @property
    def needs_key(self) -> bool:
        """Whether the colors cannot be understood without a legend."""
        return self.names is not None or self.some_missing

    def limits(self) -> dict[str, float]:
        """Return the limits of the color map, unless they depend on the values."""
        if self.names is None:
            return {}
        return {"vmin": -0.5, "vmax": len(self.names) - 0.5}


def name_of(color: Any) -> str | None:
    """Return the name of a pandas Series or similar column, or None."""
    name = getattr(color, "name", None)
    # An integer name is only the position of an unnamed column.
    return name if isinstance(name, str) and name else None


def read_coloring(color: Any, categories: bool | None, cmap: Any) -> Coloring | None:
    """Interpret the parameters `color` and `categories`; the caller checks the length."""
    require("matplotlib", "plotting")
    import matplotlib as mpl

    if not isinstance(cmap, mpl.colors.Colormap) and cmap not in list(mpl.colormaps):
        raise ParameterValueError(
            f"cmap={short(cmap)} is not known: choose a Matplotlib colormap such as 'viridis'",
            "cmap",
        )
    if color is None:
        return None
    given = read_values(color)
    if given.values.ndim != 1:
        raise ParameterValueError(
            f"color has shape {given.values.shape}: pass one number or class per point",
            "color",
        )
    if given.are_classes if categories is None else categories:
        codes, names = coded_labels(given.values, given.order)
        if len(names) > len(CLASS_COLORS):
            raise ParameterValueError(
                f"color has {len(names):,} classes, and more than {len(CLASS_COLORS)} cannot be "
                "distinguished: merge some or pass numbers and categories=False",
                "color",
            )
        colors = list(CLASS_COLORS[: len(names)])
        if (codes < 0).any():
            codes[codes < 0] = len(names)
            names, colors = [*names, "missing"], [*colors, GRAY]
        return Coloring(codes, mpl.colors.ListedColormap(colors), tuple(names))
    try:
        values = numbers_or_dates(given.values)
    except (TypeError, ValueError) as error:
        raise _no_numbers(str(error)) from error
    if values.dtype.kind not in "iufb":
        raise _no_numbers(f"dtype {values.dtype}")
    values = values.astype(np.float64)
    if not np.isfinite(values).any():
        raise ParameterValueError(
            "color has no finite number: pass None to show the density of points", "color"
        )
    return Coloring(np.where(np.isfinite(values), values, np.nan), mpl.colormaps.get_cmap(cmap))


def _no_numbers(why: str) -> ParameterTypeError:
    return ParameterTypeError(
        f"color has values that are not numbers ({why}): pass numbers or categories=True", "color"
    )


def draw_key(
    place: Any, coloring: Coloring, mappable: Any, axes: Iterable[Any], label: str | None
) -> None:
    """Add a legend next to `place` (axes or figure), or a color bar at `axes`."""
    if coloring.names is None:
        bar = mappable.get_figure().colorbar(mappable, ax=list(axes), label=label or "")
        bar.outline.set_visible(False)
        if coloring.some_missing:
            _explain_missing(bar.ax)
        return
    handles = [_dot(coloring.cmap(code), name) for code, name in enumerate(coloring.names)]
    inside = hasattr(place, "transAxes")
    where: dict[str, Any] = (
        {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0}
        if inside
        else {"loc": "outside right upper"}
    )
    place.legend(
        handles=handles,
        title=label,
        frameon=False,
        handletextpad=0.2,
        ncols=-(-len(handles) // _CLASSES_PER_COLUMN),
        **where,
    )


def _explain_missing(bar: Any) -> None:
    """Add a legend entry for missing values below a color bar."""
    bar.legend(
        handles=[_dot(GRAY, "missing")],
        frameon=False,
        handletextpad=0.2,
        # The entry extends to the right, into the space reserved for the tick labels of the bar.
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        borderpad=0,
    )


def _dot(color: Any, name: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker="o", color=color, label=name)
