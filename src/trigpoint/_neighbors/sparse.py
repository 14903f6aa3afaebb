"""Sparse points as rows of a SciPy CSR array, which is never converted to dense as a whole."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._numerics.blocks import block_rows, row_blocks

# Points that samplers and extensions accept.
Points = np.ndarray | csr_array

# Size in bytes of a block of rows to convert to dense.
_DENSE_BYTES = 2**20


def take_rows(X: Any, rows: np.ndarray | slice) -> np.ndarray:
    """Return rows of points as a dense array."""
    taken: np.ndarray = X[rows].toarray() if isinstance(X, csr_array) else X[rows]
    return taken


def dense_blocks(X: csr_array) -> Iterator[slice]:
    """Yield blocks of rows that are small enough to convert to dense."""
    return row_blocks(X.shape[0], block_rows(8 * X.shape[1], _DENSE_BYTES))


def stored(X: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values, columns and row starts, the arguments of compiled loops."""
    return X.data, X.indices, X.indptr


def stored_row_bytes(X: csr_array) -> int:
    """Return the mean number of bytes per row, at least 1."""
    return max(1, int(X.nnz * (X.data.itemsize + X.indices.itemsize) // X.shape[0]))


def squares_to_row(X: Points, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return squared distances from rows to a dense point (d,), like `_kernels.distances`."""
    from trigpoint._kernels.distances import squares_to
    from trigpoint._kernels.sparse_loops import sparse_squares_to

    if isinstance(X, csr_array):
        return sparse_squares_to(*stored(X), rows, point)
    return squares_to(X, rows, point)


def pair_squares(X: Any, others: np.ndarray, part: slice) -> np.ndarray:
    """Return squared distances (b, m) from a block of rows to other rows, given as (n, m).

    Unless `X` is an array, dense or sparse, ``X[rows]`` reads rows when they are needed.
    """
    from trigpoint._kernels.cell_search import squares_of_pairs
    from trigpoint._kernels.sparse_loops import sparse_squares_of_pairs

    squares = np.empty((part.stop - part.start, others.shape[1]))
    if isinstance(X, csr_array):
        sparse_squares_of_pairs(*stored(X), others, part.start, part.stop, squares)
    elif isinstance(X, np.ndarray):
        squares_of_pairs(X, others, part.start, part.stop, squares)
    else:
        read, places = np.unique(others[part], return_inverse=True)
        near = np.concatenate([X[part], X[read]])
        pairs = len(squares) + places.reshape(squares.shape)
        squares_of_pairs(near, pairs, 0, len(squares), squares)
    return squares


def read_only(points: Points) -> Points:
    """Return the points as a read-only array, to pass to user code."""
    values = points.data if isinstance(points, csr_array) else points
    view: np.ndarray = np.asarray(values).view()
    view.flags.writeable = False
    if isinstance(points, csr_array):
        return csr_array((view, points.indices, points.indptr), shape=points.shape)
    return view
