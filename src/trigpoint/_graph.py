"""The neighborhood graph of the landmarks."""

import logging
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, get_index_dtype
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from trigpoint._common.checks import check_choice, check_count, check_positive, check_share
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.memory import check_dense
from trigpoint._common.records import Covariances, LandmarkGraph, Landmarks, LowRankCovariances
from trigpoint._common.warn import warn_user
from trigpoint._common.words import counted
from trigpoint._files.checkpoints import Checkpoints
from trigpoint._geometry import RIDGE, bhattacharyya, bhattacharyya_matrix, regularize
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.connectivity import DisconnectedGraphWarning, bridge_components
from trigpoint._numerics.kernels import distances_between, gaussian, squared_distances
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, neighbor_index
from trigpoint._points.torch.neighbors import bhattacharyya_candidates, nearest_on_device

logger = logging.getLogger(__name__)

METRICS = ("bhattacharyya", "euclidean")

DEFAULT_NEIGHBORS = 10

# Mean weight of an edge under the automatic bandwidths, of nearest neighbors and of all pairs.
_MEAN_WEIGHT = 0.2
_MEAN_WEIGHT_OF_ALL = 0.4
_NEGLIGIBLE = 1e-12

# Pairs of landmarks that the automatic bandwidths are computed from, at most.
_PAIRS = 2**20

# Budget for Bhattacharyya distances, in covariance entries read: several seconds on one core;
# diagonal entries are ten times cheaper. Those of low rank are counted in multiplications of their
# directions. If all pairs would exceed it, or take too much memory, only the Euclidean nearest
# landmarks are compared.
_FULL_BUDGET = 3 * 10**8
_DIAGONAL_BUDGET = 3 * 10**9
_LOW_RANK_BUDGET = 2 * 10**11
MATRIX_MAX = 4096
_CANDIDATES_HELD = 2**24
_MIN_CANDIDATES_PER_NEIGHBOR = 4

# Landmarks from which a device helps; candidates that it finds beyond those asked for; and how far
# its distances may be off, relatively, from those of the host, which multiplies low ranks in
# float32.
_MANY = 2000
_SPARE = 8
_FLOAT64_SLACK, _FLOAT32_SLACK = 1e-6, 1e-2


