"""Tables with numbers, categories, booleans, dates and missing values."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from trigpoint._common.errors import DamagedFileError
from trigpoint._common.records import ColumnKind
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.robust import center_and_scale
from trigpoint._spaces.space import Space

# Distance between rows that differ in one category or boolean. It equals the root mean square
# difference in a numeric column, which is scaled to unit standard deviation.
_MISMATCH = np.sqrt(2)

_DAYS_PER_YEAR = 365.2425


class Table(Space):
    """Columns of any kind with equal influence, as in Gower's similarity.

    Numbers and dates are divided by their winsorized standard deviation, for which values beyond
    the 5 % and 95 % quantiles are replaced by these quantiles. Rows that differ in a category or a
    boolean are as far apart in it as two rows typically are in a number. A missing value is
    replaced by the median and, if the column had missing values when the space was fitted, as far
    from other values as a different category. A category that was not seen in `fit` is equally far
    from all others.

    References
    ----------
    J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics, 1971.
    """

    name = "table"
    keeps_columns = False
    takes_gaps = True
    learns = True

    def __init__(self, kinds: Sequence[ColumnKind] | None = None) -> None:
        self.kinds = kinds

    def describe(self, columns: Any) -> None:
        if columns.kinds is not None:
            self.kinds = columns.kinds

    def fit(self, rows: Points) -> Self:
        if self.kinds is None:
            assert isinstance(rows, np.ndarray)
            found = [center_and_scale(np.ascontiguousarray(values)) for values in rows.T]
            self.kinds = _numbers(*np.transpose(found))
        return self

    def _map(self, block: Points, rows: Any) -> Points:
        assert self.kinds is not None
        assert isinstance(block, np.ndarray)
        found = np.zeros((len(block), self.width(len(self.kinds))), dtype=block.dtype)
        start = 0
        for kind, values in zip(self.kinds, block.T, strict=True):
            gone = np.isnan(values)
            if kind.kind == "category":
                known = np.flatnonzero(values >= 0)
                found[known, start + values[known].astype(np.intp)] = 1.0
            else:
                unit = 1 / _MISMATCH if kind.kind == "boolean" else kind.scale
                found[:, start] = np.where(gone, 0.0, (values - kind.center) / unit)
            start += _n_values(kind)
            if kind.gaps:
                found[gone, start] = 1.0 if kind.kind == "category" else _MISMATCH
                start += 1
        return found

    def in_units(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        assert self.kinds is not None
        factors, centers = np.ones(self.width(0)), np.zeros(self.width(0))
        start = 0
        for kind in self.kinds:
            if kind.kind == "boolean":
                factors[start], centers[start] = 1 / _MISMATCH, kind.center
            elif kind.kind != "category":
                factors[start], centers[start] = kind.scale, kind.center
            if kind.kind == "date":
                factors[start] /= _DAYS_PER_YEAR
                centers[start] = 1970 + centers[start] / _DAYS_PER_YEAR
            start += _n_values(kind)
            if kind.gaps:
                factors[start] = 1.0 if kind.kind == "category" else 1 / _MISMATCH
                start += 1
        return values * factors[columns] + centers[columns]

    def named(self, names: Sequence[str] | None) -> Sequence[str] | None:
        if names is None:
            return None
        found = []
        for kind in self.kinds or ():
            found += [f"{kind.name} = {level}" for level in kind.levels] or [kind.name]
            found += [f"{kind.name} is missing"] * bool(kind.gaps)
        return found

    def width(self, n_columns: int) -> int:
        if self.kinds is None:
            return n_columns
        return sum(_n_values(kind) + bool(kind.gaps) for kind in self.kinds)

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.kinds is not None
        measured = [(kind.center, kind.scale) for kind in self.kinds]
        centers, scales = np.array(measured, dtype=np.float64).T.copy()
        return {"centers": centers, "scales": scales}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        centers, scales = arrays["centers"], arrays["scales"]
        if not centers.shape == scales.shape == (n_columns,) or not (scales > 0).all():
            raise DamagedFileError("its scales are inconsistent with the rest")
        return cls(_numbers(centers, scales))


def _numbers(centers: np.ndarray, scales: np.ndarray) -> tuple[ColumnKind, ...]:
    return tuple(
        ColumnKind(str(j), "number", float(center), float(scale))
        for j, (center, scale) in enumerate(zip(centers, scales, strict=True))
    )


def _n_values(kind: ColumnKind) -> int:
    """Return the number of Euclidean columns that hold the values of a column."""
    return len(kind.levels) if kind.kind == "category" else 1
