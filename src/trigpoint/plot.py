"""Pictures on matplotlib axes; matplotlib is imported only when one is drawn."""

from typing import Any

import numpy as np

from trigpoint.checks import check_positive

# Below this, points are drawn one by one; above it, as an image of the mean colour per pixel.
_MAX_MARKERS = 20_000
_PIXELS = 300

# Errors below this are rounding.
_LEAST_ERROR = 1e-12


def embedding(
    coordinates: Any,
    *,
    color: Any = None,
    landmarks: Any = None,
    ax: Any = None,
    cmap: str = "viridis",
    title: str | None = None,
) -> Any:
    """Draw a 2-D embedding, of any number of points.

    Parameters
    ----------
    coordinates : array-like of shape (n, 2)
        The embedding; further columns are left out.
    color : array-like of shape (n,) or None, default=None
        A number for each point. ``None`` shows the density of points.
    landmarks : array-like of int of shape (k,), or of shape (k, 2), or None, default=None
        Landmarks to mark: rows of `coordinates`, or their own coordinates.
    ax : matplotlib Axes or None, default=None
        Where to draw; ``None`` makes a new figure.
    cmap : str, default="viridis"
        Colour map; the default is safe for the colour-blind.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Above 20,000 points the picture is an image of 300 x 300 pixels, each the mean colour (or the
    logarithm of the number) of its points, so ten million points cost no more than a histogram.
    """
    import matplotlib.pyplot as plt

    coordinates = np.asarray(coordinates)
    if coordinates.ndim != 2 or coordinates.shape[1] < 2 or len(coordinates) == 0:
        raise ValueError(
            f"coordinates has shape {coordinates.shape}: pass points with at least two columns"
        )
    if not np.isfinite(coordinates[:, :2]).all():
        raise ValueError("coordinates has NaN or infinity: leave those points out")
    if color is not None and np.shape(color) != (len(coordinates),):
        raise ValueError(
            f"color has shape {np.shape(color)}: pass one number for each of the "
            f"{len(coordinates)} points"
        )
    if ax is None:
        ax = plt.figure(layout="constrained").add_subplot()
    x, y = coordinates[:, 0], coordinates[:, 1]
    if len(coordinates) <= _MAX_MARKERS:
        ax.scatter(x, y, c=color, s=4, cmap=cmap if color is not None else None, linewidths=0)
    else:
        image, extent = _pixel_means(x, y, color)
        ax.imshow(image, extent=extent, origin="lower", aspect="auto", cmap=cmap)
    if landmarks is not None:
        marks = np.asarray(landmarks)
        if marks.ndim == 1:
            marks = coordinates[marks]
        ax.scatter(marks[:, 0], marks[:, 1], s=6, c="white", edgecolors="black", linewidths=0.5)
    ax.set(xlabel="coordinate 1", ylabel="coordinate 2", title=title)
    ax.locator_params(nbins=5)
    return ax


def landmark_curve(
    curve: Any,
    *,
    tolerance: float | None = None,
    ax: Any = None,
    label: str | None = None,
    title: str | None = None,
) -> Any:
    """Draw the trace error against the number of landmarks.

    Parameters
    ----------
    curve : LandmarkCurve
        From `trigpoint.landmark_curve`.
    tolerance : float or None, default=None
        An error to mark, with the number of landmarks that keep it.
    ax : matplotlib Axes or None, default=None
        Where to draw; ``None`` makes a new figure. Several curves may share one.
    label : str or None, default=None
        Name of the curve in a legend.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    if ax is None:
        ax = plt.figure(layout="constrained").add_subplot()
    # An error of nothing but rounding would stretch the axis to where nothing is to be seen.
    seen = np.maximum(curve.errors, _LEAST_ERROR)
    (line,) = ax.loglog(curve.n_landmarks, seen, "o-", markersize=4, label=label)
    bounds = [np.maximum(seen + sign * 2 * curve.standard_errors, _LEAST_ERROR) for sign in (-1, 1)]
    ax.fill_between(curve.n_landmarks, *bounds, color=line.get_color(), alpha=0.2, linewidth=0)
    if tolerance is not None:
        tolerance = check_positive("tolerance", tolerance)
        ax.axhline(tolerance, color="black", linewidth=0.8, linestyle="--")
        if (curve.errors <= tolerance).any():
            needed = curve.needed(tolerance)
            ax.plot(needed, tolerance, "o", color="black", markersize=5)
            ax.annotate(
                f"{needed:,} landmarks",
                (needed, tolerance),
                xytext=(6, 6),
                textcoords="offset points",
            )
    ax.set(xlabel="number of landmarks", ylabel="relative trace error", title=title)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter("")
    if label is not None:
        ax.legend(frameon=False)
    return ax


def _pixel_means(x: np.ndarray, y: np.ndarray, color: Any) -> tuple[np.ndarray, tuple[float, ...]]:
    """Mean colour (or log count) of the points in each pixel; empty pixels are NaN."""
    edges = [_pixel_edges(values) for values in (x, y)]
    pixel = np.zeros(len(x), dtype=np.int64)
    for values, (low, step) in zip((x, y), edges, strict=True):
        pixel = pixel * _PIXELS + np.clip((values - low) / step, 0, _PIXELS - 1).astype(np.int64)
    counts = np.bincount(pixel, minlength=_PIXELS**2).astype(np.float64)
    counts[counts == 0] = np.nan
    if color is None:
        image = np.log10(counts)
    else:
        totals = np.bincount(pixel, weights=np.asarray(color), minlength=_PIXELS**2)
        image = totals / counts
    (x_low, x_step), (y_low, y_step) = edges
    extent = (x_low, x_low + _PIXELS * x_step, y_low, y_low + _PIXELS * y_step)
    # Rows of an image run along y.
    return image.reshape(_PIXELS, _PIXELS).T, extent


def _pixel_edges(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return low, (high - low or 1.0) / _PIXELS
