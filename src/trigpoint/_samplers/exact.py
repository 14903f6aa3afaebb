"""Exact sampling from determinantal point processes of random size (Algorithm 1) or fixed size."""

from typing import Any

import numpy as np

from trigpoint._common.records import Landmarks
from trigpoint._numerics.blocks import Report
from trigpoint._pool import Pool
from trigpoint._samplers.ensemble import Ensemble, check_rank, draw_projection, make_ensemble
from trigpoint._samplers.sampler import Sampler, check_n_landmarks


class ExactDPP(Sampler):
    r"""Exact sampling from a determinantal point process (DPP).

    A set J of points has probability ``det(L_J) / det(L + I)``, where L is the kernel matrix
    (Section 3.1 of [1]_). Sets of dissimilar points have large determinants, so landmarks spread
    out. The number of landmarks is random, with mean
    :math:`\sum_i \lambda_i / (\lambda_i + 1)` over the eigenvalues of L, and may be zero.

    For a given number of landmarks k, samples come from the k-DPP: a set J of k points has
    probability ``det(L_J) / e_k(L)``, where ``e_k`` is the k-th elementary symmetric polynomial of
    the eigenvalues, which equals the sum of the determinants of all sets of k points [4]_. This is
    volume sampling.

    Sampling follows Algorithm 1 of [1]_, after [2]_ and [3]_. It takes O(n^3 + n k^2) time and
    O(n^2) memory (except for the linear kernel); use `EfficientDPP` beyond about 10,000 points.

    With weights w, L_ij is multiplied by ``sqrt(w_i w_j)``. Since copies of a point exclude each
    other, this is the distribution of sets drawn from w copies of each row.

    Parameters
    ----------
    n_landmarks : int or None, default=None
        Number of landmarks, at most the numerical rank of the kernel. ``None`` for a random number.
    kernel : {"gaussian", "geodesic", "linear"}, default="gaussian"
        Similarity of points. ``"gaussian"`` uses Euclidean distances. ``"geodesic"`` uses shortest
        paths in the nearest-neighbor graph and sets negative eigenvalues, if any, to zero.
        ``"linear"`` is the inner product of the points without centering; it is sampled through the
        dual ``X.T @ X`` in O(n d^2) time and gives at most d landmarks.
    bandwidth : float or None, default=None
        Bandwidth (sigma) of the kernel. ``None`` takes the median Euclidean distance between
        points. Ignored by the linear kernel.
    n_neighbors : int, default=10
        Number of neighbors of each point in the graph of the geodesic kernel; ignored otherwise.
    random_state
        As for `EfficientDPP`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,)
        Row numbers of the landmarks, in the order they were drawn.
    landmarks_ : ndarray of shape (k, d)
        Coordinates of the landmarks.

    References
    ----------
    .. [1] C. Wachinger, P. Golland, "Diverse landmark sampling from determinantal point processes
       for scalable manifold learning", AISTATS 2015.
    .. [2] J. B. Hough, M. Krishnapur, Y. Peres, B. Virág, "Determinantal processes and
       independence", Probability Surveys 3, 2006.
    .. [3] A. Kulesza, B. Taskar, "Structured determinantal point processes", NIPS 2010.
    .. [4] A. Kulesza, B. Taskar, "k-DPPs: fixed-size determinantal point processes", ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint import ExactDPP
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sampler = ExactDPP(bandwidth=0.5, random_state=0).fit(X)
    >>> sampler.landmarks_.shape == (len(sampler.indices_), 2)
    True
    >>> ExactDPP(20, bandwidth=0.5, random_state=0).fit(X).landmarks_.shape
    (20, 2)
    """

    def __init__(
        self,
        n_landmarks: int | None = None,
        *,
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        n_neighbors: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        k, weights, first = self.n_landmarks, pool.weights, pool.first
        if k is not None:
            k = check_n_landmarks(k, pool)
        X = pool.dense if first is None else pool.dense[first]
        ensemble = make_ensemble(
            X,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            n_neighbors=self.n_neighbors,
            rng=rng,
            weights=None if weights is None else weights[first],
            copies=None if weights is None else pool.dense,
        )
        if k is None:
            indices = draw_dpp(ensemble, rng)
        else:
            check_rank(k, len(ensemble.eigenvalues), self.kernel)
            indices = draw_kdpp(ensemble, log_polynomials(ensemble.eigenvalues, k), rng)
        report("landmarks", len(indices), len(indices))
        return Landmarks(X[indices], indices if first is None else first[indices])


def draw_dpp(ensemble: Ensemble, rng: np.random.Generator) -> np.ndarray:
    """Draw one set, which may be empty, from the DPP of an L-ensemble."""
    values = ensemble.eigenvalues
    chosen = np.flatnonzero(rng.random(len(values)) < values / (values + 1))
    return draw_projection(ensemble.eigenvectors(chosen), rng)


def log_polynomials(values: np.ndarray, degree: int) -> np.ndarray:
    """Return the logarithms of the elementary symmetric polynomials of positive `values` (r,).

    Logarithms neither overflow nor underflow; for 5,000 eigenvalues, e_200 may exceed 10^500. All
    terms are positive, so there is no cancellation. In the result, of shape (r + 1, degree + 1),
    ``table[i, l]`` is the polynomial of degree l of the first i values, and -inf if l > i.

    Examples
    --------
    The polynomials of 1, 2 and 3 are 1, 1 + 2 + 3, 1 x 2 + 1 x 3 + 2 x 3 and 1 x 2 x 3.

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
    """Choose k eigenvectors with probability proportional to the product of their eigenvalues.

    Values are visited from last to first. With l still to be chosen, value i is chosen with
    probability ``value_i e_(l-1)(values before i) / e_l(values up to i)``, which comes from the
    `table` of `log_polynomials`.
    """
    wanted = table.shape[1] - 1
    log_values = np.log(values)
    uniforms = rng.random(len(values))
    chosen = np.empty(wanted, dtype=np.int64)
    for i in range(len(values) - 1, -1, -1):
        if wanted == 0:
            break
        log_probability = log_values[i] + table[i, wanted - 1] - table[i + 1, wanted]
        # If just enough values are left, take them all regardless of rounding.
        if wanted == i + 1 or uniforms[i] < np.exp(log_probability):
            wanted -= 1
            chosen[wanted] = i
    return chosen


def draw_kdpp(ensemble: Ensemble, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one set from the k-DPP of an L-ensemble and the `log_polynomials` of its eigenvalues."""
    chosen = choose_eigenvectors(ensemble.eigenvalues, table, rng)
    return draw_projection(ensemble.eigenvectors(chosen), rng)
