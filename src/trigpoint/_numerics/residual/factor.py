"""Cholesky factor that grows as landmarks are added.

With ``K_JJ = L L'``, the landmarks J explain the part ``F'F`` of the kernel, where
``F = L^-1 K_JX`` has one column per point. `LandmarkFactor` stores only L and computes columns on
demand.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf, dtrtri
from scipy.spatial.distance import cdist

from trigpoint._neighbors.sparse import Points, take_rows
from trigpoint._numerics.blocks import BLOCK_BYTES, block_rows, row_blocks, thread_map
from trigpoint._numerics.gaussian import Kernel, gaussian, squared_distances

# Residuals below this fraction of a point's variance are treated as rounding error. Entries of the
# kernel, and residuals from nearly singular factors, are accurate to about 1e-13.
ROUNDING = 1e-12

# Squared distance of a landmark from the span of the others, in the feature space of the kernel,
# below which it is left out. Smaller distances are noise, a few times the rounding error of 1.
_SPAN_CUTOFF = 1e-15

# Number of rows of the factor to solve for at once.
_PANEL = 128

# Bytes and minimum number of kernel columns per thread and step, enough for fast products but small
# enough for the caches. The size affects rounding, so it must not depend on the number of threads.
_PART_BYTES = 2**21
_PART_COLUMNS = 256


class LandmarkFactor:
    """Factor L of the landmarks' kernel matrix, with columns of ``L^-1 K_JX`` on demand.

    The kernel is Gaussian, and there are at most `most` landmarks with `n_columns` coordinates.
    """

    def __init__(self, kernel: Kernel, n_columns: int, most: int, n_threads: int) -> None:
        self.factor = TriangularFactor(most)
        self._kernel = kernel
        self._landmarks = np.empty((most, n_columns))
        self._n_threads = n_threads

    def __len__(self) -> int:
        """Return the number of landmarks."""
        return len(self.factor.matrix)

    def add(self, points: np.ndarray, factor_rows: np.ndarray) -> None:
        """Add landmarks (m, d), given their rows (m, t + m) of the factor."""
        self._landmarks[len(self) : factor_rows.shape[1]] = points
        self.factor.append(factor_rows)

    def columns(self, X: np.ndarray) -> np.ndarray:
        """Return columns (t, n) of ``L^-1 K_JX`` for points X."""
        return np.hstack(list(self._column_parts(X)))

    def _column_parts(self, X: Points) -> Iterator[np.ndarray]:
        """Yield the columns of points X in parts, in order."""
        column_bytes = 8 * (len(self) + X.shape[1])
        n_columns = max(_PART_COLUMNS, block_rows(column_bytes, _PART_BYTES))
        landmarks = self._landmarks[: len(self)]

        def solve(part: slice) -> np.ndarray:
            points = take_rows(X, np.arange(part.start, part.stop)).astype(np.float64, copy=False)
            return self.factor.solve(self._kernel(landmarks, points))

        parts = list(row_blocks(X.shape[0], n_columns))
        yield from thread_map(solve, parts, min(self._n_threads, len(parts)))

    def residuals(self, X: Points) -> np.ndarray:
        """Return the diagonal of the residual (n,), for a kernel of diagonal 1."""
        squares = [np.einsum("ij,ij->j", part, part) for part in self._column_parts(X)]
        return 1.0 - np.concatenate(squares)


class TriangularFactor:
    """Lower triangular matrix that grows by rows and solves with matrix products only.

    SciPy's solvers hold the interpreter lock, so threads would wait for each other. Products with
    the inverses of small diagonal blocks release the lock and are twice as fast.
    """

    def __init__(self, size: int) -> None:
        self._all = np.zeros((size, size))
        self._inverses: list[np.ndarray] = []
        self.matrix = self._all[:0, :0]

    def append(self, rows: np.ndarray) -> None:
        """Add rows of shape (m, t + m)."""
        before, after = len(self.matrix), rows.shape[1]
        self._all[before:after, :after] = rows
        self.matrix = self._all[:after, :after]
        unchanged = before // _PANEL
        del self._inverses[unchanged:]
        for panel in row_blocks(after, _PANEL):
            if panel.start >= unchanged * _PANEL:
                self._inverses.append(dtrtri(self.matrix[panel, panel], lower=1)[0])

    def solve(self, B: np.ndarray) -> np.ndarray:
        """Overwrite `B` (t, b) with the solution of ``matrix @ solution = B``."""
        for panel, inverse in zip(row_blocks(len(B), _PANEL), self._inverses, strict=True):
            B[panel] = inverse @ (B[panel] - self.matrix[panel, : panel.start] @ B[: panel.start])
        return B


def nystrom_rows(
    X: np.ndarray, landmarks: np.ndarray, bandwidth: float
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows of `X`, and the columns (r, b) of ``F'`` that belong to them.

    ``FF'`` is the Nystrom approximation of the kernel. All computations are in float64, with a
    pivoted Cholesky factor that leaves out redundant landmarks.
    """
    basis, factor = independent_landmarks(landmarks, bandwidth)
    for block in row_blocks(len(X), block_rows(8 * len(basis), BLOCK_BYTES)):
        x = X[block].astype(np.float64, copy=False)
        kernel = gaussian(squared_distances(x, basis), bandwidth)
        # Use substitution, since with pivoting it is more accurate than the condition number
        # suggests. `TriangularFactor` would use inverses of blocks.
        yield (
            block,
            solve_triangular(factor, kernel.T, trans="T", overwrite_b=True, check_finite=False),
        )


def unexplained_variances(
    X: np.ndarray, landmarks: np.ndarray, bandwidth: float
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows of `X`, and the variance of each point conditional on the landmarks.

    The variance of a point is its contribution to the trace error.
    """
    for block, explained in nystrom_rows(X, landmarks, bandwidth):
        yield block, np.maximum(1.0 - np.einsum("ij,ij->j", explained, explained), 0.0)


def independent_landmarks(points: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
    """Return landmarks that are linearly independent, and the upper factor of their kernel."""
    points = points.astype(np.float64, copy=False)
    # Compute distances from differences, since nearly all digits cancel in the smallest pivots.
    kernel = gaussian(cdist(points, points, "sqeuclidean"), bandwidth)
    factor, order, rank, _ = dpstrf(kernel, tol=_SPAN_CUTOFF)
    return points[order[:rank] - 1], np.asfortranarray(factor[:rank, :rank])
