"""Agreement of neighborhoods of all sizes in the data and in an embedding."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from trigpoint._common.checks import check_choice, check_count, check_dense
from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.connectivity import bridge_components
from trigpoint._spaces import Cosine
from trigpoint.metrics._checks import as_matrix, check_same_length

_FEWEST = 4


def neighborhood_agreement(
    X: Any, embedding: Any, *, n_neighbors: int | None = 10, metric: str = "euclidean"
) -> float:
    """Agreement of neighborhoods of all sizes, with the most weight on small ones.

    Distances between points are measured along their nearest-neighbor graph. An unrolled Swiss roll
    therefore agrees with the original roll at all scales, whereas a projection of the roll does
    not.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points, or a sample of them, since time and memory grow as n².
    embedding : array-like of shape (n, l)
        Coordinates of the points in the embedding.
    n_neighbors : int or None, default=10
        Number of neighbors in the graph, whose connected components are joined by the shortest
        bridges. ``None`` uses straight-line distances instead.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between the points of `X`. The distance in the embedding is always Euclidean.

    Returns
    -------
    agreement : float
        1 if the distances from every point have the same order in the data and in the embedding;
        about 0 for a random embedding.

    Notes
    -----
    This is the area under the curve of R_NX(K) over log K. Q_NX(K) is the fraction of the K nearest
    points in the data that are among the K nearest in the embedding, and R_NX(K) rescales Q_NX(K)
    so that a random embedding scores 0.

    References
    ----------
    J. A. Lee, D. H. Peluffo-Ordóñez and M. Verleysen, "Multi-scale similarities in stochastic
    neighbour embedding", Neurocomputing, 2015.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, intrinsic = tp.datasets.make_swiss_roll(1000, random_state=0)
    >>> round(neighborhood_agreement(X, intrinsic), 2)
    0.98
    >>> round(neighborhood_agreement(X, X[:, :2]), 2)
    0.34
    """
    X, Y = as_matrix("X", X), as_matrix("embedding", embedding)
    check_same_length("X", X, "embedding", Y)
    if len(X) < _FEWEST:
        raise ParameterValueError(f"X has {len(X)} points: pass at least {_FEWEST}", "X")
    check_dense("X", len(X), "points", "a sample of the points")
    if check_choice("metric", metric, ("euclidean", "cosine")) == "cosine":
        X = Cosine()(X)
    if n_neighbors is not None:
        check_count("n_neighbors", n_neighbors, high=len(X) - 1, why=f"X has {len(X)} points")
    return agreement(neighbor_ranks(reference_distances(X, n_neighbors)), Y)


def reference_distances(X: np.ndarray, n_neighbors: int | None) -> np.ndarray:
    """Return distances (n, n) along the nearest-neighbor graph, or straight-line distances."""
    X, places = np.unique(X.astype(np.float64), axis=0, return_inverse=True)
    if n_neighbors is None or len(X) == 1:
        distances = cdist(X, X)
    else:
        count = min(n_neighbors, len(X) - 1)
        found, neighbors = nearest(X, X, count + 1)
        starts = np.arange(len(X)) * (count + 1)
        graph = csr_array((found.ravel(), neighbors.ravel(), np.append(starts, found.size)))
        graph = csr_array(graph.maximum(graph.T))
        left, right = bridge_components(graph, X).T
        gaps = np.linalg.norm(X[left] - X[right], axis=1)
        graph = graph + coo_array((gaps, (left, right)), shape=graph.shape)
        distances = dijkstra(graph, directed=False)
    # In NumPy 2.0.0, the inverse indices have a second axis.
    return distances[np.ix_(places.ravel(), places.ravel())]


def neighbor_ranks(distances: np.ndarray) -> np.ndarray:
    """Rank the other points by their distance from each point; ranks (n, n) start at 0.

    Ties are ranked in the order of the points. Each point is last in its own ranking.
    """
    n = len(distances)
    distances = distances.copy()
    np.fill_diagonal(distances, np.inf)
    ranks = np.empty((n, n), dtype=np.int32)
    order = np.argsort(distances, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(n, dtype=np.int32)[None], axis=1)
    return ranks


def agreement(ranks: np.ndarray, Y: np.ndarray) -> float:
    """Return the agreement of `neighbor_ranks` of the points with the coordinates `Y` (n, l)."""
    n = len(ranks)
    Y = Y.astype(np.float64)
    # A point is among the K nearest of another in both spaces if both ranks are below K.
    larger = np.maximum(ranks, neighbor_ranks(cdist(Y, Y)))
    both = np.cumsum(np.bincount(larger.ravel(), minlength=n)[: n - 2])
    sizes = np.arange(1, n - 1)
    shares = both / (n * sizes)
    rescaled = ((n - 1) * shares - sizes) / (n - 1 - sizes)
    return float(np.average(rescaled, weights=1 / sizes))
