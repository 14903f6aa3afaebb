"""The graph that links each landmark to its nearest landmarks."""

import logging

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from trigpoint._common.checks import check_bool, check_choice, check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import RIDGE, bhattacharyya, bhattacharyya_matrix, regularize
from trigpoint._graphs.graph import Graph, weighed_by, weighted_graph
from trigpoint._neighbors.index import neighbor_index

logger = logging.getLogger(__name__)

_DEFAULT_NEIGHBORS = 10

# Budget for Bhattacharyya distances, in covariance entries read: several seconds on one core;
# diagonal entries are ten times cheaper. If all pairs would exceed it, or take too much memory,
# only the Euclidean nearest landmarks are compared.
_FULL_BUDGET = 3 * 10**8
_DIAGONAL_BUDGET = 3 * 10**9
MATRIX_MAX = 4096
_CANDIDATES_HELD = 2**24
_MIN_CANDIDATES_PER_NEIGHBOR = 4


class KNNGraph(Graph):
    """Link each landmark to its nearest landmarks.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Number of neighbors of each landmark; ``None`` takes 10, or all others if there are fewer.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        What "nearest" means. Bhattacharyya compares the Gaussians around the landmarks
        (section 3.3 of the paper), so that landmarks across a gap are far apart even when they are
        close in space.
    link : {"agreed", "any"}, default="agreed"
        When two landmarks are linked. ``"agreed"`` links them if each is among the other's
        `n_neighbors` nearest, or if one is in the nearer half of the other's neighbors. ``"any"``
        links them if either is among the other's nearest, as in the paper.
    covariance : {"auto", "full", "diag"}, default="auto"
        What the Bhattacharyya distance compares: full local covariances or only their diagonals.
        ``"auto"`` takes full ones up to 32 columns and diagonals above.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the weights, and of an extension by weights. ``None`` gives each
        landmark its own bandwidth, proportional to the length of its edges and scaled so that
        edges weigh 0.2 on average.
    ridge : float, default=0.01
        Makes covariances invertible: this share of a landmark's mean variance is added to its
        variance in every direction. A larger ridge gives the local geometry less influence.
    by_mass : bool, default=False
        Weigh each edge by the number of points that the landmarks at its ends represent. Diverse
        landmarks are as dense at the fringe of a cloud as in its core; with masses, the core counts
        for more. `Isomap` uses only the lengths of the edges and is not affected.

    Notes
    -----
    Weights are Gaussian in the Euclidean length of an edge and 1 on the diagonal: a sparse version
    of the landmarks' kernel matrix. If the two ends have different bandwidths, the larger one is
    used.

    With ``link="any"``, landmarks at a border keep distant neighbors for lack of nearer ones, and
    most of those edges are shortcuts: on a Swiss roll of 1,000 landmarks with 200 neighbors,
    agreement removes two thirds of them. The nearer half ensures that no landmark ends up alone.

    Above a few thousand landmarks, Bhattacharyya distances are evaluated only among the Euclidean
    nearest candidates, at least four per neighbor.
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        metric: str = "bhattacharyya",
        link: str = "agreed",
        covariance: str = "auto",
        bandwidth: float | None = None,
        ridge: float = RIDGE,
        by_mass: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.link = link
        self.covariance = covariance
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.by_mass = by_mass

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("link", self.link, ("agreed", "any"))
        check_bool("by_mass", self.by_mass)
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors)

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        self.check_parameters()
        return self.linked(landmarks, NeighborSearch(landmarks, n_threads))

    def linked(
        self, landmarks: Landmarks, search: "NeighborSearch", roomy: int = 0
    ) -> LandmarkGraph:
        """Do what `build` does with parameters that are known to be right.

        The `search` can be shared with other graphs of the same landmarks. If the graph would be
        disconnected, it takes `roomy` neighbors instead if it is connected with so many.
        """
        k = len(landmarks.points)
        edges = self._edges(k, search)
        is_sparser = self.n_neighbors is not None and self.n_neighbors < roomy < k
        if is_sparser and not _is_connected(k, *edges):
            more = clone(self).set_params(n_neighbors=roomy)._edges(k, search)
            edges = more if _is_connected(k, *more) else edges
        notes = () if self.needs_covariances is None else search.notes
        built = weighted_graph(landmarks.points, *edges, self.bandwidth, notes)
        if not self.by_mass:
            return built
        if landmarks.masses is None:
            raise ParameterValueError(
                "by_mass=True weighs landmarks by the points that they represent, which have not "
                "been counted: pass the graph to an estimator or set the masses of the landmarks",
                "by_mass",
            )
        return weighed_by(landmarks.masses, built)

    def _edges(self, k: int, search: "NeighborSearch") -> tuple[np.ndarray, np.ndarray]:
        """Return directed edges, as two index arrays."""
        count = min(_DEFAULT_NEIGHBORS, k - 1)
        if self.n_neighbors is not None:
            why = f"there are {k} landmarks"
            count = check_count("n_neighbors", self.n_neighbors, high=k - 1, why=why)
        neighbors = search.nearest(self.metric, count, self.ridge)
        left, right = np.repeat(np.arange(k), count), neighbors.ravel()
        if self.link == "any":
            return left, right
        nearer_half = np.tile(np.arange(count) < (count + 1) // 2, k)
        mutual = np.isin(right * k + left, left * k + right)
        return left[nearer_half | mutual], right[nearer_half | mutual]


def _is_connected(k: int, left: np.ndarray, right: np.ndarray) -> bool:
    links = csr_array((np.ones(len(left)), (left, right)), shape=(k, k))
    return bool(connected_components(links, directed=False)[0] == 1)


class NeighborSearch:
    """The nearest landmarks of each landmark, in either metric; several graphs can share it.

    Parameters
    ----------
    landmarks : Landmarks
    n_threads : int
    at_least : int, default=0
        How many neighbors are found at once, for graphs that will ask for more.

    Attributes
    ----------
    notes : tuple of Warning
        About the covariances, if any were compared.
    """

    def __init__(self, landmarks: Landmarks, n_threads: int, at_least: int = 0) -> None:
        self._landmarks = landmarks
        self._n_threads = n_threads
        self._at_least = at_least
        self._found: dict[tuple[str, float], np.ndarray] = {}
        self.notes: tuple[Warning, ...] = ()

    def nearest(self, metric: str, count: int, ridge: float) -> np.ndarray:
        """Rows (k, count) of the other landmarks nearest to each, nearest first."""
        found = self._found.get((metric, ridge))
        if found is None or found.shape[1] < count:
            wanted = min(max(count, self._at_least), len(self._landmarks.points) - 1)
            is_compared = metric == "bhattacharyya"
            found = self._compared(wanted, ridge) if is_compared else self._by_length(wanted)
            self._found[metric, ridge] = found
        return found[:, :count]

    def _by_length(self, count: int) -> np.ndarray:
        points = self._landmarks.points
        index = neighbor_index(points, count, len(points), self._n_threads)
        # Landmarks are distinct, so each is the first of its own neighbors.
        return index.query(points, count + 1)[1][:, 1:]

    def _compared(self, count: int, ridge: float) -> np.ndarray:
        """Rows by Bhattacharyya distance, among the Euclidean nearest if there are too many."""
        covariances, self.notes = regularize(self._landmarks.covariances, float(ridge))
        points = self._landmarks.points.astype(np.float64)
        k = len(points)
        budget = _FULL_BUDGET if covariances.ndim == 3 else _DIAGONAL_BUDGET
        affordable = min(budget // int(covariances[0].size), _CANDIDATES_HELD) // k
        candidates = min(k - 1, max(affordable, _MIN_CANDIDATES_PER_NEIGHBOR * count))
        # All pairs are evaluated once for both directions, so they cost half.
        if candidates >= (k - 1) / 2 and k <= MATRIX_MAX:
            distances = bhattacharyya_matrix(points, covariances, self._n_threads)
            np.fill_diagonal(distances, np.inf)
            return _smallest(distances, count)
        logger.info(
            "Bhattacharyya graph from the %d Euclidean nearest of %d landmarks", candidates, k
        )
        near = np.sort(self._by_length(candidates), axis=1)
        left = np.repeat(np.arange(k), candidates)
        distances = bhattacharyya(points, covariances, left, near.ravel(), self._n_threads)
        return np.take_along_axis(near, _smallest(distances.reshape(near.shape), count), axis=1)


def _smallest(distances: np.ndarray, count: int) -> np.ndarray:
    """Columns of the `count` smallest entries of each row, ascending; equal ones by column."""
    columns = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
    last = np.take_along_axis(distances, columns, axis=1).max(axis=1, keepdims=True)
    tied = (distances <= last).sum(axis=1) > count
    columns[tied] = np.argsort(distances[tied], axis=1, kind="stable")[:, :count]
    order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)
