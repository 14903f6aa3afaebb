"""Landmarks chosen greedily, each for what it adds to the Nystrom approximation of a kernel."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.memory import physical_memory
from trigpoint._common.records import Landmarks
from trigpoint._numerics.blocks import Report, one_blas_thread, row_blocks, thread_count, thread_map
from trigpoint._numerics.gaussian import gaussian_of, resolve_kernel_bandwidth
from trigpoint._numerics.residual.factor import PoolFactor, PoolKernel
from trigpoint._pool import Pool
from trigpoint._samplers.sampler import Sampler, check_n_landmarks

# Points of the pool, at least and per landmark. With fewer, landmarks overfit the pool; with more,
# they hardly improve.
_POOL = 10_000
_POOL_PER_LANDMARK = 20

# Candidates drawn together, and how many of them per landmark taken before others are drawn. With
# more of either, the landmarks hardly improve.
_CANDIDATES = 128
_CANDIDATES_PER_LANDMARK = 8

# Entries whose update is worth sharing among threads.
_SHARED = 2**20


class GreedyNystrom(Sampler):
    """Greedy choice of landmarks for the Nystrom approximation of a Gaussian kernel.

    The part of the kernel ``K_xy = exp(-|x - y|^2 / (2 sigma^2))`` that landmarks J leave
    unexplained is the residual ``E = K - K_XJ inv(K_JJ) K_JX``, whose diagonal holds the squared
    distances, in the feature space of the kernel, from the span of the landmarks. Each step takes,
    among some candidates c, the one that lowers the trace of E most, by ``|E_c|^2 / E_cc`` [1]_.
    This favors the middle of dense regions.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k.
    bandwidth : float or None, default=None
        Bandwidth sigma of the kernel. ``None`` takes twice the radius of the ball that holds a
        landmark's share of the points, n / k of them.
    n_candidates : int or None, default=None
        Number of candidates, drawn with probability proportional to ``E_cc``. One in eight is taken
        before others are drawn, unless all points of the pool are candidates. ``None`` takes 128,
        or a quarter of the pool if that is less.
    pool_size : int or None, default=None
        Number of points, drawn uniformly, that are candidates and over which the trace is summed.
        ``None`` takes 10,000 or 20 per landmark, whichever is more. A pool of p points takes
        ``8 k p`` bytes of memory: 640 MB for 2,000 landmarks, however many points there are.
    random_state, n_jobs
        As for `EfficientDPP`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,)
        Rows of the landmarks in the order they were chosen; no two of them coincide.
    landmarks_ : ndarray of shape (k, d)
        Their coordinates.
    bandwidth_ : float
        Bandwidth of the kernel.
    residual_trace_ : float
        Trace of the residual over the pool, relative to that of the kernel: from 0 (exact) to 1
        (nothing explained). Over points outside the pool it is slightly larger, since the
        landmarks were chosen for the pool.
    pool_ : int64 ndarray of shape (p,)
        Rows of the pool, in increasing order.

    See Also
    --------
    trigpoint.metrics.nystrom_error : The trace of the residual over all points.

    Notes
    -----
    With all points as candidates, Farahat, Ghodsi and Kamel [1]_ update the gains by recursive
    formulas, which need products with the whole kernel matrix. Here the rows of the residual are
    kept for a few candidates only. These are drawn by their residual, like the landmarks of
    randomly pivoted Cholesky [2]_, and leave less unexplained than the same number drawn uniformly.

    References
    ----------
    .. [1] A. K. Farahat, A. Ghodsi, M. S. Kamel, "A novel greedy algorithm for Nystrom
       approximation", AISTATS 2011.
    .. [2] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical
       approximation of a kernel matrix with few entry evaluations", Communications on Pure and
       Applied Mathematics 78, 2025.

    Examples
    --------
    The point in the middle of a group explains most of it; the outlier comes next.

    >>> import numpy as np
    >>> from trigpoint import GreedyNystrom
    >>> X = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0], [9.0]])
    >>> sampler = GreedyNystrom(2, bandwidth=2.0, n_candidates=6, random_state=0).fit(X)
    >>> sampler.landmarks_.ravel().tolist()
    [0.0, 9.0]
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        bandwidth: float | None = None,
        n_candidates: int | None = None,
        pool_size: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.bandwidth = bandwidth
        self.n_candidates = n_candidates
        self.pool_size = pool_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.dense
        k = check_n_landmarks(self.n_landmarks, len(X))
        size = max(_POOL, _POOL_PER_LANDMARK * k)
        if self.pool_size is not None:
            size = check_count("pool_size", self.pool_size, low=k, why="as many as n_landmarks")
        size = min(len(X), size)
        n_candidates = max(1, min(_CANDIDATES, size // 4))
        if self.n_candidates is not None:
            n_candidates = min(size, check_count("n_candidates", self.n_candidates))
        _check_memory(k, size, n_candidates)
        n_threads = thread_count(self.n_jobs)
        # Separate streams: whether the bandwidth is given must not change the draw.
        draw_rng, pilot_rng = map(np.random.default_rng, rng.integers(2**63, size=2))

        # Blocks of fixed size run in parallel, each on one thread, so that rounding does not depend
        # on the number of threads.
        with one_blas_thread():
            self.bandwidth_ = resolve_kernel_bandwidth(self.bandwidth, X, k, pilot_rng)
            rows = np.sort(draw_rng.choice(len(X), size, replace=False)).astype(np.int64)
            self.pool_ = pool.numbers(rows)
            kernel = _pool_kernel(X[rows], self.bandwidth_)
            residual = PoolFactor(kernel, np.ones(size), k, n_threads)
            _choose_by_trace(residual, n_candidates, draw_rng, report)
        if len(residual.chosen) < k:
            raise self._too_many_landmarks(k, len(residual.chosen), len(X))
        self.residual_trace_ = float(residual.variances.mean())
        rows = rows[residual.chosen]
        return Landmarks(X[rows], rows)

    def _too_many_landmarks(self, k: int, n_chosen: int, n_points: int) -> ParameterValueError:
        pool = len(self.pool_)
        larger_pool = f", a larger pool_size than {pool}" if pool < n_points else ""
        return ParameterValueError(
            f"n_landmarks={k} is too large for a bandwidth of {self.bandwidth_:.4g}: {n_chosen} "
            "landmarks explain all other points, or coincide with them, up to rounding; choose "
            f"n_landmarks <= {n_chosen}{larger_pool} or a smaller bandwidth",
            "n_landmarks",
        )


def _check_memory(k: int, size: int, n_candidates: int) -> None:
    needed, available = 8 * size * (k + n_candidates), physical_memory()
    if needed > available:
        raise ParameterValueError(
            f"{k} landmarks from a pool of {size} points, {n_candidates} of them candidates, need "
            f"about {needed / 1e9:.0f} GB, but this machine has {available / 1e9:.0f} GB: choose "
            "a smaller n_landmarks, pool_size or n_candidates",
            "n_landmarks",
        )


def _pool_kernel(points: np.ndarray, bandwidth: float) -> PoolKernel:
    """Gaussian kernel between points (p, d) of the pool."""
    kernel = gaussian_of(bandwidth)

    def between(places: np.ndarray, part: slice) -> np.ndarray:
        some, others = (points[chosen].astype(np.float64, copy=False) for chosen in (places, part))
        return kernel(some, others)

    return between


class _Candidates:
    """Some points of the pool, and their rows of E, which are kept up to date.

    Parameters
    ----------
    residual : PoolFactor
        The residual, to which the landmarks are added.
    places : int64 ndarray of shape (b,)
        Places of the candidates in the pool.

    Attributes
    ----------
    places : int64 ndarray of shape (b,)
    squares : ndarray of shape (b,)
        Squared norms of their rows.
    """

    def __init__(self, residual: PoolFactor, places: np.ndarray) -> None:
        self.places = places
        self._residual = residual
        self._rows = residual.rows(places)
        self.squares = np.einsum("ij,ij->i", self._rows, self._rows)

    def gains(self) -> np.ndarray:
        """By how much each would lower the trace; 0 for points already explained."""
        variances = self._residual.variances[self.places]
        return np.divide(self.squares, variances, out=np.zeros(len(variances)), where=variances > 0)

    def choose(self, best: int) -> None:
        """Make one of them a landmark."""
        from trigpoint._kernels.pivoting import deflate

        explained = self._residual.add(int(self.places[best]), self._rows[best])

        def update(part: slice) -> None:
            factors = explained[self.places[part]]
            deflate(self._rows[part], factors, explained, self.squares[part])

        # Rows are independent, so it does not matter how threads divide them.
        n_threads = self._residual.n_threads if self._rows.size > _SHARED else 1
        parts = row_blocks(len(self.places), -(-len(self.places) // n_threads))
        for _ in thread_map(update, parts, n_threads):
            pass


def _choose_by_trace(
    residual: PoolFactor, n_candidates: int, rng: np.random.Generator, report: Report
) -> None:
    """Add landmarks, each the candidate that lowers the trace most."""
    while residual.n_missing:
        candidates = _Candidates(residual, _draw_places(residual.variances, n_candidates, rng))
        n_wanted = residual.n_missing
        if len(candidates.places) < np.count_nonzero(residual.variances):
            n_wanted = min(n_wanted, max(1, n_candidates // _CANDIDATES_PER_LANDMARK))
        for _ in range(n_wanted):
            gains = candidates.gains()
            if not gains.any():
                break
            candidates.choose(int(gains.argmax()))
        report("landmarks", len(residual.chosen), residual.most)


def _draw_places(variances: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw places, with probability proportional to the variance, and sort them.

    Returns all that are left if there are no more than `count`.
    """
    left = np.flatnonzero(variances)
    if len(left) <= count:
        return left
    # The first of events at these rates, without replacement.
    times = rng.standard_exponential(len(left)) / variances[left]
    return left[np.sort(np.argpartition(times, count)[:count])]
