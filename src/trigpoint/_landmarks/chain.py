"""Swapping landmarks one by one: the Markov chain behind annealed determinantal sampling."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dgemm
from scipy.spatial.distance import cdist

from trigpoint._numerics.kernels import gaussian

# A point whose variance given the landmarks is this small a part of its own is a combination of
# them but for rounding.
_SINGULAR = 1e-13

# Rounding of the kernel's entries alone leaves an error of some eps |z|^2 in a variance z'Kz. A
# variance must be this many times larger, which makes it good to two digits.
_RELIABLE = 100 * 4 * float(np.finfo(np.float64).eps)

# How far the kernel times its maintained inverse may be off before that is computed afresh.
_DRIFT = 1e-4

# Points among which the start is looked for first, and how many per landmark at least: all would
# take O(n k) memory.
_POOL = 10_000
_POOL_PER_LANDMARK = 20


@dataclass(frozen=True)
class KernelEntries:
    """A positive semidefinite kernel of which only the entries asked for are computed.

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
        The variances of the points, ``K_ii``.
    block : callable
        ``block(rows, columns)`` is the matrix of the entries at `rows` and `columns`.
    """

    diagonal: np.ndarray
    block: Callable[[np.ndarray, np.ndarray], np.ndarray]

    @classmethod
    def gaussian(cls, X: np.ndarray, bandwidth: float) -> Self:
        """Gaussian kernel of Euclidean distances between rows of `X`."""

        def block(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            return gaussian(cdist(X[rows], X[columns], "sqeuclidean"), bandwidth)

        return cls(np.ones(len(X)), block)

    @classmethod
    def precomputed(cls, K: np.ndarray) -> Self:
        """Entries of a matrix that is at hand."""
        return cls(K.diagonal().copy(), lambda rows, columns: K[np.ix_(rows, columns)])


def pivoted_start(
    K: KernelEntries, k: int, exponent: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw up to `k` points whose kernel matrix is not singular.

    Pivots of a Cholesky factorisation are drawn by their variance given those before, which for
    exponent 1 is adaptive sampling [1]_ and comes close to where the chain is going. Fewer than k
    points come back when no point is left that is not a combination of those chosen.

    References
    ----------
    .. [1] A. Deshpande, S. Vempala, "Adaptive sampling and fast low-rank matrix approximation",
       RANDOM 2006.
    """
    n = len(K.diagonal)
    pool = rng.choice(n, min(n, max(_POOL, _POOL_PER_LANDMARK * k)), replace=False)
    chosen = _draw_pivots(K, pool, k, exponent, rng)
    if len(chosen) < k and len(pool) < n:
        # Points that are rare but needed may have been missed by the pool.
        chosen = _draw_pivots(K, np.arange(n), k, exponent, rng)
    return chosen


def _draw_pivots(
    K: KernelEntries, pool: np.ndarray, k: int, exponent: float, rng: np.random.Generator
) -> np.ndarray:
    floor = _SINGULAR * K.diagonal[pool]
    variances = K.diagonal[pool].copy()
    factor = np.empty((k, len(pool)))
    chosen = np.empty(k, dtype=np.int64)
    for step in range(k):
        variances[variances <= floor] = 0
        largest = variances.max()
        if largest == 0:
            return chosen[:step]
        # Below 1, the power would start the chain from nearly singular sets that it must leave.
        cumulated = np.cumsum((variances / largest) ** max(exponent, 1.0))
        i = np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")
        chosen[step] = pool[i]
        column = K.block(pool, pool[[i]])[:, 0] - factor[:step, i] @ factor[:step]
        factor[step] = column / np.sqrt(variances[i])
        variances -= np.square(factor[step])
        variances[i] = 0
    return chosen


