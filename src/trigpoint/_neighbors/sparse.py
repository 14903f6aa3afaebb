"""Points that are mostly zeros, as rows of a SciPy CSR array, and their nearest neighbors.

They are never made dense as a whole. Everything that decides has the bits of dense points.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._neighbors.index import Neighborhoods
from trigpoint._neighbors.products import SCAN_BYTES, ProductIndex
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.threads import thread_map

# What the samplers and the extension take.
Points = np.ndarray | csr_array

# Bytes of the rows that are made dense at once.
_DENSE_BYTES = 2**20


def take_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    """A few rows of points, also of a store, as a dense array."""
    if isinstance(X, csr_array):
        return X[rows].toarray()
    taken: np.ndarray = X[rows] if isinstance(X, np.ndarray) else X.take(rows)
    return taken


def dense_blocks(X: csr_array) -> Iterator[slice]:
    """Blocks of rows that are few enough to be made dense."""
    return row_blocks(X.shape[0], block_rows(8 * X.shape[1], _DENSE_BYTES))


def stored(X: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, columns and starts of the rows, as the compiled loops take them."""
    return X.data, X.indices, X.indptr


def stored_row_bytes(X: csr_array) -> int:
    """Bytes of a row on average, at least 1."""
    return max(1, int(X.nnz * (X.data.itemsize + X.indices.itemsize) // X.shape[0]))


def squares_to_row(X: Points, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Squared distances from some rows to a dense point (d,), canonical as in `distance`."""
    from trigpoint._kernels.distances import squares_to
    from trigpoint._kernels.sparse_loops import sparse_squares_to

    if isinstance(X, csr_array):
        return sparse_squares_to(*stored(X), rows, point)
    return squares_to(X, rows, point)


class SparseIndex(ProductIndex):
    """Products of sparse points with dense queries, in float64 and without a center."""

    name = "sparse products"
    points: csr_array

    @property
    def _multiplied(self) -> np.dtype:
        return np.dtype(np.float64)

    def _prepare(self) -> None:
        from trigpoint._kernels.sparse_loops import sparse_norms

        # Subtracting a center would leave hardly any zeros.
        self._center = None
        self._block = block_rows(stored_row_bytes(self.points) + 8 * self.together, SCAN_BYTES)
        self._norms = sparse_norms(*stored(self.points), np.zeros(self.points.shape[1]))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Points in some rows."""
        return take_rows(self.points, rows)

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""
        columns = np.flatnonzero(point)
        X = self.points
        rows = np.flatnonzero(np.diff(X.indptr) == len(columns))
        same = []
        for part in row_blocks(len(rows), block_rows(16 * (len(columns) + 1))):
            places = X.indptr[rows[part], None] + np.arange(len(columns))
            equal = (X.indices[places] == columns) & (X.data[places] == point[columns])
            same.append(rows[part][equal.all(axis=1)])
        return np.concatenate([np.empty(0, dtype=np.int64), *same])

    def _read(self, rows: slice | np.ndarray) -> Any:
        if isinstance(rows, slice):
            # A view: only the starts of the rows are sliced.
            return (*stored(self.points)[:2], self.points.indptr[rows.start : rows.stop + 1])
        return stored(self.points[rows])

    def _products(self, queries: np.ndarray, points: Any) -> np.ndarray:
        from trigpoint._kernels.sparse_loops import sparse_products

        products = np.empty((len(queries), len(points[2]) - 1))
        values, columns, starts = points
        sparse_products(values, columns, starts, queries, products.T)
        return products

    def _padded(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # The products of a query do not depend on other queries.
        doubles = np.ascontiguousarray(queries, dtype=np.float64)
        return doubles, np.einsum("ij,ij->i", doubles, doubles)

    def _squares_to(self, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
        return squares_to_row(self.points, rows, query)

    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        from trigpoint._kernels.candidates import covariance
        from trigpoint._kernels.sparse_loops import sparse_variances

        assert found.members is not None

        def measure(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
            rows, query = pair
            if mode == "full":
                return covariance(self.take(rows), np.arange(len(rows)), query)
            return sparse_variances(*stored(self.points), rows, query)

        pairs = zip(found.members, found.points.astype(np.float64), strict=True)
        return np.array(list(thread_map(measure, pairs, self._n_threads)))
