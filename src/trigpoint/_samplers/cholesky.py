"""Randomly pivoted Cholesky, which draws landmarks in proportion to their residual variance."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_dense
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Landmarks
from trigpoint._neighbors.sparse import Points, take_rows
from trigpoint._numerics.blocks import Report, one_blas_thread, sample_points, thread_count
from trigpoint._numerics.gaussian import Kernel, gaussian_of, resolve_kernel_bandwidth
from trigpoint._numerics.residual.factor import ROUNDING, LandmarkFactor
from trigpoint._pool import Pool
from trigpoint._samplers.sampler import Sampler, check_n_landmarks

# Number of proposals to decide together. It does not depend on the number of landmarks, so a
# smaller draw is the start of a larger one.
_PROPOSALS = 512

# Maximum number of points to compute the residual trace from.
_TRACE_POINTS = 20_000


class RPCholesky(Sampler):
    """Randomly pivoted Cholesky of the Gaussian kernel ``exp(-|x - y|^2 / (2 sigma^2))`` [1]_.

    The first landmark is drawn uniformly. Each later one is drawn with probability proportional to
    its residual, the squared distance in the feature space of the kernel from the span of the
    landmarks so far. The residuals are the remaining diagonal of a Cholesky factorization, and the
    landmarks are its pivots. This is the adaptive sampling [2]_ that Wachinger and Golland [3]_
    cite, in rounds of one landmark and applied to a kernel. With weights, residuals are multiplied
    by the weight of their row, and the first landmark is drawn in proportion to the weights.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k, at most the numerical rank of the kernel.
    bandwidth : float or None, default=None
        Bandwidth sigma of the kernel. ``None`` takes twice the radius of the ball that holds a
        landmark's share of the points, n / k of them.
    random_state, n_jobs
        As for `EfficientDPP`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,)
        Row numbers of the landmarks in the order they were drawn; no two landmarks coincide. With
        the same seed and bandwidth, a smaller draw is the beginning of a larger one.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Coordinates of the landmarks.
    bandwidth_ : float
        Bandwidth of the kernel.
    residual_trace_ : float
        Mean residual of the points, from 0 to 1: the trace-norm error of the Nystrom approximation
        from these landmarks, relative to the trace of the kernel. With more than 20,000 points, it
        is the mean over 20,000 drawn at random, with a relative standard error of about 1 %.
    n_proposals_ : int
        Number of proposals needed to draw the landmarks.

    See Also
    --------
    ExactDPP : Draw sets in proportion to the determinant of their kernel matrix.
    trigpoint.metrics.nystrom_error : Error over all points.

    Notes
    -----
    Residuals never increase, so rejection sampling is exact [4]_: points are proposed in proportion
    to older residuals, and a proposal is accepted with probability equal to the ratio of its
    current residual to its older one. The proposals of a block are decided one by one with a small
    Cholesky factorization of their residual kernel matrix, so the landmarks have the same
    distribution as if they were drawn one at a time. At first, all points are equally likely to be
    proposed; after n rejections, the residuals of all points are recomputed.

    The n x k factor of all points is not stored. A proposal costs O(k^2 + k d), and a landmark
    takes about 1 / r proposals at a mean residual of r. As long as r is above k / n, the total time
    is O(k^3 / r), independent of n; otherwise, it is that of a few passes over all points, of
    O(n k^2) each. Memory holds a few numbers per point, the k x k factor of the landmarks, and
    blocks of a few megabytes.

    The kernel is computed in float64. Residuals below 1e-12 count as zero. If all residuals are
    zero before `n_landmarks` are drawn, an error reports the number drawn.

    References
    ----------
    .. [1] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical
       approximation of a kernel matrix with few entry evaluations", arXiv:2207.06503, 2023.
    .. [2] A. Deshpande, S. Vempala, "Adaptive sampling and fast low-rank matrix approximation",
       RANDOM 2006.
    .. [3] C. Wachinger, P. Golland, "Diverse landmark sampling from determinantal point processes
       for scalable manifold learning", AISTATS 2015.
    .. [4] E. N. Epperly, J. A. Tropp, R. J. Webber, "Embrace rejection: kernel matrix
       approximation by accelerated randomly pivoted Cholesky", arXiv:2410.03969, 2024.

    Examples
    --------
    Each of three distant groups gets a landmark, although one is a single point.

    >>> import numpy as np
    >>> from trigpoint import RPCholesky
    >>> X = np.array([[0.0], [0.1], [0.2], [50.0], [50.1], [99.0]])
    >>> sampler = RPCholesky(3, bandwidth=5.0, random_state=0).fit(X)
    >>> sorted(sampler.landmarks_.ravel().round().tolist())
    [0.0, 50.0, 99.0]
    >>> sampler.residual_trace_ < 0.001
    True
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        bandwidth: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.bandwidth = bandwidth
        self.random_state = random_state
        self.n_jobs = n_jobs

    takes_sparse = True

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.points
        k = check_n_landmarks(self.n_landmarks, pool)
        n_threads = thread_count(self.n_jobs)
        check_dense("n_landmarks", k, "landmarks", "EfficientDPP, which forms no kernel matrix")
        # Parts of the points run in parallel, so each product uses one thread.
        with one_blas_thread():
            self.bandwidth_ = resolve_kernel_bandwidth(self.bandwidth, X, k, rng)
            draw = PivotDraw(X, gaussian_of(self.bandwidth_), k, n_threads)
            while len(draw.rows) < k:
                draw.next_block(rng)
                report("landmarks", len(draw.rows), k)
            sample = sample_points(X, _TRACE_POINTS, rng)
            self.residual_trace_ = max(float(draw.factor.residuals(sample).mean()), 0.0)
        self.n_proposals_ = draw.n_proposals
        return Landmarks(take_rows(X, draw.rows), draw.rows)


