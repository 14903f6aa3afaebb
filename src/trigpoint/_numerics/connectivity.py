"""Join the connected components of a graph by the shortest bridges."""

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trigpoint._common.errors import ParameterWarning
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import block_rows, row_blocks

# The s + 1 nearest neighbors of a point in a component of s points include a point of another
# component. Up to this s, finding them is cheaper than a search among foreign points only.
_SMALL_COMPONENT = 64

# Lengths within this relative difference count as equal.
_RELATIVE_SLACK = 1e-12

# One thread is enough, since there are few landmarks and even fewer components.
_N_THREADS = 1


class DisconnectedGraphWarning(ParameterWarning):
    """Warning that a disconnected neighborhood graph was joined by the shortest bridges."""


def bridge_components(adjacency: csr_array, points: np.ndarray) -> np.ndarray:
    """Return the shortest edges (b, 2) that join the components of a graph into one.

    The bridges form a minimum spanning tree of the components, where the distance between two
    components is that of their closest points. The tree grows in Borůvka rounds [1]_: every
    component but the largest is joined to the nearest point outside, with ties going to smaller
    indices, until one component is left. Work proceeds in blocks of rows, and no k x k matrix is
    formed.

    Every stored entry of `adjacency` (k, k), even an explicit zero, is an edge. Bridges have the
    smaller index first and are in lexicographic order.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním", Práce moravské přírodovědecké společnosti
       3, 1926.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> adjacency = csr_array((np.ones(4), ([0, 1, 2, 3], [1, 0, 3, 2])), shape=(5, 5))
    >>> bridge_components(adjacency, points)
    array([[1, 2],
           [3, 4]])
    """
    n_components, found = connected_components(adjacency, directed=False)
    labels: np.ndarray = found
    foreign = _NearestForeign(np.asarray(points, dtype=np.float64))
    bridges: list[tuple[int, int]] = []
    while n_components > 1:
        components = DisjointSet(range(n_components))
        # Two components may pick different edges of equal length. Adding edges one by one, shortest
        # first, prevents cycles.
        for _, i, j in sorted(foreign.shortest_edges(labels)):
            if components.merge(int(labels[i]), int(labels[j])):
                bridges.append((min(i, j), max(i, j)))
        roots = np.array([components[label] for label in range(n_components)])
        names, renamed = np.unique(roots, return_inverse=True)
        n_components, labels = len(names), renamed[labels]
    return np.array(sorted(bridges), dtype=np.int64).reshape(-1, 2)


class _NearestForeign:
    """Distance from every point to the nearest point of another component, updated lazily.

    Merging components only removes foreign points, so distances from earlier rounds are lower
    bounds, and most points are never searched again.
    """

    def __init__(self, points: np.ndarray) -> None:
        self.points = points
        self.distances = np.zeros(len(points))
        # A point that has not been searched yet is its own partner, which marks it as outdated.
        self.partners = np.arange(len(points))

    def shortest_edges(self, labels: np.ndarray) -> list[tuple[float, int, int]]:
        """Return the length and ends of the shortest edge from each component but the largest."""
        sizes = np.bincount(labels)
        largest = int(sizes.argmax())
        limits = self._refresh(labels, sizes, largest)
        order = np.argsort(labels, kind="stable")
        members = np.split(order, np.cumsum(sizes)[:-1])
        return [
            (float(self.distances[i]), i, int(self.partners[i]))
            for label, rows in enumerate(members)
            if label != largest
            for i in [int(rows[self.distances[rows] <= limits[label]][0])]
        ]

    def _refresh(self, labels: np.ndarray, sizes: np.ndarray, largest: int) -> np.ndarray:
        """Search from points that may have a shortest edge; return a bound for each component."""
        outdated = labels[self.partners] == labels
        limits = self._limits(labels, ~outdated, len(sizes))
        rows = np.flatnonzero(outdated & (labels != largest) & (self.distances <= limits[labels]))
        small = sizes[labels[rows]] <= _SMALL_COMPONENT
        if small.any():
            self._ask_among_all(rows[small], labels, sizes)
        for label in np.unique(labels[rows[~small]]):
            self._ask_foreign(rows[labels[rows] == label], np.flatnonzero(labels != label))
        return self._limits(labels, labels[self.partners] != labels, len(sizes))

    def _limits(self, labels: np.ndarray, known: np.ndarray, n_components: int) -> np.ndarray:
        shortest = np.full(n_components, np.inf)
        np.minimum.at(shortest, labels[known], self.distances[known])
        return shortest * (1 + _RELATIVE_SLACK)

    def _ask_among_all(self, rows: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> None:
        n_asked = int(sizes[labels[rows]].max()) + 1
        for block in row_blocks(len(rows), block_rows(32 * n_asked)):
            asked = rows[block]
            distances, found = nearest(self.points, self.points[asked], n_asked, _N_THREADS)
            # Neighbors are sorted, so the first foreign one is the nearest.
            first = (labels[found] != labels[asked, None]).argmax(axis=1)[:, None]
            self.partners[asked] = np.take_along_axis(found, first, axis=1)[:, 0]
            self.distances[asked] = np.take_along_axis(distances, first, axis=1)[:, 0]

    def _ask_foreign(self, rows: np.ndarray, others: np.ndarray) -> None:
        distances, found = nearest(self.points[others], self.points[rows], 1, _N_THREADS)
        self.partners[rows] = others[found[:, 0]]
        self.distances[rows] = distances[:, 0]
