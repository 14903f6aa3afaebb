"""Distances between directions. Rows are scaled to unit length, some after a transformation."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from trigpoint._common.checks import refuse_zero_rows, row_numbers
from trigpoint._neighbors.sparse import Points, dense_blocks
from trigpoint._spaces.space import Space, refuse_values


class Cosine(Space):
    """Rows scaled to unit length, whose Euclidean distance increases with the angle."""

    name = "cosine"
    takes_sparse = True

    _zero_rows = "only zeros"  # Description, for messages, of rows without a direction.

    def _map(self, block: Points, rows: Any) -> Points:
        from trigpoint._kernels.sparse_loops import scale_to_unit

        if issparse(block):
            values, starts = block.data, block.indptr
        else:
            block = np.ascontiguousarray(block)
            values, starts = block.reshape(-1), np.arange(len(block) + 1) * block.shape[1]
        units = np.empty_like(values, subok=False)
        zero = scale_to_unit(values, starts, units)
        refuse_zero_rows(row_numbers(rows, zero), "X", self.name, self._zero_rows)
        if issparse(block):
            return csr_array((units, block.indices, block.indptr), shape=block.shape)
        return units.reshape(block.shape)

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        from trigpoint._spaces.torch import unit_rows

        return unit_rows


class Correlation(Cosine):
    """Rows centered and scaled to unit length; the distance decreases with their correlation."""

    name = "correlation"
    takes_sparse = False
    _zero_rows = "a single value in all columns"

    def _map(self, block: Points, rows: Any) -> Points:
        from trigpoint._kernels.row_maps import center_rows

        assert isinstance(block, np.ndarray)
        centered = np.empty(block.shape)
        center_rows(np.ascontiguousarray(block), centered)
        return super()._map(centered, rows).astype(block.dtype, copy=False)

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        return Space.to(self, device)


class Hellinger(Cosine):
    """Square roots of shares, for rows of counts or compositions.

    Rows are divided by their sums; the Hellinger distance is the Euclidean distance between the
    square roots, divided by the root of 2.
    """

    name = "hellinger"

    def _map(self, block: Points, rows: Any) -> Points:
        values = block.data if issparse(block) else block
        if (values < 0).any():
            for part in dense_blocks(block) if issparse(block) else [slice(0, len(block))]:
                some = block[part].toarray() if issparse(block) else block
                remedy = "metric='hellinger' takes counts or shares: remove negative values"
                refuse_values(some < 0, some, row_numbers(rows, part), remedy)
        # The square roots of a row have a norm equal to the square root of its sum.
        if issparse(block):
            roots = csr_array((np.sqrt(values), block.indices, block.indptr), shape=block.shape)
            return super()._map(roots, rows)
        return super()._map(np.sqrt(values), rows)

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        return Space.to(self, device)
