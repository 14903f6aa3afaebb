"""Point clouds, drawn as markers or, if there are many points, as an image."""

from typing import Any

import numpy as np

from trigpoint._common.palette import BLUE, GRAY
from trigpoint.plot._colors import Coloring

# Up to this many points are drawn as markers, and more points as an image with one color per pixel.
MAX_MARKERS = 20_000

# Minimum and maximum pixels per side of an image; in between, it has about one pixel per point.
_PIXELS = (150, 300)

# Minimum number of markers that are rasterized in vector files.
RASTERIZED_FROM = 2000

# Smallest and largest area of a marker, in square points.
_MARKER_AREAS = (4, 12)


def draw_cloud(
    ax: Any, points: np.ndarray, coloring: Coloring | None, cmap: Any, *, plain: str = BLUE
) -> Any:
    """Draw points (n, 2), and return the mappable for a color bar.

    Without a coloring, markers have the color `plain`, and images show the density in `cmap`.
    """
    if len(points) <= MAX_MARKERS:
        return _markers(ax, points, coloring, plain)
    pixels = Pixels(points)
    if coloring is None:
        return pixels.show(ax, np.log10(pixels.counts()), cmap=cmap)
    if coloring.names is not None:
        image = pixels.majority(coloring.values, len(coloring.names))
        return pixels.show(ax, image, cmap=coloring.cmap, **coloring.limits())
    known = np.isfinite(coloring.values)
    if not known.all():
        everywhere = np.where(np.isfinite(pixels.counts()), 0.0, np.nan)
        pixels.show(ax, everywhere, cmap=_flat(GRAY))
    return pixels.show(ax, pixels.means(coloring.values, known), cmap=coloring.cmap)


def draw_landmarks(ax: Any, points: np.ndarray, color: str) -> None:
    """Draw landmarks (k, 2) on top of everything else."""
    ax.scatter(
        *points.T,
        s=_marker_area(10 * len(points)),
        color=color,
        linewidths=0,
        zorder=3,
        rasterized=len(points) >= RASTERIZED_FROM,
    )


def _marker_area(n: int) -> float:
    """Return the area of each of `n` markers."""
    return float(np.clip(MAX_MARKERS / max(n, 1), *_MARKER_AREAS))


def _markers(ax: Any, points: np.ndarray, coloring: Coloring | None, plain: str) -> Any:
    style: dict[str, Any] = {
        "s": _marker_area(len(points)),
        "linewidths": 0,
        "rasterized": len(points) >= RASTERIZED_FROM,
    }
    if coloring is None:
        return ax.scatter(*points.T, color=plain, **style)
    values = coloring.values
    if coloring.names is not None:
        # Shuffled because points are often sorted by class, and the last class would hide the rest.
        order = np.random.default_rng(0).permutation(len(points))
        points, values = points[order], values[order]
    cmap = coloring.cmap.with_extremes(bad=GRAY)
    return ax.scatter(
        *points.T, c=values, cmap=cmap, plotnonfinite=True, **coloring.limits(), **style
    )


def _flat(color: str) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([color])


class Pixels:
    """Points (n, 2) binned into the pixels of an image; empty pixels are NaN."""

    def __init__(self, points: np.ndarray) -> None:
        self._side = int(np.clip(np.sqrt(len(points)), *_PIXELS))
        self._pixel = np.zeros(len(points), dtype=np.int64)
        ends: list[float] = []
        for values in points.T:
            low, high = float(values.min()), float(values.max())
            step = (high - low or 1.0) / self._side
            place = np.clip((values - low) / step, 0, self._side - 1).astype(np.int64)
            self._pixel = self._pixel * self._side + place
            ends += [low, low + self._side * step]
        self._extent = tuple(ends)

    def counts(self) -> np.ndarray:
        """Return the number of points in each pixel."""
        return self._totals(np.ones(len(self._pixel), dtype=bool))

    def means(self, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the mean value of the `known` points in each pixel."""
        totals = np.bincount(self._pixel[known], weights=values[known], minlength=self._side**2)
        return totals / self._totals(known)

    def majority(self, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Return the most frequent class in each pixel; ties go to the first class."""
        each = np.bincount(self._pixel * n_classes + codes, minlength=self._side**2 * n_classes)
        most = each.reshape(-1, n_classes).argmax(axis=1)
        return np.where(np.isfinite(self.counts()), most, np.nan)

    def _totals(self, rows: np.ndarray) -> np.ndarray:
        totals = np.bincount(self._pixel[rows], minlength=self._side**2).astype(np.float64)
        totals[totals == 0] = np.nan
        return totals

    def show(self, ax: Any, values: np.ndarray, **options: Any) -> Any:
        """Draw one value per pixel."""
        image = ax.imshow(
            # Rows of an image run along y.
            values.reshape(self._side, self._side).T,
            extent=self._extent,
            origin="lower",
            aspect="auto",
            # Interpolation would mix class colors and blur single points.
            interpolation="nearest",
            **options,
        )
        # Images fill their axes by default, whereas points leave a margin.
        image.sticky_edges.x.clear()
        image.sticky_edges.y.clear()
        ax.autoscale_view()
        return image
