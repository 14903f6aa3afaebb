"""Markov chain of exchanges whose stationary distribution is a power of the determinant."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError
from scipy.spatial.distance import cdist

from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import row_blocks
from trigpoint._numerics.gaussian import Kernel, gaussian
from trigpoint._numerics.residual.exchange import SINGULAR, ExchangeableInverse
from trigpoint._numerics.residual.factor import PoolFactor

# A variance given the landmarks below this fraction of a point's variance is rounding error.
_ZERO = 1e-13

# Proposals that share a table, which then stays in the cache.
_TOGETHER = 64

# Minimum size of the pool in which a start is sought first, and its size per landmark: all points
# would take O(n k) memory.
_POOL = 10_000
_POOL_PER_LANDMARK = 20


@dataclass(frozen=True)
class PointKernel:
    """A positive semidefinite kernel on a set of points, computed on demand.

    Attributes
    ----------
    points : ndarray of shape (n, d) or (n,)
        Arguments of the kernel: coordinates, or row numbers of a matrix.
    matrix : callable
        ``matrix(A, B)`` is the kernel matrix between two arrays of points.
    diagonal : ndarray of shape (n,)
        The variances of the points.
    """

    points: np.ndarray
    matrix: Kernel
    diagonal: np.ndarray

    @classmethod
    def gaussian(cls, X: np.ndarray, bandwidth: float) -> Self:
        """Gaussian kernel of Euclidean distances, computed by differences, between rows of `X`."""

        def matrix(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            return gaussian(cdist(A, B, "sqeuclidean"), bandwidth)

        return cls(X, matrix, np.ones(len(X)))

    @classmethod
    def precomputed(cls, K: np.ndarray) -> Self:
        """Kernel given as a matrix."""
        return cls(np.arange(len(K)), lambda A, B: K[np.ix_(A, B)], K.diagonal().copy())


def pivoted_start(K: PointKernel, k: int, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """Draw up to `k` points whose kernel matrix is not singular.

    Pivots of a Cholesky factorization are drawn by their variance given the earlier ones, which for
    exponent 1 is adaptive sampling [1]_ and close to the distribution of the chain. Fewer than k
    points are returned if the chosen ones span all others in feature space.

    References
    ----------
    .. [1] A. Deshpande, S. Vempala, "Adaptive sampling and fast low-rank matrix approximation",
       RANDOM 2006.
    """
    n = len(K.diagonal)
    pool = rng.choice(n, min(n, max(_POOL, _POOL_PER_LANDMARK * k)), replace=False)
    chosen = _draw_pivots(K, pool, k, exponent, rng)
    if len(chosen) < k and len(pool) < n:
        # The pool may lack rare points that are needed.
        chosen = _draw_pivots(K, np.arange(n), k, exponent, rng)
    return chosen


def _draw_pivots(
    K: PointKernel, pool: np.ndarray, k: int, exponent: float, rng: np.random.Generator
) -> np.ndarray:
    points = K.points[pool]

    def row(place: int) -> np.ndarray:
        return K.matrix(points[[place]], points)[0]

    residual = PoolFactor(row, K.diagonal[pool], k)
    while residual.n_missing:
        # An exponent below 1 would start the chain at nearly singular sets, far from typical ones.
        weights = (residual.variances / residual.variances.max()) ** max(exponent, 1.0)
        cumulative = np.cumsum(weights)
        i = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        residual.add(i)
    return pool[residual.chosen]


class DeterminantChain:
    """Markov chain on sets J of k points with stationary distribution ``p(J) ~ det(K_J)^s``.

    A proposal picks one of the k landmarks and one of the n points uniformly, and the landmark is
    exchanged for the point with probability ``min(1, (det(K_new) / det(K_old))^s)``. If the point
    is already a landmark, nothing happens, which also makes the chain aperiodic. Sets whose kernel
    matrix is numerically singular have probability zero.

    A few dozen proposals share a table: a decision takes a few operations, and an exchange updates
    each entry once (see `_kernels.pivoting`). Building the table costs O(k^2) per proposal, in
    matrix products.

    Parameters
    ----------
    K : PointKernel
        The kernel of all points.
    start : int64 ndarray of shape (k,)
        Distinct points whose kernel matrix is not singular.
    exponent : float
        The power s > 0 of the determinant.

    Attributes
    ----------
    indices : int64 ndarray of shape (k,)
        The current landmarks.
    n_refused : int
        Number of exchanges refused only because a variance, though not zero, was too small to
        compute.
    """

    def __init__(self, K: PointKernel, start: np.ndarray, exponent: float) -> None:
        self.indices = start.copy()
        self.n_refused = 0
        self._K = K
        self._exponent = exponent
        # Position of each landmark in the inverse; -1 for all other points.
        self._numbers = np.full(len(K.diagonal), -1)

    def sweep(self, rng: np.random.Generator) -> int:
        """Propose k exchanges and return how many were accepted."""
        k, n = len(self.indices), len(self._numbers)
        slots, candidates = rng.integers(k, size=k), rng.integers(n, size=k)
        thresholds = acceptance_thresholds(self._exponent, k, rng)
        try:
            # Recomputed in every sweep: no costlier than the tables, and errors do not accumulate.
            landmarks = self._K.points[self.indices]
            inverse = ExchangeableInverse(landmarks[:0], landmarks, self._K.matrix, 1)
        except LinAlgError:
            raise singular_kernel_error(k) from None
        self._numbers[self.indices] = np.arange(k)
        n_accepted = 0
        for part in row_blocks(k, _TOGETHER):
            n_accepted += self._decide(inverse, slots[part], candidates[part], thresholds[part])
        self._numbers[self.indices] = -1
        return n_accepted

    def _decide(
        self,
        inverse: ExchangeableInverse,
        slots: np.ndarray,
        candidates: np.ndarray,
        thresholds: np.ndarray,
    ) -> int:
        """Decide proposals one by one, and return how many were accepted."""
        leaving, held = self._numbers[self.indices[slots]], self._numbers[candidates]
        is_new = held < 0
        # Landmarks are in the table as candidates, too: one that has left may be proposed again.
        numbers = np.union1d(leaving, held[~is_new])
        new, places_of_new = np.unique(candidates[is_new], return_inverse=True)
        places = np.searchsorted(numbers, held)
        places[is_new] = len(numbers) + places_of_new
        slots_in_table = np.searchsorted(numbers, leaving)
        rows = np.empty(len(numbers) + len(new), dtype=np.int64)
        rows[slots_in_table], rows[places] = self.indices[slots], candidates

        new_points = self._K.points[new]
        tables = inverse.tables(numbers, new_points, keep=True)
        chosen = np.arange(len(numbers))
        accepted, refused = walk(
            tables.A.copy(), chosen, slots_in_table, places, thresholds, self._K.diagonal[rows]
        )
        self.n_refused += refused
        if accepted:
            self.indices[slots] = rows[chosen[slots_in_table]]
            pairs = exchanged_pairs(chosen)
            inverse.exchange(tables, numbers, new_points, pairs)
            self._numbers[rows[pairs[:, 0]]] = -1
            self._numbers[new[pairs[:, 1]]] = numbers[pairs[:, 0]]
        return accepted


def acceptance_thresholds(exponent: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the determinant ratios that proposals must exceed to be accepted."""
    # A uniform variate is below ratio^s when minus an exponential one is below s log(ratio).
    return np.exp(-rng.standard_exponential(size) / exponent)


