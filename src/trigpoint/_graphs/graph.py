"""Base class of graphs, the nearest-neighbor graph, and weighted graphs from edges."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, clone

from trigpoint._common.checks import check_bool, check_choice, check_count, check_positive
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._common.words import counted
from trigpoint._geometry import COVARIANCES, RIDGE, NeighborSearch
from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import dense_blocks
from trigpoint._numerics.blocks import block_rows, row_blocks, sample_points, thread_map
from trigpoint._numerics.connectivity import DisconnectedGraphWarning, bridge_components

METRICS = ("bhattacharyya", "euclidean")

# Mean weight of an edge to a neighbor with automatic bandwidths.
_MEAN_WEIGHT = 0.2

_DEFAULT_NEIGHBORS = 10

# Minimum bandwidth of a landmark, relative to the median length of its edges; 1/3 to 1/2 is
# typical. If landmarks form many tight groups of about `n_neighbors`, so many edges are far shorter
# than the median that no bandwidth gives the mean weight, and a tiny bandwidth would disconnect the
# groups.
_LEAST_BANDWIDTH = 0.25

# Edges lighter than this are ignored.
NEGLIGIBLE = 1e-12

# Number of points per landmark to sample when estimating masses, maximum number of values in the
# sample, and size in bytes of the points to search at once.
_COUNTED = 10
_MOST_NUMBERS = 2**23
_BYTES_AT_ONCE = 2**22

_NO_BRIDGES = np.empty((0, 2), dtype=np.int64)


class Graph(BaseEstimator, ABC):
    """Base class of graphs; `build` links landmarks and weights the edges.

    A custom graph object only needs `build`; `needs_covariances` and `by_mass` tell the estimator
    what `build` requires of the landmarks.
    """

    metric = "euclidean"
    covariance = "auto"
    bandwidth: float | None = None
    ridge = RIDGE
    # Whether `build` weighs landmarks by the number of points that they represent.
    by_mass = False

    @property
    def needs_covariances(self) -> str | None:
        """Kind of local covariances that `build` compares, or ``None`` if it compares none."""
        return self.covariance if self.metric == "bhattacharyya" else None

    def check_parameters(self) -> None:
        """Raise an error, before landmarks are drawn, for parameters that are always invalid."""
        check_choice("metric", self.metric, METRICS)
        check_choice("covariance", self.covariance, ("auto", *COVARIANCES))
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        check_positive("ridge", self.ridge)

    @abstractmethod
    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Build the symmetric, connected graph of landmarks with all that this graph requires."""


class KNNGraph(Graph):
    """Link each landmark to its nearest landmarks.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Number of neighbors of each landmark; ``None`` takes 10, or all others if there are fewer.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        Distance that defines "nearest". The Bhattacharyya distance compares Gaussians fitted around
        the landmarks (Section 3.3 of the paper), so landmarks on opposite sides of a gap are far
        apart even if they are close in space.
    link : {"agreed", "any"}, default="agreed"
        Criterion for linking two landmarks. ``"agreed"`` links them if each is among the other's
        `n_neighbors` nearest, or if one is in the nearer half of the other's neighbors. ``"any"``
        links them if either is among the other's nearest, as in the paper.
    covariance : {"auto", "full", "diag"}, default="auto"
        Whether the Bhattacharyya distance uses full local covariances or only their diagonals.
        ``"auto"`` takes full ones up to 32 columns and diagonals above.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the weights, and of extensions by weighted sums. ``None`` gives each
        landmark its own bandwidth, proportional to the length of its edges and scaled so that the
        mean edge weight is 0.2.
    ridge : float, default=0.01
        Fraction of a landmark's mean variance that is added to its variance in every direction to
        make covariances invertible. A larger ridge reduces the influence of local geometry.
    by_mass : bool, default=False
        Whether to weight each edge by the number of points represented by the landmarks at its
        ends. Diverse landmarks are as dense at the fringe of a cloud as in its core; with masses,
        the core counts for more. `Isomap` uses only the lengths of the edges and is not affected.

    Notes
    -----
    Weights are a Gaussian function of the Euclidean length of an edge, and 1 on the diagonal, which
    is a sparse version of the landmarks' kernel matrix. If the two ends have different bandwidths,
    the larger one is used.

    With ``link="any"``, landmarks at a border are linked to distant neighbors for lack of nearer
    ones, and most of these edges are shortcuts. On a Swiss roll of 1,000 landmarks with 200
    neighbors, ``"agreed"`` removes two thirds of them. The nearer half of the neighbors ensures
    that no landmark is isolated.

    Above a few thousand landmarks, Bhattacharyya distances are evaluated only for the nearest
    candidates by Euclidean distance, at least four per neighbor.
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

    def linked(self, landmarks: Landmarks, search: NeighborSearch, roomy: int = 0) -> LandmarkGraph:
        """Build the graph like `build`, without checking parameters.

        The `search` can be shared with other graphs of the same landmarks. If the graph is
        disconnected but would be connected with `roomy` neighbors, `roomy` neighbors are used.
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

    def _edges(self, k: int, search: NeighborSearch) -> tuple[np.ndarray, np.ndarray]:
        """Return the directed edges as two index arrays."""
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


