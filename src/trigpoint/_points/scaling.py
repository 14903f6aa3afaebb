"""Points scaled so that Euclidean distances between them are those of another metric.

This is all that ``metric`` does: points are scaled wherever users pass them, and everything after
that is Euclidean. Distances between rows of unit length order points by their angle (``"cosine"``);
columns divided by their standard deviations have equal influence (``"seuclidean"``).
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_count, refuse_zero_rows
from trigpoint._files import PointSource

METRICS = ("euclidean", "cosine", "seuclidean")

# Rows read at once to measure columns; fixed, so that arrays and files give the same bits.
_MEASURED_ROWS = 2**14


class _Scaled(PointSource):
    """Points of another source, scaled as they are read."""

    def __init__(self, source: PointSource) -> None:
        super().__init__(source.name, source.shape, source.dtype, source.feature_names)
        self.path, self.n_stored = source.path, source.n_stored
        self._source = source

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Iterate over all points in order, in blocks of at most `rows` rows."""
        return self._pieces(check_count("rows", rows))


class ScaledColumns(_Scaled):
    """Points of another source, their columns divided by `scales`."""

    def __init__(self, source: PointSource, scales: np.ndarray) -> None:
        super().__init__(source)
        self._scales = scales.astype(source.dtype)

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        for block in self._source.blocks(rows):
            yield block / self._scales
            del block

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by number, in this order, in one pass over the points."""
        return self._source.take(rows) / self._scales


def column_scales(source: PointSource) -> np.ndarray:
    """Standard deviation of each column; 1 where it is constant."""
    first, n = None, source.shape[0]
    sums = squares = np.zeros(source.shape[1])
    for block in source.blocks(_MEASURED_ROWS):
        first = block[0].astype(np.float64) if first is None else first
        # From a point of the cloud, so that little is lost to rounding, and nothing if all agree.
        away = block - first
        sums, squares = sums + away.sum(axis=0), squares + (away * away).sum(axis=0)
    variances = squares / n - (sums / n) ** 2
    return np.sqrt(np.where(variances > 0, variances, 1.0))


class UnitRows(_Scaled):
    """Points of another source, scaled to unit length as they are read."""

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        done = 0
        for block in self._source.blocks(rows):
            yield unit_rows(block, self.name, done)
            done += len(block)
            del block

    def sparse_blocks(self, rows: int) -> Iterator[csr_array]:
        """Iterate over sparse points like `blocks`, without making them dense."""
        done = 0
        for block in self._source.sparse_blocks(rows):
            yield sparse_unit_rows(block, self.name, done)
            done += block.shape[0]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by number, in this order, in one pass over the points."""
        return unit_rows(self._source.take(rows), self.name)


def unit_rows(X: np.ndarray, name: str = "X", first_row: int = 0) -> np.ndarray:
    """Scale the rows of `X` (n, d) to unit length; refuse rows of zeros.

    `name` and `first_row` are for the message.
    """
    from trigpoint._numerics.compiled.sparse_loops import scale_to_unit

    X = np.ascontiguousarray(X)
    units = np.empty_like(X, subok=False)
    starts = np.arange(len(X) + 1) * X.shape[1]
    zero = scale_to_unit(X.reshape(-1), starts, units.reshape(-1))
    refuse_zero_rows(first_row + zero, name)
    return units


def sparse_unit_rows(X: csr_array, name: str = "X", first_row: int = 0) -> csr_array:
    """Scale the rows of a sparse array to unit length, with the same bits as dense ones."""
    from trigpoint._numerics.compiled.sparse_loops import scale_to_unit

    units = np.empty_like(X.data)
    refuse_zero_rows(first_row + scale_to_unit(X.data, X.indptr, units), name)
    return csr_array((units, X.indices, X.indptr), shape=X.shape)
