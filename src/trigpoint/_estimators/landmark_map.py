"""A map in the plane: near points stay near, and all fill the space."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_count, check_positive
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.records import EmbeddedLandmarks, Extension, Landmarks, Spectrum
from trigpoint._common.words import counted
from trigpoint._estimators.base import LandmarkEmbedding
from trigpoint._estimators.isomap import FarRowError, Isomap, far_row
from trigpoint._estimators.run import Run
from trigpoint._extension.extensions import extend
from trigpoint._extension.placing import MapExtension, nearest_landmarks, sample_of
from trigpoint._layout import EARLY_SHARE, affinities, layout, principal_start, shared_affinities
from trigpoint._numerics.blocks import distinct_rows
from trigpoint._numerics.reduction import all_projected, principal_projection
from trigpoint._numerics.sparse import Points, take_rows
from trigpoint._points.dask.recognition import is_dask
from trigpoint._points.store import Store

DEFAULT_LANDMARKS = 10_000

# Points per landmark that are enough to draw landmarks from.
POOL = 20

# Points with more columns are measured in this many principal components.
MOST_COLUMNS = 50

# Points per landmark, at least, for affinities from the points that landmarks share.
_SHARED = 2

# Up to this local dimension, and from so many landmarks on, a map starts from geodesic distances
# between some of them: left to itself, the layout would cut surfaces into pieces that never find
# each other. Its size at the start, as the root mean square of the places for one landmark, is
# about that of maps when they are done.
_SURFACE_DIMENSION = 3.0
_FEWEST_OF_SURFACE = 50
_GEODESIC_LANDMARKS = 1_000
_GEODESIC_SIZE = 0.6

# Where affinities come from landmarks alone, the effective number of neighbors that attract each,
# for each neighbor of a point: with fewer, sheets are drawn as threads.
_PERPLEXITY = 3.0

# Of fewer landmarks, all others are neighbors.
_DEFAULT_NEIGHBORS = 10

# A map has two coordinates, or three to turn.
_MOST_COMPONENTS = 3

# Steps of a layout, at most: more than anyone would wait for.
_MOST_STEPS = 10**6


class LandmarkMap(LandmarkEmbedding):
    """Map of any number of points, from landmarks: t-SNE of these, and every point among them.

    Landmarks are laid out so that near ones attract and all repel each other, each by the number of
    points that it stands for, so that areas of the map follow the density of the points. Every
    other point is placed among the landmarks around it. A map shows neighborhoods and groups; large
    distances in it, and the gaps between groups, mean little.

    Parameters
    ----------
    n_components : {1, 2, 3}, default=2
        Number of coordinates.
    landmarks : None, int, "auto", sampler, row indices or points, default=None
        As for `LaplacianEigenmaps`, except that ``None`` draws 10,000, or takes all distinct points
        if there are no more.
    n_neighbors : int, default=10
        Nearest landmarks of a point, which it draws together. Where landmarks stand for less than
        two points, a third of the perplexity: the effective number of neighbors that attract each.
    exaggeration : float, default=1.0
        From local to global: attraction, relative to that of t-SNE. Values of 2 to 4 draw groups
        together and show how they are connected.
    n_iter : int, default=500
        Steps of the layout. The first quarter is always exaggerated, by 12.
    refine : int, default=0
        Further steps over all points, with their exact neighbors; above 50 columns, those of the
        projection, by their distances in all columns. Every point is then a landmark: neighbors are
        kept better, and time, memory and the model file grow with the points. It is done on the
        host, to which points on a GPU are copied for it.
    metric, random_state, n_jobs, device, verbose, callback
        As for `LaplacianEigenmaps`. On a GPU, landmarks are drawn and points placed; the layout is
        the host's, so that a map is the same on both but for rounding.

    Attributes
    ----------
    fitted_, landmark_indices_, landmarks_, landmark_embedding_, stage_seconds_
        As for `LaplacianEigenmaps`.
    masses_ : ndarray of shape (k,)
        How many points each landmark stands for, counted among at most ten points per landmark.
        Landmarks themselves are drawn among a random 20 points per landmark, if there are more.
    projection_ : tuple of ndarrays or None
        Center (d,) and principal directions (d, 50) in which distances are measured, where the
        points have more than 50 columns.

    Notes
    -----
    The same seed gives the same map, to the bit, for any number of threads, and a point has the
    same place whatever other points it is transformed with.

    References
    ----------
    L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", JMLR, 2008.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> tp.LandmarkMap(landmarks=300, n_iter=100, random_state=0).fit_transform(X).shape
    (3000, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        n_neighbors: int = _DEFAULT_NEIGHBORS,
        exaggeration: float = 1.0,
        n_iter: int = 500,
        refine: int = 0,
        metric: str = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.n_neighbors = n_neighbors
        self.exaggeration = exaggeration
        self.n_iter = n_iter
        self.refine = refine
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.callback = callback

    # There is one way to place points.
    extension = "auto"
    _last_stage = "layout"
    # The principal components and the searches among all points need every coordinate.
    takes_sparse = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(
            "n_components", self.n_components, high=_MOST_COMPONENTS, why="a map is to be seen"
        )
        check_count("n_neighbors", self.n_neighbors)
        check_positive("exaggeration", self.exaggeration)
        check_count("n_iter", self.n_iter, high=_MOST_STEPS)
        if isinstance(self.refine, bool):
            raise ParameterTypeError(
                "refine",
                self.refine,
                "{parameter=} does not say how many steps over all points are made",
                "pass their number, such as {parameter}=200",
            )
        check_count("refine", self.refine, low=0, high=_MOST_STEPS)

    def _covariance(self) -> str | None:
        return None

    def _check_storage(self, X: Any) -> None:
        super()._check_storage(X)
        if not is_dask(X):
            return
        from trigpoint._points.dask.collections import Partitions

        if self.refine:
            raise ParameterValueError(
                "refine",
                self.refine,
                "{parameter=} lays out all points on one machine, and these are in Dask partitions",
                ("leave {parameter} 0", "load the points into memory"),
            )
        n_columns = Partitions(X).n_features
        if n_columns > MOST_COLUMNS:
            raise ParameterValueError(
                "X",
                n_columns,
                "a map of more than {most} columns projects all points, with rounding that depends "
                "on how Dask has divided them",
                ("project them first, to {most} columns at most", "load the points into memory"),
                most=MOST_COLUMNS,
            )

    def _choose(self, X: Points | Store, run: Run) -> Landmarks:
        assert not isinstance(X, csr_array), "sparse points are refused"
        if X.shape[1] > MOST_COLUMNS:
            run.begin("projection")
            run.projection = principal_projection(X, MOST_COLUMNS, run.rng)
        rows = self._pool(X.shape[0], run)
        run.points = X if rows is None else take_rows(X, rows)
        if run.projection is not None:
            run.points = all_projected(run.projection, run.points, run.n_threads)
            run.done("projection")
        landmarks = self.landmarks
        if landmarks is None:
            most = min(X.shape[0], DEFAULT_LANDMARKS)
            few = distinct_rows(run.points if rows is None else X, most)
            landmarks = most if few is None else few
        drawn = (
            landmarks == "auto" if isinstance(landmarks, str) else isinstance(landmarks, Integral)
        )
        pool = run.points if drawn else X
        chosen = run.choose(landmarks, pool, metric=self.metric, covariance=None)
        if drawn:
            assert chosen.indices is not None, "drawn from the rows"
            indices = chosen.indices if rows is None else rows[chosen.indices]
            chosen = Landmarks(take_rows(X, indices), indices)
        return chosen

    def _pool(self, n: int, run: Run) -> np.ndarray | None:
        """Rows that landmarks are drawn and weighed from; ``None`` for all of them."""
        k = DEFAULT_LANDMARKS if self.landmarks is None else self.landmarks
        # Fewer than two landmarks are refused later.
        if not isinstance(k, Integral) or int(k) < 2 or n <= POOL * int(k):
            return None
        return np.sort(run.rng.choice(n, POOL * int(k), replace=False))

    def _embed(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        run.begin("affinities")
        inside = all_projected(run.projection, chosen.points, run.n_threads)
        masses, joint = self._affinities(inside, run)
        run.done("affinities")
        is_surface = n_components - 0.5 < run.dimension <= _SURFACE_DIMENSION
        if is_surface and n_components < inside.shape[1] and len(inside) >= _FEWEST_OF_SURFACE:
            start, early = self._geodesic_start(inside, chosen.indices, n_components, run), 0.0
        else:
            start, early = principal_start(inside, masses, n_components, run.rng), EARLY_SHARE
        positions = layout(
            joint,
            masses,
            start,
            exaggeration=self.exaggeration,
            n_iter=self.n_iter,
            early=early,
            n_threads=run.n_threads,
            report=run.report,
            kept=run.kept,
        )
        embedded = EmbeddedLandmarks(
            "LandmarkMap",
            replace(chosen, masses=masses),
            Spectrum(positions, np.empty(0)),
            projection=run.projection,
        )
        if not self.refine:
            return embedded
        everything = X if isinstance(X, np.ndarray) else take_rows(X, np.arange(X.shape[0]))
        return self._refined(everything, embedded, run)

    def _geodesic_start(
        self, inside: np.ndarray, rows: np.ndarray | None, n_components: int, run: Run
    ) -> np.ndarray:
        """Places of the landmarks (k, l) by Isomap, which keeps the large shape of a surface."""
        k = len(inside)
        isomap = Isomap(
            n_components,
            landmarks=min(_GEODESIC_LANDMARKS, k),
            random_state=int(run.rng.integers(2**31)),
            n_jobs=run.n_threads,
        )
        with warnings.catch_warnings():
            # Pieces that are joined here are set apart by the layout.
            warnings.simplefilter("ignore")
            try:
                places = isomap.fit_transform(inside.astype(np.float64))
            except FarRowError as error:
                raise far_row(error.value, rows) from None
        size = np.sqrt(np.mean(np.sum(places**2, axis=1)))
        return np.asarray(places * (_GEODESIC_SIZE * np.sqrt(k) / size))

    def _affinities(self, inside: np.ndarray, run: Run) -> tuple[np.ndarray, csr_array]:
        """Masses (k,) of the landmarks, and their affinities (k, k)."""
        k = len(inside)
        if self.n_neighbors > _DEFAULT_NEIGHBORS:
            why = f"there are {counted(k, 'landmark')}"
            check_count("n_neighbors", self.n_neighbors, high=max(k - 1, 1), why=why)
        count = min(self.n_neighbors, k - 1)
        sample = sample_of(run.points, k, run.rng)
        masses = np.zeros(k)

        def nearest(points: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            return nearest_landmarks(points, inside, count + 1, run.n_threads)

        def counted_blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for found, squares in nearest(sample):
                masses[:] += np.bincount(found[:, 0], minlength=k)
                yield found, squares

        def own_blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            # Landmarks that no point of the sample is near to are not left alone.
            yield from nearest(inside)

        # A point near one landmark alone draws none together.
        if count > 1 and len(sample) >= _SHARED * k:
            joint = shared_affinities(k, chain(counted_blocks(), own_blocks()))
            return np.maximum(masses, 1.0), joint
        for _ in counted_blocks():
            pass
        masses = np.maximum(masses, 1.0)
        return masses, affinities(inside, masses, _PERPLEXITY * self.n_neighbors, run.n_threads)

    def _refined(self, X: np.ndarray, embedded: EmbeddedLandmarks, run: Run) -> EmbeddedLandmarks:
        """All distinct points as landmarks, laid out from where they are placed."""
        run.done("layout")
        everything = run.points
        if not isinstance(everything, np.ndarray) or len(everything) < len(X):
            everything = all_projected(run.projection, X, run.n_threads)
        first, counts = np.unique(everything, axis=0, return_index=True, return_counts=True)[1:]
        order = np.argsort(first)
        rows, masses = first[order], counts[order].astype(np.float64)
        points, inside = X[rows], everything[rows]
        start = extend(self._prepare(embedded), points.astype(np.float64), run.n_threads)[0]
        # A map of more points is larger, at the same distance between neighbors.
        start *= np.sqrt(len(rows) / len(embedded.landmarks.points))
        joint = affinities(
            points,
            masses,
            _PERPLEXITY * self.n_neighbors,
            run.n_threads,
            None if run.projection is None else inside,
        )
        positions = layout(
            joint,
            masses,
            start,
            exaggeration=self.exaggeration,
            n_iter=self.refine,
            early=0.0,
            n_threads=run.n_threads,
            report=run.report,
            stage="refinement",
            kept=run.kept,
        )
        run.done("refinement")
        return replace(
            embedded,
            landmarks=Landmarks(points, rows, masses=masses),
            spectrum=Spectrum(positions, np.empty(0)),
        )

    def _prepare(self, embedded: EmbeddedLandmarks) -> Extension:
        return MapExtension.prepare(
            embedded.landmarks.points, embedded.spectrum.coordinates, embedded.projection
        )

    def _set_fitted(self, embedded: EmbeddedLandmarks, dtype: np.dtype) -> None:
        super()._set_fitted(embedded, dtype)
        # Coordinates of a map come from no eigenvalue problem.
        del self.eigenvalues_, self.covariances_
        self.masses_ = embedded.landmarks.masses
        self.projection_ = embedded.projection
