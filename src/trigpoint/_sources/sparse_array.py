"""SciPy sparse arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import refuse_non_numbers
from trigpoint._neighbors.sparse import stored_row_bytes
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._sources.base import Source, stays_sparse
from trigpoint._sources.choosing import described, refuse_key


class SparseSource(Source):
    """Points in the rows of a CSR array."""

    def __init__(self, X: Any, name: str, columns: Any, names: Sequence[str] | None = None) -> None:
        refuse_non_numbers(X, name)
        n, chosen, found = described(X.shape, X.dtype, name, columns, names)
        self._X = csr_array(X) if chosen is None else csr_array(X)[:, chosen]
        sparse = stays_sparse(self._X.nnz, self._X.shape, found.dtype)
        super().__init__(name, replace(found, sparse=sparse), n)

    def _taken(self, rows: np.ndarray | None) -> csr_array:
        return self._X if rows is None else self._X[rows]

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, csr_array]]:
        row_bytes = stored_row_bytes(self._X)
        if not self.columns.sparse:
            row_bytes = max(row_bytes, self.columns.count * self.dtype.itemsize)
        for part in row_blocks(self.n, block_rows(row_bytes)):
            yield part.start, self._X[part]


def from_object(X: Any, key: str | None, columns: Any) -> SparseSource:
    """Open a SciPy sparse array of any format."""
    refuse_key(key, "X")
    return SparseSource(X, "X", columns)


def check_inside(matrix: Any) -> None:
    """Reject a compressed sparse array that would be read or written outside its arrays.

    Raises
    ------
    ValueError
    """
    matrix.check_format(full_check=True)
    # Which SciPy does not look at if the last of them says that nothing is stored.
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its rows run backward")
