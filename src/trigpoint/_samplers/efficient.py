"""Algorithm 2 of the paper, approximate determinantal sampling in less than O(n k) time."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_choice, check_count, check_positive, check_share
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.records import Landmarks
from trigpoint._geometry import neighborhood_size
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import Report, thread_count
from trigpoint._pool import ROWS_PER_LANDMARK, Pool, draw_pool, planned_landmarks, whole_pool
from trigpoint._samplers.count import count_landmarks
from trigpoint._samplers.drawing import NEIGHBORS_KEPT, LandmarkDraw, Repulsion
from trigpoint._samplers.refinement import resolve_refinement
from trigpoint._samplers.sampler import Sampler, check_n_landmarks, too_much_of_sparse
from trigpoint._sources import Source
from trigpoint._spaces import Space

logger = logging.getLogger(__name__)

# Minimum and maximum number of neighborhoods to estimate the bandwidth from. In between, one per
# `_LANDMARKS_PER_PILOT` landmarks, so that the estimate is cheap compared with the draw.
_PILOT_QUERIES = (16, 256)
_LANDMARKS_PER_PILOT = 8

# Minimum number of neighbors that a landmark repels, since covariances need at least a few points.
_FEWEST_NEIGHBORS = 10


class EfficientDPP(Sampler):
    """Efficient approximation of determinantal sampling on a manifold (Algorithm 2).

    Landmarks are drawn one at a time with probability proportional to a weight that starts at 1 for
    every point. A landmark multiplies the weights of its `n_neighbors` nearest points by a
    repulsion function of their distance, so that later landmarks are unlikely nearby. Only the
    neighborhood is repelled, so repulsion acts along the manifold. For up to about 10,000 points,
    `ExactDPP` draws from an exact determinantal point process.

    Parameters
    ----------
    n_landmarks : int or "auto", default=100
        Number of landmarks, k. ``"auto"`` takes the smallest number up to 4,000, within 5 %, that
        keeps the relative trace error within `tolerance`, as measured at up to 4,000 points.
    n_neighbors : int or None, default=None
        Size m of the neighborhood that a landmark repels, including itself. ``None`` takes four
        times the number of points per landmark, ``4 n / k``, and at least 10. A given number refers
        to rows of `X` and is scaled down in proportion to the size of the pool.
    bandwidth : float or None, default=None
        Bandwidth sigma of the repulsion. ``None`` takes the median radius of random neighborhoods,
        one for every eight landmarks, but at least 16 and at most 256.
    repulsion : {"welsch", "sin2"} or callable, default="welsch"
        Repulsion function: ``1 - exp(-distance^2 / 2 sigma^2)``, or ``sin^2(distance / sqrt(2)
        sigma)`` up to its first maximum and 1 beyond. A callable takes distances and the bandwidth
        and returns values from 0 to 1.
    refine : bool, int or Refinement, default=False
        Whether to improve the landmarks after the draw, by sweeps of exchanges with nearby points.
        ``True`` sweeps until the gain becomes small, and an int is the number of sweeps. A
        `Refinement` may also move landmarks off the data points.
    kernel_bandwidth : float or None, default=None
        Bandwidth of the Gaussian kernel whose trace error `refine` and ``n_landmarks="auto"``
        measure. ``None`` takes twice the radius of a ball that holds n / k points (n / 400 for
        ``"auto"``).
    tolerance : float, default=0.01
        Relative trace error that ``n_landmarks="auto"`` allows.
    pool : "auto", int or None, default="auto"
        Number of random rows that landmarks are drawn from. ``"auto"`` takes 64 per landmark and at
        least 131,072, or all rows if there are no more. ``None`` takes all rows of an array or
        memory map, which is Algorithm 2 of the paper without approximation.
    random_state : None, int, RandomState or Generator, default=None
        Seed. The same seed gives the same landmarks with any number of threads.
    n_jobs : int or None, default=None
        Number of threads; ``None`` for all cores.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,) or None
        Row numbers of the landmarks in the order they were drawn; refinement replaces entries in
        place. ``None`` if the refinement moved the landmarks off the data points, in which case
        ``refinement_.indices`` holds the rows that they were moved from.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Coordinates of the landmarks.
    radii_ : ndarray of shape (n_landmarks,)
        Distance from each landmark to the farthest of its neighbors.
    bandwidth_ : float
        Bandwidth of the repulsion.
    n_landmarks_ : int
        Number of landmarks.
    kernel_bandwidth_ : float or None
        Bandwidth of the kernel whose error `refine` or ``n_landmarks="auto"`` measured.
    refinement_ : RefinementResult or None
        Errors, bandwidth and number of exchanges of the refinement.
    search_ : str
        Method of the neighbor search, which depends on the dimension: a k-d tree, or matrix
        products over all points. Both are exact.
    n_proposals_ : int
        Number of proposals needed to draw the landmarks.
    n_distance_rows_ : int
        Number of neighborhoods computed; the loop of the paper computes one per landmark.

    Notes
    -----
    Weights never increase, so rejection sampling is exact: a point proposed from older weights is
    accepted with probability equal to the ratio of its current weight to its older one. Uniform
    proposals cost nothing, and no step scans all points. Only after n rejections, or 262,144 if
    that is fewer, are proposals drawn from the current weights. The neighborhoods of several
    proposals are searched at once, but proposals are decided one by one, so batching affects speed
    and never the result.

    By default, every point is repelled by four landmarks on average, and the range of the repulsion
    is the radius of a typical neighborhood. The range is the same everywhere, so landmarks are no
    farther apart in sparse regions than elsewhere. On surfaces of strongly varying density,
    `RPCholesky` or larger neighborhoods (``n_neighbors=8 * n // k``) give lower errors.

    Diverse landmarks help most on surfaces, where 2-D embeddings preserve about 4 percentage points
    more neighbors than with uniform landmarks. On other data, the gain is about one percentage
    point for features and none for 2-D embeddings.

    All points that coincide with a landmark get weight 0, even if there are more than `n_neighbors`
    of them, so landmarks are always distinct.

    With `sample_weight`, a row starts at its own weight instead of 1, and `n_neighbors`, the
    bandwidth and the error that `refine` and ``n_landmarks="auto"`` measure count a row of weight w
    as w points.

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
        refine: Any = False,
        kernel_bandwidth: float | None = None,
        tolerance: float = 0.01,
        pool: int | str | None = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.repulsion = repulsion
        self.refine = refine
        self.kernel_bandwidth = kernel_bandwidth
        self.tolerance = tolerance
        self.pool = pool
        self.random_state = random_state
        self.n_jobs = n_jobs

    takes_sparse = True

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        # Use separate random streams, so that giving one parameter does not change other draws.
        draw_seed, pilot_seed, refine_seed, count_seed = rng.integers(2**63, size=4)
        refinement = None if self.refine is False else resolve_refinement(self.refine)
        if self.kernel_bandwidth is not None:
            check_positive("kernel_bandwidth", self.kernel_bandwidth)
        check_share("tolerance", self.tolerance)
        if isinstance(pool.points, csr_array) and (refinement or self.n_landmarks == "auto"):
            what = "'auto'" if refinement is None else f"refine={self.refine!r}"
            raise too_much_of_sparse(f"EfficientDPP({what})", pool.points)
        n_threads, size = thread_count(self.n_jobs), pool.points.shape[0]
        k, kernel_bandwidth = self._count(pool, np.random.default_rng(count_seed))
        m = neighborhood_size(size, k, size / pool.counted)
        if self.n_neighbors is not None:
            m = self._scaled_neighbors(size, pool.counted)
        index = pool.index(m, k, n_threads)
        searched_before = index.n_searches
        logger.info("neighbors of %d points by %s", size, index.name)
        if self.bandwidth is None:
            self.bandwidth_ = usual_radius(index, k, m, np.random.default_rng(pilot_seed))
        else:
            self.bandwidth_ = check_positive("bandwidth", self.bandwidth)
        repulsion = Repulsion(self.repulsion, self.bandwidth_)
        draw_rng = np.random.default_rng(draw_seed)
        draw = LandmarkDraw(index, k, m, repulsion, draw_rng, n_threads=n_threads)
        parts = []
        for accepted in draw:
            parts.append(accepted)
            report("landmarks", draw.n_drawn, k)
        drawn = np.concatenate(parts)
        rows: np.ndarray | None = drawn
        found = Neighborhoods.joined(draw.found)
        self.n_proposals_ = draw.n_proposals
        self.refinement_ = None
        if refinement is not None:
            refined = refinement.run(
                pool.dense,
                drawn,
                kernel_bandwidth or self.kernel_bandwidth,
                np.random.default_rng(refine_seed),
                n_threads,
                report,
            )
            kernel_bandwidth = refined.bandwidth
            rows = refined.indices if refinement.snap else None
            found = index.search(refined.points, m)
            many = k * m > NEIGHBORS_KEPT
            found = replace(found, members=None if many else found.members, bounds=None)
            self.refinement_ = replace(refined, indices=pool.numbers(refined.indices))
        self.n_landmarks_, self.kernel_bandwidth_ = k, kernel_bandwidth
        self.search_ = index.name
        self.n_distance_rows_ = index.n_searches - searched_before
        self.radii_ = np.sqrt(found.squared_radii)
        return Landmarks(found.points, rows, self.radii_, neighborhoods=found)

    def _count(self, pool: Pool, rng: np.random.Generator) -> tuple[int, float | None]:
        """Return the number of landmarks and, for ``"auto"``, the bandwidth used to choose it."""
        if isinstance(self.n_landmarks, str):
            check_choice("n_landmarks", self.n_landmarks, ("auto",))
            return count_landmarks(pool, self, self.kernel_bandwidth, self.tolerance, rng)
        return check_n_landmarks(self.n_landmarks, pool), None

    def _scaled_neighbors(self, size: int, n: int) -> int:
        """Scale `n_neighbors` from all `n` points to the `size` points of a pool."""
        why = f"the data has {n} points"
        asked = check_count("n_neighbors", self.n_neighbors, high=n, why=why)
        m = -(-asked * size // n)
        if m < min(asked, _FEWEST_NEIGHBORS):
            raise ParameterValueError(
                f"n_neighbors={asked} of the {n:,} rows correspond to {m} of the {size:,} that "
                "landmarks are drawn from, which is too few: set EfficientDPP(pool=None), which "
                "draws from all rows of an array, choose a larger n_neighbors or leave it as None",
                "n_neighbors",
            )
        return m

    def pool_from(
        self,
        source: Source,
        space: Space,
        rng: np.random.Generator,
        per_landmark: int = ROWS_PER_LANDMARK,
    ) -> Pool:
        """Read the pool that this sampler draws from, of the size given by `pool`."""
        if self.pool is None:
            return whole_pool(source, space, rng)
        if self.pool == "auto":
            return super().pool_from(source, space, rng, per_landmark)
        if isinstance(self.pool, str):
            raise ParameterTypeError(
                f"pool={short(self.pool)} is not known: choose 'auto', None or a number", "pool"
            )
        k = planned_landmarks(self)
        low = 2 if isinstance(self.n_landmarks, str) else max(2, k)
        size = check_count("pool", self.pool, low=low, why="as many as n_landmarks")
        return draw_pool(source, space, k, rng, size=size)


def usual_radius(index: NeighborIndex, k: int, m: int, rng: np.random.Generator) -> float:
    """Return the median distance from a point to its `m`-th neighbor, over a few random points.

    If all these distances are zero, `m` is doubled.
    """
    n, (low, high) = index.points.shape[0], _PILOT_QUERIES
    n_queries = min(high, max(low, k // _LANDMARKS_PER_PILOT))
    while True:
        rows = rng.choice(n, min(n, n_queries), replace=False)
        # If most points coincide, so do most queries, and duplicates are the slowest to search.
        queries, repeats = np.unique(index.take(rows), axis=0, return_counts=True)
        squares = np.repeat(index.search(queries, m).squared_radii, repeats)
        if squares.any():
            return float(np.median(np.sqrt(squares[squares > 0])))
        if m == n:
            raise ParameterValueError(
                f"all {n} points coincide: there is nothing to choose from; check how the data "
                "was prepared",
                "X",
            )
        m = min(2 * m, n)
