"""``--png`` and ``--open``: a picture of the embedding, and the page in a browser."""

import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trigpoint import plot
from trigpoint._files import load, read_points
from trigpoint._sources.atomic import atomic_write
from trigpoint.plot._colors import read_coloring

_INCHES, _DPI = (8, 6), 150


def picture_color(colors: Mapping[str, np.ndarray]) -> tuple[str | None, np.ndarray | None]:
    """Name and values of what a picture is colored by, or an error if it cannot be."""
    name, values = next(iter(colors.items()), (None, None))
    if values is not None and values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        values = np.where(np.isnat(days), np.nan, 1970 + days.astype(np.float64) / 365.2425)
    read_coloring(values, None, "viridis")
    return name, values


def draw_picture(
    coordinates: Path, path: Path, color: tuple[str | None, np.ndarray | None], *, replace: bool
) -> None:
    """Draw the first two coordinates of a file."""
    # Not by pyplot, which would want a display.
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DPI, layout="constrained")
    Y = load(read_points(coordinates))
    name, values = color
    title = f"{len(Y):,} points"
    plot.embedding(Y, color=values, label=name, ax=figure.add_subplot(), title=title)
    with atomic_write(path, replace=replace) as partial:
        figure.savefig(partial, format="png")


def open_page(path: Path) -> bool:
    """Show a page in the browser; False if there is none that can show it."""
    screens = "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"
    if sys.platform.startswith("linux") and not any(map(os.environ.get, screens)):
        # A browser in the terminal would take it over, and shows no page that computes.
        return False
    return webbrowser.open(path.absolute().as_uri())
