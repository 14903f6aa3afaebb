"""How well landmarks cover the points."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from trigpoint._common.checks import check_choice, check_count, check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.nearest import nearest
from trigpoint._spaces import Cosine
from trigpoint.metrics._checks import as_landmarks, as_matrix


def coverage_radius(
    X: Any,
    landmarks: Any,
    *,
    metric: str = "euclidean",
    n_neighbors: int = 10,
    quantile: float = 1.0,
) -> float:
    """Largest distance from any point to its nearest landmark.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    landmarks : array-like of int of shape (k,), or of shape (k, d)
        Rows of `X`, or landmark points. Geodesic distances need rows.
    metric : {"euclidean", "cosine", "geodesic"}, default="euclidean"
        Straight-line distance; the same between rows scaled to unit length; or the shortest path
        over the nearest-neighbor graph.
    n_neighbors : int, default=10
        Neighbors of each point in that graph, where coincident points are one vertex. Only for
        geodesic distances.
    quantile : float, default=1.0
        From 0 to 1. Below 1, return this quantile of the distances instead of the largest, which
        ignores outliers.

    Returns
    -------
    radius : float
        The distance.

    Raises
    ------
    ValueError
        If the graph is disconnected and some points cannot be reached from any landmark.

    Examples
    --------
    Around a right angle, the path is longer than the straight line.

    >>> import numpy as np
    >>> X = np.array([[0.0, 3.0], [0.0, 1.5], [0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> coverage_radius(X, [0])
    5.0
    >>> coverage_radius(X, [0], metric="geodesic", n_neighbors=2)
    7.0
    """
    X = as_matrix("X", X)
    points, rows = as_landmarks(X, landmarks)
    check_choice("metric", metric, ("euclidean", "cosine", "geodesic"))
    quantile = check_positive("quantile", quantile, zero=True, high=1.0)
    n_neighbors = check_count("n_neighbors", n_neighbors)
    if metric == "cosine":
        X, points = np.asarray(Cosine()(X)), np.asarray(Cosine()(points))
    if metric != "geodesic":
        distances = nearest(points, X, 1)[0][:, 0]
    elif rows is None:
        raise ParameterValueError(
            f"metric={metric!r} needs landmarks that are rows of X, got points of shape "
            f"{points.shape}: pass their row numbers",
            "landmarks",
        )
    else:
        distances = _geodesic_to_nearest(X, rows, n_neighbors)
    return float(np.quantile(distances, quantile))


def _geodesic_to_nearest(X: np.ndarray, rows: np.ndarray, n_neighbors: Any) -> np.ndarray:
    """Length of the shortest path from each point to a landmark over the neighborhood graph."""
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=max(1, len(X) - 1), why=f"the data has {len(X)} points"
    )
    # As separate vertices, copies of one point would fill each other's neighbor lists.
    vertices, vertex_of = np.unique(X, axis=0, return_inverse=True)
    vertex_of = vertex_of.reshape(-1)
    n_vertices = len(vertices)
    m = min(n_neighbors + 1, n_vertices)
    lengths, found = nearest(vertices, vertices, m)
    # Stored zeros are edges between points whose distance rounds to zero; self-loops do no harm.
    graph = csr_array(
        (lengths.ravel(), found.ravel(), np.arange(0, n_vertices * m + 1, m)),
        shape=(n_vertices, n_vertices),
    )
    paths = dijkstra(graph, directed=False, indices=np.unique(vertex_of[rows]), min_only=True)
    distances = np.asarray(paths)[vertex_of]
    unreached = np.isinf(distances).sum()
    if unreached:
        n_components = connected_components(graph, directed=False, return_labels=False)
        raise ParameterValueError(
            f"{unreached} of the {len(X)} points cannot be reached from any landmark: the graph "
            f"of n_neighbors={n_neighbors} nearest neighbors has {n_components} components; raise "
            "n_neighbors or place a landmark in every component",
            "n_neighbors",
        )
    return distances
