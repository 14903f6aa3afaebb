"""Plot of an embedding of any number of points."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_rows
from trigpoint._common.errors import ParameterValueError
from trigpoint._extension.extensions import extend
from trigpoint._extension.placing import MapExtension
from trigpoint.plot._axes import (
    check_estimator,
    check_plane,
    check_points,
    is_estimator,
    label_coordinates,
    make_axes,
    not_understood,
)
from trigpoint.plot._cloud import draw_cloud
from trigpoint.plot._colors import Coloring, draw_key, name_of, read_coloring

_WANTED = "coordinates, or a fitted estimator such as LaplacianEigenmaps"


def embedding(
    coordinates: Any,
    *,
    color: Any = None,
    categories: bool | None = None,
    landmarks: Any = None,
    plane: tuple[int, int] = (0, 1),
    ax: Any = None,
    cmap: str = "viridis",
    label: str | None = None,
    legend: bool | None = None,
    title: str | None = None,
) -> Any:
    """Plot two coordinates of an embedding of any number of points.

    Parameters
    ----------
    coordinates : array-like of shape (n, l), or fitted estimator
        The embedding; for an estimator, the embedding of its landmarks.
    color : array-like of shape (n,) or None, default=None
        A number or a class for each point; for an estimator, one for each landmark or for each
        fitted point. ``None`` shows the density of points. Points with missing values are gray.
    categories : bool or None, default=None
        Whether `color` names classes. ``None`` treats strings, booleans and categorical columns as
        classes, and also integers with at most 14 distinct values, as reports do.
    landmarks : fitted estimator, array-like of int of shape (k,) or of shape (k, l), default=None
        Landmarks to mark: a fitted estimator, whose landmarks are drawn where `transform` maps
        them; rows of `coordinates`; or coordinates.
    plane : (int, int), default=(0, 1)
        The columns to draw.
    ax : matplotlib Axes or None, default=None
        Axes to draw in; ``None`` creates a new figure.
    cmap : str, default="viridis"
        Color map for numbers; the default is colorblind-safe.
    label : str or None, default=None
        Label of the colors; ``None`` uses the name of a pandas Series.
    legend : bool or None, default=None
        Whether to add a legend or color bar. ``None`` adds one for classes, and for numbers if they
        have a `label` or some are missing. Legends are placed to the right of the axes. If you pass
        `ax`, create its figure with ``layout="constrained"`` to make room for the legend.
    title : str or None, default=None

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Above 20,000 points, the plot is an image of up to 300 x 300 pixels. Pixels show the mean color,
    the most frequent class, or the logarithm of the number of points, so that plotting ten million
    points costs no more than a histogram. In vector files, 2,000 or more markers are rasterized.

    Classes use seven colors of Okabe and Ito, followed by 33 others chosen to be as distinct as
    possible with any color vision.

    Examples
    --------
    >>> import trigpoint as tp
    >>> from matplotlib.figure import Figure
    >>> X, intrinsic = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> emb = tp.LaplacianEigenmaps(landmarks=200, random_state=0)
    >>> Y = emb.fit_transform(X)
    >>> ax = tp.plot.embedding(
    ...     Y, color=intrinsic[:, 0], label="arc length", landmarks=emb, ax=Figure().subplots()
    ... )
    >>> ax.get_xlabel()
    'coordinate 1'
    """
    label = name_of(color) if label is None else label
    points, coloring = read_embedding(coordinates, read_coloring(color, categories, cmap), plane)
    marks = None if landmarks is None else _marks(landmarks, coordinates, plane)
    ax = make_axes(ax)
    mappable = draw_cloud(ax, points, coloring, cmap)
    if marks is not None:
        ax.scatter(*marks.T, s=6, c="white", edgecolors="black", linewidths=0.5)
    label_coordinates(ax, plane, title)
    if legend is None:
        legend = label is not None or (coloring is not None and coloring.needs_key)
    if legend and coloring is not None:
        draw_key(ax, coloring, mappable, [ax], label)
    return ax


def read_embedding(
    source: Any, coloring: Coloring | None, plane: Any, name: str = "coordinates"
) -> tuple[np.ndarray, Coloring | None]:
    """Return the coordinates (n, 2) of an embedding or estimator, and their coloring."""
    if not is_estimator(source):
        points = check_points(name, source, plane)
        return points, _checked(coloring, len(points), f"the {len(points)} points")
    check_estimator(name, source, "landmark_embedding_", _WANTED)
    points = check_points(f"landmark_embedding_ of {name}", source.landmark_embedding_, plane)
    rows = getattr(source, "landmark_indices_", None)
    if coloring is None or rows is None or len(coloring.values) == len(points):
        return points, _checked(coloring, len(points), f"the {len(points)} landmarks")
    if rows.max() >= len(coloring.values):
        raise ParameterValueError(
            f"color has shape {coloring.values.shape}: pass one value for each of the "
            f"{len(points)} landmarks or for each fitted point",
            "color",
        )
    return points, coloring.take(rows)


def _checked(coloring: Coloring | None, n: int, whose: str) -> Coloring | None:
    if coloring is not None and len(coloring.values) != n:
        raise ParameterValueError(
            f"color has shape {coloring.values.shape}: pass one number or class for each of "
            f"{whose}",
            "color",
        )
    return coloring


def _marks(landmarks: Any, coordinates: Any, plane: Any) -> np.ndarray:
    """Return the coordinates (k, 2) of the landmarks to mark."""
    if is_estimator(landmarks):
        check_estimator(
            "landmarks", landmarks, "landmark_embedding_", "rows, coordinates, or an estimator"
        )
        own = landmarks.landmark_embedding_
        extension = landmarks.model_.extension
        if not is_estimator(coordinates) and not isinstance(extension, MapExtension):
            # `transform` may smooth, and thus move landmarks inward.
            own, _ = extend(extension, landmarks.landmarks_)
        return check_points("landmark_embedding_ of landmarks", own, plane)
    marks = np.asarray(landmarks)
    values = np.asarray(
        coordinates.landmark_embedding_ if is_estimator(coordinates) else coordinates
    )
    if marks.ndim != 1:
        points = check_points("landmarks", marks, plane)
        if marks.shape[1] != values.shape[1]:
            raise ParameterValueError(
                f"landmarks has {marks.shape[1]} columns, and the embedding {values.shape[1]}: "
                "pass rows, coordinates in the embedding, or the fitted estimator",
                "landmarks",
            )
        return points
    if marks.dtype.kind not in "iu" or not len(marks):
        raise not_understood(
            "landmarks",
            landmarks,
            "a 1-D array of row numbers, a 2-D array of coordinates, or a fitted estimator",
        )
    marks = check_rows("landmarks", marks, len(values))
    return values[marks][:, check_plane(plane, values.shape[1])]
