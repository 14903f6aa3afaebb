"""The kinds of graph: nearest neighbors, a radius, all pairs, shared points."""

from collections.abc import Callable, Iterable

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, clone

from trigpoint._common.checkpoints import NOTHING_KEPT, Checkpoints
from trigpoint._common.checks import (
    check_bool,
    check_choice,
    check_count,
    check_positive,
    check_share,
)
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.memory import check_dense
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import RIDGE, bhattacharyya
from trigpoint._graph.neighbors import NeighborSearch, regular_covariances
from trigpoint._graph.weights import (
    NEGLIGIBLE,
    complete_graph,
    edge_lengths,
    joined,
    local_bandwidths,
    weighed_by,
    weighted_graph,
    wide_bandwidths,
)
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.kernels import distances_between, squared_distances

# Yields landmarks and shares for blocks of points, starting at a row.
Shares = Callable[[int], Iterable[tuple[np.ndarray, np.ndarray]]]

METRICS = ("bhattacharyya", "euclidean")

DEFAULT_NEIGHBORS = 10

# Mean weight over all pairs with automatic bandwidths.
_MEAN_WEIGHT_OF_ALL = 0.4


class _Graph(BaseEstimator):
    """Base of the graphs with a metric and Gaussian weights."""

    metric: str
    bandwidth: float | None
    ridge: float

    @property
    def needs_covariances(self) -> bool:
        """Whether `build` compares local covariances."""
        return bool(check_choice("metric", self.metric, METRICS) == "bhattacharyya")

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Build the symmetric, connected graph of `landmarks`.

        Parameters
        ----------
        landmarks : Landmarks
            They need covariances if the metric is ``"bhattacharyya"``.
        n_threads : int, default=1

        Returns
        -------
        LandmarkGraph
        """
        raise NotImplementedError

    def _check(self) -> None:
        check_choice("metric", self.metric, METRICS)
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        check_positive("ridge", self.ridge)


class KNNGraph(_Graph):
    """Link each landmark to its nearest landmarks, if they agree.

    Two landmarks are linked when each is among the other's `n_neighbors` nearest, or when one is in
    the nearer half of the other's neighbors.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Number of neighbors of each landmark; ``None`` takes 10, or all others if there are fewer.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        What "nearest" means. Bhattacharyya compares the Gaussians around the landmarks
        (section 3.3 of the paper), so that landmarks across a gap are far apart even when they are
        close in space.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the weights. ``None`` gives each landmark its own bandwidth,
        proportional to the length of its edges and scaled so that edges weigh 0.2 on average.
    ridge : float, default=0.01
        Makes covariances invertible for ``metric="bhattacharyya"``: this share of a landmark's mean
        variance is added to its variance in every direction. A larger ridge gives the local
        geometry less influence.
    by_mass : bool, default=False
        Let each landmark count as many times as it has points nearest to it: an edge weighs so
        much more at both ends. Diverse landmarks are as dense at the fringe of a cloud as in its
        core, and with masses the core counts for more. `Isomap`, which goes by the lengths of edges
        alone, is not affected.

    Notes
    -----
    Weights are Gaussian in the Euclidean length of an edge and 1 on the diagonal: a sparse version
    of the landmarks' kernel matrix. If the two ends have different bandwidths, the larger one is
    used.

    Without agreement, landmarks at a border would keep distant neighbors for lack of nearer ones,
    and most of those edges are shortcuts: on a Swiss roll of 1,000 landmarks with 200 neighbors,
    agreement leaves a third of them. The nearer half ensures that no landmark ends up alone.

    Above a few thousand landmarks, Bhattacharyya distances are evaluated only among the Euclidean
    nearest candidates, at least four per neighbor.
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        metric: str = "bhattacharyya",
        bandwidth: float | None = None,
        ridge: float = RIDGE,
        by_mass: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.by_mass = by_mass

    @property
    def needs_masses(self) -> bool:
        """Whether `build` weighs landmarks by the points that they stand for."""
        return check_bool("by_mass", self.by_mass)

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        search = NeighborSearch(landmarks, n_threads)
        return graph_in_one_piece(self, landmarks, search, most=0)

    def _edges(self, k: int, search: NeighborSearch) -> tuple[np.ndarray, np.ndarray]:
        """Directed edges of k landmarks as two index arrays; weights and symmetry come later."""
        if self.n_neighbors is None:
            count = min(DEFAULT_NEIGHBORS, k - 1)
        else:
            count = check_count(
                "n_neighbors", self.n_neighbors, high=k - 1, why=f"there are {k} landmarks"
            )
        return _agreed(search.nearest(self.metric, count, float(self.ridge)))


