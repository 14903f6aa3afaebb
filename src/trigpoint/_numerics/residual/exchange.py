"""What landmarks explain of a Gaussian kernel, and how that changes when some are exchanged."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.kernels import Kernel
from trigpoint._numerics.threads import thread_map

Result = TypeVar("Result")

# Points whose rows are worked on at once. Fixed, so that sums do not depend on the threads.
FIELD_BYTES = 4 * 2**20

# Where a landmark's variance given the others, of 1, is less than this, predictions computed with
# the inverse are corrected once: their error is about eps divided by it.
_DELICATE = 1e-4

# Where it is less than this, they are noise.
SINGULAR = 1e-11


class Tables(NamedTuple):
    """Tables of b landmarks and c candidates, see `compiled.exchange`.

    Attributes
    ----------
    A : ndarray of shape (b + c, b + c)
    H : ndarray of shape (b + c, b + c)
    weights : ndarray of shape (k, c)
        How each landmark predicts the candidates.
    residuals : ndarray of shape (s, c) or (0, c)
        What is left of the candidates' kernel functions at the points, if that is kept.
    """

    A: np.ndarray
    H: np.ndarray
    weights: np.ndarray
    residuals: np.ndarray


class ExchangeableInverse:
    """Predictions of a Gaussian kernel at some points from its landmarks.

    Parameters
    ----------
    points : float64 ndarray of shape (s, d)
        Where the error is measured; may be empty.
    landmarks : float64 ndarray of shape (k, d)
    kernel : callable
        The kernel matrix between two arrays of points.
    n_threads : int

    Attributes
    ----------
    unexplained : ndarray of shape (s,)
        Variance of each point given the landmarks, when the field was made: its part of the trace
        error.

    Raises
    ------
    scipy.linalg.LinAlgError
        If the kernel matrix of the landmarks is singular to rounding.
    """

    def __init__(
        self, points: np.ndarray, landmarks: np.ndarray, kernel: Kernel, n_threads: int
    ) -> None:
        self.points = points
        self.landmarks = landmarks.copy()
        self._kernel = kernel
        self._n_threads = n_threads
        self._matrix = self._kernel(landmarks, landmarks)
        factor = cho_factor(self._matrix, check_finite=False)
        inverse = cho_solve(factor, np.eye(len(landmarks)), check_finite=False)
        self._set_inverse(inverse)
        if self._inverse.diagonal().max() > 1 / SINGULAR:
            raise LinAlgError("the kernel matrix of the landmarks is singular to rounding")
        self._weights = np.empty((len(points), len(landmarks)))
        self.unexplained = np.empty(len(points))
        for _ in self._by_rows(self._predict_points):
            pass

    def _set_inverse(self, inverse: np.ndarray) -> None:
        self._inverse = (inverse + inverse.T) / 2
        self._delicate = bool(self._inverse.diagonal().max() > 1 / _DELICATE)

    def _by_rows(self, function: Callable[[slice], Result]) -> Iterator[Result]:
        rows = block_rows(8 * len(self.landmarks), FIELD_BYTES)
        parts = list(row_blocks(len(self.points), rows))
        yield from thread_map(function, parts, min(self._n_threads, max(1, len(parts))))

    def _predict(self, kernel: np.ndarray) -> np.ndarray:
        """Weights (s, k) of the landmarks for points whose kernel with them is given."""
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
        """Tables of the landmarks in `slots` and of candidate points (c, d).

        With `keep` they can be given to `exchange`, which takes a number for each point and
        candidate.
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
        """Put candidates in the place of landmarks.

        `tables` are those kept of `slots` and `candidates` before anything was exchanged; each of
        the `pairs` (p, 2) is a place in `slots` and one in `candidates`.
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
        self._set_inverse(inverse)
        self.landmarks[out] = candidates[into]
        self._matrix[out] = self._kernel(self.landmarks[out], self.landmarks)
        self._matrix[:, out] = self._matrix[out].T
