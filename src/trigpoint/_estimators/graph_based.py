"""What the estimators that embed a graph of the landmarks share."""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from trigpoint._common.checks import check_choice, check_count, check_positive
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.records import EmbeddedLandmarks, Extension, LandmarkGraph, Landmarks
from trigpoint._estimators.base import LandmarkEmbedding, plain_support
from trigpoint._estimators.defaults import (
    ROOMY_NEIGHBORS,
    default_extension,
    default_neighbors,
    links_all_pairs,
    many_coordinates,
)
from trigpoint._estimators.run import Run
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._extension.support import (
    AllLandmarks,
    GraphNeighbors,
    NearestLandmarks,
)
from trigpoint._geometry import COVARIANCES
from trigpoint._graph import METRICS as GRAPH_METRICS
from trigpoint._graph import (
    AnchorGraph,
    CompleteGraph,
    KNNGraph,
    NeighborSearch,
    graph_in_one_piece,
    masses_of,
    precomputed_graph,
)
from trigpoint._numerics.sparse import Points
from trigpoint._points.dask.recognition import is_dask
from trigpoint._points.inputs import device_for
from trigpoint._points.store import Store

if TYPE_CHECKING:
    from trigpoint._report import Subject

# Named graphs that do not link nearest neighbors.
_OTHER_GRAPHS = ("complete", "anchors")

# The extension of points that are placed by their shares in the landmarks.
ANCHORS = "anchors"


