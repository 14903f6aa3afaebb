"""Inverse of the landmarks' kernel matrix, updated as landmarks are exchanged or moved."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from trigpoint._numerics.blocks import block_rows, row_blocks, thread_map
from trigpoint._numerics.gaussian import Kernel

Result = TypeVar("Result")

# Bytes of rows to process at once, fixed so that sums do not depend on the number of threads.
_PART_BYTES = 4 * 2**20

# If the conditional variance of a landmark given the others is less than this fraction of its
# variance, predictions from the inverse get one step of iterative refinement, since their error is
# about eps divided by the fraction.
_DELICATE = 1e-4

# If the fraction is smaller than this, predictions are noise.
SINGULAR = 1e-11


class Tables(NamedTuple):
    """Tables of b landmarks and c candidates; see `_kernels.pivoting`."""

    A: np.ndarray  # (b + c, b + c).
    H: np.ndarray  # (b + c, b + c).
    weights: np.ndarray  # Weights (k, c) with which the landmarks predict the candidates.
    # Residuals (s, c), at the measured points, of the candidates' kernel functions, if kept.
    residuals: np.ndarray


class ExchangeableInverse:
    """Inverse of the landmarks' kernel matrix, with predictions at measured points.

    The trace error is measured at `points` (s, d), for a kernel with diagonal 1. `landmarks` (k, d)
    are the current landmarks. `unexplained` (s,) is the conditional variance of each measured point
    given the initial landmarks, which is its contribution to the trace error. Raises LinAlgError if
    the kernel matrix of the landmarks is numerically singular.
    """

    def __init__(
        self, points: np.ndarray, landmarks: np.ndarray, kernel: Kernel, n_threads: int
    ) -> None:
        self.points = points
        self.landmarks = landmarks.copy()
        self._kernel = kernel
        self._n_threads = n_threads
        self._matrix = self._kernel(landmarks, landmarks)
        if self._set_inverse(_inverse(self._matrix)) < SINGULAR:
            raise LinAlgError("the kernel matrix of the landmarks is numerically singular")
        self._weights = np.empty((len(points), len(landmarks)))
        self.unexplained = np.empty(len(points))
        for _ in self._by_rows(self._predict_points):
            pass

    def _set_inverse(self, inverse: np.ndarray) -> float:
        """Set the inverse; return the smallest conditional fraction of a landmark's variance."""
        self._inverse = (inverse + inverse.T) / 2
        least = float(1 / (self._inverse.diagonal() * self._matrix.diagonal()).max())
        self._delicate = least < _DELICATE
        return least

    def _by_rows(self, function: Callable[[slice], Result]) -> Iterator[Result]:
        return _by_rows(function, len(self.points), len(self.landmarks), self._n_threads)

    def _predict(self, kernel: np.ndarray) -> np.ndarray:
        """Return weights (s, k) of the landmarks, given the kernel between points and landmarks."""
        weights = kernel @ self._inverse
        if self._delicate:
            weights += (kernel - weights @ self._matrix) @ self._inverse
        return weights

    def _predict_points(self, part: slice) -> None:
        kernel = self._kernel(self.points[part], self.landmarks)
        self._weights[part] = self._predict(kernel)
        explained = np.einsum("ij,ij->i", self._weights[part], kernel)
        self.unexplained[part] = np.maximum(1 - explained, 0)

    def tables(self, slots: np.ndarray, candidates: np.ndarray, *, keep: bool = False) -> Tables:
        """Return tables of the landmarks in `slots` and of some candidates.

        With `keep`, the tables also store one number per measured point and candidate, and can be
        passed to `exchange`.
        """
        b, c = len(slots), len(candidates)
        kernel = self._kernel(candidates, self.landmarks)
        weights = self._predict(kernel).T
        A = np.empty((b + c, b + c))
        A[:b, :b] = -self._inverse[np.ix_(slots, slots)]
        A[:b, b:] = weights[slots]
        A[b:, :b] = weights[slots].T
        residual = self._kernel(candidates, candidates) - kernel @ weights
        A[b:, b:] = (residual + residual.T) / 2
        residuals = np.empty((len(self.points) if keep else 0, c))

        def products(part: slice) -> np.ndarray:
            known = self._weights[part] @ kernel.T
            residual = self._kernel(self.points[part], candidates) - known
            if keep:
                residuals[part] = residual
            functions = np.hstack([self._weights[part, slots], residual])
            return functions.T @ functions

        H = np.zeros_like(A)
        for some in self._by_rows(products):
            H += some
        return Tables(A, H, weights, residuals)

    def exchange(
        self, tables: Tables, slots: np.ndarray, candidates: np.ndarray, pairs: np.ndarray
    ) -> None:
        """Replace landmarks by candidates.

        `tables` come from a call of `tables` for `slots` and `candidates` with `keep`; each of the
        `pairs` (p, 2) holds a position in `slots` and one in `candidates`.
        """
        out, into = slots[pairs[:, 0]], pairs[:, 1]
        places = np.concatenate([pairs[:, 0], len(slots) + into])
        block = np.linalg.inv(tables.A[np.ix_(places, places)])
        columns = np.hstack([-self._inverse[:, out], tables.weights[:, into]])
        change = columns @ block
        entering = slice(len(into), None)

        def update(part: slice) -> None:
            functions = np.hstack([self._weights[part, out], tables.residuals[part, into]])
            self._weights[part] -= functions @ change.T
            self._weights[part, out] = functions @ block[:, entering]

        for _ in self._by_rows(update):
            pass
        inverse = self._inverse + change @ columns.T
        inverse[:, out] = -change[:, entering]
        inverse[out] = -change[:, entering].T
        inverse[np.ix_(out, out)] = block[entering, entering]
        self.landmarks[out] = candidates[into]
        self._matrix[out] = self._kernel(self.landmarks[out], self.landmarks)
        self._matrix[:, out] = self._matrix[out].T
        self._set_inverse(inverse)


