"""Agreement of a landmark graph with the manifold, given its true coordinates."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_count
from trigpoint._neighbors.nearest import nearest
from trigpoint.metrics._checks import as_edges, as_matrix

# Relative difference below which distances on the manifold count as equal, so that rounding errors
# do not decide between tied neighbors, as on a grid.
_TIE = 1e-9


def shortcut_rate(graph: Any, intrinsic: Any, n_neighbors: int) -> float:
    """Fraction of the edges of a landmark graph that are shortcuts across the manifold.

    An edge is a shortcut if its length on the manifold is more than twice the distance, also on the
    manifold, from each of its ends to the `n_neighbors`-th nearest landmark of that end.

    Parameters
    ----------
    graph : sparse array or array-like of shape (k, k)
        The graph. Every stored off-diagonal entry is an edge (in a dense array, every nonzero one).
        An edge counts once, whether it is stored in one direction or in both.
    intrinsic : array-like of shape (k, q) or (k,)
        True coordinates of the landmarks, in which the manifold is flat.
    n_neighbors : int
        Rank of the neighbor that sets the distance scale, not counting the landmark itself.

    Returns
    -------
    rate : float
        Fraction from 0 to 1.

    See Also
    --------
    neighbor_recall : Measure of the opposite error, unlinked neighbors.

    Examples
    --------
    On a line of equally spaced landmarks, one of five edges connects the two ends.

    >>> import numpy as np
    >>> graph = np.zeros((5, 5))
    >>> graph[[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]] = 1
    >>> shortcut_rate(graph, np.arange(5.0), n_neighbors=1)
    0.2
    """
    u = as_matrix("intrinsic", intrinsic, column=True).astype(np.float64, copy=False)
    low, high = as_edges(graph, len(u))
    reach = _ranked_distances(u, n_neighbors)[:, -1]
    lengths = np.linalg.norm(u[low] - u[high], axis=1)
    return float(np.mean(lengths > 2 * (1 + _TIE) * np.maximum(reach[low], reach[high])))


def neighbor_recall(graph: Any, intrinsic: Any, n_neighbors: int) -> float:
    """Fraction of the nearest landmarks on the manifold that are linked in the graph.

    Parameters
    ----------
    graph : sparse array or array-like of shape (k, k)
        The graph. Every stored off-diagonal entry is an undirected edge (in a dense array, every
        nonzero one).
    intrinsic : array-like of shape (k, q) or (k,)
        True coordinates of the landmarks, in which the manifold is flat.
    n_neighbors : int
        Number of nearest landmarks to which each landmark should be linked. Landmarks that tie for
        the last rank are interchangeable.

    Returns
    -------
    recall : float
        Fraction from 0 to 1.

    See Also
    --------
    shortcut_rate : Measure of the opposite error, edges that should not exist.

    Examples
    --------
    On a line of four landmarks, two links are enough to link every landmark to a nearest one.

    >>> import numpy as np
    >>> graph = np.zeros((4, 4))
    >>> graph[0, 1] = graph[2, 3] = 1
    >>> neighbor_recall(graph, np.arange(4.0), n_neighbors=1)
    1.0
    >>> neighbor_recall(graph, np.arange(4.0), n_neighbors=2)
    0.5
    """
    u = as_matrix("intrinsic", intrinsic, column=True).astype(np.float64, copy=False)
    low, high = as_edges(graph, len(u))
    ranked = _ranked_distances(u, n_neighbors)
    n_neighbors = ranked.shape[1]
    inner, outer = (1 - _TIE) * ranked[:, -1], (1 + _TIE) * ranked[:, -1]
    # All landmarks nearer than the last must be linked; any of the tied ones may fill the
    # remainder.
    n_nearer = np.sum(ranked < inner[:, None], axis=1)
    ends = np.concatenate([low, high])
    lengths = np.tile(np.linalg.norm(u[low] - u[high], axis=1), 2)
    linked_nearer = np.bincount(ends[lengths < inner[ends]], minlength=len(u))
    linked = np.bincount(ends[lengths <= outer[ends]], minlength=len(u))
    found = linked_nearer + np.minimum(linked - linked_nearer, n_neighbors - n_nearer)
    return float(found.mean() / n_neighbors)


def _ranked_distances(u: np.ndarray, n_neighbors: Any) -> np.ndarray:
    """Return distances from each landmark to its `n_neighbors` nearest others, ascending."""
    k = len(u)
    m = check_count("n_neighbors", n_neighbors, high=k - 1, why=f"there are {k} landmarks")
    # The first neighbor is the landmark itself, or a landmark that coincides with it.
    return np.sort(nearest(u, u, m + 1)[0], axis=1)[:, 1:]
