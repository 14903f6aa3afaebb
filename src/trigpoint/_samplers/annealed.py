"""Annealed determinantal sampling: a Markov chain of swaps for powers of the determinant."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_choice, check_count, check_dense, check_positive
from trigpoint._common.records import Landmarks
from trigpoint._numerics.blocks import Report, one_blas_thread
from trigpoint._numerics.gaussian import resolve_bandwidth
from trigpoint._pool import Pool
from trigpoint._samplers.chain import (
    DeterminantChain,
    PointKernel,
    pivoted_start,
    singular_kernel_error,
)
from trigpoint._samplers.ensemble import check_rank, decompose, kernel_matrix
from trigpoint._samplers.sampler import Sampler, check_n_landmarks

_DEFAULT_SWEEPS = 100

# Largest share of swaps that may be refused because the new set is too close to singular.
_MOST_SINGULAR = 0.01


class AnnealedDPP(Sampler):
    """Landmarks from an annealed determinantal distribution, ``p(J) ~ det(K_J)^s``.

    Among the sets of k points, `exponent` s tunes diversity [1]_ (Section 2.2 of [2]_): s = 0 is
    uniform sampling, s = 1 the k-DPP that `ExactDPP` draws exactly, and a large s favors sets of
    large volume. The draw is the last state of a Markov chain that proposes to swap a landmark
    for another point and accepts by the ratio of the determinants, which costs O(k^2 + k d) with
    a maintained inverse of ``K_J``. The chain starts from a random pivoted Cholesky factorization.
    The result is approximate and improves with more sweeps.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k; at most the numerical rank of the kernel.
    exponent : float, default=1.0
        The power s >= 0 of the determinant. With 0 the draw is uniform and no chain is run.
    kernel : {"gaussian", "geodesic"}, default="gaussian"
        Similarity of points. ``"gaussian"`` uses Euclidean distances and computes only the entries
        that a swap needs, never all n x n. ``"geodesic"`` uses shortest paths over a graph of
        nearest neighbors and needs the full matrix; its negative eigenvalues, if any, are set to
        zero.
    bandwidth : float or None, default=None
        Bandwidth (sigma) of the kernel. ``None`` takes the median Euclidean distance between
        points.
    n_neighbors : int, default=10
        Number of neighbors of each point in the graph of the geodesic kernel; ignored otherwise.
    n_sweeps : int or None, default=None
        Length of the chain in sweeps of k proposed swaps. ``None`` runs 100 sweeps.
    random_state
        As for `EfficientDPP`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,)
        Rows of the landmarks.
    landmarks_ : ndarray of shape (k, d)
        Their coordinates.
    acceptance_rate_ : float
        Share of the proposed swaps that were accepted; NaN when no chain was run.

    See Also
    --------
    ExactDPP : The case s = 1, drawn exactly.

    Notes
    -----
    With 100 sweeps at an acceptance rate of 0.05 each landmark is replaced five times on average.
    For s = 1 the mean log-determinant of the states then agrees with that of exact draws; at
    higher rates it does so after 10 to 30 sweeps. Rates below 0.05, as for s = 10, call for more
    sweeps.

    Ratios of determinants are ratios of variances. Swaps whose variance cannot be distinguished
    from rounding error are refused; if these exceed 1 % of all swaps, an error says what to change.

    References
    ----------
    .. [1] M.-A. Belabbas, P. J. Wolfe, "Spectral methods in machine learning and new strategies
       for very large datasets", PNAS 106, 2009.
    .. [2] C. Wachinger, P. Golland, "Diverse landmark sampling from determinantal point processes
       for scalable manifold learning", AISTATS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> AnnealedDPP(n_landmarks=20, exponent=3, random_state=0).fit(X).landmarks_.shape
    (20, 2)
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        exponent: float = 1.0,
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        n_neighbors: int = 10,
        n_sweeps: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.exponent = exponent
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.n_sweeps = n_sweeps
        self.random_state = random_state

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.dense
        k = check_n_landmarks(self.n_landmarks, len(X))
        exponent = check_positive("exponent", self.exponent, zero=True)
        check_choice("kernel", self.kernel, ("gaussian", "geodesic"))
        check_count("n_neighbors", self.n_neighbors)
        n_sweeps = _DEFAULT_SWEEPS
        if self.n_sweeps is not None:
            n_sweeps = check_count("n_sweeps", self.n_sweeps)
        self.acceptance_rate_ = float("nan")
        if exponent == 0:
            indices = rng.choice(len(X), k, replace=False).astype(np.int64)
        else:
            # One thread: the steps are too small to share, and rounding must not depend on n_jobs.
            with one_blas_thread():
                kernel = self._point_kernel(X, rng)
                indices = self._run_chain(kernel, k, exponent, n_sweeps, rng, report)
        return Landmarks(X[indices], indices)

    def _point_kernel(self, X: np.ndarray, rng: np.random.Generator) -> PointKernel:
        if self.kernel == "gaussian":
            return PointKernel.gaussian(X, resolve_bandwidth(self.bandwidth, X, rng))
        K = kernel_matrix(
            X, kernel=self.kernel, bandwidth=self.bandwidth, n_neighbors=self.n_neighbors, rng=rng
        )
        # The nearest positive semidefinite matrix, whose determinants are not negative.
        spectrum = decompose(K)
        features = spectrum.basis * np.sqrt(spectrum.eigenvalues)
        return PointKernel.precomputed(features @ features.T)

    def _run_chain(
        self,
        K: PointKernel,
        k: int,
        exponent: float,
        n_sweeps: int,
        rng: np.random.Generator,
        report: Report,
    ) -> np.ndarray:
        check_dense("n_landmarks", k, "landmarks", "EfficientDPP, which forms no kernel matrix")
        start = pivoted_start(K, k, exponent, rng)
        check_rank(k, len(start), self.kernel)
        if k == len(K.diagonal):
            return start
        chain = DeterminantChain(K, start, exponent)
        n_accepted = 0
        for sweep in range(n_sweeps):
            n_accepted += chain.sweep(rng)
            report("sweeps", sweep + 1, n_sweeps)
        # With more refusals, nearly singular sets would not be rare enough to ignore.
        if chain.n_refused > _MOST_SINGULAR * (n_accepted + chain.n_refused):
            raise singular_kernel_error(k)
        self.acceptance_rate_ = n_accepted / (n_sweeps * k)
        return chain.indices