def weighted_graph(
    points: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    bandwidth: float | None,
    notes: tuple[Warning, ...] = (),
) -> LandmarkGraph:
    """Turn directed edges into the symmetric, connected, Gaussian-weighted graph."""
    k = len(points)
    left, right = np.unique(np.sort(np.stack([left, right], axis=1), axis=1), axis=0).T
    lengths = _lengths(points, left, right)
    if bandwidth is None:
        bandwidths = local_bandwidths(k, left, right, lengths)
    else:
        bandwidths = np.full(k, float(bandwidth))
    weights = np.exp((lengths / np.maximum(bandwidths[left], bandwidths[right])) ** 2 / -2)
    # To the eigenvalue solver, edges lighter than `NEGLIGIBLE` leave the graph disconnected.
    heavy = weights > NEGLIGIBLE
    alone = k - len(np.unique(np.concatenate([left[heavy], right[heavy]])))
    if bandwidth is not None and alone:
        typical = np.median(local_bandwidths(k, left, right, lengths))
        raise ParameterValueError(
            f"bandwidth={bandwidth} is too small for this graph: it leaves "
            f"{counted(alone, 'landmark')} without an edge of positive weight; choose one near "
            f"{typical:.3g} or None to give each landmark its own",
            "bandwidth",
        )
    edges = _symmetric(k, left[heavy], right[heavy], weights[heavy])
    linked = _symmetric(k, left[heavy], right[heavy], lengths[heavy])
    built = _joined(LandmarkGraph(edges, linked, _NO_BRIDGES, bandwidths, notes), points)
    return replace(built, weights=csr_array(built.weights + eye_array(k)))


def precomputed_graph(matrix: Any, points: np.ndarray) -> LandmarkGraph:
    """Use a symmetric (k, k) matrix of edge weights as the landmark graph.

    Weights are scaled to a maximum of 1, as in other graphs. Otherwise, coordinates and the
    detection of distant points would depend on the unit of the weights.
    """
    k = len(points)
    stored: Any = matrix if issparse(matrix) else np.asarray(matrix)
    if stored.dtype.kind not in "biufO":
        raise ParameterTypeError(
            f"graph is a matrix of {stored.dtype}, not of real numbers: pass weights >= 0", "graph"
        )
    weights = csr_array(stored, dtype=np.float64)
    if weights.shape != (k, k):
        raise ParameterValueError(
            f"graph has shape {weights.shape} for {k} landmarks: pass a ({k}, {k}) matrix", "graph"
        )
    if not np.isfinite(weights.data).all() or (weights.data < 0).any():
        raise ParameterValueError(
            "graph has negative, infinite or missing weights: pass weights >= 0", "graph"
        )
    weights = csr_array(weights / (weights.data.max(initial=0.0) or 1.0))
    if abs(weights - weights.T).max() > 1e-8:
        raise ParameterValueError(
            "graph is not symmetric: pass (W + W.T) / 2 or np.maximum(W, W.T)", "graph"
        )
    weights = ((weights + weights.T) / 2).tocsr()
    weights.data[weights.data <= NEGLIGIBLE] = 0
    weights.eliminate_zeros()
    left, right = weights.nonzero()
    left, right = left[left != right], right[left != right]
    if len(left) == 0:
        raise ParameterValueError(
            "graph has no edges: pass weights > 0 between neighboring landmarks", "graph"
        )
    lengths = _lengths(points, left, right)
    bandwidths = local_bandwidths(k, left, right, lengths)
    linked = csr_array((lengths, (left, right)), shape=(k, k))
    return _joined(LandmarkGraph(weights, linked, _NO_BRIDGES, bandwidths), points)


