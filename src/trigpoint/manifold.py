"""The estimators: points in, coordinates of every point out.

Here alone the stages are strung together, and here alone the estimators' parameters are checked.
"""

import logging
import time
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from trigpoint.checks import (
    as_generator,
    check_choice,
    check_count,
    check_magnitude,
    check_positive,
)
from trigpoint.extension import (
    AllLandmarks,
    Extension,
    GeodesicExtension,
    GraphNeighbors,
    KernelExtension,
    MarkovExtension,
    NearestLandmarks,
    Support,
    extend,
)
from trigpoint.graph import METRICS, KNNGraph, precomputed_graph, without_bridges
from trigpoint.kernels import gaussian_kernel, resolve_bandwidth
from trigpoint.landmarks import choose_landmarks
from trigpoint.memory import check_dense
from trigpoint.neighbors import TREE_MAX_DIMENSION
from trigpoint.records import LandmarkGraph, Landmarks, Spectrum
from trigpoint.spectrum import (
    classical_scaling,
    density_scale,
    diffusion_maps,
    geodesics,
    kernel_pca,
    laplacian_eigenmaps,
)
from trigpoint.threads import thread_count

logger = logging.getLogger(__name__)

# Smallest eigenvalue that the extension divides by; below it, coordinates would be noise.
_MIN_EIGENVALUE = 1e-6


class _Run:
    """What one call of `fit` carries through the stages."""

    def __init__(self, random_state: Any, n_jobs: Any) -> None:
        self.rng = as_generator(random_state)
        self.n_threads = thread_count(n_jobs)
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now
        logger.info("%s: %.2f s", stage, self.seconds[stage])