class SwapChain:
    """Markov chain on sets J of k points with stationary distribution ``p(J) ~ det(K_J)^s``.

    A proposal picks one of the k landmarks and one of the n points uniformly, and the landmark is
    exchanged for the point with probability ``min(1, (det(K_new) / det(K_old))^s)``. If the point
    is a landmark already nothing happens, which also keeps the chain from being periodic. Sets
    whose kernel matrix is singular to rounding have probability zero.

    Given the k - 1 landmarks that stay, the ratio of determinants is that of the variances of the
    new and of the old one. The inverse of ``K_J`` gives the combination z of landmarks with the
    least variance ``z'Kz`` for each; because z is a minimum, its own error hardly matters. All this
    costs O(k^2), as does the update of the inverse after a swap.

    Parameters
    ----------
    K : KernelEntries
        The kernel of all points.
    start : int64 ndarray of shape (k,)
        Distinct points whose kernel matrix is not singular.
    exponent : float
        The power s > 0 of the determinant.

    Attributes
    ----------
    indices : int64 ndarray of shape (k,)
        The landmarks at present.
    n_singular : int
        How many swaps were turned down only because a variance, though not zero, was too small
        to be computed.
    n_refreshed : int
        How often the inverse was computed afresh.
    """

    def __init__(self, K: KernelEntries, start: np.ndarray, exponent: float) -> None:
        self.K = K
        self.exponent = exponent
        self.indices = start.copy()
        self.n_singular = 0
        self.n_refreshed = 0
        self._is_landmark = np.zeros(len(K.diagonal), dtype=bool)
        self._is_landmark[start] = True
        self._matrix = K.block(start, start)
        self._inverse: np.ndarray
        self._n_updates = 0
        self._refresh()

    def sweep(self, rng: np.random.Generator) -> int:
        """Propose k swaps and return how many were accepted."""
        k, n = len(self.indices), len(self._is_landmark)
        slots, candidates = rng.integers(k, size=k), rng.integers(n, size=k)
        # A uniform number is below ratio^s when minus an exponential one is below s log(ratio).
        thresholds = np.exp(-rng.standard_exponential(k) / self.exponent)
        return sum(map(self._try_swap, slots, candidates, thresholds))

    def _try_swap(self, slot: int, candidate: int, threshold: float) -> bool:
        """Put `candidate` in the place of a landmark if the ratio of determinants is larger."""
        if self._is_landmark[candidate]:
            return False
        inverse, own = self._inverse, self.K.diagonal[candidate]
        column = self.K.block(self.indices, np.array([candidate]))[:, 0]
        column[slot] = 0
        # What is left of each when predicted from the landmarks that stay. Their inverse kernel is
        # the maintained one less a multiple of the outer product of its column `slot`.
        leaving = inverse[:, slot] / inverse[slot, slot]
        entering = inverse @ -column
        entering -= leaving * entering[slot]
        entering[slot] = 0
        spread = self._matrix @ np.column_stack([leaving, entering])
        old = leaving @ spread[:, 0]
        new = own + 2 * (entering @ column) + entering @ spread[:, 1]
        entering[slot] = 1
        if new <= _SINGULAR * own or new <= threshold * old:
            return False
        # Symmetric in old and new, so that the chain stays reversible.
        if new < _RELIABLE * own * (entering @ entering) or old < (
            _RELIABLE * self._matrix[slot, slot] * (leaving @ leaving)
        ):
            self.n_singular += 1
            return False
        self._swap(slot, candidate, column, entering, new)
        return True

    def _swap(
        self, slot: int, candidate: int, column: np.ndarray, entering: np.ndarray, variance: float
    ) -> None:
        self._is_landmark[self.indices[slot]] = False
        self._is_landmark[candidate] = True
        self.indices[slot] = candidate
        self._matrix[slot] = self._matrix[:, slot] = column
        self._matrix[slot, slot] = self.K.diagonal[candidate]
        leaving = self._inverse[:, slot]
        left = np.column_stack([leaving / -leaving[slot], entering / variance])
        right = np.column_stack([leaving, entering])
        # In place: for many landmarks, a new matrix each time would cost more than the update.
        inverse = dgemm(1.0, left, right, 1.0, self._inverse, trans_b=1, overwrite_c=1)
        inverse[slot] = inverse[:, slot] = entering / variance
        self._inverse = inverse
        self._n_updates += 1
        off = self._matrix @ inverse[:, slot]
        off[slot] -= 1
        # Renewed once in k updates, it costs no more than these; rounding that shows, at once.
        if self._n_updates >= len(self.indices) or abs(off).max() > _DRIFT:
            self._refresh()

    def _refresh(self) -> None:
        try:
            factor = cho_factor(self._matrix, check_finite=False)
        except LinAlgError:
            raise singular_kernel_error(len(self._matrix)) from None
        identity = np.eye(len(self._matrix), order="F")
        self._inverse = cho_solve(factor, identity, overwrite_b=True, check_finite=False)
        self._n_updates = 0
        self.n_refreshed += 1


def singular_kernel_error(k: int) -> ValueError:
    """Return the error of a kernel too close to singular for `k` landmarks."""
    return ValueError(
        f"n_landmarks={k} is too many for this bandwidth and exponent: the kernel matrix of so "
        "many landmarks is singular to rounding, and its determinant cannot be computed. Choose a "
        "smaller bandwidth, fewer landmarks or a larger exponent"
    )
