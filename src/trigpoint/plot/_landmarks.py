"""Plot of landmarks among the points, with local covariances."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.palette import BLUE, GRAY, VERMILLION
from trigpoint.plot._axes import (
    check_estimator,
    check_plane,
    check_points,
    label_columns,
    make_axes,
)
from trigpoint.plot._cloud import RASTERIZED_FROM, draw_cloud, draw_landmarks

# Range of grays for the points, light enough for landmarks to stand out.
GRAYS = (0.12, 0.6)

# Opacity of the fill and the outline of ellipses that do not overlap.
_FILLED, _OUTLINED = 0.15, 0.8
# Minimum fill opacity; fainter fills would vanish when colors are rounded.
_LEAST_FILLED = 0.02


def landmarks(
    source: Any,
    X: Any = None,
    *,
    covariances: bool | None = None,
    plane: tuple[int, int] = (0, 1),
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw landmarks in the space of the points, with ellipses of their local covariances.

    Parameters
    ----------
    source : fitted estimator or sampler
    X : array-like of shape (n, d) or None, default=None
        Points to draw behind the landmarks, as markers or, above 20,000 points, as a density.
    covariances : bool or None, default=None
        Whether to draw ellipses of the local covariances, whose semi-axes are standard deviations;
        ``None`` draws them if available.
    plane : (int, int), default=(0, 1)
        The columns to draw; full covariances are projected onto them.
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
    >>> emb = tp.Isomap(landmarks=60, random_state=0).fit(X)
    >>> ax = tp.plot.landmarks(emb, X, plane=(0, 2), ax=Figure().subplots())
    >>> points, ellipses, marks = ax.collections
    >>> len(ellipses.get_offsets())
    60
    """
    check_estimator("source", source, "landmarks_", "a fitted estimator or sampler")
    marks = check_points("landmarks_ of source", source.landmarks_, plane)
    behind = None if X is None else _background(X, source, plane)
    if covariances is None:
        covariances = getattr(source, "covariances_", None) is not None
    local = _plane_covariances(source, plane) if covariances else None
    ax = make_axes(ax)
    if behind is not None:
        draw_cloud(ax, behind, None, _light_greys(), plain=GRAY)
    if local is not None:
        _draw_ellipses(ax, marks, local)
    draw_landmarks(ax, marks, VERMILLION)
    label_columns(ax, plane, source, title)
    return ax


def _background(X: Any, source: Any, plane: Any) -> np.ndarray:
    if np.ndim(X) == 2 and np.shape(X)[1] != source.landmarks_.shape[1]:
        raise ParameterValueError(
            f"X has {np.shape(X)[1]} columns and the landmarks have {source.landmarks_.shape[1]}: "
            "pass the fitted points",
            "X",
        )
    return check_points("X", X, plane)


def _light_greys() -> Any:
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap

    return ListedColormap(mpl.colormaps["Greys"](np.linspace(*GRAYS, 256)))


def _plane_covariances(source: Any, plane: Any) -> np.ndarray:
    """Return the local covariances (k, 2, 2) of two columns."""
    covariances = getattr(source, "covariances_", None)
    if covariances is None:
        raise ParameterValueError(
            f"{type(source).__name__} has no covariances: fit an estimator with "
            "graph='bhattacharyya' (model files omit full covariances above 16 columns), or "
            "pass covariances=False",
            "covariances",
        )
    columns = check_plane(plane, covariances.shape[1])
    if covariances.ndim == 3:
        return covariances[:, columns][:, :, columns].astype(np.float64)
    variances: np.ndarray = covariances[:, columns].astype(np.float64)
    return variances[:, :, None] * np.eye(2)


def _draw_ellipses(ax: Any, centers: np.ndarray, covariances: np.ndarray) -> None:
    from matplotlib.collections import EllipseCollection

    variances, directions = np.linalg.eigh(covariances)
    # Rounding may make the variances of flat ellipses negative.
    half_axes = np.sqrt(np.maximum(variances, 0))
    x, y = directions[:, 0, 1], directions[:, 1, 1]
    reach = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    ends = np.concatenate([centers - reach, centers + reach])
    # Ellipses are more transparent the more they overlap.
    layers = max(1.0, np.pi * half_axes.prod(axis=1).sum() / np.ptp(ends, axis=0).prod())
    filled = _FILLED / layers
    ellipses = EllipseCollection(
        2 * half_axes[:, 1],
        2 * half_axes[:, 0],
        np.degrees(np.arctan2(y, x)),
        units="xy",
        offsets=centers,
        offset_transform=ax.transData,
        facecolors=(BLUE, filled) if filled > _LEAST_FILLED else "none",
        edgecolors=(BLUE, _OUTLINED / np.sqrt(layers)),
        linewidths=0.7,
        rasterized=len(centers) >= RASTERIZED_FROM,
        zorder=2,
    )
    ax.add_collection(ellipses, autolim=False)
    ax.update_datalim(ends)
    ax.autoscale_view()
