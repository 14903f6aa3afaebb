"""Joining the components of a graph by their shortest bridges."""

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from trigpoint._common.errors import ParameterWarning
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION

# A component of s points surely has a foreign point among the s + 1 nearest neighbours of each of
# its points. Up to this s, asking for them is cheaper than a tree of the foreign points alone.
_SMALL_COMPONENT = 64

# The fast searches agree with distances computed term by term to about this relative precision;
# whatever lies within it of the shortest is compared again term by term.
_RELATIVE_SLACK = 1e-12


class DisconnectedGraphWarning(ParameterWarning):
    """A neighbourhood graph fell apart and was joined by its shortest bridging edges."""


def bridge_components(adjacency: csr_array, points: np.ndarray) -> np.ndarray:
    """Return the shortest edges that join the components of a graph into one.

    The bridges are a minimum spanning tree of the components, where two components are as far
    apart as their closest points. It grows by Borůvka's rounds [1]_: every component but the
    largest reaches for its nearest foreign point, ties going to the smaller indices, until one
    component is left. Memory stays within blocks of rows; no k x k matrix is formed.

    Parameters
    ----------
    adjacency : csr_array of shape (k, k)
        The symmetric graph; every stored entry, an explicit zero too, is an edge.
    points : ndarray of shape (k, d)
        Coordinates of the vertices.

    Returns
    -------
    bridges : int64 ndarray of shape (b, 2)
        One edge fewer than there are components; smaller index first, in lexicographic order.

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
    nearest = _NearestForeign(np.asarray(points, dtype=np.float64))
    bridges: list[tuple[int, int]] = []
    while n_components > 1:
        components = DisjointSet(range(n_components))
        # Two components may pick different edges of one length; with the union taken edge by
        # edge, shortest first, such ties cannot close a cycle.
        for _, i, j in sorted(nearest.shortest_edges(labels)):
            if components.merge(int(labels[i]), int(labels[j])):
                bridges.append((min(i, j), max(i, j)))
        roots = np.array([components[label] for label in range(n_components)])
        names, renamed = np.unique(roots, return_inverse=True)
        n_components, labels = len(names), renamed[labels]
    return np.array(sorted(bridges), dtype=np.int64).reshape(-1, 2)


class _NearestForeign:
    """Every point's distance to the nearest point of another component, refreshed lazily.

    When components merge, foreign points only become fewer: what was found in an earlier round
    is a lower bound in this one, and most points never have to be asked again.
    """

    def __init__(self, points: np.ndarray) -> None:
        self.points = points - points.mean(axis=0)
        self.tree = _tree(self.points) if points.shape[1] <= TREE_MAX_DIMENSION else None
        self.squares = np.zeros(len(points))
        # A point is its own partner until it is asked, which marks it as out of date.
        self.partners = np.arange(len(points))
        self.ambiguous = np.zeros(len(points), dtype=bool)
        # The matrix product's rounding error is absolute: relative to the norms, not to the
        # distance. It is bounded by a small multiple of d eps max|x|^2.
        self.norms = np.einsum("ij,ij->i", self.points, self.points)
        product_error = 16 * (points.shape[1] + 8) * np.finfo(np.float64).eps * self.norms.max()
        self.slack = product_error if self.tree is None else 0.0

    def shortest_edges(self, labels: np.ndarray) -> list[tuple[float, int, int]]:
        """Squared length and ends of the shortest edge out of each component but the largest."""
        sizes = np.bincount(labels)
        largest = int(sizes.argmax())
        limits = self._refresh(labels, sizes, largest)
        order = np.argsort(labels, kind="stable")
        members = np.split(order, np.cumsum(sizes)[:-1])
        break_tie = self._compare_exactly if self.tree is None else self._smallest_indices
        return [
            break_tie(rows[self.squares[rows] <= limits[label]], labels)
            for label, rows in enumerate(members)
            if label != largest
        ]

    def _refresh(self, labels: np.ndarray, sizes: np.ndarray, largest: int) -> np.ndarray:
        """Ask the points that could hold a shortest edge; return each component's bound on it."""
        outdated = labels[self.partners] == labels
        limits = self._limits(labels, ~outdated, len(sizes))
        rows = np.flatnonzero(outdated & (labels != largest) & (self.squares <= limits[labels]))
        if self.tree is None:
            self._ask_blocks(rows, labels)
        else:
            small = sizes[labels[rows]] <= _SMALL_COMPONENT
            self._ask_tree(rows[small], labels, sizes)
            for label in np.unique(labels[rows[~small]]):
                self._ask_foreign_tree(rows[labels[rows] == label], labels != label)
        return self._limits(labels, labels[self.partners] != labels, len(sizes))

    def _limits(self, labels: np.ndarray, known: np.ndarray, n_components: int) -> np.ndarray:
        shortest = np.full(n_components, np.inf)
        np.minimum.at(shortest, labels[known], self.squares[known])
        return shortest * (1 + _RELATIVE_SLACK) + 2 * self.slack

    def _ask_blocks(self, rows: np.ndarray, labels: np.ndarray) -> None:
        doubled = -2 * self.points.T
        for block in row_blocks(len(rows), block_rows(8 * len(self.points))):
            asked = rows[block]
            # |b|^2 - 2 a.b orders the points b as |a - b|^2 does; |a|^2 is added to the least only.
            scores = self.points[asked] @ doubled
            scores += self.norms
            np.putmask(scores, labels[asked, None] == labels, np.inf)
            least = scores.min(axis=1)
            self.partners[asked] = scores.argmin(axis=1)
            self.squares[asked] = np.maximum(least + self.norms[asked], 0)
            within = scores <= least[:, None] + 2 * self.slack
            self.ambiguous[asked] = np.count_nonzero(within, axis=1) > 1

    def _ask_tree(self, rows: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> None:
        if self.tree is None or rows.size == 0:
            return
        n_asked = int(sizes[labels[rows]].max()) + 1
        for block in row_blocks(len(rows), block_rows(32 * n_asked)):
            asked = rows[block]
            distances, found = map(np.asarray, self.tree.query(self.points[asked], k=n_asked))
            # Neighbours come nearest first, so the first foreign one is the nearest foreign one.
            first = (labels[found] != labels[asked, None]).argmax(axis=1)[:, None]
            self.partners[asked] = np.take_along_axis(found, first, axis=1)[:, 0]
            self.squares[asked] = np.take_along_axis(distances, first, axis=1)[:, 0] ** 2

    def _ask_foreign_tree(self, rows: np.ndarray, foreign: np.ndarray) -> None:
        others = np.flatnonzero(foreign)
        distances, found = _tree(self.points[others]).query(self.points[rows])
        self.partners[rows] = others[found]
        self.squares[rows] = distances**2

    def _smallest_indices(self, rows: np.ndarray, labels: np.ndarray) -> tuple[float, int, int]:
        """Of the shortest edges of `rows`, the one with the smallest row and then partner."""
        assert self.tree is not None
        i = int(rows[0])
        radius = np.sqrt(self.squares[i]) * (1 + _RELATIVE_SLACK)
        found = np.array(self.tree.query_ball_point(self.points[i], radius), dtype=np.int64)
        # The partner is foreign for sure, even if rounding leaves it just outside the ball.
        j = min(found[labels[found] != labels[i]], default=self.partners[i])
        return float(self.squares[i]), i, int(j)

    def _compare_exactly(self, rows: np.ndarray, labels: np.ndarray) -> tuple[float, int, int]:
        """Shortest edge of `rows`, computed term by term where the product cannot tell."""
        i = int(rows[0])
        if len(rows) == 1 and not self.ambiguous[i]:
            j = int(self.partners[i])
            return float(np.square(self.points[i] - self.points[j]).sum()), i, j
        shortest, j = np.inf, -1
        for block in row_blocks(len(rows), block_rows(8 * len(labels))):
            squares = cdist(self.points[rows[block]], self.points, "sqeuclidean")
            squares[:, labels == labels[i]] = np.inf
            # argmin takes the first of equals, which is the smallest row and then column.
            row, column = divmod(int(squares.argmin()), len(labels))
            if squares[row, column] < shortest:
                shortest, i, j = float(squares[row, column]), int(rows[block][row]), column
        return shortest, i, j


def _tree(points: np.ndarray) -> cKDTree:
    # Splitting at midpoints builds faster than at medians and does not degenerate on duplicates.
    return cKDTree(points, balanced_tree=False, compact_nodes=False)
