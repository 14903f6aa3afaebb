"""Distances that count the columns in which two rows differ, including packed bits."""

from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import row_numbers
from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._neighbors.sparse import Points, dense_blocks
from trigpoint._spaces.references import ReferenceSpace
from trigpoint._spaces.space import PairDistances, Space, refuse_values

_WORD_BYTES = 8

# Maximum number of distinct values in a column. Measurements have more, and hardly any are equal.
_MOST_LEVELS = 256


class Hamming(Space):
    """Indicators of the values of each column.

    The squared distance is the share of columns that differ. Columns with two values, such as
    zeros and ones, stay single columns. Values that do not occur in the pool are equidistant from
    all values of their column. Packed bits become columns of float32.
    """

    name = "hamming"
    keeps_columns = False
    learns = True
    takes = "numbers", "bits"

    def __init__(self, levels: np.ndarray | None = None, starts: np.ndarray | None = None) -> None:
        # Distinct values of column j, ascending, from ``starts[j]`` to ``starts[j + 1]``. Packed
        # bits have no levels, and a single start.
        self.levels, self.starts = levels, starts

    def fit(self, rows: Points) -> Self:
        assert isinstance(rows, np.ndarray)
        if is_packed(rows):
            self.levels, self.starts = np.empty(0), np.zeros(1, dtype=np.int64)
            return self
        found = []
        for number, column in enumerate(np.ascontiguousarray(rows.T)):
            levels = np.unique(column)
            if np.isin(levels, (0, 1)).all():
                # If a column has only zeros in the pool, other rows may still have ones.
                levels = np.array([0.0, 1.0])
            if len(levels) > _MOST_LEVELS:
                raise ParameterValueError(
                    f"column {number} of X has {len(levels):,} distinct values, and "
                    "metric='hamming' counts the columns in which rows differ: leave out columns "
                    "of measurements, or choose metric='manhattan'",
                    "metric",
                )
            found.append(levels.astype(np.float64))
        self.starts = np.cumsum([0, *map(len, found)])
        self.levels = np.concatenate(found)
        return self

    def _map(self, block: Points, rows: Any) -> Points:
        assert isinstance(block, np.ndarray)
        assert self.levels is not None
        assert self.starts is not None
        if is_packed(block):
            ones = np.unpackbits(block, axis=1).astype(np.float32)
            return np.asarray(ones / np.sqrt(np.float32(ones.shape[1])))
        n, d = block.shape
        found = np.empty((self.width(d), n), dtype=block.dtype)
        done = 0
        for number, column in enumerate(np.ascontiguousarray(block.T)):
            levels = self.levels[self.starts[number] : self.starts[number + 1]]
            is_one_of = column == levels[:, None]
            if len(levels) > 2:
                found[done : done + len(levels)] = np.sqrt(0.5) * is_one_of
                done += len(levels)
                continue
            # The second of two values is at 1. Unknown values are halfway, or at 1 if only one
            # value is known.
            unknown = 1 / len(levels)
            found[done] = np.where(is_one_of[0], 0, np.where(is_one_of[-1], 1, unknown))
            done += 1
        return np.ascontiguousarray(found.T) / np.sqrt(block.dtype.type(d))

    def width(self, n_columns: int) -> int:
        if self.starts is None:
            return n_columns
        if len(self.starts) == 1:
            return -(-n_columns // 8) * 8
        counts = np.diff(self.starts)
        return int(np.where(counts > 2, counts, 1).sum())

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.levels is not None
        assert self.starts is not None
        return {"levels": self.levels, "starts": self.starts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        levels, starts = arrays["levels"], arrays["starts"]
        is_right = starts.shape in ((1,), (n_columns + 1,)) and starts.dtype.kind == "i"
        if not is_right or starts[0] or (np.diff(starts) < 1).any() or starts[-1] != len(levels):
            raise DamagedFileError("its levels are inconsistent with the rest")
        return cls(levels, starts)


class Jaccard(ReferenceSpace):
    """Among the columns with a one in either row, the share with a one in only one of them.

    This is one minus the Tanimoto similarity, a positive definite kernel.

    References
    ----------
    J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics, 1971
    (why the square root is Euclidean).
    """

    name = "jaccard"
    takes_sparse = True
    takes = "numbers", "bits"
    exponents = (1.0,)

    def distances(self, block: Any, others: Any, rows: Any = 0) -> np.ndarray:
        from trigpoint._kernels.row_maps import count_ones, jaccard_distances

        found = np.empty((len(block), len(others)))
        jaccard_distances(block, count_ones(block), others, count_ones(others), found)
        return found

    def prepared(self, block: Any, rows: Any = 0) -> Any:
        """Return rows as packed bits in uint64."""
        if isinstance(block, csr_array):
            parts = []
            for part in dense_blocks(block):
                parts.append(self._packed(block[part].toarray(), row_numbers(rows, part)))
            return np.concatenate(parts)
        return self._packed(block, rows)

    def _packed(self, block: np.ndarray, rows: Any) -> np.ndarray:
        if block.dtype == np.uint64:
            return block
        if not is_packed(block):
            remedy = "metric='jaccard' takes zeros and ones: pass X > 0, or "
            remedy += "tp.open_source(X, bits=...) if each byte holds eight bits"
            refuse_values((block != 0) & (block != 1), block, rows, remedy)
            block = np.packbits(block != 0, axis=1)
        n, n_bytes = block.shape
        words = np.zeros((n, -(-n_bytes // _WORD_BYTES) * _WORD_BYTES), dtype=np.uint8)
        words[:, :n_bytes] = block
        return words.view(np.uint64)

    def exact(self, rows: Points) -> PairDistances:
        from trigpoint._kernels.row_maps import count_ones, jaccard_of_pairs

        bits = self.prepared(rows)
        return partial(jaccard_of_pairs, bits, count_ones(bits))

    def _restored_references(self, arrays: dict[str, np.ndarray], n_columns: int) -> Any:
        references = arrays["references"]
        n_words = -(-n_columns // (8 * _WORD_BYTES))
        if references.dtype != np.uint64 or references.shape[1:] != (n_words,):
            raise DamagedFileError("its references are inconsistent with the rest")
        return references


def is_packed(block: Any) -> bool:
    """Return whether a block holds packed bits; numbers are read as floats."""
    return bool(block.dtype == np.uint8)