def trace_error(
    points: np.ndarray, landmarks: np.ndarray, kernel: Kernel, bandwidth: float, n_threads: int
) -> tuple[float, np.ndarray]:
    """Return the trace error at `points` (s, d), and its gradient (k, d) in the landmarks.

    With the weights ``U = K_XZ inverse(K_ZZ)`` of landmarks Z for points X, the differential of the
    error is ``-2 <U, dK_XZ> + <U'U, dK_ZZ>``.
    """
    K = kernel(landmarks, landmarks)
    inverse = _inverse(K)

    def part_of(part: slice) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        columns = kernel(points[part], landmarks)
        weights = columns @ inverse
        pull = weights * columns
        return float(pull.sum()), pull.T @ points[part], pull.sum(axis=0), weights.T @ weights

    explained = 0.0
    pulled, pulls = np.zeros(landmarks.shape), np.zeros(len(landmarks))
    products = np.zeros_like(K)
    parts = _by_rows(part_of, len(points), len(landmarks), n_threads)
    for share, toward, strength, inner in parts:
        explained += share
        pulled += toward
        pulls += strength
        products += inner
    push = products * K
    gradient = push @ landmarks - push.sum(axis=1)[:, None] * landmarks
    gradient -= pulled - pulls[:, None] * landmarks
    return len(points) - explained, 2 / bandwidth**2 * gradient


def _inverse(K: np.ndarray) -> np.ndarray:
    factor = cho_factor(K, check_finite=False)
    return np.asarray(cho_solve(factor, np.eye(len(K)), check_finite=False))


def _by_rows(
    function: Callable[[slice], Result], n_points: int, n_landmarks: int, n_threads: int
) -> Iterator[Result]:
    """Map a function over parts of the points, in order."""
    parts = list(row_blocks(n_points, block_rows(8 * n_landmarks, _PART_BYTES)))
    yield from thread_map(function, parts, min(n_threads, max(1, len(parts))))