def graph_in_one_piece(
    graph: KNNGraph, landmarks: Landmarks, search: NeighborSearch, most: int
) -> LandmarkGraph:
    """Build a graph; with `most` neighbors if it would otherwise fall into pieces.

    The `search` may be shared with other graphs of the same landmarks.
    """
    graph._check()
    k = len(landmarks.points)
    edges = graph._edges(k, search)
    is_sparser = graph.n_neighbors is not None and graph.n_neighbors < most < k
    if is_sparser and not _is_one_piece(k, *edges):
        more = clone(graph).set_params(n_neighbors=most)._edges(k, search)
        edges = more if _is_one_piece(k, *more) else edges
    built = weighted_graph(landmarks.points, *edges, graph.bandwidth)
    return weighed_by(_masses(landmarks), built) if graph.needs_masses else built


def _masses(landmarks: Landmarks) -> np.ndarray:
    if landmarks.masses is None:
        raise ParameterValueError(
            "by_mass",
            True,
            "{parameter=} weighs landmarks by the points that they stand for, which nobody counted",
            ("pass the graph to an estimator", "set the masses of the landmarks"),
        )
    return landmarks.masses


def _is_one_piece(k: int, left: np.ndarray, right: np.ndarray) -> bool:
    links = csr_array((np.ones(len(left)), (left, right)), shape=(k, k))
    return bool(connected_components(links, directed=False)[0] == 1)