class PivotDraw:
    """Sequential draw of `k` pivots by rejection, with proposals from older residuals.

    `rows` holds the landmarks drawn so far, `factor` the Cholesky factor of their kernel matrix,
    and `n_proposals` the number of proposals decided.
    """

    def __init__(self, X: Points, kernel: Kernel, k: int, n_threads: int) -> None:
        self.rows = np.empty(0, dtype=np.int64)
        self.factor = LandmarkFactor(kernel, X.shape[1], k, n_threads)
        self.n_proposals = 0
        self._X = X
        self._kernel = kernel
        self._k = k
        self._n_rejected = 0
        # None while all points are equally likely.
        self._weights: np.ndarray | None = None
        self._cumulative = np.empty(0)

    def next_block(self, rng: np.random.Generator) -> None:
        """Decide a block of proposals, stopping early once there are `k` landmarks."""
        proposed = self._propose(rng)
        weights = 1.0 if self._weights is None else self._weights[proposed]
        thresholds = np.maximum(rng.random(len(proposed)) * weights, ROUNDING)
        points = take_rows(self._X, proposed).astype(np.float64, copy=False)
        columns = self.factor.columns(points)
        # Other pivots of the block can only lower a residual, so one that is too small now remains
        # too small.
        hopeful = np.flatnonzero(1.0 - np.einsum("ij,ij->j", columns, columns) > thresholds)
        n_wanted = self._k - len(self.rows)
        accepted = hopeful[:0]
        if len(hopeful):
            candidates, columns = points[hopeful], columns[:, hopeful]
            matrix = self._kernel(candidates, candidates)
            np.fill_diagonal(matrix, 1.0)
            matrix -= columns.T @ columns
            places, factor = _accept(matrix, thresholds[hopeful], n_wanted)
            self.factor.add(candidates[places], np.hstack([columns[:, places].T, factor]))
            accepted = hopeful[places]
            self.rows = np.concatenate([self.rows, proposed[accepted]])
        n_decided = accepted[-1] + 1 if len(accepted) == n_wanted else len(proposed)
        self.n_proposals += int(n_decided)
        self._n_rejected += int(n_decided) - len(accepted)
        # By now, rejections have cost as much as recomputing the residuals of all points.
        if len(accepted) < n_wanted and self._n_rejected >= self._X.shape[0]:
            self._renew_weights()

    def _propose(self, rng: np.random.Generator) -> np.ndarray:
        if self._weights is None:
            n = self._X.shape[0]
            return np.minimum((rng.random(_PROPOSALS) * n).astype(np.int64), n - 1)
        total = self._cumulative[-1]
        drawn = np.searchsorted(self._cumulative, rng.random(_PROPOSALS) * total, side="right")
        # Rounding may raise the largest target to the total.
        return np.minimum(drawn, np.searchsorted(self._cumulative, total))

    def _renew_weights(self) -> None:
        self._weights = self.factor.residuals(self._X)
        self._weights[self._weights <= ROUNDING] = 0
        self._cumulative = np.cumsum(self._weights)
        if self._cumulative[-1] == 0:
            n_drawn = len(self.rows)
            raise ParameterValueError(
                f"n_landmarks={self._k} is too large for this bandwidth: {n_drawn} landmarks span "
                "all points in the feature space of the kernel, up to rounding; choose "
                f"n_landmarks <= {n_drawn}, a smaller bandwidth or more distinct points",
                "n_landmarks",
            )
        self._n_rejected = 0


def _accept(matrix: np.ndarray, thresholds: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Accept, in order, candidates with a conditional variance above their threshold.

    The variance is conditional on the candidates accepted before. `matrix` (c, c) is the residual
    kernel of the candidates. At most `most` are accepted. Returns the positions of the accepted
    candidates, and the lower Cholesky factor of their residual kernel.
    """
    variances = matrix.diagonal().copy()
    factor = np.empty((min(most, len(matrix)), len(matrix)))
    accepted: list[int] = []
    for i in range(len(matrix)):
        step = len(accepted)
        if step == most:
            break
        if variances[i] <= thresholds[i]:
            continue
        pivot = np.sqrt(variances[i])
        row = (matrix[i, i:] - factor[:step, i] @ factor[:step, i:]) / pivot
        row[0] = pivot
        factor[step, i:] = row
        variances[i:] -= np.square(row)
        accepted.append(i)
    places = np.array(accepted, dtype=np.int64)
    return places, np.tril(factor[: len(places), places].T)