class _Graph(BaseEstimator):
    """Base of the graphs: a metric, Gaussian weights, connectedness."""

    metric: str
    bandwidth: float | None
    ridge: float

    @property
    def needs_covariances(self) -> bool:
        """Whether `build` compares local covariances."""
        return bool(check_choice("metric", self.metric, METRICS) == "bhattacharyya")

    def build(
        self, landmarks: Landmarks, n_threads: int = 1, *, device: Any = None
    ) -> LandmarkGraph:
        """Build the symmetric, connected graph of `landmarks`.

        Parameters
        ----------
        landmarks : Landmarks
            They need covariances if the metric is ``"bhattacharyya"``.
        n_threads : int, default=1
        device : torch.device or None, default=None
            Where candidates for the nearest of many landmarks are found. It changes no edge.

        Returns
        -------
        LandmarkGraph
        """
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        check_positive("ridge", self.ridge)
        left, right = self._edges(landmarks, n_threads, device)
        return weighted_graph(landmarks.points, left, right, self.bandwidth)

    def _edges(
        self, landmarks: Landmarks, n_threads: int, device: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Directed edges as two index arrays; weights and symmetry come later."""
        raise NotImplementedError


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
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.bandwidth = bandwidth
        self.ridge = ridge

    def _edges(
        self, landmarks: Landmarks, n_threads: int, device: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        k = len(landmarks.points)
        if self.n_neighbors is None:
            count = min(DEFAULT_NEIGHBORS, k - 1)
        else:
            count = check_count(
                "n_neighbors", self.n_neighbors, high=k - 1, why=f"there are {k} landmarks"
            )
        if self.needs_covariances:
            neighbors = _bhattacharyya_neighbors(landmarks, count, self.ridge, n_threads, device)
        else:
            neighbors = _euclidean_neighbors(landmarks.points, count, n_threads, device)
        return _agreed(neighbors)


def graph_in_one_piece(
    sparse: KNNGraph, landmarks: Landmarks, n_threads: int, most: int, device: Any = None
) -> LandmarkGraph:
    """Build a graph, with `most` neighbors if it would fall into pieces that these join."""
    assert sparse.n_neighbors is not None, "an estimator has chosen a number"
    edges = sparse._edges(landmarks, n_threads, device)
    k = len(landmarks.points)
    if sparse.n_neighbors < most < k and not _is_one_piece(k, *edges):
        roomy = KNNGraph(most, metric=sparse.metric, ridge=sparse.ridge)
        more = roomy._edges(landmarks, n_threads, device)
        edges = more if _is_one_piece(k, *more) else edges
    return weighted_graph(landmarks.points, *edges, sparse.bandwidth)


def _is_one_piece(k: int, left: np.ndarray, right: np.ndarray) -> bool:
    links = csr_array((np.ones(len(left)), (left, right)), shape=(k, k))
    return bool(connected_components(links, directed=False)[0] == 1)


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

    def _edges(
        self, landmarks: Landmarks, n_threads: int, device: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        radius = check_positive("radius", self.radius)
        points = landmarks.points.astype(np.float64)
        k = len(points)
        covariances = None
        if self.needs_covariances:
            covariances = _regular_covariances(landmarks, self.ridge)
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
        if self.bandwidth is not None:
            bandwidths = np.full(k, check_positive("bandwidth", self.bandwidth))
            return complete_graph(landmarks.points, bandwidths)
        lengths = distances_between(landmarks.points)
        reach = np.median(lengths, axis=1)
        # Every so many pairs are enough for one number.
        step = -(-lengths.size // _PAIRS)
        relative = (lengths / np.maximum(reach[:, None], reach)).ravel()[::step]
        bandwidths = reach * _common_factor(relative[relative > 0], float(self.mean_weight))
        return _complete(lengths, bandwidths)


def complete_graph(points: np.ndarray, bandwidths: np.ndarray) -> LandmarkGraph:
    """All pairs of landmarks, weighted by the larger bandwidth of the two."""
    return _complete(distances_between(points), bandwidths)


def _complete(lengths: np.ndarray, bandwidths: np.ndarray) -> LandmarkGraph:
    weights = gaussian((lengths / np.maximum(bandwidths[:, None], bandwidths)) ** 2, 1.0)
    # Landmarks are distinct, however close, and stay linked, however far.
    weights = np.maximum(weights, np.finfo(np.float64).tiny)
    lengths = np.maximum(lengths, np.finfo(np.float64).tiny)
    np.fill_diagonal(weights, 1.0)
    no_bridges = np.empty((0, 2), dtype=np.int64)
    others = ~np.eye(len(lengths), dtype=bool)
    stored = _stored(weights, np.ones_like(others)), _stored(lengths, others)
    return LandmarkGraph(*stored, no_bridges, bandwidths)


def _stored(matrix: np.ndarray, kept: np.ndarray) -> csr_array:
    """The `kept` entries of a matrix; SciPy, which looks for zeros, takes 20 times as long."""
    dtype = get_index_dtype(maxval=matrix.size)
    columns = np.broadcast_to(np.arange(len(matrix), dtype=dtype), matrix.shape)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(dtype)
    return csr_array((matrix[kept], columns[kept], starts), shape=matrix.shape)


class AnchorGraph(BaseEstimator):
    """Link landmarks that share points: a graph that has seen all of them.

    Each point divides itself among the `n_anchors` landmarks nearest to it; two landmarks are
    linked by the products of their shares, summed over all points. Coordinates of a point are the
    mean of its landmarks' by the same shares, which is exact: with them, the points' own walk, from
    a point to its landmarks and on to their points, has the same eigenvectors. It takes one pass
    over the points.

    Parameters
    ----------
    n_anchors : int, default=3
        Landmarks that a point divides itself among; all of them if there are fewer.

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
        self,
        landmarks: Landmarks,
        shares: Iterable[tuple[np.ndarray, np.ndarray]],
        kept: Checkpoints | None = None,
    ) -> LandmarkGraph:
        """Build the graph from the landmarks and shares, each (b, r), of blocks of points.

        Of points whose sums were `kept`, the shares are left out.
        """
        k = len(landmarks.points)
        kept = kept or Checkpoints()
        weights, done = csr_array((k, k)), 0
        if begun := kept.read("graph"):
            sums = begun["data"], begun["indices"], begun["indptr"]
            weights, done = csr_array(sums, shape=(k, k)), int(begun["done"][0])
        for nearest, parts in shares:
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
        loops = weights.diagonal()
        # A landmark that no point is near, as when it is not one of them, still has itself.
        loops[loops == 0] = loops[loops > 0].mean()
        edges = csr_array(weights - diags_array(weights.diagonal()))
        edges.data[edges.data <= _NEGLIGIBLE * loops.max()] = 0
        edges.eliminate_zeros()
        edges, bridges = _joined(edges, landmarks.points)
        lengths = _edge_lengths(edges, landmarks.points)
        bandwidths = local_bandwidths(k, *lengths.nonzero(), lengths.data)
        return LandmarkGraph(csr_array(edges + diags_array(loops)), lengths, bridges, bandwidths)


