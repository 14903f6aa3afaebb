"""Ridge leverage scores of the Gaussian kernel, and landmarks drawn by them."""

from functools import partial
from typing import Any

import numpy as np

from trigpoint._common.checks import check_positive
from trigpoint._common.memory import check_dense
from trigpoint._common.records import Landmarks
from trigpoint._landmarks.base import Sampler, check_n_landmarks
from trigpoint._landmarks.cholesky import Residual
from trigpoint._numerics.kernels import Kernel, gaussian_of, resolve_kernel_bandwidth
from trigpoint._numerics.threads import one_blas_thread, thread_count

# Points that the scores are measured against, per landmark and at least.
_DICTIONARY = 2
_LEAST_DICTIONARY = 64

# Points that the effective dimension is estimated from, how near it must come to the number of
# landmarks, and how many times the ridge is changed for that at most.
_DIMENSION_POINTS = 1024
_TOLERANCE = 0.05
_MOST_STEPS = 30
_FLATTEST = -0.1

# A ridge must stand out from the rounding of the kernel.
_LEAST_RIDGE = 1e-8
_LEAST_SHARE = 1e-10


class LeverageScores(Sampler):
    """Landmarks drawn by approximate ridge leverage scores of the Gaussian kernel [1]_.

    The score of a point is its entry on the diagonal of ``K (K + ridge I)^-1``, from 0 to 1: high
    for a point on its own, low for one among many that are alike. The scores add up to the
    effective dimension of the kernel. Landmarks are drawn one after the other, with probability
    proportional to the score among the rows that are left; they do not repel each other, as they
    do in determinantal sampling.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k.
    bandwidth : float or None, default=None
        Bandwidth sigma of the kernel. ``None`` takes twice the radius of the ball that holds a
        landmark's share of the points, n / k of them.
    ridge : float or None, default=None
        What is added to the diagonal of the kernel, whose own is 1; at least 1e-8. The smaller,
        the more points stand out. ``None`` takes the ridge at which the scores, as they are
        estimated, add up to k within a few per cent.
    n_jobs : int, default=-1
        Number of threads; -1 for all cores. The landmarks do not depend on it.
    random_state : None, int, RandomState or Generator, default=None
        Seed.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,)
        Rows of the landmarks, all different, in the order they were drawn. Rows that coincide
        count as different points.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Their coordinates.
    bandwidth_ : float
        The bandwidth that was used.
    ridge_ : float
        The ridge that was used.
    scores_ : ndarray of shape (n,)
        The estimated scores.

    See Also
    --------
    RPCholesky : Draws landmarks by what those before leave unexplained.

    Notes
    -----
    The recursion of [1]_: the scores of a set of points are estimated from a dictionary of some
    of them, which is drawn by the scores within a random half of the set, and so on down to a half
    that is small enough to be a dictionary itself. A dictionary has about 2 k points, and at least
    64. For so few points the scores are exact.

    Estimates tend to be too high, because less explains a point less well: on Swiss rolls and
    images of digits with ``ridge=None`` they were 0.8 to 4.5 times the exact scores, 1.1 to 1.8
    times in the median, so that the effective dimension in truth was between k / 2 and k. They
    are worse for a given `ridge` with an effective dimension above k.

    The time is O(n k^2), some 8 n k^2 operations, and the memory a few numbers for each point, some
    matrices of the size of the dictionary, and blocks of some megabytes.

    References
    ----------
    .. [1] C. Musco, C. Musco, "Recursive sampling for the Nystrom method", NIPS 2017.

    Examples
    --------
    A point on its own has a score of nearly 1; copies share what one of them would have.

    >>> import numpy as np
    >>> from trigpoint import LeverageScores
    >>> X = np.array([[0.0], [0.0], [0.0], [0.0], [100.0]])
    >>> LeverageScores(2, bandwidth=1.0, ridge=0.1, random_state=0).fit(X).scores_.round(2)
    array([0.24, 0.24, 0.24, 0.24, 0.91])
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        bandwidth: float | None = None,
        ridge: float | None = None,
        n_jobs: int = -1,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _select(self, X: np.ndarray, rng: np.random.Generator) -> Landmarks:
        k = check_n_landmarks(self.n_landmarks, len(X))
        ridge = None if self.ridge is None else _check_ridge(self.ridge)
        n_threads = thread_count(self.n_jobs)
        check_dense(_DICTIONARY * k, "points", "EfficientDPP, which forms no kernel matrix")
        # Parts of the points are what runs side by side: products keep to their thread.
        with one_blas_thread():
            self.bandwidth_ = resolve_kernel_bandwidth(self.bandwidth, X, k, rng)
            kernel = gaussian_of(X, self.bandwidth_)
            self.scores_, self.ridge_ = _recursive_scores(X, kernel, k, ridge, n_threads, rng)
        rows = _draw_rows(self.scores_, k, rng)
        return Landmarks(X[rows], rows)


def _draw_rows(scores: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `k` rows one after the other by their scores among the rows that are left."""
    # The first to arrive at such rates is drawn by its rate, and so is the next among the others.
    arrivals = rng.standard_exponential(len(scores)) / scores
    first = np.argpartition(arrivals, k - 1)[:k]
    return first[np.argsort(arrivals[first])].astype(np.int64, copy=False)


