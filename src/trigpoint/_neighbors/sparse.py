"""Points that are mostly zeros, as rows of a SciPy CSR array; never made dense as a whole."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._numerics.blocks import block_rows, row_blocks

# What the samplers and the extension take.
Points = np.ndarray | csr_array

# Bytes of the rows that are made dense at once.
_DENSE_BYTES = 2**20


def take_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    """A few rows of points, as a dense array."""
    taken: np.ndarray = X[rows].toarray() if isinstance(X, csr_array) else X[rows]
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


def read_only(points: Points) -> Points:
    """Return the same points as an array that cannot be written to, for code of users."""
    values = points.data if isinstance(points, csr_array) else points
    view: np.ndarray = np.asarray(values).view()
    view.flags.writeable = False
    if isinstance(points, csr_array):
        return csr_array((view, points.indices, points.indptr), shape=points.shape)
    return view
