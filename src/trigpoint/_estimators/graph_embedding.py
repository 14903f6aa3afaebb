"""Estimators that embed a neighborhood graph of the landmarks, and the choice of that graph.

Neither the best number of neighbors nor whether a surface can be unrolled follows from the
dimension and the number of points. With ``graph="auto"``, several graphs are therefore fitted, and
the one whose embedding preserves the most neighbors in a sample is used. Rules choose the first
candidate, which is also the graph that is used without model selection.

Visualization and feature extraction have different needs. For a few coordinates, a sparse graph
follows the shape of the data. Many coordinates should replace the columns of the data, so a wide
kernel links all pairs of landmarks, and every landmark supports every point.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_choice, check_count
from trigpoint._common.errors import ParameterError, ParameterTypeError, ParameterValueError
from trigpoint._common.records import Extension, Fit, LandmarkGraph, Landmarks
from trigpoint._embedding import Embedding
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._geometry import NeighborSearch, local_covariances, local_dimension
from trigpoint._graphs import NAMED_GRAPHS, CompleteGraph, KNNGraph
from trigpoint._graphs.graph import Graph, masses_of, precomputed_graph
from trigpoint._model import Model
from trigpoint._neighbors.index import TREE_MAX_DIMENSION, neighbor_index
from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points, dense_blocks
from trigpoint._numerics.blocks import Run
from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._pool import Pool
from trigpoint._spaces import Space

logger = logging.getLogger(__name__)

# Embeddings with at most this many coordinates are treated as visualizations.
MOST_VISUAL = 5
# Redundant eigenvectors are skipped for up to this many coordinates.
SHOWN = 3

# Number of neighbors in a sparse graph if there are enough coordinates for the local dimension.
ROOMY_NEIGHBORS = 10

# Minimum number of points per landmark for a smooth extension.
_POINTS_PER_LANDMARK = 2

# Candidate graphs for visualizations.
_TRIED = (("bhattacharyya", 3), ("bhattacharyya", 5), ("bhattacharyya", 20), ("euclidean", 20))
MOST_NEIGHBORS = max(count for _, count in _TRIED)
# Maximum numbers of landmarks and coordinates for model selection. With more, the eigenvectors of
# all candidates would take longer than the rest of the fit.
_MOST_LANDMARKS, _MOST_COORDINATES = 1000, 64

# Maximum and minimum number of points to compare candidates on, and maximum number of values.
_COMPARED, _FEWEST = 2000, 200
_MOST_NUMBERS = 2**23
# Number of neighbors per point that an embedding should preserve.
_NEIGHBORS = 10

# Additional share of neighbors that another graph must preserve to replace the first candidate:
# twice the variation between samples. Smooth extensions get a bonus, because others may preserve
# slightly more neighbors of a surface and yet be uneven, with holes.
_CLEARLY = 0.02
_SMOOTHER = 0.01

# If the first candidate preserves at least this share of neighbors, no other is tried.
_GOOD_VISUAL, _GOOD_FEATURES = 0.65, 0.85

Fitted = tuple[Fit, Extension]
Attempt = Callable[[], Iterator[Fitted]]


class Candidate(NamedTuple):
    """A candidate graph, and the extensions to try with it."""

    graph: Any  # Graph object or matrix of weights.
    extensions: list[Any]
    # Number of neighbors that a disconnected graph may be extended to; 0 leaves it unchanged.
    roomy: int = 0


class Rules(NamedTuple):
    """Values that ``"auto"`` resolves to."""

    graph: str  # A key of `NAMED_GRAPHS`.
    # For nearest-neighbor graphs, including one that the user named by its metric.
    n_neighbors: int
    extension: str


class GraphEmbedding(Embedding):
    """Base class of estimators that embed a neighborhood graph of the landmarks."""

    graph: Any

    # Whether model selection may choose graph and extension.
    _selects = False
    # A parameter of estimators whose coordinates are eigenvectors of a random walk.
    eigenvectors = "auto"

    def _check_parameters(self) -> Space:
        space = super()._check_parameters()
        check_choice("eigenvectors", self.eigenvectors, ("auto", "leading", "independent"))
        if isinstance(self.graph, str):
            check_choice("graph", self.graph, ("auto", *NAMED_GRAPHS))
            return space
        is_builder = hasattr(self.graph, "build") and not isinstance(self.graph, type)
        if not is_builder and (isinstance(self.graph, type) or np.ndim(self.graph) != 2):
            names = ", ".join(map(repr, ("auto", *NAMED_GRAPHS)))
            raise ParameterTypeError(
                f"graph={self.graph!r} is not understood: pass one of {names}, a graph such as "
                "KNNGraph(20), or a matrix of weights",
                "graph",
            )
        if isinstance(self.graph, Graph):
            self.graph.check_parameters()
        drawn = isinstance(self.landmarks, Integral) or hasattr(self.landmarks, "fit")
        if not is_builder and drawn:
            raise ParameterValueError(
                "graph is a matrix, which belongs to specific landmarks, but the landmarks would "
                f"be drawn (landmarks={self.landmarks!r}): pass the row numbers or the points of "
                "its landmarks",
                "graph",
            )
        return space

    @abstractmethod
    def _rules(self, dimension: float, d: int, k: int, by_dimension: str) -> Rules:
        """Resolve ``"auto"``, given the local dimension and the number of columns.

        `by_dimension` is the extension that suits a few coordinates.
        """

    @abstractmethod
    def _coordinates(self, landmarks: Landmarks, graph: LandmarkGraph, n_components: int) -> Fit:
        """Embed the landmarks from their graph; `dimension` and other fields are set later."""

    @abstractmethod
    def _weighted(self, fit: Fit) -> Extension:
        """Prepare an extension by weighted sums over landmarks."""

    def _embed(self, pool: Pool, landmarks: Landmarks, run: Run) -> tuple[Fit, Extension]:
        k, d = landmarks.points.shape
        why = f"there are {k:,} landmarks"
        check_count("n_components", self.n_components, high=k - 1, why=why)
        dimension = local_dimension(pool.distinct, k)
        # Fit planes unless the local dimension exceeds the number of coordinates: a plane would
        # average over the remaining directions, and mix classes that the nearest landmarks
        # separate. With hardly more points than landmarks, there is little to smooth.
        has_planes = d <= TREE_MAX_DIMENSION and dimension < self.n_components + 0.5
        is_smooth = has_planes and pool.counted >= _POINTS_PER_LANDMARK * k
        rules = self._rules(dimension, d, k, "smooth" if is_smooth else "graph")
        first = self.graph
        if isinstance(first, str):
            first = rules.graph if first == "auto" else first
            count = min(rules.n_neighbors, k - 1)
            first = CompleteGraph() if first == "complete" else NAMED_GRAPHS[first](count)
        extension = rules.extension if self.extension == "auto" else self.extension
        candidates = self._candidates(pool.distinct, k, dimension, first, extension)
        modes = [
            mode
            for candidate in candidates
            if (mode := getattr(candidate.graph, "needs_covariances", None))
        ]
        if modes and landmarks.covariances is None:
            radii, covariances = local_covariances(pool, landmarks, modes[0], run.n_threads)
            landmarks = replace(landmarks, radii=radii, covariances=covariances)
        at_least = MOST_NEIGHBORS if len(candidates) > 1 else 0
        search = NeighborSearch(landmarks, run.n_threads, at_least)
        attempt = partial(self._attempt, pool, landmarks, search, dimension, run)
        self.tried_: dict[str, float] = {}
        if len(candidates) == 1:
            return next(attempt(candidates[0]))
        attempts = [partial(attempt, candidate) for candidate in candidates]
        many = self.n_components > MOST_VISUAL
        most = min(_COMPARED, _MOST_NUMBERS // d)
        sample = pool.distinct_sample(most, np.random.default_rng(0))
        fit, prepared, self.tried_ = choose_fit(attempts, sample, many, run.n_threads)
        return fit, prepared

    def _candidates(
        self, points: Points, k: int, dimension: float, first: Any, extension: Any
    ) -> list[Candidate]:
        """Return the first candidate, followed by others if all parameters are ``"auto"``.

        With many landmarks or few points, the first candidate is the only one.
        """
        # A named or automatic graph may get a few more neighbors if it is disconnected.
        roomy = ROOMY_NEIGHBORS if isinstance(self.graph, str) else 0
        parameters = self.graph, self.extension, self.eigenvectors
        is_open = self._selects and all(isinstance(v, str) and v == "auto" for v in parameters)
        has_enough = min(points.shape[0], _MOST_NUMBERS // points.shape[1]) >= _FEWEST
        count, others = self.n_components, []
        if not (is_open and has_enough) or k > _MOST_LANDMARKS:
            return [Candidate(first, [extension], roomy)]
        if count <= SHOWN:
            for metric, n_neighbors in _TRIED:
                # Planes fitted to few neighbors are uneven, although they may preserve more
                # neighbors.
                tried = ["graph"] if n_neighbors < ROOMY_NEIGHBORS else [extension, "graph"]
                others.append(Candidate(KNNGraph(n_neighbors, metric=metric), tried))
            if extension == "graph":
                # Skip these graphs on surfaces, where they are also uneven and masses are noise. In
                # a cloud, diverse landmarks are as dense at the fringe as in the core.
                others.append(Candidate(KNNGraph(5, metric="euclidean"), ["graph"]))
                others.append(Candidate(KNNGraph(5, by_mass=True), ["graph"]))
            others.append(Candidate(CompleteGraph(), ["all"]))
        # If the local dimension exceeds the number of features, a complete graph preserves the
        # most.
        elif MOST_VISUAL < count <= _MOST_COORDINATES and dimension < count + 0.5:
            others.append(Candidate(KNNGraph(200, metric="euclidean"), ["all"]))
            others.append(Candidate(KNNGraph(20, metric="euclidean"), ["graph"]))
            others.append(Candidate(CompleteGraph(), ["all"]))
        others = [
            other
            for other in others
            if isinstance(other.graph, CompleteGraph) or 2 * other.graph.n_neighbors < k
            if described(other.graph) != described(first)
        ]
        is_visual = bool(others) and count <= MOST_VISUAL
        return [
            Candidate(first, [extension, "graph"] if is_visual else [extension], roomy),
            *others,
        ]

    def _attempt(
        self,
        pool: Pool,
        landmarks: Landmarks,
        search: NeighborSearch,
        dimension: float,
        run: Run,
        candidate: Candidate,
    ) -> Iterator[Fitted]:
        """Build a graph, embed it, and yield the fit with each of its extensions."""
        graph = candidate.graph
        if getattr(graph, "by_mass", False):
            masses = masses_of(pool.points, landmarks.points, run.n_threads)
            landmarks = replace(landmarks, masses=masses)
        if not hasattr(graph, "build"):
            built = precomputed_graph(graph, landmarks.points)
        elif isinstance(graph, KNNGraph):
            # Candidates share the neighbor search among landmarks.
            built = graph.linked(landmarks, search, candidate.roomy)
        elif isinstance(graph, CompleteGraph):
            built = graph.linked(landmarks)
        else:
            built = graph.build(landmarks, run.n_threads)
        fit = self._coordinates(landmarks, built, self.n_components)
        decided = {}
        if graph is not self.graph:
            if isinstance(graph, CompleteGraph) and self.n_components > MOST_VISUAL:
                fit = self._narrowed(fit)
            decided = described(graph)
        fit = replace(fit, dimension=dimension, decided=decided | fit.decided)
        for extended_by in dict.fromkeys(candidate.extensions):
            extended = replace(fit, extended_by=extended_by)
            yield extended, self._extension(extended)

    def _narrowed(self, fit: Fit) -> Fit:
        """Narrow the kernel of a complete graph if it is too wide for this many coordinates."""
        return fit

    def _set_fitted(self, fit: Fit, model: Model) -> None:
        super()._set_fitted(fit, model)
        assert fit.graph is not None
        self.extension_ = fit.extended_by
        self.eigenvalues_ = fit.spectrum.eigenvalues
        self.covariances_ = fit.landmarks.covariances
        self.graph_ = fit.graph.weights
        self.bridges_ = fit.graph.bridges

    def _extension(self, fit: Fit) -> Extension:
        if fit.extended_by != "smooth":
            return self._weighted(fit)
        assert fit.graph is not None
        return SmoothExtension.prepare(fit.landmarks.points, fit.graph, fit.spectrum.coordinates)


def described(graph: Any) -> dict[str, str]:
    """Return the name and the number of neighbors of a graph that was chosen automatically."""
    if isinstance(graph, CompleteGraph):
        return {"graph": "complete"}
    if not isinstance(graph, KNNGraph):
        return {"graph": type(graph).__name__}
    by_mass = " by mass" if graph.by_mass else ""
    return {"graph": graph.metric + by_mass, "n_neighbors": str(graph.n_neighbors)}


def choose_fit(
    attempts: Sequence[Attempt], sample: Points, many: bool, n_threads: int
) -> tuple[Fit, Extension, dict[str, float]]:
    """Return the best of several fits with its extension, and the share that each preserves.

    Shares are those of the neighbors in a sample of the points. The first fit is used if it is
    good, or if no other is clearly better. Other fits may fail. If the first graph is connected,
    the data counts as connected, and bridges of sparser graphs are treated as ordinary edges.
    Otherwise, only graphs without bridges are considered.
    """
    neighbors = _neighbors(sample, n_threads)
    good = _GOOD_FEATURES if many else _GOOD_VISUAL
    made: dict[str, Fitted] = {}
    preserved: dict[str, float] = {}
    first = ""
    for attempt in attempts:
        try:
            for fit, extension in attempt():
                graph = f"{fit.decided['graph']} {fit.decided.get('n_neighbors', '')}".strip()
                name = f"{graph}, {fit.extended_by}"
                if name in made:
                    continue
                assert fit.graph is not None
                if first and len(fit.graph.bridges):
                    before = made[first][0]
                    assert before.graph is not None
                    if len(before.graph.bridges) or before.decided["graph"] == "complete":
                        continue
                    fit = _connected(fit)
                first = first or name
                made[name] = fit, extension
                preserved[name] = _preserved(extension, sample, neighbors, n_threads)
                logger.info("%s preserves %.3f of the neighbors", name, preserved[name])
                if name == first and preserved[name] >= good:
                    return fit, extension, preserved
        except ParameterError as error:
            if not made:
                raise
            logger.info("a candidate cannot be fitted: %s", error)
    rated = {
        name: share + _SMOOTHER * (made[name][0].extended_by == "smooth")
        for name, share in preserved.items()
    }
    best = max(rated, key=lambda name: rated[name])
    if rated[best] < rated[first] + _CLEARLY:
        best = first
    return *made[best], preserved


def _preserved(
    extension: Extension, sample: Points, neighbors: np.ndarray, n_threads: int
) -> float:
    """Return the share of the `neighbors` of a sample that are neighbors in the embedding."""
    found = _neighbors(extension(sample)[0], n_threads)
    return float((found[:, :, None] == neighbors[:, None]).any(axis=2).mean())


def _neighbors(points: Points, n_threads: int) -> np.ndarray:
    """Return the rows (n, 10) of the other points that are nearest to each point."""
    m = _NEIGHBORS + 1
    if isinstance(points, csr_array):
        index = neighbor_index(points, m, points.shape[0], n_threads)
        parts = [index.query(points[part].toarray(), m)[1] for part in dense_blocks(points)]
        rows = np.concatenate(parts)
    else:
        rows = nearest(points, points, m, n_threads)[1]
    itself = rows == np.arange(len(rows))[:, None]
    # A point with many duplicates may not be among its own neighbors.
    itself[~itself.any(axis=1), -1] = True
    return rows[~itself].reshape(len(rows), _NEIGHBORS)


def _connected(fit: Fit) -> Fit:
    """Return a fit whose bridges count as ordinary edges."""
    assert fit.graph is not None
    notes = tuple(n for n in fit.graph.notes if not isinstance(n, DisconnectedGraphWarning))
    return replace(fit, graph=replace(fit.graph, bridges=fit.graph.bridges[:0], notes=notes))
