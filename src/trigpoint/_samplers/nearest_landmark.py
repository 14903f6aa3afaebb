"""Distance of every point to its nearest landmark, as landmarks are added one by one."""

import numpy as np
from scipy.sparse import csr_array

from trigpoint._neighbors.sparse import Points, squares_to_row, stored, take_rows

# Dimension from which a matrix product over all points saves more time than it takes.
_MIN_PRODUCT_DIMENSION = 16

# Stop using products once more than this many of them have each ruled out less than half of the
# points.
_MOST_WASTED = 4


class NearestLandmark:
    """Squared distances `squares` (n,) from all points to their nearest landmark so far.

    Distances are computed from differences, so points that coincide with a landmark get exactly 0.
    In high dimension, where differences take several times as long as a matrix product, a product
    first finds the points to which the new landmark may be nearest. If there are many landmarks,
    these are few.
    """

    def __init__(self, X: Points) -> None:
        self.squares = np.full(X.shape[0], np.inf)
        self._X = X if isinstance(X, csr_array) else np.ascontiguousarray(X)
        self._norms: np.ndarray | None = None
        self._wasted = 0
        if X.shape[1] >= _MIN_PRODUCT_DIMENSION:
            with np.errstate(over="ignore"):
                self._norms = _square_norms(X)

    def add(self, row: int) -> None:
        """Add a landmark."""
        landmark = take_rows(self._X, np.array([row]))[0]
        rows = self._may_be_nearer(row, landmark)
        nearer = squares_to_row(self._X, rows, landmark)
        self.squares[rows] = np.minimum(self.squares[rows], nearer)

    def _may_be_nearer(self, row: int, landmark: np.ndarray) -> np.ndarray:
        """Return the rows that may be nearer to this landmark than to all earlier ones."""
        n, d = self._X.shape
        if self._norms is None or np.isinf(self.squares[0]):
            return np.arange(n)
        norms = self._norms
        # Worst-case rounding of the dot product, the norms and their sums.
        rounding = 2 * (d + 8) * np.finfo(self._X.dtype).eps
        lower = (1 - rounding) * (norms + norms[row]) - 2 * (self._X @ landmark)
        # The negation keeps points whose products overflow, to be computed from differences.
        rows = np.flatnonzero(~(lower >= self.squares))
        # The first landmarks are nearest to many points, and data far from the origin rules out no
        # rows.
        self._wasted += len(rows) > n // 2
        if self._wasted > _MOST_WASTED:
            self._norms = None
        return rows


def _square_norms(X: Points) -> np.ndarray:
    if isinstance(X, csr_array):
        from trigpoint._kernels.sparse_loops import sparse_norms

        return sparse_norms(*stored(X), np.zeros(X.shape[1])).astype(X.dtype)
    return np.einsum("ij,ij->i", X, X)
