"""Laplacian eigenmaps and diffusion maps: eigenvectors of a Markov matrix."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Extension, Fit, LandmarkGraph, Landmarks, Spectrum
from trigpoint._common.words import counted
from trigpoint._estimators.graph_embedding import (
    MOST_VISUAL,
    ROOMY_NEIGHBORS,
    SHOWN,
    GraphEmbedding,
    Rules,
)
from trigpoint._extension.published import PublishedExtension
from trigpoint._extension.weighted import AllLandmarks, GraphNeighbors, MarkovExtension, Support
from trigpoint._graphs import CompleteGraph
from trigpoint._spaces import Space
from trigpoint._spectrum import (
    RedundantEigenvectorsWarning,
    density_scale,
    diffusion_maps,
    laplacian_eigenmaps,
    redundant_columns,
)

# Smallest eigenvalue that the extension may divide by; below it, coordinates would be noise.
_MIN_EIGENVALUE = 1e-6

# The automatic kernel of a complete graph is narrowed until all eigenvalues exceed the first
# threshold, or the mean edge weight falls below the second.
_GOOD_EIGENVALUE = 1e-3
_LEAST_MEAN_WEIGHT = 0.01

# Number of neighbors in a sparse graph if the local dimension exceeds the number of coordinates.
# Surfaces are exempt, even with a single coordinate.
_SURFACE_DIMENSION = 2
_SPARSE_NEIGHBORS = 5
# Number of neighbors for many coordinates, if a nearest-neighbor graph is requested.
_DENSE_NEIGHBORS = 200

# Maximum number of landmarks for a complete graph, which then takes 200 MB.
_COMPLETE_MAX = 4000
# Maximum number of coordinates per column for a complete graph. More coordinates resolve only fine
# detail, which the wide kernel of a complete graph has lost.
_COMPLETE_PER_COLUMN = 4


class MarkovEmbedding(GraphEmbedding):
    """Base class of estimators whose coordinates are eigenvectors of a random walk."""

    _selects = True

    @abstractmethod
    def _markov_values(self, fit: Fit) -> np.ndarray:
        """Return the eigenvalues mu of the Markov matrix."""

    def _rules(self, dimension: float, d: int, k: int, by_dimension: str) -> Rules:
        n_components = self.n_components
        if n_components <= MOST_VISUAL:
            is_roomy = dimension < max(n_components, _SURFACE_DIMENSION) + 0.5
            count = ROOMY_NEIGHBORS if is_roomy else _SPARSE_NEIGHBORS
            return Rules("bhattacharyya", count, by_dimension)
        is_complete = k <= _COMPLETE_MAX and n_components <= _COMPLETE_PER_COLUMN * d
        return Rules("complete" if is_complete else "euclidean", _DENSE_NEIGHBORS, "all")

    def _coordinates(self, landmarks: Landmarks, graph: LandmarkGraph, n_components: int) -> Fit:
        which = self.eigenvectors
        if which == "auto":
            which = "independent" if n_components <= SHOWN else "leading"
        spectrum = self._spectrum(graph.weights, n_components, which)
        if which == "leading" and 1 < n_components <= SHOWN:
            redundant = redundant_columns(spectrum.coordinates)
            if redundant:
                names = " and ".join(str(column + 1) for column in redundant)
                note = RedundantEigenvectorsWarning(
                    f"coordinate {names} of the landmarks is a function of the earlier ones and "
                    "shows no new direction: choose eigenvectors='independent'"
                )
                spectrum = replace(spectrum, notes=(*spectrum.notes, note))
        return Fit(landmarks, spectrum, 0.0, graph, decided={"eigenvectors": which})

    @abstractmethod
    def _spectrum(self, weights: csr_array, n_components: int, eigenvectors: str) -> Spectrum:
        """Compute the eigenvectors of the landmark graph."""

    def _narrowed(self, fit: Fit) -> Fit:
        mean_weight = float(CompleteGraph().mean_weight)
        while (
            mean_weight > _LEAST_MEAN_WEIGHT and self._markov_values(fit).min() < _GOOD_EIGENVALUE
        ):
            mean_weight /= 2
            graph = CompleteGraph(mean_weight=mean_weight).linked(fit.landmarks)
            fit = self._coordinates(fit.landmarks, graph, self.n_components)
        return fit

    def _weighted(self, fit: Fit) -> Extension:
        assert fit.graph is not None
        if fit.extended_by == "published":
            return _published(fit.landmarks, fit.graph, fit.spectrum)
        mu = self._markov_values(fit)
        usable = int((mu > _MIN_EIGENVALUE).sum())
        if usable < len(mu):
            remedy = f"n_components <= {usable} or more landmarks" if usable else "more landmarks"
            shown = "is" if usable == 1 else "are"
            raise ParameterValueError(
                f"n_components={len(mu)} is too large: only {counted(usable, 'eigenvalue')} of "
                f"the landmark graph {shown} above {_MIN_EIGENVALUE:g}, and the extension divides "
                f"by them: choose {remedy}",
                "n_components",
            )
        points = fit.landmarks.points
        support: Support
        if fit.extended_by == "graph":
            support = GraphNeighbors.prepare(points, fit.graph)
        else:
            support = AllLandmarks.prepare(points, fit.graph.bandwidths)
        # Factor of each landmark in the kernel.
        alpha = float(getattr(self, "alpha", 0.0))
        scale = density_scale(fit.graph.weights, alpha) if alpha else None
        return MarkovExtension.prepare(support, fit.spectrum.coordinates, mu, scale)


def _published(landmarks: Landmarks, graph: LandmarkGraph, spectrum: Spectrum) -> Extension:
    """Return the extension of the paper, which requires a single bandwidth."""
    low, high = float(graph.bandwidths.min()), float(graph.bandwidths.max())
    if low < high:
        raise ParameterValueError(
            "extension='published' needs one bandwidth, but those of the landmarks range from "
            f"{low:.3g} to {high:.3g}: choose graph=KNNGraph(bandwidth={high:.3g})",
            "extension",
        )
    return PublishedExtension.prepare(landmarks.points, high, spectrum)


class LaplacianEigenmaps(MarkovEmbedding):
    """Laplacian eigenmaps for any number of points, computed on a few landmarks.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, l.
    landmarks : None, int, "auto", sampler, index array or point array, default=None
        The number of landmarks to draw with `EfficientDPP`, or ``"auto"`` for the fewest that keep
        the trace error within 1 %; a sampler; row numbers; or landmark points. ``None`` draws
        1,000, or takes every distinct point if there are no more than that.
    graph : {"auto", "bhattacharyya", "euclidean", "complete"}, graph or matrix, default="auto"
        Graph of the landmarks: nearest neighbors in the named metric; all pairs; a graph object
        such as ``KNNGraph(20)``; or a symmetric (k, k) matrix of weights. For up to five
        coordinates, ``"auto"`` links nearest neighbors by Bhattacharyya distance. For more, it
        links all pairs, or nearest neighbors by Euclidean distance if there are more than 4,000
        landmarks or more than four coordinates per column. If `extension` and `eigenvectors` are
        also ``"auto"`` and there are at most 1,000 landmarks, this graph is only the first of
        several candidates for up to three coordinates, and for six to 64 coordinates if
        `dimension_` is no more than `n_components`. The candidate that preserves the most
        neighbors in a sample of 2,000 points is used (`tried_`).
    eigenvectors : {"auto", "leading", "independent"}, default="auto"
        The leading eigenvectors, as in the paper, or the first that are not functions of earlier
        ones: on a long strip, the leading two are both functions of the position along it.
        ``"auto"`` takes independent ones for up to three coordinates.
    extension : {"auto", "smooth", "graph", "all", "published"}, default="auto"
        How points get coordinates from those of the landmarks. ``"smooth"`` interpolates between
        planes fitted to the five nearest landmarks and their neighbors in the graph; it smooths the
        eigenvectors, also at the landmarks, and leaves no texture at their spacing. The others are
        weighted sums: over the graph neighbors of the three nearest landmarks, which maps each
        landmark exactly to its eigenvectors, or over all landmarks. ``"published"`` sums over all
        landmarks by the formula of the paper, and needs a graph with one `bandwidth`. Neither
        ``"smooth"`` nor ``"graph"`` reintroduces shortcuts.
        ``"auto"`` uses all landmarks for more than five coordinates. Otherwise it is ``"smooth"``
        up to 15 columns if `dimension_` is no more than `n_components` and there are at least two
        points per landmark, or ``"graph"``.
    metric : str, function or object, default="euclidean"
        Distance between points. ``"cosine"`` and ``"correlation"`` compare directions, such as text
        embeddings and word counts; ``"seuclidean"`` and ``"mahalanobis"`` rescale columns of
        different units, and ``"table"`` those of tables of any kind; ``"hellinger"`` is for shares,
        ``"hamming"`` for codes, ``"jaccard"`` (or ``"tanimoto"``) for zeros and ones,
        ``"manhattan"`` for columns with a few large differences, and ``"haversine"`` for latitude
        and longitude in degrees. ``"precomputed"`` takes distances, of shape (n, n) or to some of
        the rows. A function returns the distance between two rows, texts or other objects. An
        object with ``fit(rows)`` and ``__call__(rows)``, which returns Euclidean rows, defines a
        custom map. `landmarks_` holds the Euclidean rows, and ``model_.space.preserved`` the share
        of neighbors by the metric that they preserve.
    random_state : None, int, RandomState or Generator, default=None
        Seed for the pool and the landmarks.
    n_jobs : int or None, default=None
        Number of threads; ``None`` or -1 uses all cores. It does not affect the result.
    verbose : bool or callable, default=False
        Whether to show progress bars. A function is called as ``verbose(stage, done, total)`` when
        there is progress, in the thread that called `fit` or `transform`; an exception raised in
        the function aborts the call.

    Attributes
    ----------
    fitted_ : Fit
        Everything that was fitted, in one record: ``landmarks`` (with masses and covariances),
        ``spectrum``, ``graph``, and the ``parameters`` of the fit.
    model_ : Model
        The fitted map from a block of rows to their coordinates: a pure function that can be
        pickled.
    landmark_indices_ : int64 ndarray of shape (k,) or None
        Row numbers of the landmarks; ``None`` if they are not rows of the data.
    landmarks_ : ndarray of shape (k, d)
        The landmarks.
    landmark_embedding_ : ndarray of shape (k, n_components)
        Coordinates of the landmarks: the eigenvectors, smoothed if `extension_` is ``"smooth"``.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues lambda of ``(D - W) phi = lambda D phi``.
    extension_ : str or int
        The `extension` that was used.
    graph_ : csr_array of shape (k, k)
        Edge weights W.
    covariances_ : ndarray of shape (k, d, d) or (k, d), or None
        Local covariances of the landmarks, if the graph compares them.
    bridges_ : int64 ndarray of shape (b, 2)
        Edges added to join connected components.
    dimension_ : float
        Local dimension of the points: the number of directions in which they spread at the spacing
        of the landmarks.
    tried_ : dict
        Share of neighbors that each candidate graph preserves, keyed by its description. Empty if
        there was only one candidate, and not saved with the model.
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
        graph: Any = "auto",
        eigenvectors: str = "auto",
        extension: Any = "auto",
        metric: Any = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | Callable[[str, int, int], None] = False,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.eigenvectors = eigenvectors
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _extensions = (*MarkovEmbedding._extensions, "published")
    _title = "Laplacian eigenmaps"
    _equal_scales = False
    _spectrum = staticmethod(laplacian_eigenmaps)

    def _markov_values(self, fit: Fit) -> np.ndarray:
        return 1 - fit.spectrum.eigenvalues


