"""t-SNE for millions of points, computed on landmarks."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_count, check_positive
from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.records import Extension, Fit, Landmarks, Projection, Spectrum
from trigpoint._embedding import Embedding
from trigpoint._estimators.isomap import FarRowError, Isomap, far_row
from trigpoint._estimators.model_arrays import require
from trigpoint._extension.extensions import extend
from trigpoint._extension.placing import MapExtension, nearest_landmarks
from trigpoint._geometry import local_dimension
from trigpoint._layout import EARLY_SHARE, affinities, layout, principal_start, shared_affinities
from trigpoint._model import Model
from trigpoint._numerics.blocks import Run, sample_points
from trigpoint._pool import Pool, all_projected
from trigpoint._samplers.choice import draw_landmarks
from trigpoint._spaces import Space

# Points per landmark sampled to estimate masses, and the fewest for affinities from the points that
# landmarks share.
_COUNTED = 10
_SHARED = 2

# Up to this local dimension, and from this many landmarks on, a map starts from geodesic distances
# between at most this many landmarks; otherwise the layout would tear surfaces apart for good. The
# last value is the root mean square radius of the start, relative to the square root of the number
# of landmarks; finished maps have about the same radius.
_SURFACE_DIMENSION = 3.0
_FEWEST_OF_SURFACE = 50
_GEODESIC_LANDMARKS = 1_000
_GEODESIC_SIZE = 0.6

# Perplexity per requested neighbor when affinities come from landmarks only. Below 3, surfaces
# collapse to filaments.
_PERPLEXITY = 3.0

# Default, capped at k - 1.
_DEFAULT_NEIGHBORS = 10

# Maps are for visualization.
_MOST_COMPONENTS = 3

# Maximum number of steps of a layout.
_MOST_STEPS = 10**6


class LandmarkMap(Embedding):
    """t-SNE for millions of points.

    The map is optimized for a diverse subset of the data (the landmarks); all other points are
    interpolated between their nearest landmarks. Landmarks are weighted by the number of points
    they represent, so dense regions occupy more of the map. Read neighborhoods and groups from it;
    distances between groups, and the gaps separating them, carry little information.

    Parameters
    ----------
    n_components : {1, 2, 3}, default=2
        Number of coordinates.
    landmarks : None, int, "auto", sampler, row numbers or points, default=None
        As for `LaplacianEigenmaps`, except that ``None`` draws 10,000, or takes all distinct points
        if there are no more than that.
    n_neighbors : int, default=10
        Number of nearest landmarks that each point pulls together. If landmarks represent fewer
        than two points each, the perplexity is three times this number.
    exaggeration : float, default=1.0
        Attraction relative to standard t-SNE. Values between 2 and 4 merge groups and reveal how
        they connect.
    n_iter : int, default=500
        Number of steps of the layout. The first quarter is exaggerated by 12, except on surfaces.
    refine : int, default=0
        Number of further steps with all rows, from their positions among the landmarks. Every
        distinct row then becomes a landmark: more neighbors are preserved, and time, memory and the
        model file grow with the number of rows.
    metric, random_state, n_jobs, verbose
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    fitted_, model_, landmark_indices_, landmarks_, landmark_embedding_
        As for `LaplacianEigenmaps`. Above 50 columns, ``fitted_.extras`` has the ``center`` and the
        principal ``components`` in which distances are measured.
    dimension_, stage_seconds_
        As for `LaplacianEigenmaps`.
    masses_ : ndarray of shape (k,)
        Number of points represented by each landmark, estimated from a random sample of 10 points
        per landmark.

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
        metric: Any = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | Callable[[str, int, int], None] = False,
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
        self.verbose = verbose

    _default_landmarks = 10_000
    # Drawing 10,000 landmarks in 50 columns takes 5 s with 20 rows per landmark and 13 s with 64.
    _rows_per_landmark = 20
    _most_columns = 50
    # There is a single extension.
    extension = "auto"
    # Principal components and searches among all points need every coordinate.
    _takes_sparse = False
    _title = "Map"
    _unhelpful = frozenset({"LandmarkMap", "Isomap", "n_components"})
    _has_eigenvalues = False

    def _check_parameters(self) -> Space:
        space = super()._check_parameters()
        why = "maps are for visualization"
        check_count("n_components", self.n_components, high=_MOST_COMPONENTS, why=why)
        check_count("n_neighbors", self.n_neighbors)
        check_positive("exaggeration", self.exaggeration)
        check_count("n_iter", self.n_iter, high=_MOST_STEPS)
        if isinstance(self.refine, bool):
            raise ParameterTypeError(
                f"refine={self.refine} does not say how many steps to make: pass a number, such "
                "as refine=200",
                "refine",
            )
        check_count("refine", self.refine, low=0, high=_MOST_STEPS)
        return space

    def _embed(self, pool: Pool, landmarks: Landmarks, run: Run) -> tuple[Fit, Extension]:
        why = f"there are {len(landmarks.points):,} landmarks"
        n_components = check_count(
            "n_components", self.n_components, high=len(landmarks.points) - 1, why=why
        )
        dimension = local_dimension(pool.points, len(landmarks.points))
        inside = landmarks.points
        if pool.projection is not None:
            inside = all_projected(pool.projection, inside, run.n_threads)
        masses, joint = self._affinities(pool, inside, run)
        run.done("affinities")
        is_surface = n_components - 0.5 < dimension <= _SURFACE_DIMENSION
        if is_surface and n_components < inside.shape[1] and len(inside) >= _FEWEST_OF_SURFACE:
            start, early = self._geodesic_start(inside, landmarks.indices, run), 0.0
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
        )
        fit = Fit(
            replace(landmarks, masses=masses),
            Spectrum(positions, np.empty(0)),
            dimension,
            extras=pool.projection._asdict() if pool.projection else {},
        )
        if self.refine:
            fit = self._refined(pool, fit, run)
        return fit, self._extension(fit)

    def _geodesic_start(self, inside: np.ndarray, rows: np.ndarray | None, run: Run) -> np.ndarray:
        """Return positions (k, l) of the landmarks by Isomap, which preserves the global shape."""
        pool = Pool(inside.astype(np.float64))
        isomap = Isomap(self.n_components)
        # The layout separates connected components that Isomap has to join, so Isomap's warnings
        # are dropped with its run.
        own = Run(int(run.rng.integers(2**31)), run.n_threads, False)
        some = min(_GEODESIC_LANDMARKS, len(inside))
        chosen = draw_landmarks(some, pool, own)
        try:
            _, extension = isomap._embed(pool, chosen, own)
        except FarRowError as error:
            raise far_row(error.row, rows) from None
        positions, _ = extend(extension, pool.points, run.n_threads)
        radius = np.sqrt(np.mean(np.sum(positions**2, axis=1)))
        return np.asarray(positions * (_GEODESIC_SIZE * np.sqrt(len(inside)) / radius))

    def _affinities(self, pool: Pool, inside: np.ndarray, run: Run) -> tuple[np.ndarray, csr_array]:
        """Return masses (k,) of the landmarks, and their affinities (k, k)."""
        k = len(inside)
        if self.n_neighbors > _DEFAULT_NEIGHBORS:
            why = f"there are {k:,} landmarks"
            check_count("n_neighbors", self.n_neighbors, high=max(k - 1, 1), why=why)
        count = min(self.n_neighbors, k - 1)
        sample = sample_points(pool.points, _COUNTED * k, run.rng)
        masses = np.zeros(k)

        def counted_blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for found, squares in nearest_landmarks(sample, inside, count + 1, run.n_threads):
                masses[:] += np.bincount(found[:, 0], minlength=k)
                yield found, squares

        # With one neighbor per point, no landmarks would be pulled together.
        if count > 1 and len(sample) >= _SHARED * k:
            # Landmarks count as points, too, so that those without nearby points are attracted.
            own_blocks = nearest_landmarks(inside, inside, count + 1, run.n_threads)
            joint = shared_affinities(k, chain(counted_blocks(), own_blocks))
            return np.maximum(masses, 1.0), joint
        for _ in counted_blocks():
            pass
        masses = np.maximum(masses, 1.0)
        return masses, affinities(inside, masses, _PERPLEXITY * self.n_neighbors, run.n_threads)

    def _refined(self, pool: Pool, fit: Fit, run: Run) -> Fit:
        """Lay out all distinct rows, from their positions among the landmarks."""
        run.done("layout")
        everything, full = pool.dense, np.asarray(pool.full)
        if pool.rows is not None:
            full = everything = np.asarray(pool.space(run.source.take(None)))
            if pool.projection is not None:
                everything = all_projected(pool.projection, full, run.n_threads)
        first, counts = np.unique(everything, axis=0, return_index=True, return_counts=True)[1:]
        order = np.argsort(first)
        rows, masses = first[order], counts[order].astype(np.float64)
        points, inside = full[rows], everything[rows]
        start, _ = extend(self._extension(fit), points.astype(np.float64), run.n_threads)
        # With the same distance between neighbors, a map of more points is larger.
        start *= np.sqrt(len(rows) / len(fit.landmarks.points))
        searched = None if pool.projection is None else inside
        perplexity = _PERPLEXITY * self.n_neighbors
        joint = affinities(points, masses, perplexity, run.n_threads, searched)
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
        )
        landmarks = Landmarks(points, rows, masses=masses, notes=fit.landmarks.notes)
        return replace(fit, landmarks=landmarks, spectrum=Spectrum(positions, np.empty(0)))

    def _extension(self, fit: Fit) -> Extension:
        projection = Projection(**fit.extras) if fit.extras else None
        return MapExtension.prepare(fit.landmarks.points, fit.spectrum.coordinates, projection)

    def _check_restored(self, fit: Fit) -> None:
        if fit.extras:
            d, (center, components) = fit.landmarks.points.shape[1], Projection(**fit.extras)
            shapes = center.shape == (d,) and components.ndim == 2 and len(components) == d
            require(shapes and center.dtype == components.dtype == np.float64, "projection")

    def _set_fitted(self, fit: Fit, model: Model) -> None:
        super()._set_fitted(fit, model)
        self.masses_ = fit.landmarks.masses
