"""The eigenvalues of an embedding."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.palette import BLUE, VERMILLION
from trigpoint._sources.problems import require
from trigpoint.plot._axes import check_estimator, make_axes
from trigpoint.plot._eigenvalues import leading_eigenvalues

_WANTED = "a fitted estimator such as LaplacianEigenmaps"


def spectrum(estimator: Any, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the leading eigenvalues, filled for the coordinates, and mark the widest gap.

    A little noise mixes eigenvectors whose eigenvalues are close. A gap keeps each such group
    together, so it is a safe place to stop. How many coordinates a task needs is another question.

    Parameters
    ----------
    estimator : fitted estimator
    ax : matplotlib Axes or None, default=None
        Where to draw; ``None`` makes a new figure.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The 30 eigenvalues, or eight more than coordinates, are computed again, which takes about as
    long as the spectral stage of `fit`. The gap is the same as in a report: where the ratio of
    consecutive eigenvalues is largest, and at least 1.5. Eigenvalues of diffusion maps are compared
    by their distance from 1.

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
    leading = leading_eigenvalues(estimator.fitted_)
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
        # Vertical, because a gap among small eigenvalues would be no wider than a line.
        label = f"widest gap by ratio, after {leading.gap}"
        ax.axvline(leading.gap + 0.5, color=VERMILLION, linewidth=1.5, linestyle="--", label=label)
    ax.set(xlabel="eigenvector", ylabel="eigenvalue", xlim=(0.5, len(values) + 0.5))
    ax.legend(edgecolor="none", loc="best")
    if title is not None:
        ax.set_title(title)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax
