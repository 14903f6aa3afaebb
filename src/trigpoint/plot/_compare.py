"""Side-by-side plots of embeddings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint.plot._axes import label_coordinates
from trigpoint.plot._cloud import draw_cloud
from trigpoint.plot._colors import draw_key, name_of, read_coloring
from trigpoint.plot._scatter import read_embedding

_MAX_COLUMNS = 4
# Width and height of a panel, in inches.
_PANEL = (3.2, 3.0)


def compare(
    embeddings: Mapping[str, Any],
    *,
    color: Any = None,
    categories: bool | None = None,
    ncols: int | None = None,
    plane: tuple[int, int] = (0, 1),
    figure: Any = None,
    cmap: str = "viridis",
    label: str | None = None,
    title: str | None = None,
) -> np.ndarray:
    """Draw several embeddings of the same points with the same colors.

    Parameters
    ----------
    embeddings : dict of str to array-like of shape (n, l) or fitted estimator
        Embeddings by panel title; for an estimator, its landmarks are drawn.
    color : array-like of shape (n,) or None, default=None
        A number or a class for each point, as in `embedding`. ``None`` shows the density of
        points, separately in each panel.
    categories : bool or None, default=None
        As in `embedding`.
    ncols : int or None, default=None
        Number of panels per row; ``None`` means up to four.
    plane : (int, int), default=(0, 1)
        The columns to draw.
    figure : matplotlib Figure, SubFigure or None, default=None
        Figure to draw in; ``None`` creates a new one.
    cmap : str, default="viridis"
        Color map for numbers.
    label : str or None, default=None
        Label of the colors; ``None`` uses the name of a pandas Series.
    title : str or None, default=None
        Title of the figure.

    Returns
    -------
    ndarray of matplotlib Axes
        Axes in the order of `embeddings`; the figure is their ``figure`` attribute.

    Examples
    --------
    >>> import trigpoint as tp
    >>> from matplotlib.figure import Figure
    >>> X, intrinsic = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> embeddings = {
    ...     "Laplacian eigenmaps": tp.LaplacianEigenmaps(landmarks=200, random_state=0).fit(X),
    ...     "Isomap": tp.Isomap(landmarks=200, random_state=0).fit_transform(X),
    ... }
    >>> axes = tp.plot.compare(embeddings, color=intrinsic[:, 0], figure=Figure())
    >>> [ax.get_title() for ax in axes]
    ['Laplacian eigenmaps', 'Isomap']
    """
    if not isinstance(embeddings, Mapping):
        raise ParameterTypeError(
            f"embeddings is a {type(embeddings).__name__}: pass a dict of names to coordinates or "
            "fitted estimators",
            "embeddings",
        )
    if not embeddings:
        raise ParameterValueError("embeddings is empty: pass at least one", "embeddings")
    if ncols is not None:
        check_count("ncols", ncols)
    coloring = read_coloring(color, categories, cmap)
    panels = {
        str(name): read_embedding(source, coloring, plane, f"embeddings[{name!r}]")
        for name, source in embeddings.items()
    }
    columns = min(len(panels), ncols or _MAX_COLUMNS)
    axes = _make_panels(len(panels), columns, figure)
    drawn = []
    for ax, (name, (points, own)) in zip(axes, panels.items(), strict=True):
        drawn.append(draw_cloud(ax, points, own, cmap))
        label_coordinates(ax, plane, name)
        # Panels are narrow, and their scales differ and carry no information.
        ax.set(xticks=[], yticks=[])
    for place, ax in enumerate(axes):
        if place % columns:
            ax.set_ylabel("")
        if place + columns < len(axes):
            ax.set_xlabel("")
    if coloring is not None:
        _share_limits(drawn)
        draw_key(
            axes[0].figure, coloring, drawn[0], axes, name_of(color) if label is None else label
        )
    if title is not None:
        axes[0].figure.suptitle(title)
    return axes


def _make_panels(count: int, columns: int, figure: Any) -> np.ndarray:
    rows = -(-count // columns)
    if figure is None:
        import matplotlib.pyplot as plt

        size = (columns * _PANEL[0] + 1, rows * _PANEL[1])
        figure = plt.figure(figsize=size, layout="constrained")
    return np.array([figure.add_subplot(rows, columns, place + 1) for place in range(count)])


def _share_limits(drawn: list[Any]) -> None:
    """Use the same color limits in all panels."""
    limits = [mappable.get_clim() for mappable in drawn]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    for mappable in drawn:
        mappable.set_clim(low, high)
