"""What the estimators that embed a neighborhood graph of the landmarks share."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from trigpoint._common.checks import check_choice, check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.records import Extension, Fit, LandmarkGraph, Landmarks
from trigpoint._embedding import Embedding
from trigpoint._estimators.selection import (
    MOST_NEIGHBORS,
    MOST_VISUAL,
    ROOMY_NEIGHBORS,
    Fitted,
    Rules,
    other_candidates,
    select,
    worth_trying,
)
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._geometry import local_covariances, local_dimension
from trigpoint._graphs import NAMED_GRAPHS, CompleteGraph, KNNGraph
from trigpoint._graphs.graph import Graph, precomputed_graph
from trigpoint._graphs.knn import NeighborSearch
from trigpoint._graphs.masses import masses_of
from trigpoint._model import Model
from trigpoint._pool import Pool
from trigpoint._run import Run
from trigpoint._spaces import Space


class GraphEmbedding(Embedding):
    """The estimators that embed a neighborhood graph of the landmarks."""

    graph: Any

    # Whether graph and extension may be left to model selection.
    _selects = False

    def _check_parameters(self) -> Space:
        space = super()._check_parameters()
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
    def _rules(self, dimension: float, d: int, k: int, points_per_landmark: float) -> Rules:
        """Return what ``"auto"`` stands for, given the local dimension and number of columns."""

    @abstractmethod
    def _coordinates(self, landmarks: Landmarks, graph: LandmarkGraph, n_components: int) -> Fit:
        """Embed the landmarks from their graph; `dimension` and others are filled in later."""

    @abstractmethod
    def _weighted(self, fit: Fit) -> Extension:
        """Prepare an extension by weights of landmarks."""

    def _embed(self, pool: Pool, landmarks: Landmarks, run: Run) -> tuple[Fit, Extension]:
        k, d = landmarks.points.shape
        why = f"there are {k:,} landmarks"
        check_count("n_components", self.n_components, high=k - 1, why=why)
        dimension = local_dimension(pool.points, k)
        rules = self._rules(dimension, d, k, pool.n / k)
        first = self.graph
        if isinstance(first, str):
            first = rules.graph if first == "auto" else first
            count = min(rules.n_neighbors, k - 1)
            first = CompleteGraph() if first == "complete" else NAMED_GRAPHS[first](count)
        extension = rules.extension if self.extension == "auto" else self.extension
        # A graph by rule that is disconnected may take a few more neighbors.
        roomy = ROOMY_NEIGHBORS if isinstance(self.graph, str) else 0
        candidates: list[tuple[Any, list[Any], int]] = [(first, [extension], roomy)]
        many = self.n_components > MOST_VISUAL
        parameters = self.graph, self.extension, getattr(self, "eigenvectors", "auto")
        is_open = self._selects and all(isinstance(v, str) and v == "auto" for v in parameters)
        if is_open and worth_trying(pool.points, k, self.n_components, dimension):
            candidates = [(first, [extension] if many else [extension, "graph"], roomy)]
            for graph, extensions in other_candidates(many, extension):
                fits = isinstance(graph, CompleteGraph) or 2 * graph.n_neighbors < k
                if fits and described(graph) != described(first):
                    candidates.append((graph, extensions, 0))
        modes = [
            mode for graph, *_ in candidates if (mode := getattr(graph, "needs_covariances", None))
        ]
        if modes and landmarks.covariances is None:
            radii, covariances = local_covariances(pool, landmarks, modes[0], run.n_threads)
            landmarks = replace(landmarks, radii=radii, covariances=covariances)
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
        if getattr(graph, "by_mass", False):
            masses = masses_of(pool.points, landmarks.points, run.n_threads)
            landmarks = replace(landmarks, masses=masses)
        if not hasattr(graph, "build"):
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
