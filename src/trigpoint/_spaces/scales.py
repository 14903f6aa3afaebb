"""Distances after dividing columns, or linear combinations of columns, by their spread."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._neighbors.nearest import rowwise_product
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import one_blas_thread, row_blocks
from trigpoint._spaces.space import Space

# Rows per partial sum of column variances. Fixed, so that results are bitwise identical for every
# memory layout.
_MEASURED_ROWS = 2**14

# Directions with a smaller variance, relative to the largest, are attributed to rounding.
_LEAST_VARIANCE = 1e-10


class Standardized(Space):
    """Columns divided by their standard deviations, so that each has equal influence."""

    name = "seuclidean"
    learns = True

    def __init__(self, scales: np.ndarray | None = None) -> None:
        self.scales = scales

    def fit(self, rows: Points) -> Self:
        assert isinstance(rows, np.ndarray)
        first = rows[0].astype(np.float64)
        sums = np.zeros(rows.shape[1])
        squares = np.zeros(rows.shape[1])
        for part in row_blocks(len(rows), _MEASURED_ROWS):
            # Subtract a row of the data to reduce rounding errors and to give constant columns a
            # variance of exactly zero.
            away = np.ascontiguousarray(rows[part]) - first
            sums += away.sum(axis=0)
            squares += (away * away).sum(axis=0)
        scales = np.sqrt(np.maximum(squares / len(rows) - (sums / len(rows)) ** 2, 0.0))
        # A column whose scale underflows in the precision of the rows counts as constant.
        self.scales = np.where(scales >= np.finfo(rows.dtype).tiny, scales, 1.0)
        return self

    def _map(self, block: Points, rows: Any) -> Points:
        assert self.scales is not None
        assert isinstance(block, np.ndarray)
        with np.errstate(over="ignore"):
            scaled: np.ndarray = block / self.scales.astype(block.dtype)
        return scaled

    def in_units(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        assert self.scales is not None
        return values * self.scales[columns]

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.scales is not None
        return {"scales": self.scales}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        scales = arrays["scales"]
        if scales.shape != (n_columns,) or not (scales > 0).all():
            raise DamagedFileError("its scales are inconsistent with the rest")
        return cls(scales)

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        import torch

        from trigpoint._spaces.torch import scaled

        scales = torch.as_tensor(self.scales, device=device)

        def mapped(block: Any, rows: Any = 0) -> Any:
            del rows
            return scaled(block, scales)

        return mapped


class Mahalanobis(Space):
    """Principal components of standardized columns, scaled to unit variance.

    Directions in which the rows of the pool do not vary are left out, which is what the
    pseudo-inverse of their covariance matrix does.
    """

    name = "mahalanobis"
    keeps_columns = False
    learns = True

    def __init__(self, center: np.ndarray | None = None, components: Any = None) -> None:
        self.center = center
        self.components = components  # (d, r).

    def fit(self, rows: Points) -> Self:
        assert isinstance(rows, np.ndarray)
        d = rows.shape[1]
        sums, products = np.zeros(d), np.zeros((d, d))
        first = rows[0].astype(np.float64)
        with one_blas_thread():
            for part in row_blocks(len(rows), _MEASURED_ROWS):
                sums += (rows[part] - first).sum(axis=0)
            mean = sums / len(rows)
            for part in row_blocks(len(rows), _MEASURED_ROWS):
                around = np.ascontiguousarray(rows[part] - first - mean)
                products += around.T @ around
            covariance = products / max(len(rows) - 1, 1)
            scales = np.sqrt(np.diag(covariance))
            # Standardize first, so that units do not affect which directions count as constant.
            scales[scales <= np.finfo(rows.dtype).tiny] = np.inf
            values, directions = np.linalg.eigh(covariance / np.outer(scales, scales))
        varies = values > _LEAST_VARIANCE * max(values[-1], 0.0)
        if not varies.any() or not np.isfinite(scales).any():
            raise ParameterValueError(
                "metric='mahalanobis' needs columns that vary, and all columns of X are constant: "
                "check how the data was prepared",
                "X",
            )
        self.center = first + mean
        self.components = np.ascontiguousarray(
            directions[:, varies] / scales[:, None] / np.sqrt(values[varies])
        )
        return self

    def _map(self, block: Points, rows: Any) -> Points:
        assert self.center is not None
        assert isinstance(block, np.ndarray)
        return rowwise_product(block - self.center, self.components).astype(block.dtype)

    def width(self, n_columns: int) -> int:
        return n_columns if self.components is None else int(self.components.shape[1])

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.center is not None
        return {"center": self.center, "components": self.components}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        center, components = arrays["center"], arrays["components"]
        is_wide = components.ndim == 2 and 0 < components.shape[1] <= n_columns
        if center.shape != (n_columns,) or not is_wide or len(components) != n_columns:
            raise DamagedFileError("its components are inconsistent with the rest")
        return cls(center.astype(np.float64), np.ascontiguousarray(components, dtype=np.float64))