class DiffusionMaps(MarkovEmbedding):
    """Diffusion maps for any number of points, computed on a few landmarks.

    Parameters
    ----------
    n_components, landmarks, graph
        As for `LaplacianEigenmaps`.
    alpha : float, default=1.0
        Strength of the normalization by the density of the landmarks, from 0 (none) to 1 (full).
    time : float, default=1.0
        Diffusion time: coordinates are scaled by ``mu^time``.
    extension, metric, random_state, n_jobs, verbose
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    fitted_, model_, landmark_indices_, landmarks_, landmark_embedding_, extension_
        As for `LaplacianEigenmaps`.
    graph_, bridges_, dimension_, tried_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues mu of the Markov matrix.

    Notes
    -----
    For up to three coordinates, eigenvectors that are functions of earlier ones are skipped. For
    more, the leading eigenvectors are used.

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
        alpha: float = 1.0,
        time: float = 1.0,
        extension: Any = "auto",
        metric: Any = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | Callable[[str, int, int], None] = False,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.graph = graph
        self.alpha = alpha
        self.time = time
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _title = "Diffusion maps"

    def _check_parameters(self) -> Space:
        check_positive("alpha", self.alpha, zero=True, high=1.0)
        check_positive("time", self.time, zero=True)
        return super()._check_parameters()

    def _spectrum(self, weights: csr_array, n_components: int, eigenvectors: str) -> Spectrum:
        alpha, time = float(self.alpha), float(self.time)
        return diffusion_maps(weights, n_components, eigenvectors, alpha=alpha, time=time)

    def _markov_values(self, fit: Fit) -> np.ndarray:
        return fit.spectrum.eigenvalues