def _regular_covariances(landmarks: Landmarks, ridge: float) -> Covariances:
    if landmarks.covariances is None:
        raise ParameterValueError(
            "metric",
            "bhattacharyya",
            "{parameter=} compares local covariances, but the landmarks have none",
            ("choose a sampler with {covariance=}", "{parameter}='euclidean'"),
            covariance="full",
        )
    return regularize(landmarks.covariances, float(ridge))


def _euclidean_neighbors(points: np.ndarray, count: int, n_threads: int, device: Any) -> np.ndarray:
    """Rows (k, count) of each landmark's nearest others, nearest first; landmarks are distinct."""
    if _is_for_device(points, device):
        from trigpoint._numerics.compiled.distance import squares_to

        near = nearest_on_device(points, count, device)
        for rows, point in zip(near, points, strict=True):
            rows[:] = rows[np.lexsort((rows, squares_to(points, rows, point)))]
        return near
    _, near = neighbor_index(points, count, len(points), n_threads).query(points, count + 1)
    return near[:, 1:]


def _is_for_device(points: np.ndarray, device: Any) -> bool:
    """Whether a device finds the nearest of points sooner."""
    return device is not None and points.shape[1] > TREE_MAX_DIMENSION and len(points) >= _MANY


def _bhattacharyya_neighbors(
    landmarks: Landmarks, count: int, ridge: float, n_threads: int, device: Any
) -> np.ndarray:
    points = landmarks.points.astype(np.float64)
    covariances = _regular_covariances(landmarks, ridge)
    k = len(points)
    affordable = min(_affordable_pairs(covariances), _CANDIDATES_HELD) // k
    candidates = min(k - 1, max(affordable, _MIN_CANDIDATES_PER_NEIGHBOR * count))
    near = None
    # All pairs are evaluated once for both directions, so they cost half.
    if candidates < (k - 1) / 2 or k > MATRIX_MAX:
        logger.info(
            "Bhattacharyya graph from the %d Euclidean nearest of %d landmarks", candidates, k
        )
        if _is_for_device(points, device):
            near = nearest_on_device(points, candidates, device)
        else:
            near = np.sort(_euclidean_neighbors(points, candidates, n_threads, None), axis=1)
    others = k - 1 if near is None else candidates
    if device is not None and k >= _MANY and 2 * count + _SPARE < others:
        return _chosen(points, covariances, near, count, n_threads, device)
    if near is None:
        distances = bhattacharyya_matrix(points, covariances, n_threads)
        np.fill_diagonal(distances, np.inf)
        return _smallest(distances, count)
    return _nearest_of(points, covariances, np.arange(k), near, count, n_threads)[0]


