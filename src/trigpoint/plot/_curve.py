"""Plot of the trace error against the number of landmarks."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_positive
from trigpoint._common.palette import OKABE_ITO
from trigpoint._samplers import LandmarkCurve
from trigpoint._sources.problems import require
from trigpoint.plot._axes import make_axes, not_understood

# Errors below this are due to rounding.
_LEAST_ERROR = 1e-12


def landmark_curve(
    curve: Any,
    *,
    tolerance: float | None = None,
    ax: Any = None,
    label: str | None = None,
    title: str | None = None,
) -> Any:
    """Plot the trace error against the number of landmarks.

    Parameters
    ----------
    curve : LandmarkCurve
        Curve returned by `trigpoint.landmark_curve`.
    tolerance : float or None, default=None
        Error to mark; a legend shows the number of landmarks needed to reach it.
    ax : matplotlib Axes or None, default=None
        Axes to draw in; ``None`` creates a new figure. Several curves may share axes.
    label : str or None, default=None
        Label of the curve in the legend.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import trigpoint as tp
    >>> from matplotlib.figure import Figure
    >>> X, _ = tp.datasets.make_swiss_roll(5000, random_state=0)
    >>> curve = tp.landmark_curve(X, [50, 200, 800], random_state=0)
    >>> ax = tp.plot.landmark_curve(curve, tolerance=0.01, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'number of landmarks'
    """
    require("matplotlib", "plotting")
    from matplotlib.ticker import LogLocator

    if not isinstance(curve, LandmarkCurve):
        raise not_understood("curve", curve, "the result of trigpoint.landmark_curve")
    own = ax is None
    ax = make_axes(ax)
    if own:
        ax.set_prop_cycle(color=OKABE_ITO)
    # Pure rounding errors would stretch the logarithmic axis over an empty range.
    seen = np.maximum(curve.errors, _LEAST_ERROR)
    (line,) = ax.loglog(curve.n_landmarks, seen, "o-", markersize=4, label=label)
    bounds = [np.maximum(seen + sign * 2 * curve.standard_errors, _LEAST_ERROR) for sign in (-1, 1)]
    ax.fill_between(curve.n_landmarks, *bounds, color=line.get_color(), alpha=0.2, linewidth=0)
    if tolerance is not None:
        tolerance = check_positive("tolerance", tolerance)
        ax.axhline(tolerance, color="black", linewidth=0.8, linestyle="--")
        if (curve.errors <= tolerance).any():
            needed = curve.needed(tolerance)
            style = {"color": line.get_color(), "markeredgecolor": "black", "zorder": 3}
            ax.plot(needed, tolerance, "o", label=f"{needed:,} landmarks", **style)
    ax.set(xlabel="number of landmarks", ylabel="relative trace error")
    if title is not None:
        ax.set_title(title)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter("")
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False)
    return ax