class _LandmarkEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """What the four estimators share: landmarks first, then blocks of points."""

    n_components: int
    landmarks: Any
    extension: Any
    random_state: Any
    n_jobs: int

    @abstractmethod
    def _needs_covariances(self) -> bool:
        """Whether the landmarks' local covariances will be looked at; checks the graph."""

    @abstractmethod
    def _embed(self, chosen: Landmarks, n_components: int, run: _Run) -> tuple[Spectrum, Extension]:
        """Embed the landmarks and prepare the extension to other points."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks among the rows of `X` and embed them.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The points, float32 or float64; other numbers are converted to float64.
        y : ignored
            Present for scikit-learn's sake.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_magnitude(X)
        run = _Run(self.random_state, self.n_jobs)
        chosen = choose_landmarks(
            self.landmarks,
            X,
            covariances=self._needs_covariances(),
            rng=run.rng,
            n_threads=run.n_threads,
        )
        k = len(chosen.points)
        n_components = check_count(
            "n_components", self.n_components, high=k - 1, why=f"there are {k} landmarks"
        )
        run.done("landmarks")
        spectrum, self._extension = self._embed(chosen, n_components, run)

        self.landmark_indices_ = chosen.indices
        self.landmarks_ = chosen.points
        self.embedding_ = spectrum.coordinates.astype(X.dtype)
        self.eigenvalues_ = spectrum.eigenvalues
        self.stage_seconds_ = run.seconds
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the rows of `X`, which need not have been seen in `fit`.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_components)
            In the precision of `X`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        check_magnitude(X)
        return extend(self._extension, X, thread_count(self.n_jobs))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _GraphEmbedding(_LandmarkEmbedding):
    """The estimators that embed a neighbourhood graph of the landmarks."""

    graph: Any
    n_neighbors: int | None
    bandwidth: float | None

    def _graph_builder(self) -> Any:
        """Return the graph object that the parameters describe, or None for a matrix."""
        if isinstance(self.graph, str):
            return KNNGraph(
                self.n_neighbors,
                metric=check_choice("graph", self.graph, METRICS),
                bandwidth=self.bandwidth,
            )
        if self.n_neighbors is not None:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} has no effect beside the graph that was given: "
                "set it on the graph object, or leave it None"
            )
        if not hasattr(self.graph, "build"):
            return None
        if self.bandwidth is not None:
            raise ValueError(
                f"bandwidth={self.bandwidth} has no effect beside the graph that was given: set "
                "it on the graph object, or leave it None"
            )
        return self.graph

    def _needs_covariances(self) -> bool:
        builder = self._graph_builder()
        return builder is not None and bool(builder.needs_covariances)

    def _build_graph(self, chosen: Landmarks, run: _Run) -> LandmarkGraph:
        builder = self._graph_builder()
        if builder is None:
            bandwidth = self.bandwidth
            if bandwidth is not None:
                bandwidth = check_positive("bandwidth", bandwidth)
            graph = precomputed_graph(self.graph, chosen.points, bandwidth)
        else:
            graph = builder.build(chosen, run.n_threads)
        self.graph_ = graph.weights
        self.bridges_ = graph.bridges
        self.bandwidths_ = graph.bandwidths
        run.done("graph")
        return graph

    def _support(self, chosen: Landmarks, graph: LandmarkGraph) -> Support:
        extension = self.extension
        if isinstance(extension, str) and extension == "auto":
            extension = "graph" if chosen.points.shape[1] <= TREE_MAX_DIMENSION else "all"
        if isinstance(extension, str) and extension == "graph":
            return GraphNeighbors(chosen.points, graph)
        names = ("auto", "graph", "all")
        return _plain_support(extension, chosen.points, graph.bandwidths, names)

    def _markov(
        self,
        chosen: Landmarks,
        graph: LandmarkGraph,
        coordinates: np.ndarray,
        mu: np.ndarray,
        scale: np.ndarray | None = None,
    ) -> MarkovExtension:
        usable = int((mu > _MIN_EIGENVALUE).sum())
        if usable < len(mu):
            raise ValueError(
                f"n_components={len(mu)} is too large: only {usable} eigenvalues of the landmark "
                f"graph are above {_MIN_EIGENVALUE:g}, and the extension divides by them; choose "
                f"n_components <= {usable} or more landmarks"
            )
        support = self._support(chosen, graph)
        return MarkovExtension(support, coordinates, mu, scale)


def _plain_support(
    extension: Any, landmarks: np.ndarray, bandwidths: np.ndarray, names: tuple[str, ...]
) -> Support:
    if isinstance(extension, Integral) and not isinstance(extension, bool):
        k = len(landmarks)
        count = check_count("extension", extension, high=k, why=f"there are {k} landmarks")
        return NearestLandmarks(landmarks, bandwidths, count)
    check_choice("extension", extension, (*names, "a whole number"))
    return AllLandmarks(landmarks, bandwidths)


class LaplacianEigenmaps(_GraphEmbedding):
    """Laplacian eigenmaps of any number of points, from landmarks.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, l.
    landmarks : None, int, sampler, index array or point array, default=None
        A number of landmarks to draw with `EfficientDPP`; a sampler to draw them with; the rows
        to take; or the landmark points themselves. ``None`` draws 1,000, or takes every distinct
        point when there are no more than that.
    graph : {"bhattacharyya", "euclidean"}, graph object or matrix, default="bhattacharyya"
        Neighbourhood graph of the landmarks: nearest ones in the named metric; a `KNNGraph` or
        `RadiusGraph`; or a symmetric (k, k) matrix of weights.
    n_neighbors : int or None, default=None
        Neighbours of each landmark in a graph given by name; ``None`` takes 20.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the graph's weights and of the extension, one for all as in the
        paper; ``None`` gives each landmark its own, in proportion to the length of its edges.
    eigenvectors : {"leading", "independent"}, default="leading"
        The first eigenvectors, as in the paper, or the first that are not functions of earlier
        ones: on a long strip the leading two are both functions of its length.
    extension : {"auto", "graph", "all"} or int, default="auto"
        Which landmarks speak for a point: the nearest one and its neighbours in the graph, all,
        or a number of nearest ones. ``"auto"`` follows the graph up to 15 dimensions, which
        brings no shortcut back; above, where a point's neighbours are seldom its nearest
        landmark's, it takes all.
    random_state : None, int, RandomState or Generator, default=None
        Seed for the landmarks.
    n_jobs : int, default=-1
        Number of threads; -1 for all cores. Landmarks do not depend on it.

    Attributes
    ----------
    landmark_indices_ : int64 ndarray of shape (k,) or None
        Rows of the landmarks; ``None`` if points were given.
    landmarks_ : ndarray of shape (k, d)
    embedding_ : ndarray of shape (k, n_components)
        Coordinates of the landmarks.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues lambda of ``(D - W) phi = lambda D phi``.
    graph_ : csr_array of shape (k, k)
        Edge weights W.
    bridges_ : int64 ndarray of shape (b, 2)
        Edges added to join separate components.
    bandwidths_ : ndarray of shape (k,)
        Gaussian bandwidth of each landmark.
    stage_seconds_ : dict
        Seconds spent in each stage of `fit`.

    References
    ----------
    C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
    scalable manifold learning", 2015.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(5000, random_state=0)
    >>> emb = tp.LaplacianEigenmaps(n_components=2, landmarks=300, random_state=0)
    >>> emb.fit_transform(X).shape
    (5000, 2)
    >>> emb.transform(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        graph: Any = "bhattacharyya",
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        eigenvectors: str = "leading",
        extension: Any = "auto",
        random_state: Any = None,
        n_jobs: int = -1,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.eigenvectors = eigenvectors
        self.extension = extension
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _embed(self, chosen: Landmarks, n_components: int, run: _Run) -> tuple[Spectrum, Extension]:
        check_choice("eigenvectors", self.eigenvectors, ("leading", "independent"))
        graph = self._build_graph(chosen, run)
        spectrum = laplacian_eigenmaps(graph.weights, n_components, self.eigenvectors)
        mu = 1 - spectrum.eigenvalues
        extension = self._markov(chosen, graph, spectrum.coordinates, mu)
        run.done("spectrum")
        return spectrum, extension


class DiffusionMaps(_GraphEmbedding):
    """Diffusion maps of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks, graph, n_neighbors, bandwidth, eigenvectors, extension
        As for `LaplacianEigenmaps`.
    alpha : float, default=1.0
        How much of the landmarks' density is divided out: 0 none, 1 all.
    time : float, default=1.0
        Diffusion time: coordinates are scaled by ``mu^time``.
    random_state, n_jobs
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    landmark_indices_, landmarks_, embedding_, graph_, bridges_, bandwidths_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues mu of the Markov matrix.

    References
    ----------
    R. R. Coifman and S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis, 2006.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_fish_bowl(3000, random_state=0)
    >>> tp.DiffusionMaps(n_components=2, landmarks=200, random_state=0).fit_transform(X).shape
    (3000, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        graph: Any = "bhattacharyya",
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        alpha: float = 1.0,
        time: float = 1.0,
        eigenvectors: str = "leading",
        extension: Any = "auto",
        random_state: Any = None,
        n_jobs: int = -1,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.time = time
        self.eigenvectors = eigenvectors
        self.extension = extension
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _embed(self, chosen: Landmarks, n_components: int, run: _Run) -> tuple[Spectrum, Extension]:
        check_choice("eigenvectors", self.eigenvectors, ("leading", "independent"))
        alpha = check_positive("alpha", self.alpha, zero=True)
        diffusion_time = check_positive("time", self.time, zero=True)
        graph = self._build_graph(chosen, run)
        spectrum = diffusion_maps(
            graph.weights, n_components, self.eigenvectors, alpha=alpha, time=diffusion_time
        )
        scale = density_scale(graph.weights, alpha)
        extension = self._markov(chosen, graph, spectrum.coordinates, spectrum.eigenvalues, scale)
        run.done("spectrum")
        return spectrum, extension


class Isomap(_GraphEmbedding):
    """Isomap of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks, graph, n_neighbors
        As for `LaplacianEigenmaps`.
    extension : "graph" or int, default="graph"
        Through which landmarks a point's geodesics start: the nearest one and its neighbours in
        the graph, or a number of nearest ones.
    random_state, n_jobs
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    landmark_indices_, landmarks_, embedding_, graph_, bridges_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred matrix of squared geodesics.
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

    # Lengths, not weights, make the paths, so there is no bandwidth to choose.
    bandwidth = None

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        graph: Any = "bhattacharyya",
        n_neighbors: int | None = None,
        extension: Any = "graph",
        random_state: Any = None,
        n_jobs: int = -1,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.extension = extension
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _support(self, chosen: Landmarks, graph: LandmarkGraph) -> Support:
        if isinstance(self.extension, str) and self.extension == "all":
            raise ValueError(
                "extension='all' would start a geodesic with a straight line to every landmark: "
                "choose 'graph' or a number of nearest landmarks"
            )
        return super()._support(chosen, graph)

    def _embed(self, chosen: Landmarks, n_components: int, run: _Run) -> tuple[Spectrum, Extension]:
        check_dense(len(chosen.points), "landmarks", "fewer landmarks, or LaplacianEigenmaps")
        graph = self._build_graph(chosen, run)
        support = self._support(chosen, without_bridges(graph))
        self.geodesics_ = geodesics(graph.lengths)
        spectrum = classical_scaling(self.geodesics_, n_components)
        run.done("spectrum")
        return spectrum, GeodesicExtension(support, self.geodesics_, spectrum)


class KernelPCA(_LandmarkEmbedding):
    """Gaussian kernel PCA of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks
        As for `LaplacianEigenmaps`.
    bandwidth : float or None, default=None
        Bandwidth of the kernel; ``None`` takes the median distance between landmarks.
    extension : "all" or int, default="all"
        Kernel of a point with all landmarks, or with a number of nearest ones (the others count
        as 0, which saves time where the bandwidth is small).
    random_state, n_jobs
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    landmark_indices_, landmarks_, embedding_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix of the landmarks.
    bandwidth_ : float

    References
    ----------
    B. Schoelkopf, A. Smola and K.-R. Mueller, "Nonlinear component analysis as a kernel eigenvalue
    problem", Neural Computation, 1998.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_fish_bowl(3000, random_state=0)
    >>> tp.KernelPCA(n_components=3, landmarks=200, random_state=0).fit_transform(X).shape
    (3000, 3)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        bandwidth: float | None = None,
        extension: Any = "all",
        random_state: Any = None,
        n_jobs: int = -1,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.extension = extension
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _needs_covariances(self) -> bool:
        return False

    def _embed(self, chosen: Landmarks, n_components: int, run: _Run) -> tuple[Spectrum, Extension]:
        check_dense(len(chosen.points), "landmarks", "fewer landmarks, or LaplacianEigenmaps")
        points = chosen.points.astype(np.float64)
        self.bandwidth_ = resolve_bandwidth(self.bandwidth, points, run.rng)
        bandwidths = np.full(len(points), self.bandwidth_)
        support = _plain_support(self.extension, chosen.points, bandwidths, ("all",))
        kernel = gaussian_kernel(points, self.bandwidth_)
        run.done("kernel")
        spectrum = kernel_pca(kernel, n_components)
        run.done("spectrum")
        return spectrum, KernelExtension(support, kernel, spectrum)
