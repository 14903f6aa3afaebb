"""Coverage of the points by landmarks."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_choice, check_positive
from trigpoint._neighbors.nearest import nearest
from trigpoint._spaces import Cosine
from trigpoint.metrics._checks import as_landmarks, as_matrix


def coverage_radius(
    X: Any, landmarks: Any, *, metric: str = "euclidean", quantile: float = 1.0
) -> float:
    """Largest distance from any point to its nearest landmark.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    landmarks : array-like of int of shape (k,), or of shape (k, d)
        Rows of `X`, or landmark points.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between points. ``"cosine"`` scales rows to unit length before taking the Euclidean
        distance.
    quantile : float, default=1.0
        Quantile of the distances to return, from 0 to 1. Values below 1 ignore outliers.

    Returns
    -------
    radius : float
        Largest distance, or the quantile.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 3.0], [0.0, 1.5], [0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> coverage_radius(X, [0])
    5.0
    """
    X = as_matrix("X", X)
    points, _ = as_landmarks(X, landmarks)
    check_choice("metric", metric, ("euclidean", "cosine"))
    quantile = check_positive("quantile", quantile, zero=True, high=1.0)
    if metric == "cosine":
        X, points = np.asarray(Cosine()(X)), np.asarray(Cosine()(points))
    distances = nearest(points, X, 1)[0][:, 0]
    return float(np.quantile(distances, quantile))
