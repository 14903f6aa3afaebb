"""Colors that are distinct with any color vision, and what they stand for."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from trigpoint._common.checks import as_array
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.labels import are_classes, is_missing, natural_order
from trigpoint._common.palette import GRAY, OKABE_ITO
from trigpoint._sources.problems import require

# With more classes than this, colors are meaningless.
_MAX_CLASSES = 100
_CLASSES_PER_COLUMN = 20

# How the three kinds of dichromats see linear RGB.
_DICHROMATS = np.array(
    [
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ]
)
# From linear RGB to cones, and from their cube roots to OKLab, which is perceptually uniform.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_LEVELS = 12
# Lighter candidates would be lost on white; darker ones look black on small markers.
_LIGHTNESS = (0.45, 0.85)


@dataclass(frozen=True)
class Coloring:
    """What the color of each point means.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Numbers (float64, NaN where missing), or the numbers of classes.
    cmap : Colormap
    names : tuple of str or None
        Names of the classes; ``None`` for numbers.
    """

    values: np.ndarray
    cmap: Any
    names: tuple[str, ...] | None = None

    def take(self, rows: np.ndarray) -> Self:
        """Coloring of some of the points; classes keep their colors."""
        return replace(self, values=self.values[rows])

    @property
    def some_missing(self) -> bool:
        """Whether numbers are missing; missing labels form a class of their own."""
        return self.names is None and bool(np.isnan(self.values).any())

    @property
    def needs_key(self) -> bool:
        """Whether the colors need a legend to be understood."""
        return self.names is not None or self.some_missing

    def limits(self) -> dict[str, float]:
        """Limits of the color map, if they do not depend on the values."""
        if self.names is None:
            return {}
        return {"vmin": -0.5, "vmax": len(self.names) - 0.5}


def name_of(color: Any) -> str | None:
    """Name of a pandas Series, or of another library's column."""
    name = getattr(color, "name", None)
    # A number is the position of a column without a name.
    return name if isinstance(name, str) and name else None


def read_coloring(color: Any, categories: bool | None, cmap: Any) -> Coloring | None:
    """Return what a user's `color` and `categories` mean; the length is checked elsewhere."""
    require("matplotlib", "plotting")
    import matplotlib as mpl

    if not isinstance(cmap, mpl.colors.Colormap) and cmap not in list(mpl.colormaps):
        raise ParameterValueError(
            f"cmap={short(cmap)} is not known: choose a Matplotlib colormap such as 'viridis'",
            "cmap",
        )
    if color is None:
        return None
    values = as_array(color, "color")
    if values.ndim != 1:
        raise ParameterValueError(
            f"color has shape {values.shape}: pass one number or class for each point", "color"
        )
    if categories is None:
        categories = hasattr(getattr(color, "dtype", None), "categories") or are_classes(values)
    if categories:
        codes, names, n_known = _classes(color)
        if len(names) > _MAX_CLASSES:
            raise ParameterValueError(
                f"color has {len(names):,} classes, and more than {_MAX_CLASSES} cannot be "
                "distinguished: merge some or pass numbers and categories=False",
                "color",
            )
        colors = [*palette(n_known), mpl.colors.to_rgb(GRAY)][: len(names)]
        return Coloring(codes, mpl.colors.ListedColormap(colors), names)
    if values.dtype.kind not in "iufbO":
        raise _no_numbers(color, f"dtype {values.dtype}")
    try:
        if values.dtype.kind == "O":
            values = np.array([np.nan if is_missing(value) else float(value) for value in values])
        values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise _no_numbers(color, str(error)) from error
    if not np.isfinite(values).any():
        raise ParameterValueError(
            "color has no finite number: pass None to show the density of points", "color"
        )
    return Coloring(np.where(np.isfinite(values), values, np.nan), mpl.colormaps.get_cmap(cmap))


def _no_numbers(color: Any, why: str) -> ParameterTypeError:
    return ParameterTypeError(
        f"color has values that are not numbers ({why}): pass numbers or categories=True", "color"
    )


