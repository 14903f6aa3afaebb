"""t-SNE for millions of points."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import (
    check_count,
    check_positive,
    refuse_non_finite,
    refuse_non_numbers,
)
from trigpoint._common.device import free_memory
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.memory import physical_memory
from trigpoint._common.records import Extension, Fit, Landmarks, Projection, Spectrum
from trigpoint._embedding import Embedding
from trigpoint._estimators.map_start import INITS, map_start
from trigpoint._estimators.model_arrays import require
from trigpoint._extension.placing import MapExtension, nearest_landmarks
from trigpoint._geometry import local_dimension
from trigpoint._layout import (
    REACH,
    affinities,
    layout,
    shared_affinities,
)
from trigpoint._model import Model
from trigpoint._neighbors.cells import (
    EXACT_ROWS,
    candidates_per_row,
    nearest_of,
    neighbors_of_all,
)
from trigpoint._neighbors.refined import refined_neighbors
from trigpoint._neighbors.sparse import stored_row_bytes, take_rows
from trigpoint._numerics.blocks import Run, sample_points
from trigpoint._numerics.projection import SEARCHED, projected, restored
from trigpoint._pool import DevicePool, Pool
from trigpoint._samplers.choice import ALL, ALL_THERE
from trigpoint._sources import Source
from trigpoint._spaces import PairDistances, Space

# By default, all rows are laid out if there are at most this many rows and bytes.
MOST_ROWS = 400_000
_MOST_BYTES = 4 * 2**30
# Bytes per row for a layout of all rows, in addition to the rows themselves.
_LAYOUT_BYTES = 4000
# Bytes per row for a layout on a device, and number of copies of the rows there.
_THERE_BYTES = 5000
_THERE_COPIES = 4

# Number of points per landmark to sample when estimating masses.
_COUNTED = 10
# Minimum number of points per landmark to derive affinities from shared points.
_SHARED = 2
# Number of landmarks that share a point, as a multiple of the number of neighbors.
_SHARE = 2 / 3

# Number of candidates per neighbor if Euclidean rows only approximate the distances.
_CANDIDATES = 2

# Data with more columns is reduced to this many principal components, in which landmarks are drawn
# and new points are compared.
_MOST_COLUMNS = 50

# Default, capped at k - 1.
_DEFAULT_NEIGHBORS = 15

# Maps are for visualization.
_MOST_COMPONENTS = 3

# Maximum number of steps of a layout.
_MOST_STEPS = 10**6

# Number of landmarks that a report shows.
_SHOWN = 10_000


class LandmarkMap(Embedding):
    """t-SNE for millions of points.

    With up to 400,000 rows, the map is optimized for all of them. With more rows, it is optimized
    for a diverse subset (the landmarks), and all other points are interpolated between their
    nearest landmarks. Landmarks are weighted by the number of points they represent, so dense
    regions occupy more of the map. New points are interpolated in the same way. Read neighborhoods
    and groups from a map; the gaps between groups carry little information.

    Parameters
    ----------
    n_components : {1, 2, 3}, default=2
        Number of coordinates.
    landmarks : None, "all", int, "auto", sampler, row numbers or points, default=None
        As for `LaplacianEigenmaps`, except that ``None`` takes all distinct rows if there are at
        most 400,000 rows of at most 4 GiB, and draws 10,000 landmarks otherwise. ``"all"`` takes
        all distinct rows of any data that fits into memory. For a tensor on a GPU, both take as
        many rows as its memory allows, and compute the layout there.
    n_neighbors : int, default=15
        Effective number of neighbors that attract each point: the perplexity of t-SNE.
    exaggeration : float, default=1.0
        Attraction relative to standard t-SNE. Values between 2 and 4 merge groups and reveal how
        they connect.
    n_iter : int, default=300
        Number of steps of the layout. In the first half, attraction is exaggerated.
    init : {"auto", "pca", "spectral"} or ndarray of shape (n, n_components), default="auto"
        Initial positions: principal components, Laplacian eigenmaps, or given coordinates of the
        rows of `X`, such as an earlier map. ``"auto"`` uses principal components, except for
        surfaces that `Isomap` unrolls and principal components do not.
    metric, n_jobs, verbose
        As for `LaplacianEigenmaps`.
    random_state : None, int, RandomState or Generator, default=0
        Seed. By default, the same data gives the same map; other seeds show what depends on chance.

    Attributes
    ----------
    fitted_, model_, landmark_indices_, landmark_embedding_
        As for `LaplacianEigenmaps`.
    landmarks_ : ndarray of shape (k, d) or (k, 50)
        The landmarks. If the data has more than 50 columns, these are their principal components,
        in which distances to new points are measured (``fitted_.extras`` holds the ``center`` and
        the ``components``).
    dimension_, stage_seconds_
        As for `LaplacianEigenmaps`.
    masses_ : ndarray of shape (k,)
        Number of points represented by each landmark: counted if all rows are landmarks, otherwise
        estimated from a random sample of 10 points per landmark.

    References
    ----------
    L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", JMLR, 2008.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> tp.LandmarkMap().fit_transform(X).shape
    (3000, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        n_neighbors: int = _DEFAULT_NEIGHBORS,
        exaggeration: float = 1.0,
        n_iter: int = 300,
        init: Any = "auto",
        metric: Any = "euclidean",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool | Callable[[str, int, int], None] = False,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.n_neighbors = n_neighbors
        self.exaggeration = exaggeration
        self.n_iter = n_iter
        self.init = init
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _default_landmarks = 10_000
    # Drawing 10,000 landmarks in 50 columns takes 5 s with 20 rows per landmark and 13 s with 64.
    _rows_per_landmark = 20
    # There is a single extension.
    extension = "auto"
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
        if isinstance(self.init, str):
            if self.init not in INITS:
                raise ParameterValueError(
                    f"init={self.init!r} is not known: choose one of {', '.join(map(repr, INITS))}"
                    ", or pass coordinates",
                    "init",
                )
        elif np.ndim(self.init) != 2:
            raise ParameterTypeError(
                f"init={short(self.init)} is neither a name nor a 2-D array: pass coordinates with "
                "one row for each row of X",
                "init",
            )
        return space

    def _wanted_landmarks(self, source: Source, space: Space) -> Any:
        self._check_init(source.n)
        rows_bytes = max(
            space.bytes_read(source.columns),
            space.width(source.columns.count) * source.dtype.itemsize,
        )
        if source.columns.sparse:
            _, block = next(iter(source.blocks()))
            assert isinstance(block, csr_array)
            rows_bytes = stored_row_bytes(block)
        asked = isinstance(self.landmarks, str) and self.landmarks == "all"
        if source.device is not None and space.takes_tensors and (asked or self.landmarks is None):
            needed = source.n * (_THERE_COPIES * rows_bytes + _THERE_BYTES)
            if needed <= free_memory(source.device):
                return ALL_THERE
        if asked:
            needed, there = source.n * (2 * rows_bytes + _LAYOUT_BYTES), physical_memory()
            if needed > there:
                raise ParameterValueError(
                    f"landmarks='all' needs about {needed / 2**30:.0f} GiB for {source.n:,} rows, "
                    f"and this process may use {there / 2**30:.0f} GiB: choose landmarks=10_000",
                    "landmarks",
                )
        few = source.n <= MOST_ROWS and source.n * rows_bytes <= _MOST_BYTES
        return ALL if asked or (self.landmarks is None and few) else self.landmarks

    def _reduced(self, pool: Pool, run: Run) -> Pool:
        """Return the pool in principal components, if it has more than 50 columns."""
        if pool.points.shape[1] > _MOST_COLUMNS or isinstance(pool, DevicePool):
            pool = pool.reduced(_MOST_COLUMNS, run.rng, run.n_threads, searched=SEARCHED)
            run.done("projection")
        elif isinstance(pool.points, csr_array):
            pool = pool.moved(pool.points.toarray())
        return pool

    def _check_init(self, n: int) -> None:
        """Raise an error if the initial coordinates do not match n rows."""
        if isinstance(self.init, str):
            return
        shape, wanted = np.shape(self.init), (n, self.n_components)
        if shape != wanted:
            raise ParameterValueError(
                f"init has shape {shape}, and {wanted} is needed: pass coordinates with one row "
                "for each row of X",
                "init",
            )
        refuse_non_numbers(self.init, "init")
        refuse_non_finite(np.asarray(self.init, dtype=np.float64), "init")

    def _embed(self, pool: Pool, landmarks: Landmarks, run: Run) -> tuple[Fit, Extension]:
        k = len(landmarks.points)
        why = f"there are {k:,} landmarks"
        n_components = check_count("n_components", self.n_components, high=k - 1, why=why)
        if landmarks.points.shape[1] != pool.points.shape[1]:
            inside = projected(pool.projection, landmarks.points)[0].astype(pool.points.dtype)
            landmarks = replace(landmarks, points=inside)
        dimension = local_dimension(pool.distinct, k)
        rows, lay_out = None, None
        if isinstance(pool, DevicePool):
            from trigpoint._estimators.torch_layout import DeviceForces

            count = self._count(k)
            assert landmarks.masses is not None
            rows, lay_out = pool.inside, DeviceForces.of(pool, landmarks.masses, count, run).layout
        elif landmarks.groups is None:
            masses, joint = self._from_sample(pool, landmarks.points, run)
            landmarks = replace(landmarks, masses=masses)
        else:
            joint = self._among_all(pool, landmarks, run)
        run.done("affinities")
        start = map_start(self.init, landmarks, dimension, n_components, run, rows)
        run.done("start")
        assert landmarks.masses is not None
        options: Any = {"exaggeration": self.exaggeration, "n_iter": self.n_iter}
        if not isinstance(self.init, str):
            options["smoothing"] = 0
        if lay_out is None:
            lay_out = partial(layout, joint, landmarks.masses, n_threads=run.n_threads)
        positions = lay_out(start, report=run.report, **options)
        extras = {}
        if pool.projection is not None:
            extras = {**pool.projection._asdict(), "residual": np.array([pool.residual])}
        fit = Fit(landmarks, Spectrum(positions, np.empty(0)), dimension, extras=extras)
        return fit, self._extension(fit, run.n_threads)

    def _count(self, k: int) -> int:
        """Return the number of neighbors, checked against the number of landmarks."""
        if self.n_neighbors > _DEFAULT_NEIGHBORS:
            why = f"there are {k:,} landmarks"
            check_count("n_neighbors", self.n_neighbors, high=max(k - 1, 1), why=why)
        return min(self.n_neighbors, k - 1)

    def _among_all(self, pool: Pool, landmarks: Landmarks, run: Run) -> csr_array:
        """Return affinities (k, k) between all distinct rows, based on distances in all columns."""
        assert landmarks.masses is not None
        count, k = self._count(len(landmarks.points)), len(landmarks.points)
        points: Any = landmarks.points
        searched = landmarks.points
        places = pool.places(np.asarray(landmarks.indices))
        m = candidates = min(REACH * count, k - 1)
        if pool.exact is not None:
            candidates = min(_CANDIDATES * m, k - 1)
        elif pool.projection is not None:
            all_there = k == pool.full.shape[0]
            points = pool.full if all_there else pool.some_in_full(places)
            are_many = k > EXACT_ROWS or isinstance(points, csr_array)
            if are_many and points.shape[1] > SEARCHED:
                inside = pool.searched(run.n_threads)
                searched = inside if all_there else inside[places]
                candidates = candidates_per_row(points, searched, m, run.rng, run.n_threads)
            else:
                searched = take_rows(points, slice(None))
        near = neighbors_of_all(searched, candidates, run.rng, run.n_threads)
        if pool.exact is not None:
            exact = partial(_among, pool.exact, places)
            neighbors, distances = refined_neighbors(near, m, exact, run.n_threads)
            squares = np.square(distances)
        else:
            neighbors, squares = nearest_of(points, near, m, run.n_threads)
        run.done("neighbors")
        return affinities(neighbors, squares, landmarks.masses, count, run.n_threads)

    def _from_sample(
        self, pool: Pool, inside: np.ndarray, run: Run
    ) -> tuple[np.ndarray, csr_array]:
        """Return masses (k,) of the landmarks, and affinities (k, k) from points they share."""
        k = len(inside)
        count = self._count(k)
        shared = min(max(round(_SHARE * count), 2), k - 1)
        sample = sample_points(pool.points, _COUNTED * k, run.rng)
        masses = np.zeros(k)

        def counted_blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for found, squares in nearest_landmarks(sample, inside, shared + 1, run.n_threads):
                masses[:] += np.bincount(found[:, 0], minlength=k)
                yield found, squares

        # With a single landmark per point, no landmarks would attract each other.
        if shared > 1 and len(sample) >= _SHARED * k:
            # Landmarks also count as points, so that those without nearby points are attracted.
            own_blocks = nearest_landmarks(inside, inside, shared + 1, run.n_threads)
            joint = shared_affinities(k, chain(counted_blocks(), own_blocks))
            return np.maximum(masses, 1.0), joint
        for _ in counted_blocks():
            pass
        masses = np.maximum(masses, 1.0)
        m = min(REACH * count, k - 1)
        near = neighbors_of_all(inside, m, run.rng, run.n_threads)
        neighbors, squares = nearest_of(inside, near, m, run.n_threads)
        return masses, affinities(neighbors, squares, masses, count, run.n_threads)

    def _extension(self, fit: Fit, n_threads: int | None = None) -> Extension:
        projection, residual = _projection(fit.extras)
        points, positions = fit.landmarks.points, fit.spectrum.coordinates
        return MapExtension(points, positions, projection, residual, n_threads)

    def _check_restored(self, fit: Fit) -> None:
        if not fit.extras:
            return
        require(set(fit.extras) == {"center", "components", "residual"}, "projection")
        center, components, residual = (
            fit.extras[name] for name in ("center", "components", "residual")
        )
        d, c = components.shape
        require(center.shape == (d,) and c == fit.landmarks.points.shape[1], "projection")
        require(all(a.dtype == np.float64 for a in fit.extras.values()), "projection")
        require(residual.shape == (1,) and residual[0] >= 0, "projection")

    def _set_fitted(self, fit: Fit, model: Model) -> None:
        super()._set_fitted(fit, model)
        self.masses_ = fit.landmarks.masses

    def _shown(self) -> Fit:
        """Return the fit with at most 10,000 landmarks, in all columns."""
        fit, landmarks = self.fitted_, self.fitted_.landmarks
        assert landmarks.masses is not None
        k = len(landmarks.points)
        rows = np.arange(k)
        if k > _SHOWN:
            rows = np.sort(np.random.default_rng(0).choice(k, _SHOWN, replace=False))
        assert landmarks.masses is not None
        points = landmarks.points[rows]
        projection, _ = _projection(fit.extras)
        if projection is not None:
            points = restored(projection, points)
        indices = None if landmarks.indices is None else landmarks.indices[rows]
        shown = Landmarks(points, indices, masses=landmarks.masses[rows])
        return replace(
            fit,
            landmarks=shown,
            spectrum=replace(fit.spectrum, coordinates=fit.spectrum.coordinates[rows]),
            landmark_coordinates=fit.landmark_coordinates[rows],
        )


def _among(
    exact: PairDistances, rows: np.ndarray, first: int, others: np.ndarray, out: np.ndarray
) -> None:
    """Fill `out` with exact distances between landmarks, which are the given `rows` of the pool."""
    if rows[-1] == len(rows) - 1:
        exact(first, others, out)
        return
    for place in range(len(others)):
        # One row at a time, since the rows are not consecutive.
        exact(int(rows[first + place]), rows[others[place : place + 1]], out[place : place + 1])


def _projection(extras: dict[str, np.ndarray]) -> tuple[Projection | None, float]:
    """Return the projection of a fit, if any, and the largest residual."""
    if not extras:
        return None, 0.0
    return Projection(extras["center"], extras["components"]), float(extras["residual"][0])
