"""Isomap: classical scaling of the geodesic distances in the landmark graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra

from trigpoint._common.checks import check_dense
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Extension, Fit, LandmarkGraph, Landmarks
from trigpoint._estimators.graph_embedding import GraphEmbedding, Rules
from trigpoint._estimators.model_arrays import MOST_COMPUTED, check_division, require
from trigpoint._extension.extensions import GeodesicExtension, ordinary_edges
from trigpoint._extension.weighted import GraphNeighbors
from trigpoint._spectrum import classical_scaling

# Minimum and maximum number of neighbors, and number of landmarks per neighbor in between.
_FEWEST_NEIGHBORS, _MOST_NEIGHBORS = 10, 20
_LANDMARKS_PER_NEIGHBOR = 25

# A landmark this many times farther from the center than most swamps float64 precision.
_FAR = 1e5


class Isomap(GraphEmbedding):
    """Isomap for any number of points, computed on a few landmarks.

    Parameters
    ----------
    n_components, landmarks
        As for `LaplacianEigenmaps`.
    graph : {"auto", "bhattacharyya", "euclidean", "complete"}, graph or matrix, default="auto"
        As for `LaplacianEigenmaps`; ``"auto"`` links each landmark to its nearest neighbors by
        Bhattacharyya distance: one per 25 landmarks, at least 10 and at most 20.
    extension : {"auto", "smooth", "graph"}, default="auto"
        ``"smooth"`` and ``"auto"`` are as for `LaplacianEigenmaps`. With ``"graph"``, a point's
        geodesics start at the graph neighbors of its three nearest landmarks.
    metric, random_state, n_jobs, verbose
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    fitted_, model_, landmark_indices_, landmarks_, landmark_embedding_, extension_
        As for `LaplacianEigenmaps`. ``fitted_.extras["geodesics"]`` holds the path lengths between
        landmarks.
    graph_, bridges_, dimension_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centered matrix of squared geodesics.

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

    # "all" is not offered, since straight lines to every landmark would bypass the geodesics.
    _extensions = ("auto", "smooth", "graph")
    _unhelpful = frozenset({"Isomap"})

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        graph: Any = "auto",
        extension: Any = "auto",
        metric: Any = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | Callable[[str, int, int], None] = False,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self, dimension: float, d: int, k: int, by_dimension: str) -> Rules:
        # With fewer neighbors, paths zigzag and are too long; with few landmarks, many neighbors
        # reach across gaps.
        count = min(_MOST_NEIGHBORS, max(_FEWEST_NEIGHBORS, k // _LANDMARKS_PER_NEIGHBOR))
        return Rules("bhattacharyya", count, by_dimension)

    def _coordinates(self, landmarks: Landmarks, graph: LandmarkGraph, n_components: int) -> Fit:
        check_pairs(landmarks.points)
        paths = dijkstra(graph.lengths, directed=False)
        try:
            spectrum = classical_scaling(paths, n_components)
        except ParameterValueError:
            if (far := _far_landmark(landmarks.points)) is None:
                raise
            rows = landmarks.indices
            where = "a landmark" if rows is None else f"row {rows[far]} of X"
            raise FarRowError(
                f"{where} is so far from all others that rounding error hides the distances "
                "between them: if it is an error, remove it",
                "X",
            ) from None
        return Fit(landmarks, spectrum, 0.0, graph, extras={"geodesics": paths})

    def _weighted(self, fit: Fit) -> Extension:
        graph = fit.graph
        assert graph is not None
        support = GraphNeighbors.prepare(fit.landmarks.points, ordinary_edges(graph))
        paths = fit.extras.get("geodesics")
        if paths is None:
            # Model files omit the paths if there are few landmarks.
            check_pairs(fit.landmarks.points)
            paths = dijkstra(graph.lengths, directed=False)
        return GeodesicExtension.prepare(support, paths, fit.spectrum, graph.bandwidths)

    def _stored(self, fit: Fit) -> dict[str, np.ndarray]:
        return fit.extras if len(fit.landmarks.points) > MOST_COMPUTED else {}

    def _check_restored(self, fit: Fit) -> None:
        check_division(fit.spectrum)
        k, paths = len(fit.landmarks.points), fit.extras.get("geodesics")
        if paths is None:
            # Computing the paths would take more memory than the size of the file suggests.
            require(k <= MOST_COMPUTED, "paths")
        else:
            require(paths.shape == (k, k) and paths.dtype.kind == "f", "paths")
            require(bool((paths >= 0).all()), "paths")


def check_pairs(landmarks: np.ndarray) -> None:
    """Reject landmarks whose pairwise matrix would not fit in memory, before computing it."""
    check_dense("landmarks", len(landmarks), "landmarks", "fewer landmarks, or LaplacianEigenmaps")


class FarRowError(ParameterValueError):
    """Error raised if a single point is too far from all others."""


def _far_landmark(points: np.ndarray) -> int | None:
    """Return the landmark that is so far away that rounding hides other distances, if any."""
    distances = np.abs(points - np.median(points, axis=0)).max(axis=1)
    farthest = int(distances.argmax())
    return farthest if distances[farthest] > _FAR * np.median(distances) else None