def _classes(color: Any) -> tuple[np.ndarray, tuple[str, ...], int]:
    """Class number of each point; names, "missing" last if any are; number of known classes."""
    dtype: Any = getattr(color, "dtype", None)
    if hasattr(dtype, "categories"):
        codes = np.asarray(getattr(color, "cat", color).codes).astype(np.int64)
        names = [str(name) for name in dtype.categories]
    else:
        found, places = np.unique(_comparable(np.asarray(color)), return_inverse=True)
        texts = [_name(value) for value in found]
        names = sorted(set(texts) - {""}, key=natural_order)
        order = {name: place for place, name in enumerate(names)}
        codes = np.array([order.get(text, -1) for text in texts], dtype=np.int64)[places]
    present, codes = np.unique(codes, return_inverse=True)
    if present[0] >= 0:
        return codes, tuple(names[place] for place in present), len(present)
    known = [names[place] for place in present[1:]]
    # Missing labels come first among the codes and last in legends.
    return np.where(codes == 0, len(known), codes - 1), (*known, "missing"), len(known)


def _comparable(values: np.ndarray) -> np.ndarray:
    """Labels of one type; "" for missing ones among objects."""
    if values.dtype.kind != "O":
        return values
    return np.array(["" if is_missing(value) else _name(value) for value in values])


def _name(value: Any) -> str:
    """Name of a class, "" if missing; 3.0 is written as 3."""
    if isinstance(value, np.floating):
        return "" if np.isnan(value) else f"{value:.12g}"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def palette(n: int) -> np.ndarray:
    """RGB colors, shape (n, 3), that are distinct with any color vision.

    The first eight are Okabe and Ito's. Each further one is as far as possible from the earlier
    ones, from white and from the gray of missing values, for the worst of four kinds of vision:
    normal and three kinds of dichromacy. Up to twelve, no two are closer than Okabe and Ito's
    closest; among twenty, some can be told apart only side by side.

    References
    ----------
    M. Okabe and K. Ito, "Color universal design", 2008.
    G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, "A physiologically-based model for
    simulation of color vision deficiency", IEEE TVCG, 2009.
    B. Ottosson, "A perceptual color space for image processing", 2020.
    """
    from matplotlib.colors import to_rgb

    chosen = np.array([to_rgb(color) for color in OKABE_ITO])
    if n <= len(chosen):
        return chosen[:n]
    levels = np.linspace(0, 1, _LEVELS)
    candidates = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 3)
    lightness = _as_seen(candidates)[0, :, 0]
    low, high = _LIGHTNESS
    candidates = candidates[(lightness > low) & (lightness < high)]
    seen = _as_seen(candidates)
    taken = np.concatenate([chosen, [to_rgb("white"), to_rgb(GRAY)]])
    nearest = np.full(len(candidates), np.inf)
    for color in taken:
        nearest = np.minimum(nearest, _least_difference(seen, color))
    while len(chosen) < n:
        color = candidates[nearest.argmax()]
        chosen = np.concatenate([chosen, color[None]])
        nearest = np.minimum(nearest, _least_difference(seen, color))
    return chosen


def _least_difference(seen: np.ndarray, color: np.ndarray) -> np.ndarray:
    difference = seen - _as_seen(color[None])
    return np.sqrt((difference**2).sum(axis=2)).min(axis=0)


def _as_seen(colors: np.ndarray) -> np.ndarray:
    """OKLab coordinates, shape (4, n, 3), of RGB colors, for four kinds of color vision."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    visions = np.concatenate([np.eye(3)[None], _DICHROMATS])
    seen = np.clip(np.einsum("vij,nj->vni", visions, linear), 0, 1)
    return np.cbrt(seen @ _CONES.T) @ _OKLAB.T


def draw_key(
    place: Any, coloring: Coloring, mappable: Any, axes: Iterable[Any], label: str | None
) -> None:
    """Add a legend beside `place`, axes or figure, or a color bar at `axes`."""
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
    """Explain the gray of missing values below a color bar."""
    bar.legend(
        handles=[_dot(GRAY, "missing")],
        frameon=False,
        handletextpad=0.2,
        # To the right, where the bar's numbers have made room.
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        borderpad=0,
    )


def _dot(color: Any, name: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker="o", color=color, label=name)
