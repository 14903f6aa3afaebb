"""Laplacian eigenmaps and diffusion maps: eigenvectors of a Markov matrix."""

from typing import Any

from trigpoint._common.checks import check_choice, check_positive
from trigpoint._common.records import EmbeddedLandmarks, Extension, LandmarkGraph, Landmarks
from trigpoint._estimators.base import GraphEmbedding
from trigpoint._spectrum import density_scale, diffusion_maps, laplacian_eigenmaps


class LaplacianEigenmaps(GraphEmbedding):
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
    graph : {"bhattacharyya", "euclidean"}, graph object or matrix, default="bhattacharyya"
        Neighborhood graph of the landmarks: nearest neighbors in the named metric; a `KNNGraph`
        or `RadiusGraph`; or a symmetric (k, k) matrix of weights.
    n_neighbors : int or None, default=None
        Neighbors of each landmark when `graph` is a name; ``None`` means 20.
    bandwidth : float or None, default=None
        Gaussian bandwidth of the graph's weights and of the extension, shared by all landmarks as
        in the paper; ``None`` gives each landmark its own, proportional to its edge lengths.
    eigenvectors : {"leading", "independent"}, default="leading"
        The first eigenvectors, as in the paper, or the first that are not functions of earlier
        ones: on a long strip, the leading two are both functions of the position along it.
    extension : {"auto", "graph", "all"} or int, default="auto"
        Which landmarks support a point: the graph neighbors of its three nearest landmarks, all
        landmarks, or this many nearest ones. ``"auto"`` uses the graph up to 15 dimensions, which
        reintroduces no shortcuts and maps each landmark exactly to its own coordinates. Above
        that, a point and its nearest landmark seldom share neighbors, so it uses all landmarks.
        This smooths: extended coordinates, even those of landmarks, are then closer together
        than `landmark_embedding_`.
    random_state : None, int, RandomState or Generator, default=None
        Seed for the landmarks.
    n_jobs : int or None, default=None
        Number of threads; ``None`` or -1 uses all cores. It does not affect the landmarks.
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
    covariances_ : ndarray of shape (k, d, d) or (k, d), or None
        Local covariances of the landmarks, or only their diagonals above 32 dimensions; ``None``
        if neither the graph nor the sampler needed them, and with 17 to 32 dimensions in an
        estimator loaded from a file.
    landmark_embedding_ : ndarray of shape (k, n_components)
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
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Any = None,
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
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("eigenvectors", self.eigenvectors, ("leading", "independent"))

    def _embed_graph(
        self, chosen: Landmarks, graph: LandmarkGraph, n_components: int
    ) -> EmbeddedLandmarks:
        spectrum = laplacian_eigenmaps(graph.weights, n_components, self.eigenvectors)
        return EmbeddedLandmarks("LaplacianEigenmaps", chosen, spectrum, graph)

    def _prepare(self, embedded: EmbeddedLandmarks) -> Extension:
        return self._markov(embedded, 1 - embedded.spectrum.eigenvalues)


class DiffusionMaps(GraphEmbedding):
    """Diffusion maps of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks, graph, n_neighbors, bandwidth, eigenvectors, extension
        As for `LaplacianEigenmaps`.
    alpha : float, default=1.0
        How much of the landmarks' density is divided out, from 0 (none) to 1 (all).
    time : float, default=1.0
        Diffusion time: coordinates are scaled by ``mu^time``.
    random_state, n_jobs, verbose, callback
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    landmark_indices_, landmarks_, covariances_, landmark_embedding_
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
        graph: Any = "bhattacharyya",
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        alpha: float = 1.0,
        time: float = 1.0,
        eigenvectors: str = "leading",
        extension: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Any = None,
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
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("eigenvectors", self.eigenvectors, ("leading", "independent"))
        check_positive("alpha", self.alpha, zero=True, high=1.0)
        check_positive("time", self.time, zero=True)

    def _embed_graph(
        self, chosen: Landmarks, graph: LandmarkGraph, n_components: int
    ) -> EmbeddedLandmarks:
        spectrum = diffusion_maps(
            graph.weights,
            n_components,
            self.eigenvectors,
            alpha=float(self.alpha),
            time=float(self.time),
        )
        return EmbeddedLandmarks("DiffusionMaps", chosen, spectrum, graph)

    def _prepare(self, embedded: EmbeddedLandmarks) -> Extension:
        assert embedded.graph is not None
        scale = density_scale(embedded.graph.weights, float(self.alpha))
        return self._markov(embedded, embedded.spectrum.eigenvalues, scale)
