"""Geodesic distances, approximated by shortest paths in the neighborhood graph of all points."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from trigpoint._common.checks import check_count, check_positive
from trigpoint._common.warn import warn_user
from trigpoint._neighbors.index import neighbor_index
from trigpoint._numerics.connectivity import DisconnectedGraphWarning, bridge_components
from trigpoint._numerics.gaussian import gaussian


def geodesic_distances(X: np.ndarray, n_neighbors: Any = 10) -> np.ndarray:
    """Return the geodesic distances (n, n) between all points, approximated by a graph [1]_.

    Two points are joined by an edge if either is among the other's nearest neighbors, and the
    distance is the length of the shortest path. Coincident points are a single vertex of the graph,
    so they are 0 apart and share their neighbors. If the graph is disconnected, its components are
    joined by the shortest bridges, and a `DisconnectedGraphWarning` is issued.

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for
       nonlinear dimensionality reduction", Science 290, 2000.

    Examples
    --------
    Around a right angle, the path is longer than the straight line.

    >>> import numpy as np
    >>> X = np.array([[0.0, 2.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    >>> geodesic_distances(X, n_neighbors=1)[0, 4]
    np.float64(4.0)
    """
    X = np.asarray(X, dtype=np.float64)
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=len(X) - 1, why=f"the data has {len(X)} points"
    )
    # Adding zero turns -0.0 into 0.0, since equal values must have equal bits.
    vertices, vertex_of = np.unique(X + 0.0, axis=0, return_inverse=True)
    vertex_of = vertex_of.reshape(-1)
    graph = _neighborhood_graph(vertices, n_neighbors)
    distances = dijkstra(graph, directed=True)
    # Path lengths summed from either end may differ in the last digit.
    distances = np.minimum(distances, distances.T)
    return distances[np.ix_(vertex_of, vertex_of)]


def geodesic_kernel(X: np.ndarray, bandwidth: float, n_neighbors: Any = 10) -> np.ndarray:
    """Return the Gaussian kernel of the geodesic distances, ``exp(-geo^2 / (2 bandwidth^2))``.

    Unlike the Gaussian kernel of Euclidean distances, it need not be positive semidefinite.
    Samplers set its negative eigenvalues to zero, which gives the nearest positive semidefinite
    matrix in the Frobenius norm.
    """
    bandwidth = check_positive("bandwidth", bandwidth)
    distances = geodesic_distances(X, n_neighbors)
    return gaussian(np.square(distances, out=distances), bandwidth)


def _neighborhood_graph(vertices: np.ndarray, n_neighbors: int) -> csr_array:
    """Return the symmetric, connected nearest-neighbor graph, weighted by Euclidean length."""
    # The nearest neighbors of a vertex include the vertex; `_edges_to_graph` drops such loops.
    n_found = min(n_neighbors + 1, len(vertices))
    _, found = neighbor_index(vertices, n_found, len(vertices)).query(vertices, n_found)
    pairs = np.column_stack([np.repeat(np.arange(len(vertices)), n_found), found.ravel()])
    graph = _edges_to_graph(vertices, pairs)
    n_components, _ = connected_components(graph, directed=False)
    if n_components == 1:
        return graph
    warn_user(
        DisconnectedGraphWarning(
            f"the graph of n_neighbors={n_neighbors} nearest neighbors has {n_components} "
            f"components, which were joined by the {n_components - 1} shortest edges between "
            "them: a larger n_neighbors may connect them"
        )
    )
    return _edges_to_graph(vertices, np.vstack([pairs, bridge_components(graph, vertices)]))


def _edges_to_graph(points: np.ndarray, pairs: np.ndarray) -> csr_array:
    # List each edge once in each direction, since a sparse array would add up repeated entries, and
    # a sparse maximum with the transpose would drop edges whose length rounds to zero.
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    low, high = np.unique(np.sort(pairs, axis=1), axis=0).T
    lengths = np.linalg.norm(points[low] - points[high], axis=1)
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    return csr_array((np.concatenate([lengths, lengths]), ends), shape=(len(points), len(points)))