def _agreed(neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges to neighbors, nearest first, that are mutual or in the nearer half of either."""
    k, count = neighbors.shape
    left, right = np.repeat(np.arange(k), count), neighbors.ravel()
    nearer_half = np.tile(np.arange(count) < (count + 1) // 2, k)
    mutual = np.isin(right * k + left, left * k + right)
    return left[nearer_half | mutual], right[nearer_half | mutual]


class RadiusGraph(_Graph):
    """Link all landmarks within a radius of each other.

    Parameters
    ----------
    radius : float, default=1.0
        Largest distance between two linked landmarks, in the chosen metric.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        As for `KNNGraph`.
    bandwidth, ridge
        As for `KNNGraph`.
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        metric: str = "bhattacharyya",
        bandwidth: float | None = None,
        ridge: float = RIDGE,
    ) -> None:
        self.radius = radius
        self.metric = metric
        self.bandwidth = bandwidth
        self.ridge = ridge

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        self._check()
        left, right = self._edges(landmarks, n_threads)
        return weighted_graph(landmarks.points, left, right, self.bandwidth)

    def _edges(self, landmarks: Landmarks, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        radius = check_positive("radius", self.radius)
        points = landmarks.points.astype(np.float64)
        k = len(points)
        covariances = None
        if self.needs_covariances:
            covariances = regular_covariances(landmarks, self.ridge)
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
            raise ParameterValueError(
                "radius",
                radius,
                "{parameter=} links no two landmarks in the {metric} metric",
                ("choose a larger {parameter}", "use KNNGraph"),
                metric=self.metric,
            )
        return left, right


class CompleteGraph(BaseEstimator):
    """Link every landmark to every other one, by a wide kernel.

    For many coordinates, which are to replace the columns of the data, this keeps more of the data
    than any graph of nearest neighbors. For the few coordinates of a picture it keeps less.

    Parameters
    ----------
    bandwidth : float or None, default=None
        Gaussian bandwidth of the weights. ``None`` gives each landmark its own bandwidth,
        proportional to the median of its distances.
    mean_weight : float, default=0.4
        Mean weight of an edge if `bandwidth` is ``None``, between 0 and 1: the larger, the wider
        the kernel, and the faster the eigenvalues decay.

    Notes
    -----
    Memory grows with the square of the number of landmarks: 200 MB for 4,000.
    """

    needs_covariances = False

    def __init__(
        self, *, bandwidth: float | None = None, mean_weight: float = _MEAN_WEIGHT_OF_ALL
    ) -> None:
        self.bandwidth = bandwidth
        self.mean_weight = mean_weight

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Build the graph of `landmarks`."""
        check_share("mean_weight", self.mean_weight)
        k = len(landmarks.points)
        check_dense("landmarks", k, "landmarks in a complete graph", "fewer landmarks, or KNNGraph")
        lengths = distances_between(landmarks.points)
        if self.bandwidth is not None:
            bandwidths = np.full(k, check_positive("bandwidth", self.bandwidth))
        else:
            bandwidths = wide_bandwidths(lengths, float(self.mean_weight))
        return complete_graph(lengths, bandwidths)


class AnchorGraph(BaseEstimator):
    """Link landmarks that share points: a graph made from all points.

    Each point is divided among the `n_anchors` landmarks nearest to it; the weight between two
    landmarks is the product of their shares, summed over all points. The coordinates of a point are
    the mean of its landmarks' coordinates, weighted by the same shares. This is exact: the random
    walk between points, by way of the landmarks they share, has the same eigenvectors. It takes one
    pass over the points.

    Parameters
    ----------
    n_anchors : int, default=3
        Number of landmarks that a point is divided among, at least 2. Of only two landmarks, the
        default takes both.

    References
    ----------
    W. Liu, J. He and S.-F. Chang, "Large graph construction for scalable semi-supervised learning",
    ICML, 2010. X. Chen and D. Cai, "Large scale spectral clustering with landmark-based
    representation", AAAI, 2011.
    """

    needs_covariances = False

    def __init__(self, n_anchors: int = 3) -> None:
        self.n_anchors = n_anchors

    def build(
        self, landmarks: Landmarks, shares: Shares, kept: Checkpoints = NOTHING_KEPT
    ) -> LandmarkGraph:
        """Build the graph from the landmarks and the shares of points in them.

        ``shares(first)`` yields landmarks and shares, each of shape (b, `n_anchors`), of blocks of
        points from row `first` on. Points whose sums are among the `kept` work are skipped.
        """
        k = len(landmarks.points)
        weights = _summed(k, shares, kept)
        loops = weights.diagonal()
        # A landmark without nearby points, as one that is not a point, still has a loop.
        loops[loops == 0] = loops[loops > 0].mean()
        edges = csr_array(weights - diags_array(weights.diagonal()))
        edges.data[edges.data <= NEGLIGIBLE * loops.max()] = 0
        edges.eliminate_zeros()
        edges, bridges = joined(edges, landmarks.points)
        lengths = edge_lengths(edges, landmarks.points)
        bandwidths = local_bandwidths(k, *lengths.nonzero(), lengths.data)
        return LandmarkGraph(csr_array(edges + diags_array(loops)), lengths, bridges, bandwidths)


def _summed(k: int, shares: Shares, kept: Checkpoints) -> csr_array:
    """Products of the shares of landmarks, summed over all points."""
    weights, done = csr_array((k, k)), 0
    if begun := kept.read("graph"):
        sums = begun["data"], begun["indices"], begun["indptr"]
        weights, done = csr_array(sums, shape=(k, k)), int(begun["done"][0])
    for nearest, parts in shares(done):
        starts = np.arange(0, nearest.size + 1, nearest.shape[1])
        rows = csr_array((parts.ravel(), nearest.ravel(), starts), shape=(len(nearest), k))
        weights = weights + csr_array(rows.T @ rows)
        done += len(nearest)
        if kept.due:
            kept.write(
                "graph",
                data=weights.data,
                indices=weights.indices,
                indptr=weights.indptr,
                done=np.array([done]),
            )
    return weights
