"""Eigenvalues of an embedding, and their widest gap."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.palette import BLUE, VERMILLION
from trigpoint._sources.problems import require
from trigpoint.plot._axes import check_estimator, make_axes

_WANTED = "a fitted estimator such as LaplacianEigenmaps"

_SHOWN = 30
_BEYOND = 8

# Consecutive eigenvalues form a gap if one is at least this many times the other.
_GAP = 1.5

# Tolerance for matching eigenvalues computed twice, relative to the largest.
_SAME = 1e-6


def spectrum(estimator: Any, *, ax: Any = None, title: str | None = None) -> Any:
    """Plot the leading eigenvalues, filled for the coordinates, and mark the widest gap.

    Noise mixes eigenvectors whose eigenvalues are close, and a gap does not split such groups, so
    it is a safe place to stop. The number of coordinates that a task needs is a separate question.

    Parameters
    ----------
    estimator : fitted estimator
    ax : matplotlib Axes or None, default=None
        Axes to draw in; ``None`` creates a new figure.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The 30 eigenvalues, or eight more than coordinates, are recomputed, which takes about as long as
    the spectral stage of `fit`. The widest gap is where the ratio of consecutive eigenvalues is
    largest, if it is at least 1.5. Eigenvalues of diffusion maps are compared by their distance
    from 1.

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
    require("matplotlib", "plotting")
    from matplotlib.ticker import MaxNLocator

    check_estimator("estimator", estimator, "eigenvalues_", _WANTED)
    if not hasattr(estimator, "fitted_"):
        raise ParameterTypeError(
            f"estimator is a {type(estimator).__name__} from another library: pass {_WANTED}",
            "estimator",
        )
    leading = leading_eigenvalues(estimator)
    values = leading.values
    ax = make_axes(ax)
    ax.vlines(np.arange(1, len(values) + 1), 0, values, color=BLUE, linewidth=1, alpha=0.4)
    for used, fill, name in ((True, BLUE, "coordinate"), (False, "white", "not used")):
        places = np.flatnonzero(leading.used == used)
        if len(places):
            style = {"color": BLUE, "markerfacecolor": fill, "markersize": 5, "label": name}
            ax.plot(places + 1, values[places], "o", **style)
    ax.axhline(0, color="black", linewidth=0.8)
    if leading.gap is not None:
        # A vertical line, because a gap between small eigenvalues would be too small to shade.
        label = f"widest gap by ratio, after {leading.gap}"
        ax.axvline(leading.gap + 0.5, color=VERMILLION, linewidth=1.5, linestyle="--", label=label)
    ax.set(xlabel="eigenvector", ylabel="eigenvalue", xlim=(0.5, len(values) + 0.5))
    ax.legend(edgecolor="none", loc="best")
    if title is not None:
        ax.set_title(title)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


@dataclass(frozen=True)
class Eigenvalues:
    """Leading eigenvalues of the operator on the landmarks.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Eigenvalues in the order of their eigenvectors, without that of the constant eigenvector.
    used : bool ndarray of shape (m,)
        Whether the eigenvector is a coordinate of the embedding.
    gap : int or None
        Number of eigenvalues before the widest gap; ``None`` if no gap stands out.
    """

    values: np.ndarray
    used: np.ndarray
    gap: int | None


def leading_eigenvalues(estimator: Any) -> Eigenvalues:
    """Compute the leading eigenvalues of the operator of an estimator, and their widest gap.

    The eigenvalues are consecutive even if the coordinates, chosen as independent, are not, so that
    gaps are not due to skipped eigenvectors.

    The widest gap is where the ratio of consecutive eigenvalues is largest. Eigenvalues of the
    Laplacian increase, all others decrease; those of diffusion maps are compared by their distance
    from 1.
    """
    own = estimator.fitted_.spectrum
    k, n_components = own.coordinates.shape
    count = min(max(_SHOWN, n_components + _BEYOND), k - 1)
    values, sizes = _computed(estimator, count)
    return Eigenvalues(values, _used(values, own.eigenvalues), widest_gap(sizes))


def widest_gap(sizes: np.ndarray) -> int | None:
    """Return the number of increasing `sizes` before the largest ratio, or None if it is small."""
    if len(sizes) < 2:
        return None
    floor = np.finfo(np.float64).eps * abs(sizes).max()
    ratios = np.maximum(sizes[1:], floor) / np.maximum(sizes[:-1], floor)
    widest = int(np.argmax(ratios))
    return widest + 1 if ratios[widest] >= _GAP else None


def _computed(estimator: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute up to `count` eigenvalues above rounding error, and their sizes."""
    while count > 1:
        try:
            return estimator._leading_eigenvalues(count)
        except ValueError:
            count //= 2
    return estimator._leading_eigenvalues(1)


def _used(values: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return a mask of the eigenvalues that belong to coordinates."""
    used = np.zeros(len(values), dtype=bool)
    tolerance = _SAME * abs(values).max()
    if len(own) <= len(values) and (abs(values[: len(own)] - own) <= tolerance).all():
        # The search below cannot distinguish equal eigenvalues.
        used[: len(own)] = True
        return used
    for value in own:
        nearest = np.argmin(abs(values - value))
        used[nearest] |= abs(values[nearest] - value) <= tolerance
    return used
