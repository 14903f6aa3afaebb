"""Exact sampling from a determinantal point process of fixed size."""

from typing import Any

import numpy as np

from trigpoint._common.progress import reporter
from trigpoint._common.records import Landmarks
from trigpoint._landmarks.base import Sampler, check_n_landmarks
from trigpoint._landmarks.ensemble import Ensemble, check_rank, draw_projection, make_ensemble


class KDPP(Sampler):
    """A fixed number of landmarks from a determinantal point process, drawn exactly.

    A set J of k points has probability ``det(L_J) / e_k(L)``, where L is the kernel matrix and
    ``e_k``, the sum of the determinants of all such sets, is the k-th elementary symmetric
    polynomial of its eigenvalues [1]_. This is volume sampling, ``s = 1`` in `AnnealedDPP`.

    It takes O(n^3 + n k^2) time and O(n^2) memory (except for the linear kernel): use
    `EfficientDPP` beyond about 10,000 points.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k; at most the numerical rank of the kernel.
    kernel : {"gaussian", "geodesic", "linear"}, default="gaussian"
        Similarity of points, as in `ExactDPP`. The linear kernel, an inner product of points that
        are not centered, allows at most d landmarks.
    bandwidth : float or None, default=None
        Bandwidth (sigma) of the kernel. ``None`` takes the median Euclidean distance between
        points. The linear kernel has none.
    n_neighbors : int, default=10
        Number of neighbors of each point in the graph of the geodesic kernel; ignored otherwise.
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        Distance between points. ``"cosine"`` scales rows to unit length first, so that only their
        directions count, and ``"seuclidean"`` divides columns by their standard deviations;
        `landmarks_` are then scaled rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of randomness.
    n_jobs : int or None, default=None
        Has no effect: rounding depends on the number of threads, so one is used.
    verbose : bool, default=False
        Show progress on the terminal.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` whenever there is progress.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,)
        Rows of the landmarks, in the order drawn.
    landmarks_ : ndarray of shape (k, d)
        Their coordinates.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    ExactDPP : The same with a random number of landmarks.
    AnnealedDPP : Powers of the determinant, without an n x n matrix.

    References
    ----------
    .. [1] A. Kulesza, B. Taskar, "k-DPPs: fixed-size determinantal point processes", ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> KDPP(n_landmarks=20, bandwidth=0.5, random_state=0).fit(X).landmarks_.shape
    (20, 2)
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        n_neighbors: int = 10,
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors

    def _select(self, X: np.ndarray, rng: np.random.Generator) -> Landmarks:
        n_landmarks = check_n_landmarks(self.n_landmarks, len(X))
        ensemble = make_ensemble(
            X, kernel=self.kernel, bandwidth=self.bandwidth, n_neighbors=self.n_neighbors, rng=rng
        )
        check_rank(n_landmarks, len(ensemble.eigenvalues), self.kernel)
        indices = draw_kdpp(ensemble, log_polynomials(ensemble.eigenvalues, n_landmarks), rng)
        reporter(self.verbose, self.callback)("landmarks", len(indices), len(indices))
        return Landmarks(points=X[indices], indices=indices)


def log_polynomials(values: np.ndarray, degree: int) -> np.ndarray:
    """Return the logarithms of the elementary symmetric polynomials of positive `values`.

    In logarithms, neither do the largest overflow nor the smallest vanish: for 5,000 eigenvalues,
    e_200 alone may exceed 10^500. All terms are positive, so nothing cancels.

    Parameters
    ----------
    values : ndarray of shape (r,)
        Positive numbers.
    degree : int
        The highest degree, k.

    Returns
    -------
    table : ndarray of shape (r + 1, k + 1)
        ``table[i, l]`` is the logarithm of the polynomial of degree l of the first i values;
        minus infinity where l > i.

    Examples
    --------
    The polynomials of 1, 2 and 3: 1, 1 + 2 + 3, 1 x 2 + 1 x 3 + 2 x 3 and 1 x 2 x 3.

    >>> import numpy as np
    >>> np.exp(log_polynomials(np.array([1.0, 2.0, 3.0]), 3)[3]).round(9)
    array([ 1.,  6., 11.,  6.])
    """
    table = np.full((len(values) + 1, degree + 1), -np.inf)
    table[:, 0] = 0.0
    for i, log_value in enumerate(np.log(values)):
        np.logaddexp(table[i, 1:], log_value + table[i, :-1], out=table[i + 1, 1:])
    return table


def choose_eigenvectors(
    values: np.ndarray, table: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Choose k eigenvectors, with probability proportional to the product of their values.

    Going from the last value to the first, value i is among l still to be chosen with probability
    ``value_i e_(l-1)(values before i) / e_l(values up to i)``, read off the `table` of
    `log_polynomials`.
    """
    wanted = table.shape[1] - 1
    log_values = np.log(values)
    uniforms = rng.random(len(values))
    chosen = np.empty(wanted, dtype=np.int64)
    for i in range(len(values) - 1, -1, -1):
        if wanted == 0:
            break
        log_probability = log_values[i] + table[i, wanted - 1] - table[i + 1, wanted]
        # If only as many values are left as wanted, all are taken, whatever the rounding.
        if wanted == i + 1 or uniforms[i] < np.exp(log_probability):
            wanted -= 1
            chosen[wanted] = i
    return chosen


def draw_kdpp(ensemble: Ensemble, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one set from the k-DPP of an L-ensemble and the `log_polynomials` of its eigenvalues."""
    chosen = choose_eigenvectors(ensemble.eigenvalues, table, rng)
    return draw_projection(ensemble.eigenvectors(chosen), rng)
