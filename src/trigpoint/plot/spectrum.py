"""The eigenvalues of an embedding."""

from typing import Any

import numpy as np

from trigpoint.plot.axes import check_estimator, make_axes
from trigpoint.plot.colors import BLUE, VERMILLION


def spectrum(estimator: Any, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the eigenvalues, and mark the largest gap between two of them.

    Coordinates whose eigenvalues are close may be turned into one another by a little noise: the
    largest gap is where it is safest to stop.

    Parameters
    ----------
    estimator : fitted estimator
        With a few more components than will be used; a gap takes two to be seen.
    ax : matplotlib Axes or None, default=None
        Where to draw; ``None`` makes a new figure.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import trigpoint as tp
    >>> from matplotlib.figure import Figure
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> emb = tp.LaplacianEigenmaps(n_components=8, landmarks=200, random_state=0).fit(X)
    >>> ax = tp.plot.spectrum(emb, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'eigenvalue'
    """
    from matplotlib.ticker import MaxNLocator

    check_estimator(
        "estimator", estimator, "eigenvalues_", "a fitted estimator such as LaplacianEigenmaps"
    )
    values = np.asarray(estimator.eigenvalues_, dtype=np.float64)
    numbers = np.arange(1, len(values) + 1)
    ax = make_axes(ax)
    ax.vlines(numbers, 0, values, color=BLUE, linewidth=1, alpha=0.4)
    ax.plot(numbers, values, "o", color=BLUE, markersize=5)
    ax.axhline(0, color="black", linewidth=0.8)
    gaps = np.abs(np.diff(values))
    if gaps.any():
        _mark_gap(ax, values, int(gaps.argmax()))
    ax.set(xlabel="coordinate", ylabel="eigenvalue", xlim=(0.5, len(values) + 0.5))
    if title is not None:
        ax.set_title(title)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def _mark_gap(ax: Any, values: np.ndarray, place: int) -> None:
    """Mark the gap between `values` at `place` and the next."""
    low, high = sorted(values[place : place + 2])
    ax.axhspan(
        low,
        high,
        color=VERMILLION,
        alpha=0.2,
        linewidth=0,
        label=f"largest gap: {high - low:.2g}, after coordinate {place + 1}",
    )
    # There is room above the small ones.
    ax.legend(edgecolor="none", loc="upper left" if values[-1] > values[0] else "upper right")