def _nearest_of(
    points: np.ndarray,
    covariances: Covariances,
    rows: np.ndarray,
    near: np.ndarray,
    count: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The `count` nearest of others (b, c) to some landmarks (b,), and how far they reach (b,)."""
    left = np.repeat(rows, near.shape[1])
    found = bhattacharyya(points, covariances, left, near.ravel(), n_threads).reshape(near.shape)
    columns = _smallest(found, count)
    reach = np.take_along_axis(found, columns[:, -1:], axis=1)[:, 0]
    return np.take_along_axis(near, columns, axis=1), reach


def _chosen(
    points: np.ndarray,
    covariances: Covariances,
    near: np.ndarray | None,
    count: int,
    n_threads: int,
    device: Any,
) -> np.ndarray:
    """The same of each landmark, from candidates that a device has found.

    Where these may not hold all of the nearest, the host goes through the rest.
    """
    rows = np.arange(len(points))
    columns, reach = bhattacharyya_candidates(points, covariances, near, count + _SPARE, device)
    some = columns if near is None else np.take_along_axis(near, columns, axis=1)
    neighbors, own_reach = _nearest_of(points, covariances, rows, some, count, n_threads)
    is_low_rank = isinstance(covariances, LowRankCovariances)
    slack = (_FLOAT32_SLACK if is_low_rank else _FLOAT64_SLACK) * (1 + reach)
    doubtful = np.flatnonzero(own_reach + slack >= reach)
    if len(doubtful):
        others = np.arange(len(points) - 1)
        rest = others + (others >= doubtful[:, None]) if near is None else near[doubtful]
        found, _ = _nearest_of(points, covariances, doubtful, rest, count, n_threads)
        neighbors[doubtful] = found
    return neighbors


def _affordable_pairs(covariances: Covariances) -> int:
    if isinstance(covariances, LowRankCovariances):
        return _LOW_RANK_BUDGET // (covariances.rank**2 * covariances.n_features)
    budget = _FULL_BUDGET if covariances.ndim == 3 else _DIAGONAL_BUDGET
    return budget // int(covariances[0].size)


def _smallest(distances: np.ndarray, count: int) -> np.ndarray:
    """Columns of the `count` smallest entries of each row, ascending; equal ones by column."""
    columns = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
    last = np.take_along_axis(distances, columns, axis=1).max(axis=1, keepdims=True)
    tied = (distances <= last).sum(axis=1) > count
    columns[tied] = np.argsort(distances[tied], axis=1, kind="stable")[:, :count]
    order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _agreed(neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges to neighbors, nearest first, that are mutual or in the nearer half of either."""
    k, count = neighbors.shape
    left, right = np.repeat(np.arange(k), count), neighbors.ravel()
    nearer_half = np.tile(np.arange(count) < (count + 1) // 2, k)
    mutual = np.isin(right * k + left, left * k + right)
    return left[nearer_half | mutual], right[nearer_half | mutual]


def local_bandwidths(
    k: int, left: np.ndarray, right: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Bandwidths in proportion to the median length of each landmark's edges.

    One common factor makes edges weigh 0.2 on average. On a sheet, a bandwidth is then about a
    third of the reach of a neighborhood, so its last members weigh a hundredth and it hardly
    matters which they are; in high dimension, where all neighbors are equally far, it is about
    half. With a single bandwidth, landmarks in sparse parts would be attached by edges of no
    weight, and each would take up an eigenvector, as happened on the fish bowl and on LiDAR data.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS, 2004.
    """
    reach = _median_length(k, left, right, lengths)
    relative = lengths / np.maximum(reach[left], reach[right])
    return reach * _common_factor(relative, _MEAN_WEIGHT)


def _common_factor(relative: np.ndarray, mean_weight: float) -> float:
    """Bandwidth that gives edges of these relative lengths a mean weight."""
    from scipy.optimize import brentq

    squares = relative**2

    def excess(log_bandwidth: float) -> float:
        return float(gaussian(squares, np.exp(log_bandwidth)).mean()) - mean_weight

    low, high = -8.0, 8.0
    if excess(low) >= 0:
        return float(np.exp(low))
    if excess(high) <= 0:
        return float(np.exp(high))
    return float(np.exp(brentq(excess, low, high, xtol=1e-9)))


def _median_length(k: int, left: np.ndarray, right: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Median length of the edges of each landmark, the lower of two middle ones."""
    ends, both = np.concatenate([left, right]), np.concatenate([lengths, lengths])
    order = np.lexsort((both, ends))
    degrees = np.bincount(ends, minlength=k)
    middle = np.cumsum(degrees) - degrees + np.maximum(degrees - 1, 0) // 2
    medians = both[order][np.minimum(middle, len(both) - 1)]
    # A landmark without edges will get bridges; any positive number will do.
    return np.where(degrees > 0, medians, lengths.max())


def _lengths(points: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    lengths = np.empty(len(left))
    for part in row_blocks(len(left), block_rows(8 * points.shape[1])):
        difference = points[left[part]].astype(np.float64) - points[right[part]]
        lengths[part] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return lengths


def weighted_graph(
    points: np.ndarray, left: np.ndarray, right: np.ndarray, bandwidth: float | None
) -> LandmarkGraph:
    """Turn directed edges into the symmetric, connected, Gaussian-weighted graph."""
    k = len(points)
    left, right = np.unique(np.sort(np.stack([left, right], axis=1), axis=1), axis=0).T
    lengths = _lengths(points, left, right)
    if bandwidth is None:
        bandwidths = local_bandwidths(k, left, right, lengths)
    else:
        bandwidths = np.full(k, float(bandwidth))
    weights = gaussian((lengths / np.maximum(bandwidths[left], bandwidths[right])) ** 2, 1.0)
    # For the solver, edges this light would still leave the graph in pieces.
    heavy = weights > _NEGLIGIBLE
    alone = k - len(np.unique(np.concatenate([left[heavy], right[heavy]])))
    if bandwidth is not None and alone:
        typical = np.median(local_bandwidths(k, left, right, lengths))
        raise ParameterValueError(
            "bandwidth",
            bandwidth,
            "{parameter=} is too small for this graph: it leaves {alone} without an edge "
            "of any weight",
            ("choose one near {typical:.3g}", "None to give each landmark its own"),
            alone=counted(alone, "landmark"),
            typical=typical,
        )
    matrix, bridges = _joined(_symmetric(k, left[heavy], right[heavy], weights[heavy]), points)
    return LandmarkGraph(
        csr_array(matrix + eye_array(k)), _edge_lengths(matrix, points), bridges, bandwidths
    )


def _edge_lengths(weights: csr_array, points: np.ndarray) -> csr_array:
    """Euclidean lengths of the edges of a graph, without its loops."""
    left, right = weights.nonzero()
    left, right = left[left != right], right[left != right]
    return csr_array((_lengths(points, left, right), (left, right)), shape=weights.shape)


def _symmetric(k: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> csr_array:
    rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
    return csr_array((np.concatenate([values, values]), (rows, columns)), shape=(k, k))


def _joined(weights: csr_array, points: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Join the components of a graph by their shortest bridges, with a warning if there are any.

    A bridge weighs as much as the mean edge: its Gaussian would underflow and cut the graph again.
    """
    n_components, _ = connected_components(weights, directed=False)
    if n_components == 1:
        return weights, np.empty((0, 2), dtype=np.int64)
    warn_user(
        DisconnectedGraphWarning(
            "the landmark graph falls into {n_components} components, which were joined by the "
            "shortest bridging edges: if the data is one piece, let the graph reach further",
            ("choose a larger {n_neighbors}", "a larger {radius}", "take more landmarks"),
            n_components=n_components,
        )
    )
    bridges = bridge_components(weights, points)
    mean = np.full(len(bridges), weights.data.mean())
    return (weights + _symmetric(len(points), bridges[:, 0], bridges[:, 1], mean)).tocsr(), bridges


def ordinary_edges(graph: LandmarkGraph) -> LandmarkGraph:
    """Edges that are not bridges, all of the same weight and reach, for computing paths."""
    lengths = graph.lengths.copy()
    rows, columns = np.concatenate([graph.bridges, graph.bridges[:, ::-1]]).T
    lengths[rows, columns] = 0
    lengths.eliminate_zeros()
    k = len(graph.bandwidths)
    weights = csr_array(lengths.astype(bool).astype(np.float64) + eye_array(k))
    reach = np.full(k, graph.lengths.data.max())
    return LandmarkGraph(weights, lengths, graph.bridges[:0], reach)


def precomputed_graph(matrix: Any, points: np.ndarray, bandwidth: float | None) -> LandmarkGraph:
    """Use a symmetric (k, k) matrix of edge weights as the landmark graph."""
    k = len(points)
    weights = csr_array(matrix, dtype=np.float64)
    if weights.shape != (k, k):
        raise ParameterValueError(
            "graph",
            matrix,
            "{parameter} has shape {shape} for {k} landmarks",
            "pass a ({k}, {k}) matrix",
            shape=weights.shape,
            k=k,
        )
    if not np.isfinite(weights.data).all() or (weights.data < 0).any():
        raise ParameterValueError(
            "graph",
            matrix,
            "{parameter} has negative, infinite or missing weights",
            "pass weights >= 0",
        )
    if abs(weights - weights.T).max() > 1e-8 * max(abs(weights).max(), 1e-300):
        raise ParameterValueError(
            "graph",
            matrix,
            "{parameter} is not symmetric",
            ("pass (W + W.T) / 2", "np.maximum(W, W.T)"),
        )
    weights = ((weights + weights.T) / 2).tocsr()
    weights.data[weights.data <= _NEGLIGIBLE * weights.data.max(initial=0.0)] = 0
    weights.eliminate_zeros()
    lengths = _edge_lengths(weights, points)
    if lengths.nnz == 0:
        raise ParameterValueError(
            "graph",
            matrix,
            "{parameter} has no edges",
            "pass weights > 0 between neighboring landmarks",
        )
    weights, bridges = _joined(weights, points)
    if bandwidth is None:
        bandwidths = local_bandwidths(k, *lengths.nonzero(), lengths.data)
    else:
        bandwidths = np.full(k, float(bandwidth))
    return LandmarkGraph(weights, _edge_lengths(weights, points), bridges, bandwidths)
