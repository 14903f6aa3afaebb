"""Algorithm 2 of the paper: determinantal sampling in time that does not grow with n k."""

import logging
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from trigpoint._common.checks import check_choice, check_count, check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report, reporter
from trigpoint._common.records import Landmarks
from trigpoint._geometry import COVARIANCES, LocalCovariances, neighborhood_covariances
from trigpoint._landmarks.base import Sampler, check_n_landmarks, too_much_of_sparse
from trigpoint._landmarks.count import check_tolerance, count_landmarks
from trigpoint._landmarks.drawing import LandmarkDraw
from trigpoint._landmarks.refinement import resolve_refinement
from trigpoint._numerics.sparse import Points
from trigpoint._numerics.threads import thread_count
from trigpoint._points.memory import MemoryStore
from trigpoint._points.repulsion import Repulsion
from trigpoint._points.store import Store

logger = logging.getLogger(__name__)

# Fewest and most neighborhoods the bandwidth is measured from; in between, one per this many
# landmarks, so that it costs little compared with the draw.
_PILOT_QUERIES = (16, 256)
_LANDMARKS_PER_PILOT = 8


class EfficientDPP(Sampler):
    """Efficient determinantal sampling on a manifold (Algorithm 2).

    Landmarks are drawn one at a time with probability proportional to a weight that starts at 1 for
    every point. A landmark multiplies the weights of its `n_neighbors` nearest points by a
    repulsion function of their distance, so later landmarks keep away from it: along the manifold,
    because only the neighborhood is touched.

    Parameters
    ----------
    n_landmarks : int or "auto", default=100
        Number of landmarks, k. ``"auto"`` takes the fewest, within 5 % and up to 4,000, that keep
        the relative trace error within `tolerance`, measured at up to 4,000 points.
    n_neighbors : int or None, default=None
        Size m of the neighborhood that a landmark repels (itself included), also used for its
        covariance. ``None`` takes four times the points per landmark, ``4 n / k``, and at
        least 10.
    bandwidth : float or None, default=None
        Bandwidth sigma of the repulsion. ``None`` takes the median radius of some neighborhoods
        drawn at random: one for every eight landmarks, at least 16 and at most 256.
    repulsion : {"welsch", "sin2"} or callable, default="welsch"
        The function f: ``1 - exp(-distance^2 / 2 sigma^2)`` or ``sin^2(distance / sqrt(2) sigma)``;
        a callable takes distances and the bandwidth and returns values from 0 to 1.
    covariance : {None, "full", "diag", "low-rank"}, default=None
        Whether to keep the local covariance around each landmark: in full, only its diagonal, or a
        few directions with their variances and one variance for the rest.
    refine : bool, int or Refinement, default=False
        Whether to improve the landmarks after the draw, by sweeps of exchanges with nearby points.
        ``True`` sweeps until the gain is no longer worth it; an int is a number of sweeps; a
        `Refinement` may also keep the result a sample, or move landmarks off the points.
    kernel_bandwidth : float or None, default=None
        Bandwidth of the Gaussian kernel whose trace error `refine` and ``n_landmarks="auto"``
        measure. ``None`` takes twice the radius of the ball that holds a landmark's share of the
        points (a 400th of them for ``"auto"``).
    tolerance : float, default=0.01
        Relative trace error that ``n_landmarks="auto"`` allows.
    device : None, "cuda", "cuda:1", ..., "cpu" or "auto", default=None
        Where distances are computed, with PyTorch. ``None`` follows the points: a tensor on a GPU
        is used there, anything else on the host. ``"auto"`` takes a GPU if there is one; `device_`
        says which. The landmarks are the same.
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        Distance between points. ``"cosine"`` scales rows to unit length first, so that only their
        directions count, and ``"seuclidean"`` divides columns by their standard deviations;
        `landmarks_` are then scaled rows.
    random_state : None, int, RandomState or Generator, default=None
        Seed. The same seed gives the same landmarks with any number of threads.
    n_jobs : int or None, default=None
        Number of threads; ``None`` for all cores.
    verbose : bool, default=False
        Show progress on the terminal.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` whenever there is progress; an exception from it
        ends `fit`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,) or None
        Rows of the landmarks, in the order they were drawn; refinement exchanges them in place.
        ``None`` if the refinement has moved the landmarks off the points; ``refinement_.indices``
        then has the rows they were moved from.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Their coordinates.
    radii_ : ndarray of shape (n_landmarks,)
        Distance from each landmark to the last of its neighbors.
    covariances_ : ndarray, LowRankCovariances or None
        Covariance of each landmark's neighbors: of shape (n_landmarks, d, d) or (n_landmarks, d),
        or `LowRankCovariances`.
    bandwidth_ : float
        The bandwidth of the repulsion that was used.
    n_landmarks_ : int
        The number of landmarks.
    kernel_bandwidth_ : float or None
        Bandwidth of the kernel whose error `refine` or ``n_landmarks="auto"`` measured.
    refinement_ : RefinementResult or None
        Result of the refinement: its errors, bandwidth and number of exchanges.
    search_ : str
        How neighbors were found, depending on the dimension: a k-d tree, or matrix products over
        all points, and where. All are exact.
    device_ : str
        Where distances were computed.
    n_proposals_ : int
        How many proposals it took to draw the landmarks.
    n_distance_rows_ : int
        How many neighborhoods were computed; the paper's loop computes one per landmark.

    Notes
    -----
    Weights only ever shrink, so rejection is exact: a point proposed from older weights is accepted
    with a probability that is the ratio of its current weight to the older one. Uniform proposals
    cost nothing, and no step scans all points; only after n rejections, or 262,144 if that is
    fewer, are proposals drawn from the current weights. The neighborhoods of several proposals are
    searched at once, but proposals are decided one by one, so batches change the speed and never
    the result.

    By default, every point is repelled by four landmarks on average, and repulsion reaches as far
    as a typical neighborhood. The median makes it a fixed length: where points are sparse,
    landmarks are as far apart as elsewhere, not farther. ``experiments/benchmarks/RESULTS.md``
    compares this rule with other choices on data of many shapes.

    Points that coincide with a landmark get weight 0 even if there are more than `n_neighbors`
    of them: the landmarks are always distinct.

    References
    ----------
    C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
    scalable manifold learning", 2015, Algorithm 2.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(2000, random_state=0)
    >>> sampler = tp.EfficientDPP(50, random_state=0).fit(X)
    >>> sampler.landmarks_.shape
    (50, 3)
    """

    def __init__(
        self,
        n_landmarks: int | str = 100,
        *,
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        repulsion: Any = "welsch",
        covariance: str | None = None,
        refine: Any = False,
        kernel_bandwidth: float | None = None,
        tolerance: float = 0.01,
        device: Any = None,
        metric: str = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> None:
        super().__init__(
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
        )
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.repulsion = repulsion
        self.covariance = covariance
        self.refine = refine
        self.kernel_bandwidth = kernel_bandwidth
        self.tolerance = tolerance
        self.device = device

    takes_stores = True
    takes_sparse = True

    def _select(self, X: Points | Store, rng: np.random.Generator) -> Landmarks:
        # Separate streams: whether one thing is given must not change the draw of another.
        draw_seed, pilot_seed, refine_seed, count_seed = rng.integers(2**63, size=4)
        refinement = resolve_refinement(self.refine)
        check_choice("covariance", self.covariance, (None, *COVARIANCES))
        if self.kernel_bandwidth is not None:
            check_positive("kernel_bandwidth", self.kernel_bandwidth)
        check_tolerance(self.tolerance)
        if refinement is not None and isinstance(X, csr_array):
            raise too_much_of_sparse(f"EfficientDPP(refine={self.refine!r})", X)
        n = X.shape[0]
        k, kernel_bandwidth = self._count(X, n, np.random.default_rng(count_seed))
        m = resolve_n_neighbors(self.n_neighbors, n, k)
        report = reporter(self.verbose, self.callback)

        n_threads = thread_count(self.n_jobs)
        store = MemoryStore.of(X, m, k, n_threads) if isinstance(X, Points) else X
        self.device_ = str(getattr(store, "device", "cpu"))
        searched_before = store.n_searches
        logger.info("neighbors of %d points by %s", n, store.name)
        self.bandwidth_ = self._repulsion_bandwidth(store, k, m, np.random.default_rng(pilot_seed))
        draw = LandmarkDraw(
            store,
            k,
            m,
            Repulsion(self.repulsion, self.bandwidth_),
            np.random.default_rng(draw_seed),
            n_threads=n_threads,
        )
        # Measuring the covariances of landmarks that may still move would be wasted.
        chosen = _drawn(draw, store, self.covariance if refinement is None else None, report)
        self.n_proposals_ = draw.n_proposals
        self.refinement_ = None
        if refinement is not None:
            assert chosen.indices is not None
            assert not isinstance(X, csr_array)
            self.refinement_ = refinement.run(
                X,
                chosen.indices,
                kernel_bandwidth or self.kernel_bandwidth,
                np.random.default_rng(refine_seed),
                n_threads,
                report,
            )
            kernel_bandwidth = self.refinement_.bandwidth
            rows = self.refinement_.indices if refinement.snap else None
            chosen = _measured(store, self.refinement_.points, rows, m, self.covariance)
        self.n_landmarks_, self.kernel_bandwidth_ = k, kernel_bandwidth
        self.search_ = store.name
        self.n_distance_rows_ = store.n_searches - searched_before
        self.radii_ = chosen.radii
        self.covariances_ = chosen.covariances
        return chosen

    def _count(
        self, X: Points | Store, n: int, rng: np.random.Generator
    ) -> tuple[int, float | None]:
        """Return the number of landmarks, and the bandwidth of the kernel if that decided."""
        if not isinstance(self.n_landmarks, str):
            return check_n_landmarks(self.n_landmarks, n), None
        if self.n_landmarks != "auto":
            raise ParameterValueError(
                "n_landmarks",
                self.n_landmarks,
                "{parameter=} is not known",
                ("choose a number", "'auto'"),
            )
        if isinstance(X, csr_array):
            raise too_much_of_sparse("EfficientDPP('auto')", X)
        counted = clone(self).set_params(covariance=None, verbose=False, callback=None)
        return count_landmarks(X, counted, self.kernel_bandwidth, self.tolerance, rng)

    def for_sample(self, n_sampled: int, n_points: int, kernel_bandwidth: float) -> Self:
        """Return a copy that draws from a sample of the points as this one would from all of them.

        Neighborhoods of the same radius hold fewer points of the sample.
        """
        copy = super().for_sample(n_sampled, n_points, kernel_bandwidth)
        if self.kernel_bandwidth is None:
            copy.set_params(kernel_bandwidth=kernel_bandwidth)
        if self.n_neighbors is not None:
            m = check_count("n_neighbors", self.n_neighbors, high=n_points)
            copy.set_params(n_neighbors=-(-m * n_sampled // n_points))
        return copy

    def _repulsion_bandwidth(self, store: Store, k: int, m: int, rng: np.random.Generator) -> float:
        if self.bandwidth is not None:
            return check_positive("bandwidth", self.bandwidth)
        low, high = _PILOT_QUERIES
        n_queries = min(high, max(low, k // _LANDMARKS_PER_PILOT))
        return neighborhood_radius(store, m, n_queries, rng)


def _drawn(draw: LandmarkDraw, store: Store, covariance: str | None, report: Report) -> Landmarks:
    """The landmarks of a draw, with their radii, and covariances if wanted."""
    geometry = None if covariance is None else LocalCovariances(store, covariance)
    rows, points, radii = [], [], []
    for accepted in draw:
        rows.append(accepted.rows)
        points.append(accepted.neighborhoods.points)
        radii.append(accepted.neighborhoods.radii)
        if geometry is not None:
            geometry.add(accepted.neighborhoods)
        report("landmarks", draw.n_drawn, draw.n_landmarks)
    return Landmarks(
        np.concatenate(points),
        np.concatenate(rows),
        np.concatenate(radii),
        None if geometry is None else geometry.result(),
    )


def _measured(
    store: Store, points: np.ndarray, rows: np.ndarray | None, m: int, covariance: str | None
) -> Landmarks:
    """Refined landmarks, with the radii and covariances of their neighborhoods."""
    if covariance is not None:
        return Landmarks(points, rows, *neighborhood_covariances(store, points, m, covariance))
    return Landmarks(points, rows, store.search(points, m).radii)


def resolve_n_neighbors(n_neighbors: Any, n_points: int, n_landmarks: int) -> int:
    """Neighborhood size m: four times the points per landmark if none is given.

    Smaller ones describe a patch far smaller than the distance between landmarks; a covariance
    needs at least a few points.
    """
    if n_neighbors is None:
        return min(n_points, max(10, -(-4 * n_points // n_landmarks)))
    return check_count(
        "n_neighbors", n_neighbors, high=n_points, why=f"the data has {n_points} points"
    )


def neighborhood_radius(store: Store, m: int, n_queries: int, rng: np.random.Generator) -> float:
    """Median distance from a point to its `m`-th neighbor, over a few points drawn at random.

    If all of them are copies of the point, more neighbors are searched.
    """
    n = store.n_points
    rows = rng.choice(n, min(n, n_queries), replace=False)
    radii = store.search(store.take(rows), m).radii
    if not radii.any():
        if m == n:
            raise ParameterValueError(
                "X",
                n,
                "all {n} points coincide",
                "there is nothing to choose from; check how the points were made",
                n=n,
            )
        return neighborhood_radius(store, min(2 * m, n), n_queries, rng)
    return float(np.median(radii[radii > 0]))
