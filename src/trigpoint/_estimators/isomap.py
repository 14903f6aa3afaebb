"""Isomap: geodesics over the landmark graph."""

from dataclasses import replace
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import EmbeddedLandmarks, Extension, LandmarkGraph, Landmarks
from trigpoint._estimators.base import check_pairs
from trigpoint._estimators.graph_based import GraphEmbedding
from trigpoint._estimators.run import Run
from trigpoint._extension.extensions import GeodesicExtension
from trigpoint._extension.support import AllLandmarks
from trigpoint._graph import ordinary_edges
from trigpoint._numerics.sparse import Points
from trigpoint._points.store import Store
from trigpoint._spectrum import classical_scaling, geodesics

# Neighbors of each landmark, and how many landmarks there should be for each of them.
_FEWEST_NEIGHBORS, _MOST_NEIGHBORS = 10, 20
_LANDMARKS_PER_NEIGHBOR = 25

# A landmark this many times as far from the middle as most leaves no digits for the others.
_FAR = 1e5


class Isomap(GraphEmbedding):
    """Isomap of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks
        As for `LaplacianEigenmaps`.
    graph : {"auto", "bhattacharyya", "euclidean", "complete", "anchors"}, graph or matrix, \
default="auto"
        As for `LaplacianEigenmaps`; ``"auto"`` is ``"bhattacharyya"``.
    n_neighbors : int or None, default=None
        Neighbors of each landmark when `graph` is a metric; ``None`` takes 20, or one for
        every 25 landmarks if those are fewer, but at least 10.
    covariance : {"auto", "full", "diag", "low-rank"}, default="auto"
        As for `LaplacianEigenmaps`.
    extension : {"auto", "smooth", "graph"} or int, default="auto"
        ``"smooth"`` and ``"auto"`` are as for `LaplacianEigenmaps`. Otherwise a point's geodesics
        start at some landmarks: with ``"graph"``, at the graph neighbors of its three nearest
        landmarks; with a number, at this many nearest landmarks.
    metric, random_state, n_jobs, device, verbose, callback
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    fitted_, landmark_indices_, landmarks_, covariances_, extension_, landmark_embedding_
        As for `LaplacianEigenmaps`.
    graph_, bridges_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centered matrix of squared geodesics.
    geodesics_ : ndarray of shape (k, k)
        Path lengths between the landmarks.

    References
    ----------
    J. B. Tenenbaum, V. de Silva and J. C. Langford, "A global geometric framework for nonlinear
    dimensionality reduction", Science, 2000.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> tp.Isomap(n_components=2, landmarks=200, random_state=0).fit_transform(X).shape
    (3000, 2)
    """

    # Paths use lengths, not weights, so there is no bandwidth to choose.
    bandwidth = None

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        graph: Any = "auto",
        n_neighbors: int | None = None,
        covariance: str = "auto",
        extension: Any = "auto",
        metric: str = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.covariance = covariance
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.callback = callback

    # With straight lines to every landmark, there would be no geodesics.
    _extensions = ("auto", "smooth", "graph")
    _may_be_complete = False

    def _default_neighbors(self, dimension: float, k: int) -> int:
        # Over fewer, paths turn left and right, and are longer than they should be; but if there
        # are few landmarks, many neighbors reach across gaps.
        return min(_MOST_NEIGHBORS, max(_FEWEST_NEIGHBORS, k // _LANDMARKS_PER_NEIGHBOR))

    def _embed(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        check_pairs(chosen.points)
        return super()._embed(X, chosen, n_components, run)

    def _embed_graph(
        self, chosen: Landmarks, graph: LandmarkGraph, n_components: int
    ) -> EmbeddedLandmarks:
        paths = geodesics(graph.lengths)
        try:
            spectrum = classical_scaling(paths, n_components)
        except ParameterValueError:
            if (far := _far_landmark(chosen.points)) is None:
                raise
            raise far_row(far, chosen.indices) from None
        return EmbeddedLandmarks("Isomap", chosen, spectrum, graph, geodesics=paths)

    def _completed(self, embedded: EmbeddedLandmarks) -> EmbeddedLandmarks:
        if embedded.geodesics is not None:
            return embedded
        assert embedded.graph is not None
        check_pairs(embedded.landmarks.points)
        return replace(embedded, geodesics=geodesics(embedded.graph.lengths))

    def _weighted(self, embedded: EmbeddedLandmarks) -> Extension:
        assert embedded.graph is not None
        assert embedded.geodesics is not None
        support = self._support(embedded, ordinary_edges(embedded.graph))
        assert not isinstance(support, AllLandmarks), "refused with the parameters"
        bandwidths = embedded.graph.bandwidths
        return GeodesicExtension.prepare(support, embedded.geodesics, embedded.spectrum, bandwidths)

    def _set_fitted(self, embedded: EmbeddedLandmarks, dtype: np.dtype) -> None:
        super()._set_fitted(embedded, dtype)
        self.geodesics_ = self.fitted_.geodesics


class FarRowError(ParameterValueError):
    """A single point is too far from all others; its row is the value."""


def far_row(landmark: int, rows: np.ndarray | None) -> FarRowError:
    """The error about a landmark, with its row among the points, if it has one."""
    row = None if rows is None else int(rows[landmark])
    return FarRowError(
        "X",
        row,
        "{which} is so far from all others that rounding error hides how they lie",
        "if it is an error, remove it",
        which="a landmark" if row is None else f"row {row} of X",
    )


def _far_landmark(points: np.ndarray) -> int | None:
    """A landmark so far away that rounding hides the distances between the others, if any."""
    distances = np.abs(points - np.median(points, axis=0)).max(axis=1)
    farthest = int(distances.argmax())
    return farthest if distances[farthest] > _FAR * np.median(distances) else None
