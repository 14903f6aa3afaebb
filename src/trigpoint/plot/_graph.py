"""Plot of the neighborhood graph of the landmarks."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, triu

from trigpoint._common.checks import check_choice
from trigpoint._common.palette import BLUE, VERMILLION
from trigpoint._common.words import counted
from trigpoint.plot._axes import (
    check_estimator,
    check_points,
    label_columns,
    label_coordinates,
    make_axes,
)
from trigpoint.plot._cloud import RASTERIZED_FROM, draw_landmarks

# Opacity of the lightest and of the heaviest edge.
_OPACITY = (0.05, 0.9)

# Maximum number of edges to draw, in addition to bridges.
_MOST_EDGES = 20_000


def graph(
    estimator: Any,
    *,
    on: str = "embedding",
    plane: tuple[int, int] = (0, 1),
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the landmark graph, with opacity by edge weight and bridges in a different color.

    If there are more than 20,000 edges, only the heaviest ones and the bridges are drawn, and a
    note below the axes says so. If you pass `ax`, create its figure with ``layout="constrained"``
    to make room for the note.

    Parameters
    ----------
    estimator : fitted estimator
        Estimator with a graph: `LaplacianEigenmaps`, `DiffusionMaps` or `Isomap`.
    on : {"embedding", "points"}, default="embedding"
        Whether to draw landmarks in the embedding or in the space of the points, where shortcuts
        visibly cross gaps.
    plane : (int, int), default=(0, 1)
        The columns to draw.
    ax : matplotlib Axes or None, default=None
        Axes to draw in; ``None`` creates a new figure.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import trigpoint as tp
    >>> from matplotlib.figure import Figure
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> emb = tp.LaplacianEigenmaps(landmarks=200, random_state=0).fit(X)
    >>> ax = tp.plot.graph(emb, on="points", plane=(0, 2), ax=Figure().subplots())
    >>> edges, marks = ax.collections
    >>> len(edges.get_segments()) == (emb.graph_.nnz - 200) // 2
    True
    """
    check_choice("on", on, ("embedding", "points"))
    check_estimator(
        "estimator", estimator, "graph_", "a fitted LaplacianEigenmaps, DiffusionMaps or Isomap"
    )
    attribute = "landmark_embedding_" if on == "embedding" else "landmarks_"
    points = check_points(f"{attribute} of estimator", getattr(estimator, attribute), plane)
    edges, weights = _edges(estimator)
    ax = make_axes(ax)
    _draw_edges(ax, points, edges, weights)
    if len(estimator.bridges_):
        label = counted(len(estimator.bridges_), "bridge")
        style = {"colors": VERMILLION, "linewidths": 1.8, "zorder": 2, "label": label}
        _draw_lines(ax, points[estimator.bridges_], **style)
        ax.legend(frameon=False)
    draw_landmarks(ax, points, "black")
    if on == "embedding":
        label_coordinates(ax, plane, title)
    else:
        label_columns(ax, plane, estimator, title)
    return ax


def _edges(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (e, 2) that are not bridges, and their weights, lightest first."""
    upper = coo_array(triu(estimator.graph_, k=1))
    edges = np.column_stack([upper.row, upper.col]).astype(np.int64)
    k = len(estimator.landmarks_)
    bridges = np.sort(estimator.bridges_, axis=1) @ [k, 1]
    kept = np.flatnonzero(~np.isin(edges @ [k, 1], bridges))
    # The heaviest edges are drawn last, on top.
    order = kept[np.argsort(upper.data[kept], kind="stable")]
    return edges[order], upper.data[order]


def _draw_edges(ax: Any, points: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> None:
    from matplotlib.colors import to_rgb

    n_edges = len(edges)
    if n_edges > _MOST_EDGES:
        edges, weights = edges[-_MOST_EDGES:], weights[-_MOST_EDGES:]
        ax.annotate(
            f"the heaviest {_MOST_EDGES:,} of {n_edges:,} edges",
            # Below the axis label, because edges would cross a note inside the axes.
            (0.5, 0),
            xycoords=ax.xaxis.label,
            xytext=(0, -2),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize="small",
        )
    colors = np.empty((len(edges), 4))
    colors[:, :3] = to_rgb(BLUE)
    low, high = _OPACITY
    colors[:, 3] = low + (high - low) * weights / weights.max(initial=1e-300)
    rasterized = len(edges) >= RASTERIZED_FROM
    _draw_lines(ax, points[edges], colors=colors, linewidths=0.6, rasterized=rasterized, zorder=1)


def _draw_lines(ax: Any, ends: np.ndarray, **style: Any) -> None:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(ends), **style))
