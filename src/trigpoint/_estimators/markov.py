"""Laplacian eigenmaps and diffusion maps: eigenvectors of a Markov matrix."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from trigpoint._common.checks import check_choice, check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import EmbeddedLandmarks, Extension, LandmarkGraph, Landmarks
from trigpoint._common.warn import warn_user
from trigpoint._common.words import counted
from trigpoint._estimators.defaults import SHOWN, default_eigenvectors, default_extension, has_room
from trigpoint._estimators.graph_based import GraphEmbedding, described
from trigpoint._estimators.run import Run
from trigpoint._estimators.trying import (
    GOOD_FEATURES,
    GOOD_PICTURE,
    MOST_COORDINATES,
    MOST_NEIGHBORS,
    Attempt,
    Judge,
    best_of,
    graphs_to_try,
    worth_trying,
)
from trigpoint._extension.extensions import MarkovExtension
from trigpoint._graph import AnchorGraph, CompleteGraph, KNNGraph, NeighborSearch
from trigpoint._numerics.sparse import Points
from trigpoint._points.store import Store
from trigpoint._spectrum import (
    RedundantEigenvectorsWarning,
    density_scale,
    diffusion_maps,
    laplacian_eigenmaps,
    redundant_columns,
)

# Smallest eigenvalue that the extension divides by; below it, coordinates would be noise.
_MIN_EIGENVALUE = 1e-6

# The automatic kernel of a complete graph is narrowed until all eigenvalues are above this, or its
# edges weigh less than this on average.
_GOOD_EIGENVALUE = 1e-3
_LEAST_MEAN_WEIGHT = 0.01


class MarkovEmbedding(GraphEmbedding):
    """The estimators whose coordinates are eigenvectors of a walk over the landmark graph."""

    eigenvectors: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("eigenvectors", self.eigenvectors, ("auto", "leading", "independent"))

    def _which(self, n_components: int) -> str:
        if self.eigenvectors == "auto":
            return default_eigenvectors(n_components)
        return self.eigenvectors

    def _decided(self, fitted: EmbeddedLandmarks) -> dict[str, str]:
        which = self._which(fitted.spectrum.coordinates.shape[1])
        return super()._decided(fitted) | {"eigenvectors": which}

    @abstractmethod
    def _markov_values(self, embedded: EmbeddedLandmarks) -> np.ndarray:
        """Eigenvalues mu of the Markov matrix."""

    def _scale(self, embedded: EmbeddedLandmarks) -> np.ndarray | None:
        """Factor of each landmark in the kernel, if not 1."""
        return None

    def _embed(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        self.tried_: dict[str, float] = {}
        n, (k, d) = X.shape[0], chosen.points.shape
        many = self._many_coordinates()
        # Of points that spread in more directions than there are features, all pairs keep most.
        is_clear = many and not has_room(n_components, run.dimension)
        if is_clear or not (self._is_left_open() and worth_trying(X, k)):
            return self._embed_once(X, chosen, n_components, run)

        def graph_of(estimator: MarkovEmbedding) -> dict[str, str]:
            return described(estimator._builder(chosen.points, run.dimension))

        def attempt(
            estimator: MarkovEmbedding, extensions: Iterable[str], run: Run
        ) -> Iterator[Attempt]:
            embedded = estimator._embed_once(X, chosen, n_components, run)
            decided = graph_of(estimator) | {"eigenvectors": self._which(n_components)}
            embedded = replace(embedded, dimension=run.dimension, decided=decided)
            for extended_by in dict.fromkeys(extensions):
                placed = replace(embedded, extended_by=extended_by)
                yield placed, estimator._prepare(placed)

        run.search = NeighborSearch(chosen, run.n_threads, run.device, at_least=MOST_NEIGHBORS)
        by_rule = "all" if many else default_extension(n_components, run.dimension, d, n / k)
        attempts = [partial(attempt, self, [by_rule] if many else [by_rule, "graph"], run)]
        for graph, count, extensions, by_mass in graphs_to_try(many, by_rule):
            other = clone(self).set_params(graph=graph, n_neighbors=count)
            if by_mass:
                weighed = KNNGraph(count, metric=graph, bandwidth=self.bandwidth, by_mass=True)
                other.set_params(graph=weighed, n_neighbors=None, bandwidth=None)
            if graph != "bhattacharyya":
                other.set_params(covariance="auto")
            if graph_of(other) != graph_of(self) and (count is None or 2 * count < k):
                attempts.append(partial(attempt, other, extensions, run.quiet()))
        good = GOOD_FEATURES if many else GOOD_PICTURE
        embedded, self.tried_ = best_of(attempts, Judge(X, run.n_threads), good)
        return embedded

    def _is_left_open(self) -> bool:
        """Whether all that makes a picture, or some features, is left to the library."""
        parameters = self.graph, self.extension, self.eigenvectors
        is_picture = self.n_components <= SHOWN
        are_features = self._many_coordinates() and self.n_components <= MOST_COORDINATES
        return (
            (is_picture or (are_features and self.covariance == "auto"))
            and self.n_neighbors is None
            and all(isinstance(value, str) and value == "auto" for value in parameters)
        )

    def _embed_once(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        embedded = super()._embed(X, chosen, n_components, run)
        builder = self._builder(chosen.points, run.dimension)
        if isinstance(builder, CompleteGraph) and builder is not self.graph:
            embedded = self._narrowed(embedded, builder, n_components, run.device)
        if self._which(n_components) == "leading" and 1 < n_components <= SHOWN:
            _warn_of_redundant(redundant_columns(embedded.spectrum.coordinates))
        if self._is_anchored():
            embedded = self._anchored(embedded)
        return embedded

    def _narrowed(
        self,
        embedded: EmbeddedLandmarks,
        builder: CompleteGraph,
        n_components: int,
        device: Any,
    ) -> EmbeddedLandmarks:
        """Replace a kernel that is too wide to have so many eigenvalues of any size."""
        mean_weight = float(builder.mean_weight)
        while (
            builder.bandwidth is None
            and mean_weight > _LEAST_MEAN_WEIGHT
            and self._markov_values(embedded).min() < _GOOD_EIGENVALUE
        ):
            mean_weight /= 2
            graph = CompleteGraph(mean_weight=mean_weight).build(embedded.landmarks)
            embedded = self._embed_graph(embedded.landmarks, graph, n_components, device)
        return embedded

    def _is_anchored(self) -> bool:
        """Whether points are placed by their shares in the landmarks."""
        anchors = isinstance(self.graph, AnchorGraph) or (
            isinstance(self.graph, str) and self.graph == "anchors"
        )
        return anchors and isinstance(self.extension, str) and self.extension == "auto"

    def _anchored(self, embedded: EmbeddedLandmarks) -> EmbeddedLandmarks:
        """Give landmarks the coordinates of the points that they are."""
        values = embedded.spectrum.coordinates
        embedded = replace(embedded, anchor_values=values)
        coordinates, _ = self._prepare(embedded)(embedded.landmarks.points.astype(np.float64))
        return replace(embedded, spectrum=replace(embedded.spectrum, coordinates=coordinates))

    def _weighted(self, embedded: EmbeddedLandmarks) -> Extension:
        assert embedded.graph is not None
        points, scale = embedded.landmarks.points, self._scale(embedded)
        if embedded.anchor_values is not None:
            graph = self.graph if isinstance(self.graph, AnchorGraph) else AnchorGraph()
            shares = AnchorShares.prepare(points, graph.n_anchors)
            ones = np.ones(embedded.anchor_values.shape[1])
            return MarkovExtension.prepare(shares, embedded.anchor_values, ones, scale)
        mu = self._markov_values(embedded)
        usable = int((mu > _MIN_EIGENVALUE).sum())
        if usable < len(mu):
            raise ParameterValueError(
                "n_components",
                len(mu),
                "{parameter=} is too large: only {found} of the landmark graph {are} above "
                "{least:g}, and the extension divides by them",
                ("choose {parameter} <= {usable}", "more landmarks")
                if usable
                else "choose more landmarks",
                found=counted(usable, "eigenvalue"),
                are="is" if usable == 1 else "are",
                usable=usable,
                least=_MIN_EIGENVALUE,
            )
        support = self._support(embedded, embedded.graph)
        return MarkovExtension.prepare(support, embedded.spectrum.coordinates, mu, scale)


def _warn_of_redundant(redundant: list[int]) -> None:
    if redundant:
        warn_user(
            RedundantEigenvectorsWarning(
                "coordinate {which} of the landmarks is a function of the earlier ones: it shows "
                "no new direction",
                "choose {eigenvectors=}",
                which=" and ".join(str(column + 1) for column in redundant),
                eigenvectors="independent",
            )
        )


class LaplacianEigenmaps(MarkovEmbedding):
    """Laplacian eigenmaps of any number of points, from landmarks.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, l.
    landmarks : None, int, "auto", sampler, index array or point array, default=None
        The number of landmarks to draw with `EfficientDPP`, or ``"auto"`` for as many as keep its
        trace error within one percent; a sampler to draw them with; row indices; or the landmark
        points themselves. ``None`` draws 1,000, or takes every distinct point if there are no
        more than that.
    graph : {"auto", "bhattacharyya", "euclidean", "complete", "anchors"}, graph or matrix, \