def masses_of(X: Any, landmarks: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the number (k,) of sampled points nearest to each landmark, divided by its mean."""
    most = max(min(_COUNTED * len(landmarks), _MOST_NUMBERS // X.shape[1]), 1)
    points = sample_points(X, most, np.random.default_rng(0))

    def count(part: slice) -> np.ndarray:
        some = points[part]
        some = some.toarray() if isinstance(some, csr_array) else some
        return np.bincount(nearest(landmarks, some, 1, 1)[1].ravel(), minlength=len(landmarks))

    if isinstance(points, csr_array):
        blocks = dense_blocks(points)
    else:
        # Search a few points at once, to limit memory.
        blocks = row_blocks(len(points), block_rows(8 * sum(landmarks.shape), _BYTES_AT_ONCE))
    counts = thread_map(count, blocks, n_threads)
    # A landmark counts as a point even if no sampled point is nearest to it.
    masses = np.maximum(sum(counts), 1.0)
    return np.asarray(masses / masses.mean())


def weighed_by(masses: np.ndarray, graph: LandmarkGraph) -> LandmarkGraph:
    """Weight each landmark of a graph by `masses` (k,), as if it were that many points."""
    times = diags_array(masses)
    return replace(graph, weights=csr_array(times @ graph.weights @ times))


def _joined(graph: LandmarkGraph, points: np.ndarray) -> LandmarkGraph:
    """Join the connected components of a graph by the shortest bridges, and note a warning if so.

    Bridges get the mean weight of the edges, since their Gaussian weights would underflow.
    """
    n_components, _ = connected_components(graph.weights, directed=False)
    if n_components == 1:
        return graph
    note = DisconnectedGraphWarning(
        f"the landmark graph has {n_components} connected components, which were joined by the "
        "shortest edges between them: if the data is connected, choose a larger n_neighbors, a "
        "larger radius or more landmarks"
    )
    bridges = bridge_components(graph.weights, points)
    ends = len(points), bridges[:, 0], bridges[:, 1]
    means = np.full(len(bridges), graph.weights.data.mean())
    return replace(
        graph,
        weights=csr_array(graph.weights + _symmetric(*ends, means)),
        lengths=csr_array(graph.lengths + _symmetric(*ends, _lengths(points, *ends[1:]))),
        bridges=bridges,
        notes=(*graph.notes, note),
    )


def _symmetric(k: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> csr_array:
    rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
    return csr_array((np.concatenate([values, values]), (rows, columns)), shape=(k, k))


def local_bandwidths(
    k: int, left: np.ndarray, right: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return bandwidths proportional to the median length of each landmark's edges.

    A common factor makes the mean edge weight 0.2. On a surface, a bandwidth is then about a third
    of the radius of a neighborhood, so its farthest members have a weight of about 0.01 and hardly
    matter. In high dimension, where all neighbors are about equally far, it is about half of the
    radius. With a single bandwidth, landmarks in sparse regions would have edges of negligible
    weight, and each would take up an eigenvector, as observed on the fish bowl and on LiDAR data.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS, 2004.
    """
    # Median length of the edges of each landmark (the lower median).
    ends, both = np.concatenate([left, right]), np.concatenate([lengths, lengths])
    degrees = np.bincount(ends, minlength=k)
    middle = np.cumsum(degrees) - degrees + np.maximum(degrees - 1, 0) // 2
    medians = both[np.lexsort((both, ends))][np.minimum(middle, len(both) - 1)]
    # A landmark without edges will get bridges, so any positive bandwidth will do.
    reach = np.where(degrees > 0, medians, lengths.max())
    relative = lengths / np.maximum(reach[left], reach[right])
    return reach * max(common_factor(relative, _MEAN_WEIGHT), _LEAST_BANDWIDTH)


def common_factor(relative: np.ndarray, mean_weight: float) -> float:
    """Return the bandwidth for which edges of these relative lengths have the mean weight."""
    from scipy.optimize import brentq

    squares = relative**2

    def excess(log_bandwidth: float) -> float:
        # Edges so long that the quotient overflows have weight 0.
        with np.errstate(over="ignore"):
            weights = np.exp(squares / (-2.0 * np.exp(log_bandwidth) ** 2))
        return float(weights.mean()) - mean_weight

    low, high = -8.0, 8.0
    if excess(low) >= 0:
        return float(np.exp(low))
    if excess(high) <= 0:
        return float(np.exp(high))
    return float(np.exp(brentq(excess, low, high, xtol=1e-9)))


def _lengths(points: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    lengths = np.empty(len(left))
    for part in row_blocks(len(left), block_rows(8 * points.shape[1])):
        difference = points[left[part]].astype(np.float64) - points[right[part]]
        lengths[part] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return lengths