def walk(
    A: np.ndarray,
    chosen: np.ndarray,
    slots: np.ndarray,
    places: np.ndarray,
    thresholds: np.ndarray,
    diagonal: np.ndarray,
) -> tuple[int, int]:
    """Decide the proposals in a table; return the numbers of accepted and of refused ones."""
    from trigpoint._kernels.pivoting import anneal

    return anneal(A, chosen, slots, places, thresholds, diagonal, _ZERO, SINGULAR)


def exchanged_pairs(chosen: np.ndarray) -> np.ndarray:
    """Pair the landmarks that left a table with the candidates that replaced them, shape (p, 2).

    The pairing is arbitrary, since landmarks may have returned in other slots: only the set counts.
    """
    b = len(chosen)
    is_new = chosen >= b
    has_left = np.ones(b, dtype=bool)
    has_left[chosen[~is_new]] = False
    return np.column_stack([np.flatnonzero(has_left), chosen[is_new] - b])


def singular_kernel_error(k: int) -> ParameterValueError:
    """Return the error for a kernel matrix too close to singular with `k` landmarks."""
    return ParameterValueError(
        f"n_landmarks={k} is too large for this bandwidth and exponent: the kernel matrix of this "
        "many landmarks is numerically singular, and its determinant cannot be computed; choose "
        "a smaller bandwidth, a smaller n_landmarks or a larger exponent",
        "n_landmarks",
    )
