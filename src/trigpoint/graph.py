"""The neighbourhood graph of the landmarks."""

import logging
import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from trigpoint.checks import check_choice, check_count, check_positive
from trigpoint.connectivity import DisconnectedGraphWarning, bridge_components
from trigpoint.geometry import bhattacharyya, regularize
from trigpoint.kernels import gaussian, squared_distances
from trigpoint.neighbors import neighbor_index
from trigpoint.points import block_rows, row_blocks
from trigpoint.records import LandmarkGraph, Landmarks

logger = logging.getLogger(__name__)

METRICS = ("bhattacharyya", "euclidean")

_DEFAULT_NEIGHBORS = 15

# Work for Bhattacharyya distances, in numbers read: about ten seconds on one core. A graph of so
# many landmarks that all pairs would cost more looks among the Euclidean nearest ones only.
_PAIR_BUDGET = 3 * 10**9
_MIN_CANDIDATES_PER_NEIGHBOR = 4


class _Graph(BaseEstimator):
    """What the graphs have in common: a metric, Gaussian weights, connectedness."""

    metric: str
    bandwidth: float | None

    @property
    def needs_covariances(self) -> bool:
        """Whether `build` compares local covariances."""
        return bool(check_choice("metric", self.metric, METRICS) == "bhattacharyya")

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Build the symmetric, connected graph of `landmarks`.

        Parameters
        ----------
        landmarks : Landmarks
            With covariances, if the metric is ``"bhattacharyya"``.
        n_threads : int, default=1

        Returns
        -------
        LandmarkGraph
        """
        left, right = self._edges(landmarks, n_threads)
        if self.bandwidth is None:
            bandwidth = edge_bandwidth(landmarks.points, left, right)
        else:
            bandwidth = check_positive("bandwidth", self.bandwidth)
        return weighted_graph(landmarks.points, left, right, bandwidth)

    def _edges(self, landmarks: Landmarks, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Directed edges as two index arrays; weights and symmetry come later."""
        raise NotImplementedError