def _recursive_scores(
    X: np.ndarray,
    kernel: Kernel,
    k: int,
    ridge: float | None,
    n_threads: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Scores of all points, and the ridge."""
    size = max(_DICTIONARY * k, _LEAST_DICTIONARY)
    order = rng.permutation(len(X))
    halves = [len(X)]
    while halves[-1] > size:
        halves.append((halves[-1] + 1) // 2)
    smallest = order[: halves[-1]]
    dictionary = Dictionary(X, kernel, smallest, np.ones(len(smallest)), n_threads)
    # A score is at most 1 / ridge, so that this one is not too small.
    used = len(smallest) / k if ridge is None else ridge
    for n_points in halves[-2::-1] or halves:
        points = order[:n_points]
        if ridge is None:
            # Twice the points make twice the eigenvalues.
            used = _find_ridge(dictionary, points, k, 2 * used)
        scores = dictionary.scores(points, used)
        if n_points < len(X):
            shares = _inclusion(scores, size)
            drawn = rng.random(n_points) < shares
            dictionary = Dictionary(X, kernel, points[drawn], shares[drawn], n_threads)
    in_order_of_rows = np.empty(len(X))
    in_order_of_rows[order] = scores
    return in_order_of_rows, used


class Dictionary:
    """Points that stand for many, each with the probability that it was drawn with.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        All points.
    kernel : callable
        The kernel between arrays of points.
    rows : int64 ndarray of shape (s,)
        Rows of the points of the dictionary.
    probabilities : ndarray of shape (s,)
        Probabilities of their being drawn: one drawn with probability p stands for 1 / p points.
    n_threads : int
    """

    def __init__(
        self,
        X: np.ndarray,
        kernel: Kernel,
        rows: np.ndarray,
        probabilities: np.ndarray,
        n_threads: int,
    ) -> None:
        self._residual = partial(Residual, X, kernel, len(rows), n_threads)
        self._rows = rows
        self._probabilities = probabilities
        self._matrix = self._residual().matrix(rows)

    def scores(self, rows: np.ndarray, ridge: float) -> np.ndarray:
        """Estimated scores of some points.

        With weights ``W = diag(1 / sqrt(p))`` the dictionary explains ``k' W (W K W + ridge I)^-1
        W k`` of a point, which is ``k' (K + ridge diag(p))^-1 k``.
        """
        shifted = self._matrix.copy()
        shifted[np.diag_indices_from(shifted)] += np.maximum(
            ridge * self._probabilities, _LEAST_SHARE
        )
        residual = self._residual()
        residual.add(self._rows, np.linalg.cholesky(shifted))
        # No eigenvalue is above n, which bounds the scores from below.
        return np.clip(residual.diagonal(rows) / ridge, 1 / (len(residual.X) + ridge), 1.0)


def _find_ridge(dictionary: Dictionary, points: np.ndarray, k: int, ridge: float) -> float:
    """Ridge at which the scores of the points add up to `k`, starting from a guess."""
    # Spread over all of them: the first half, where the dictionary is from, has lower scores.
    sample = points[:: -(-len(points) // _DIMENSION_POINTS)]
    position, slope = np.log(ridge), -1.0
    previous = None
    for _ in range(_MOST_STEPS):
        dimension = dictionary.scores(sample, np.exp(position)).mean() * len(points)
        height = np.log(dimension / k)
        if abs(height) <= _TOLERANCE:
            break
        if previous is not None:
            slope = (height - previous[1]) / (position - previous[0])
        previous = (position, height)
        # Secants of logarithms; the dimension never falls faster than the inverse of the ridge.
        position -= height / np.clip(slope, -1.0, _FLATTEST)
        position = max(position, np.log(_LEAST_RIDGE))
        if position == previous[0]:
            # The kernel has no more than so many dimensions.
            break
    return float(np.exp(position))


def _inclusion(scores: np.ndarray, size: int) -> np.ndarray:
    """Probabilities proportional to the scores, up to 1, that add up to `size` points."""
    certain = np.zeros(len(scores), dtype=bool)
    while True:
        rest = scores[~certain]
        shares = scores * ((size - certain.sum()) / rest.sum())
        shares[certain] = 1.0
        if (shares <= 1).all():
            return shares
        certain = shares >= 1


def _check_ridge(ridge: Any) -> float:
    ridge = check_positive("ridge", ridge)
    if ridge < _LEAST_RIDGE:
        raise ValueError(
            f"ridge={ridge} is too small: beside the rounding of the kernel no score could be "
            f"told; choose ridge >= {_LEAST_RIDGE:g}"
        )
    return ridge