class GraphEmbedding(LandmarkEmbedding):
    """The estimators that embed a neighborhood graph of the landmarks."""

    graph: Any
    n_neighbors: int | None
    covariance: str
    bandwidth: float | None

    # Whether every landmark may be linked to every other.
    _may_be_complete = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("covariance", self.covariance, ("auto", *COVARIANCES))
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors)
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        self._check_graph()
        # A kind of covariance also decides which graph "auto" is, for any number of columns.
        if self.covariance != "auto" and self._covariance() is None:
            raise ParameterValueError(
                "covariance",
                self.covariance,
                "{parameter=} has no effect: this graph compares no covariances",
                ("leave {parameter} 'auto'", "choose {graph=}"),
                graph="bhattacharyya",
            )
        drawn = self.landmarks is not None and (
            isinstance(self.landmarks, Integral) or hasattr(self.landmarks, "fit")
        )
        if self._graph_is_matrix() and drawn:
            raise ParameterValueError(
                "graph",
                self.graph,
                "{parameter} is a matrix, which belongs to specific landmarks, but the landmarks "
                "would be drawn ({landmarks=})",
                "pass their rows or points as landmarks",
                landmarks=self.landmarks,
            )

    def _check_graph(self) -> None:
        if isinstance(self.graph, str):
            check_choice("graph", self.graph, ("auto", *GRAPH_METRICS, *_OTHER_GRAPHS))
            if self.graph in _OTHER_GRAPHS and self.n_neighbors is not None:
                raise _without_effect("n_neighbors", self.n_neighbors, self.graph)
            return
        is_class = isinstance(self.graph, type)
        is_builder = hasattr(self.graph, "build") and not is_class
        if not is_builder and (is_class or np.ndim(self.graph) != 2):
            is_count = isinstance(self.graph, Integral) and not isinstance(self.graph, bool)
            also = "; a number of neighbors goes to {n_neighbors}" if is_count else ""
            raise ParameterTypeError(
                "graph",
                self.graph,
                "{parameter=} is not understood",
                "pass {names}, a graph such as KNNGraph(), or a matrix of weights" + also,
                names=", ".join(map(repr, ("auto", *GRAPH_METRICS, *_OTHER_GRAPHS))),
            )
        if self.n_neighbors is not None:
            raise _without_effect("n_neighbors", self.n_neighbors)
        if is_builder and self.bandwidth is not None:
            raise _without_effect("bandwidth", self.bandwidth)

    def _graph_is_matrix(self) -> bool:
        return not isinstance(self.graph, str) and not hasattr(self.graph, "build")

    def _many_coordinates(self) -> bool:
        return self._may_be_complete and many_coordinates(self.n_components)

    def _builder(self, landmarks: np.ndarray, dimension: float) -> Any:
        """Return the graph object that the parameters describe."""
        k, d = landmarks.shape
        if not isinstance(self.graph, str):
            return self.graph
        if self.graph == "anchors":
            return AnchorGraph()
        metric, n_neighbors = self.graph, self.n_neighbors
        if metric == "auto":
            metric = self._metric()
        asked_for = self.graph == "complete"
        if asked_for or (metric == "complete" and links_all_pairs(self.n_components, d, k)):
            return CompleteGraph(bandwidth=self.bandwidth)
        if n_neighbors is None:
            n_neighbors = min(self._default_neighbors(dimension, k), k - 1)
        metric = "euclidean" if metric == "complete" else metric
        return KNNGraph(n_neighbors, metric=metric, bandwidth=self.bandwidth)

    def _default_neighbors(self, dimension: float, k: int) -> int:
        return default_neighbors(self._many_coordinates(), self.n_components, dimension)

    def _metric(self) -> str:
        """What ``graph="auto"`` stands for."""
        open_to_all = self.n_neighbors is None and self.covariance == "auto"
        if open_to_all and self._many_coordinates():
            return "complete"
        return "bhattacharyya"

    def _covariance(self) -> str | None:
        if isinstance(self.graph, str):
            metric = self._metric() if self.graph == "auto" else self.graph
            compared = metric == "bhattacharyya"
        else:
            compared = bool(getattr(self.graph, "needs_covariances", False))
        return self.covariance if compared else None

    @abstractmethod
    def _embed_graph(
        self, chosen: Landmarks, graph: LandmarkGraph, n_components: int, device: Any = None
    ) -> EmbeddedLandmarks:
        """Embed the landmarks from their graph."""

    def _embed(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        run.begin("graph")
        if self._graph_is_matrix():
            graph = precomputed_graph(self.graph, chosen.points, self.bandwidth)
        else:
            builder = self._builder(chosen.points, run.dimension)
            if getattr(builder, "needs_masses", False):
                chosen = replace(chosen, masses=masses_of(X, chosen.points, run.n_threads))
            graph = self._built(builder, X, chosen, run)
        run.done("graph")
        run.begin("spectrum")
        return self._embed_graph(chosen, graph, n_components, run.device)

    def _check_storage(self, X: Any) -> None:
        super()._check_storage(X)
        anchored = isinstance(self.graph, AnchorGraph) or (
            isinstance(self.graph, str) and self.graph == "anchors"
        )
        if anchored and device_for(self, X) is not None:
            raise ParameterValueError(
                "graph",
                self.graph,
                "{parameter=} adds up shares of all points, which is done on the host alone",
                ("choose graph='bhattacharyya'", "choose {device=}"),
                device="cpu",
            )
        if anchored and is_dask(X):
            raise ParameterValueError(
                "graph",
                self.graph,
                "{parameter=} adds up shares of all points, in an order that depends on how Dask "
                "has divided them",
                ("choose graph='bhattacharyya'", "load the points into memory"),
            )

    def _built(self, builder: Any, X: Points | Store, chosen: Landmarks, run: Run) -> LandmarkGraph:
        built: LandmarkGraph
        if isinstance(builder, AnchorGraph):
            assert isinstance(X, Points), "others are refused"
            support = AnchorShares.prepare(chosen.points, builder.n_anchors)
            built = builder.build(chosen, partial(support.over, X, run.n_threads), run.kept)
        elif isinstance(builder, KNNGraph) and (builder is not self.graph or run.search):
            is_open = builder is not self.graph and self.n_neighbors is None
            search = run.search or NeighborSearch(chosen, run.n_threads, run.device)
            built = graph_in_one_piece(builder, chosen, search, ROOMY_NEIGHBORS if is_open else 0)
        elif getattr(builder, "takes_device", False):
            built = builder.build(chosen, run.n_threads, device=run.device)
        else:
            built = builder.build(chosen, run.n_threads)
        return built

    def _subject(self) -> "Subject":
        # With the parameters of the fit: they may have been changed since.
        fitted = clone(self).set_params(**self.fitted_.parameters)
        subject = replace(super()._subject(), embed_graph=fitted._embed_graph)
        return replace(subject, decided=fitted._decided(self.fitted_))

    def _decided(self, fitted: EmbeddedLandmarks) -> dict[str, str]:
        """What automatic parameters were resolved to, where the fitted result does not show it."""
        if fitted.decided or fitted.dimension is None:
            return fitted.decided
        builder = self._builder(fitted.landmarks.points, fitted.dimension)
        return {} if builder is self.graph else described(builder)

    def _set_fitted(self, embedded: EmbeddedLandmarks, dtype: np.dtype) -> None:
        super()._set_fitted(embedded, dtype)
        assert embedded.graph is not None
        self.extension_ = embedded.extended_by
        self.graph_ = embedded.graph.weights
        self.bridges_ = embedded.graph.bridges
        self.bandwidths_ = embedded.graph.bandwidths

    def _extended_by(self, embedded: EmbeddedLandmarks, n_points: int | None) -> str | int:
        if not isinstance(self.extension, str) or self.extension != "auto":
            return super()._extended_by(embedded, n_points)
        if embedded.extended_by != "auto":
            return embedded.extended_by
        if embedded.anchor_values is not None:
            return ANCHORS
        if self._many_coordinates():
            return "all"
        k, d = embedded.landmarks.points.shape
        if n_points is None or embedded.dimension is None:
            return "graph"
        return default_extension(self.n_components, embedded.dimension, d, n_points / k)

    def _prepare(self, embedded: EmbeddedLandmarks) -> Extension:
        assert embedded.graph is not None
        if embedded.extended_by == "smooth":
            return SmoothExtension.prepare(
                embedded.landmarks.points, embedded.graph, embedded.spectrum.coordinates
            )
        return self._weighted(embedded)

    @abstractmethod
    def _weighted(self, embedded: EmbeddedLandmarks) -> Extension:
        """Prepare an extension by weights of landmarks."""

    def _support(
        self, embedded: EmbeddedLandmarks, graph: LandmarkGraph
    ) -> AllLandmarks | NearestLandmarks | GraphNeighbors:
        points, extension = embedded.landmarks.points, embedded.extended_by
        if extension == "graph":
            return GraphNeighbors.prepare(points, graph)
        return plain_support(extension, points, graph.bandwidths)


def described(builder: Any) -> dict[str, str]:
    """Parameters of an estimator that would build such a graph."""
    if isinstance(builder, CompleteGraph):
        return {"graph": "complete"}
    if not isinstance(builder, KNNGraph):
        return {}
    by_mass = " by mass" if builder.by_mass else ""
    return {"graph": builder.metric + by_mass, "n_neighbors": str(builder.n_neighbors)}


def _without_effect(name: str, value: Any, graph: str | None = None) -> ParameterValueError:
    if graph is not None:
        return ParameterValueError(
            name,
            value,
            "{parameter=} has no effect with {graph=}",
            ("leave it None", "choose graph='bhattacharyya'"),
            graph=graph,
        )
    return ParameterValueError(
        name,
        value,
        "{parameter=} has no effect when a graph is passed",
        ("set it on the graph object", "leave it None"),
    )