class KNNGraph(_Graph):
    """Each landmark is linked to its nearest ones, if they agree.

    Two landmarks are linked when each is among the other's `n_neighbors` nearest, or when one of
    them is in the nearer half of the other's.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Number of neighbours of each landmark; ``None`` takes 15, or all when there are fewer.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        What "nearest" means. Bhattacharyya compares the Gaussians around the landmarks
        (section 3.3 of the paper), so that landmarks across a gap are far even when they are
        close in space.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the weights. ``None`` takes half the median length of each
        landmark's longest edge.

    Notes
    -----
    Weights are Gaussian in the Euclidean length of an edge and 1 on the diagonal: a sparse version
    of the landmarks' kernel matrix.

    Linking by either one's choice alone would keep what landmarks at a border choose for want of
    anything nearer, most of which are shortcuts: on a Swiss roll of 1,000 landmarks with 200
    neighbours, agreement leaves a third of them. The nearer half makes sure that no landmark ends
    up alone.

    Above a few thousand landmarks, Bhattacharyya distances are
    evaluated among Euclidean nearest candidates only, at least four times as many as neighbours.
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        metric: str = "bhattacharyya",
        bandwidth: float | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.bandwidth = bandwidth

    def _edges(self, landmarks: Landmarks, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        k = len(landmarks.points)
        if self.n_neighbors is None:
            count = min(_DEFAULT_NEIGHBORS, k - 1)
        else:
            count = check_count(
                "n_neighbors", self.n_neighbors, high=k - 1, why=f"there are {k} landmarks"
            )
        if self.needs_covariances:
            neighbors = _bhattacharyya_neighbors(landmarks, count, n_threads)
        else:
            neighbors = _euclidean_neighbors(landmarks.points, count, n_threads)
        return _agreed(neighbors)


class RadiusGraph(_Graph):
    """All landmarks within a radius of each other are linked.

    Parameters
    ----------
    radius : float, default=1.0
        Largest distance, in the chosen metric, of two linked landmarks.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        As for `KNNGraph`.
    bandwidth : float or None, default=None
        As for `KNNGraph`; ``None`` takes half the median length of each landmark's longest edge.
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        metric: str = "bhattacharyya",
        bandwidth: float | None = None,
    ) -> None:
        self.radius = radius
        self.metric = metric
        self.bandwidth = bandwidth

    def _edges(self, landmarks: Landmarks, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        radius = check_positive("radius", self.radius)
        points = landmarks.points.astype(np.float64)
        k = len(points)
        covariances = _regular_covariances(landmarks) if self.needs_covariances else None
        lefts, rights = [], []
        for part in row_blocks(k, block_rows(8 * k)):
            rows = np.arange(part.start, part.stop)
            if covariances is None:
                near = squared_distances(points[part], points) <= radius**2
            else:
                left, right = np.repeat(rows, k), np.tile(np.arange(k), len(rows))
                found = bhattacharyya(points, covariances, left, right, n_threads)
                near = found.reshape(len(rows), k) <= radius
            near[np.arange(len(rows)), rows] = False
            left, right = np.nonzero(near)
            lefts.append(left + part.start)
            rights.append(right)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        if len(left) == 0:
            raise ValueError(
                f"radius={radius} links no two landmarks in the {self.metric} metric: choose a "
                "larger radius, or KNNGraph"
            )
        return left, right


def _regular_covariances(landmarks: Landmarks) -> np.ndarray:
    if landmarks.covariances is None:
        raise ValueError(
            'metric="bhattacharyya" compares local covariances and the landmarks have none: '
            'choose a sampler with covariance="full" or metric="euclidean"'
        )
    return regularize(landmarks.covariances)


def _euclidean_neighbors(points: np.ndarray, count: int, n_threads: int) -> np.ndarray:
    """Rows, shape (k, count), of each landmark's nearest others; landmarks are distinct."""
    _, rows = neighbor_index(points, n_threads).query(points, count + 1)
    return rows[:, 1:]


def _bhattacharyya_neighbors(landmarks: Landmarks, count: int, n_threads: int) -> np.ndarray:
    points = landmarks.points.astype(np.float64)
    covariances = _regular_covariances(landmarks)
    k = len(points)
    affordable = _PAIR_BUDGET // (k * covariances[0].size)
    candidates = max(affordable, _MIN_CANDIDATES_PER_NEIGHBOR * count)
    # All pairs are evaluated once for both directions, so they cost half.
    if candidates >= (k - 1) / 2:
        left, right = np.triu_indices(k, 1)
        distances = np.full((k, k), np.inf)
        distances[left, right] = bhattacharyya(points, covariances, left, right, n_threads)
        distances[right, left] = distances[left, right]
        return _smallest(distances, count)
    logger.info("Bhattacharyya graph from the %d Euclidean nearest of %d landmarks", candidates, k)
    near = _euclidean_neighbors(points, candidates, n_threads)
    left = np.repeat(np.arange(k), candidates)
    found = bhattacharyya(points, covariances, left, near.ravel(), n_threads)
    return np.take_along_axis(near, _smallest(found.reshape(near.shape), count), axis=1)


def _smallest(distances: np.ndarray, count: int) -> np.ndarray:
    """Columns of the `count` smallest entries of each row, ascending."""
    columns = np.argpartition(distances, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _agreed(neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges to neighbours, nearest first, that are mutual or in the nearer half of either."""
    k, count = neighbors.shape
    left, right = np.repeat(np.arange(k), count), neighbors.ravel()
    nearer_half = np.tile(np.arange(count) < (count + 1) // 2, k)
    mutual = np.isin(right * k + left, left * k + right)
    return left[nearer_half | mutual], right[nearer_half | mutual]


def edge_bandwidth(points: np.ndarray, left: np.ndarray, right: np.ndarray) -> float:
    """Half the median length of each landmark's longest edge.

    The last neighbour then weighs ``exp(-2)``, about an eighth of the first: far enough for a
    smooth graph, light enough that it hardly matters which neighbour is the last.
    """
    longest = np.zeros(len(points))
    lengths = _lengths(points, left, right)
    for ends in (left, right):
        np.maximum.at(longest, ends, lengths)
    return float(np.median(longest[longest > 0])) / 2


def _lengths(points: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    lengths = np.empty(len(left))
    for part in row_blocks(len(left), block_rows(8 * points.shape[1])):
        difference = points[left[part]].astype(np.float64) - points[right[part]]
        lengths[part] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return lengths


def weighted_graph(
    points: np.ndarray, left: np.ndarray, right: np.ndarray, bandwidth: float
) -> LandmarkGraph:
    """Turn directed edges into the symmetric, connected, Gaussian-weighted graph."""
    k = len(points)
    left, right = np.unique(np.sort(np.stack([left, right], axis=1), axis=1), axis=0).T
    weights = gaussian(_lengths(points, left, right) ** 2, bandwidth)
    if not weights.all():
        typical = edge_bandwidth(points, left, right)
        raise ValueError(
            f"bandwidth={bandwidth:g} is too small for this graph: the weight of an edge "
            f"underflows to 0; choose one near {typical:.3g}, or None for that value"
        )
    bridges = _join(_symmetric(k, left, right, weights), points)
    if len(bridges):
        left, right = np.concatenate([left, bridges[:, 0]]), np.concatenate([right, bridges[:, 1]])
        # A Gaussian of a long bridge would underflow and cut the graph again.
        weights = np.concatenate([weights, np.full(len(bridges), weights.min())])
    lengths = _symmetric(k, left, right, _lengths(points, left, right))
    with_loops = _symmetric(k, left, right, weights) + csr_array(
        (np.ones(k), (np.arange(k), np.arange(k))), shape=(k, k)
    )
    return LandmarkGraph(with_loops.tocsr(), lengths, bridges, bandwidth)


def _symmetric(k: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> csr_array:
    rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
    return csr_array((np.concatenate([values, values]), (rows, columns)), shape=(k, k))


def _join(adjacency: csr_array, points: np.ndarray) -> np.ndarray:
    """Shortest edges that join the components of a graph, with a warning if there are any."""
    n_components, _ = connected_components(adjacency, directed=False)
    if n_components == 1:
        return np.empty((0, 2), dtype=np.int64)
    warnings.warn(
        f"the landmark graph falls into {n_components} components and was joined by its "
        f"{n_components - 1} shortest bridging edges; if the data is one piece, raise n_neighbors "
        "or the number of landmarks",
        DisconnectedGraphWarning,
        stacklevel=4,
    )
    return bridge_components(adjacency, points)


def precomputed_graph(matrix: Any, points: np.ndarray, bandwidth: float | None) -> LandmarkGraph:
    """Take a symmetric (k, k) matrix of edge weights as the landmark graph."""
    k = len(points)
    weights = csr_array(matrix, dtype=np.float64)
    if weights.shape != (k, k):
        raise ValueError(
            f"graph has shape {weights.shape} for {k} landmarks: pass a ({k}, {k}) matrix"
        )
    if not np.isfinite(weights.data).all() or (weights.data < 0).any():
        raise ValueError("graph has negative, infinite or missing weights: pass weights >= 0")
    if abs(weights - weights.T).max() > 1e-8 * max(abs(weights).max(), 1e-300):
        raise ValueError("graph is not symmetric: pass (W + W.T) / 2, or np.maximum(W, W.T)")
    weights = ((weights + weights.T) / 2).tocsr()
    weights.eliminate_zeros()
    left, right = weights.nonzero()
    left, right = left[left != right], right[left != right]
    if len(left) == 0:
        raise ValueError("graph has no edges: pass weights > 0 between neighbouring landmarks")
    bridges = _join(weights, points)
    if len(bridges):
        weights = weights + _symmetric(
            k, bridges[:, 0], bridges[:, 1], np.full(len(bridges), weights[left, right].min())
        )
        left, right = (
            np.concatenate([left, bridges.ravel()]),
            np.concatenate([right, bridges[:, ::-1].ravel()]),
        )
    if bandwidth is None:
        bandwidth = edge_bandwidth(points, left, right)
    lengths = csr_array((_lengths(points, left, right), (left, right)), shape=(k, k))
    return LandmarkGraph(weights.tocsr(), lengths, bridges, bandwidth)
