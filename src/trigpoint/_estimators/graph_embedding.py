"""What the estimators that embed a neighborhood graph of the landmarks share."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from trigpoint._common.checks import check_choice
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.records import Extension, Fit, LandmarkGraph, Landmarks
from trigpoint._embedding import Embedding
from trigpoint._estimators.selection import (
    MOST_NEIGHBORS,
    ROOMY_NEIGHBORS,
    Candidate,
    Fitted,
    default_extension,
    many_coordinates,
    other_candidates,
    select,
    worth_trying,
)
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._extension.support import AllLandmarks, GraphNeighbors, NearestLandmarks
from trigpoint._geometry import local_covariances
from trigpoint._graphs import NAMED_GRAPHS, CompleteGraph, KNNGraph
from trigpoint._graphs.graph import Graph
from trigpoint._graphs.knn import NeighborSearch
from trigpoint._graphs.masses import masses_of
from trigpoint._graphs.weights import precomputed_graph
from trigpoint._model import Model
from trigpoint._numerics.dimension import local_dimension
from trigpoint._pool import Pool
from trigpoint._run import Run

if TYPE_CHECKING:
    from trigpoint._report import Subject


class GraphEmbedding(Embedding):
    """The estimators that embed a neighborhood graph of the landmarks."""

    graph: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.graph, str):
            check_choice("graph", self.graph, ("auto", *NAMED_GRAPHS))
            return
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
        if self._graph_is_matrix() and drawn:
            raise ParameterValueError(
                "graph is a matrix, which belongs to specific landmarks, but the landmarks would "
                f"be drawn (landmarks={self.landmarks!r}): pass the row numbers or the points of "
                "its landmarks",
                "graph",
            )

    def _graph_is_matrix(self) -> bool:
        return not isinstance(self.graph, str) and not hasattr(self.graph, "build")

    @abstractmethod
    def _proposed_graph(self, dimension: float, n_columns: int, k: int) -> tuple[str, int]:
        """Return the name of the graph that ``"auto"`` stands for, and its number of neighbors."""

    @abstractmethod
    def _neighbors_by_rule(self, dimension: float, k: int) -> int:
        """Return the number of neighbors for a graph given by the name of its metric."""

    @abstractmethod
    def _coordinates(self, landmarks: Landmarks, graph: LandmarkGraph, n_components: int) -> Fit:
        """Embed the landmarks from their graph; `dimension` and others are filled in later."""

    @abstractmethod
    def _weighted(self, fit: Fit) -> Extension:
        """Prepare an extension by weights of landmarks."""

    def _default_extension(self, dimension: float, d: int, points_per_landmark: float) -> str:
        """Return the extension that ``"auto"`` stands for."""
        return default_extension(self.n_components, dimension, d, points_per_landmark)

    def _is_open(self) -> bool:
        """Return whether graph and extension are left to model selection."""
        return False

    def _embed(self, pool: Pool, landmarks: Landmarks, run: Run) -> tuple[Fit, Extension]:
        k, d = landmarks.points.shape
        self._check_components(k)
        dimension = local_dimension(pool.points, k)
        by_rule = self._default_extension(dimension, d, pool.n / k)
        first = self._graph_object(dimension, d, k)
        extension = by_rule if self.extension == "auto" else self.extension
        # A graph by rule that is disconnected may take a few more neighbors.
        roomy = ROOMY_NEIGHBORS if isinstance(self.graph, str) else 0
        candidates: list[tuple[Any, list[Any], int]] = [(first, [extension], roomy)]
        many = many_coordinates(self.n_components)
        if self._is_open() and worth_trying(pool.points, k, self.n_components, dimension):
            candidates = [(first, [by_rule] if many else [by_rule, "graph"], roomy)]
            for candidate in other_candidates(many, by_rule):
                graph = _graph_of(candidate)
                fits = candidate.n_neighbors is None or 2 * candidate.n_neighbors < k
                if fits and described(graph) != described(first):
                    candidates.append((graph, candidate.extensions, 0))
        landmarks = _with_covariances(pool, landmarks, [graph for graph, *_ in candidates], run)
        at_least = MOST_NEIGHBORS if len(candidates) > 1 else 0
        search = NeighborSearch(landmarks, run.n_threads, at_least)
        attempt = partial(self._attempt, pool, landmarks, search, dimension, run)
        self.tried_: dict[str, float] = {}
        if len(candidates) == 1:
            return next(attempt(*candidates[0]))
        attempts = [partial(attempt, *candidate) for candidate in candidates]
        fit, prepared, self.tried_ = select(attempts, pool.points, many, run.n_threads)
        return fit, prepared

    def _attempt(
        self,
        pool: Pool,
        landmarks: Landmarks,
        search: NeighborSearch,
        dimension: float,
        run: Run,
        graph: Any,
        extensions: list[Any],
        roomy: int,
    ) -> Iterator[Fitted]:
        """Build a graph, embed it, and yield the fit with each of some extensions."""
        if getattr(graph, "needs_masses", False):
            masses = masses_of(pool.points, landmarks.points, run.n_threads)
            landmarks = replace(landmarks, masses=masses)
        if self._graph_is_matrix():
            built = precomputed_graph(graph, landmarks.points)
        elif isinstance(graph, KNNGraph):
            built = graph.build(landmarks, run.n_threads, search=search, roomy=roomy)
        else:
            built = graph.build(landmarks, run.n_threads)
        fit = self._coordinates(landmarks, built, self.n_components)
        if isinstance(graph, CompleteGraph) and graph is not self.graph:
            fit = self._narrowed(fit)
        decided = {} if graph is self.graph else described(graph)
        fit = replace(fit, dimension=dimension, decided=decided | fit.decided)
        for extended_by in dict.fromkeys(extensions):
            extended = replace(fit, extended_by=extended_by)
            yield extended, self._extension(extended)

    def _narrowed(self, fit: Fit) -> Fit:
        """Replace a kernel of all pairs that is too wide for this many coordinates."""
        return fit

    def _graph_object(self, dimension: float, d: int, k: int) -> Any:
        """Return the graph object that the parameter describes."""
        if not isinstance(self.graph, str):
            return self.graph
        name, count = self.graph, 0
        if name == "auto":
            name, count = self._proposed_graph(dimension, d, k)
        if name == "complete":
            return CompleteGraph()
        count = min(count or self._neighbors_by_rule(dimension, k), k - 1)
        return NAMED_GRAPHS[name](count)

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

    def _support(
        self, fit: Fit, graph: LandmarkGraph
    ) -> AllLandmarks | NearestLandmarks | GraphNeighbors:
        if fit.extended_by == "graph":
            return GraphNeighbors.prepare(fit.landmarks.points, graph)
        return plain_support(fit.extended_by, fit.landmarks.points, graph.bandwidths)

    def _subject(self) -> "Subject":
        # Parameters may have been changed since the fit.
        as_fitted = clone(self).set_params(**self.fitted_.parameters)
        return replace(super()._subject(), embed_graph=as_fitted._coordinates)


def described(graph: Any) -> dict[str, str]:
    """Return the name and the number of neighbors of a graph that was chosen automatically."""
    if isinstance(graph, CompleteGraph):
        return {"graph": "complete"}
    if not isinstance(graph, KNNGraph):
        return {"graph": type(graph).__name__}
    by_mass = " by mass" if graph.by_mass else ""
    return {"graph": graph.metric + by_mass, "n_neighbors": str(graph.n_neighbors)}


def plain_support(
    extension: Any, landmarks: np.ndarray, bandwidths: np.ndarray
) -> AllLandmarks | NearestLandmarks:
    """Return a support by all landmarks, or by the given number of nearest ones."""
    if not isinstance(extension, Integral):
        return AllLandmarks.prepare(landmarks, bandwidths)
    k, extension = len(landmarks), int(extension)
    if extension > k:
        raise ParameterValueError(
            f"extension={extension} is too large: choose extension <= {k} (there are {k} "
            "landmarks)",
            "extension",
        )
    return NearestLandmarks.prepare(landmarks, bandwidths, extension)


def _graph_of(candidate: Candidate) -> Any:
    if candidate.graph == "complete":
        return CompleteGraph()
    return KNNGraph(candidate.n_neighbors, metric=candidate.graph, by_mass=candidate.by_mass)


def _with_covariances(pool: Pool, landmarks: Landmarks, graphs: list[Any], run: Run) -> Landmarks:
    """Measure local covariances if a graph compares them, unless the landmarks have them."""
    modes = [mode for graph in graphs if (mode := getattr(graph, "needs_covariances", None))]
    if not modes or landmarks.covariances is not None:
        return landmarks
    radii, covariances = local_covariances(pool, landmarks, modes[0], run.n_threads)
    return replace(landmarks, radii=radii, covariances=covariances)