default="auto"
        Graph of the landmarks: nearest neighbors in the named metric; all pairs; landmarks that
        share points (`AnchorGraph`); a graph object such as `KNNGraph`; or a symmetric (k, k)
        matrix of weights. ``"auto"`` takes nearest neighbors by Bhattacharyya distance. For more
        than five coordinates it takes all pairs, or, with more than 4,000 landmarks or four
        coordinates for each column, nearest neighbors by Euclidean distance. For up to three
        coordinates from up to 1,000 landmarks, and for six to 64 that are more than
        `dimension_`, this is only the first of several graphs, and what keeps most neighbors of
        up to 2,000 of the points is taken (`tried_`), unless the first is good, or one of
        `n_neighbors`, `eigenvectors` and `extension` is set.
    n_neighbors : int or None, default=None
        Neighbors of each landmark when `graph` is a metric. ``None`` takes 5, or 10 where the
        points spread in no more directions than there are coordinates, or in two, and where that
        joins pieces that the graph would fall into; 200 for more than five coordinates.
    covariance : {"auto", "full", "diag", "low-rank"}, default="auto"
        What a Bhattacharyya graph compares of the local covariances: all of them, only their
        diagonals, or a few directions and one variance for the rest (`LowRankCovariances`), as
        many for each landmark as the data varies in. ``"auto"`` takes what the sampler computes,
        or else full ones up to 32 dimensions, and diagonals above; any other makes ``graph="auto"``
        a graph of nearest neighbors.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the graph's weights and of the extension, shared by all landmarks as
        in the paper; ``None`` gives each landmark its own, proportional to its edge lengths.
    eigenvectors : {"auto", "leading", "independent"}, default="auto"
        The first eigenvectors, as in the paper, or the first that are not functions of earlier
        ones: on a long strip, the leading two are both functions of the position along it.
        ``"auto"`` takes independent ones for up to three coordinates.
    extension : {"auto", "smooth", "graph", "all"} or int, default="auto"
        How points get coordinates from those of the landmarks. ``"smooth"`` puts them between
        planes fitted to the five nearest landmarks and their neighbors in the graph; it evens out
        the eigenvectors, also at the landmarks, and leaves no texture at their spacing. The others
        take means by weight: over the graph neighbors of the three nearest landmarks, which maps
        each landmark exactly to its eigenvectors; over all landmarks; or over this many nearest
        ones. Neither ``"smooth"`` nor ``"graph"`` reintroduces shortcuts. ``"auto"`` uses all
        landmarks where ``graph="auto"`` would link all pairs, and shares with ``graph="anchors"``.
        Otherwise it is ``"smooth"`` up to 15 columns if `dimension_` is no more than
        `n_components` and there are at least two points for each landmark, or ``"graph"``.
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        Distance between points. ``"cosine"`` is for vectors whose length means nothing, such as
        embeddings and word counts: rows are scaled to unit length, in `fit` and in `transform`,
        and everything else is as for Euclidean points; `landmarks_` are then unit rows.
        ``"seuclidean"`` is for columns of different units, which are divided by their standard
        deviations (`column_scales_`) likewise.
    random_state : None, int, RandomState or Generator, default=None
        Seed for the landmarks.
    n_jobs : int or None, default=None
        Number of threads; ``None`` or -1 uses all cores. It does not affect the landmarks.
    device : None, "cuda", "cuda:1", ..., "cpu" or "auto", default=None
        Where points are searched and extended, with PyTorch. ``None`` follows the points: a tensor
        on a GPU is used there, anything else on the host. ``"auto"`` takes a GPU if there is one;
        `device_` says which. Of Dask partitions, it is the GPU of each worker. Landmarks are the
        same; coordinates differ by rounding. They are returned as the points came: as a tensor, or
        another library's array, where those were, or as an array of NumPy.
    verbose : bool, default=False
        Show progress on the terminal.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` to report progress, from the thread that called
        `fit` or `transform`; an exception raised in it aborts them.

    Attributes
    ----------
    fitted_ : FittedEmbedding
        Everything that was fitted, in one record: ``landmarks``, ``spectrum``, ``graph``, the
        ``parameters`` it was fitted with, and the prepared ``extension``, which maps a block of
        points to their coordinates and the number of them that are far from every landmark.
    landmark_indices_ : int64 ndarray of shape (k,) or None
        Row indices of the landmarks; ``None`` if they are not rows of the data: points were given,
        or the sampler moved them (`Refinement(snap=False)`, `KMeansLandmarks(snap=False)`).
    landmarks_ : ndarray of shape (k, d)
    covariances_ : ndarray of shape (k, d, d) or (k, d), LowRankCovariances or None
        Local covariances of the landmarks, full, diagonal or of low rank; ``None`` if neither the
        graph nor the sampler needed them, and full ones above 16 dimensions in an estimator loaded
        from a file.
    extension_ : str or int
        The `extension` that was used.
    landmark_embedding_ : ndarray of shape (k, n_components)
        Coordinates of the landmarks: eigenvectors, which ``extension="smooth"`` evens out.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues lambda of ``(D - W) phi = lambda D phi``.
    graph_ : csr_array of shape (k, k)
        Edge weights W; in a graph by mass (`tried_`), times the points that both ends stand for.
    bridges_ : int64 ndarray of shape (b, 2)
        Edges added to join separate components.
    bandwidths_ : ndarray of shape (k,)
        Gaussian bandwidth of each landmark.
    dimension_ : float
        Local dimension of the points: in how many directions they spread at the spacing of the
        landmarks.
    device_ : str
        Where the points were searched.
    tried_ : dict
        Share of neighbors that each graph has kept that was tried, by its description; empty if
        none was. It is not saved.
    stage_seconds_ : dict
        Seconds spent in each stage of `fit`, without the time in which loops are compiled for the
        first time on a machine.
    traffic_ : dict
        Only after a fit of a Dask collection: for each question that the workers were asked, the
        rounds, tasks, bytes and seconds that it took.

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
        graph: Any = "auto",
        n_neighbors: int | None = None,
        covariance: str = "auto",
        bandwidth: float | None = None,
        eigenvectors: str = "auto",
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
        self.bandwidth = bandwidth
        self.eigenvectors = eigenvectors
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.callback = callback

    def _embed_graph(
        self, chosen: Landmarks, graph: LandmarkGraph, n_components: int, device: Any = None
    ) -> EmbeddedLandmarks:
        which = self._which(n_components)
        spectrum = laplacian_eigenmaps(graph.weights, n_components, which, device=device)
        return EmbeddedLandmarks("LaplacianEigenmaps", chosen, spectrum, graph)

    def _markov_values(self, embedded: EmbeddedLandmarks) -> np.ndarray:
        return 1 - embedded.spectrum.eigenvalues


class DiffusionMaps(MarkovEmbedding):
    """Diffusion maps of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks, graph, n_neighbors, covariance, bandwidth, eigenvectors, extension
        As for `LaplacianEigenmaps`.
    alpha : float, default=1.0
        How much of the landmarks' density is divided out, from 0 (none) to 1 (all).
    time : float, default=1.0
        Diffusion time: coordinates are scaled by ``mu^time``.
    metric, random_state, n_jobs, device, verbose, callback
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    landmark_indices_, landmarks_, covariances_, extension_, landmark_embedding_
        As for `LaplacianEigenmaps`.
    graph_, bridges_, bandwidths_, stage_seconds_
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
        graph: Any = "auto",
        n_neighbors: int | None = None,
        covariance: str = "auto",
        bandwidth: float | None = None,
        alpha: float = 1.0,
        time: float = 1.0,
        eigenvectors: str = "auto",
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
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.time = time
        self.eigenvectors = eigenvectors
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("alpha", self.alpha, zero=True, high=1.0)
        check_positive("time", self.time, zero=True)

    def _embed_graph(
        self, chosen: Landmarks, graph: LandmarkGraph, n_components: int, device: Any = None
    ) -> EmbeddedLandmarks:
        spectrum = diffusion_maps(
            graph.weights,
            n_components,
            self._which(n_components),
            alpha=float(self.alpha),
            time=float(self.time),
            device=device,
        )
        return EmbeddedLandmarks("DiffusionMaps", chosen, spectrum, graph)

    def _markov_values(self, embedded: EmbeddedLandmarks) -> np.ndarray:
        return embedded.spectrum.eigenvalues

    def _scale(self, embedded: EmbeddedLandmarks) -> np.ndarray:
        assert embedded.graph is not None
        return density_scale(embedded.graph.weights, float(self.alpha))
