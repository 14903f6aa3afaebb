"""Metrics, implemented as maps to Euclidean rows.

A space is fitted on the pool, applied as the first step of `transform`, and saved with the model.
All later stages compute Euclidean distances, whatever metric the user chose. To add a metric, add a
class with a `name` to this file.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from trigpoint._common.checks import check_magnitude, refuse_non_finite, refuse_zero_rows
from trigpoint._common.errors import DamagedFileError, ParameterTypeError, ParameterValueError
from trigpoint._neighbors.sparse import Points, dense_blocks, read_only, take_rows
from trigpoint._numerics.blocks import row_blocks

# Rows per partial sum of column variances. Fixed, so that results are bitwise identical for every
# memory layout.
_MEASURED_ROWS = 2**14

# Relative differences that rounding alone may cause.
_ROUNDING = 1e-3


class Space:
    """A map from the user's rows to rows whose Euclidean distance is the chosen metric."""

    name: str  # Value of the parameter `metric`.
    takes_sparse = False  # Whether rows may be sparse; if so, they stay sparse.
    takes_tensors = True  # Whether `to` is available.
    learns = False  # Whether `fit` depends on the rows.

    def fit(self, rows: Points) -> Self:
        """Fit the map to the rows of the pool."""
        return self

    def __call__(self, block: Points, rows: Any = 0) -> Points:
        """Return the Euclidean rows of a block, all of them finite.

        `rows` identifies the rows of X in error messages: the number of the first row, or an array
        with the numbers of all rows.
        """
        found, name = self._map(block, rows), f"X under metric={self.name!r}"
        try:
            if isinstance(found, np.ndarray):
                refuse_non_finite(found, name, first_row=rows)
            elif not np.isfinite(found.data.sum()):
                for part in dense_blocks(found):
                    numbers = rows[part] if np.ndim(rows) else rows + part.start
                    refuse_non_finite(found[part].toarray(), name, first_row=numbers)
            check_magnitude(found, name, may_be_tiny=True, rows=rows)
        except ParameterValueError as error:
            raise self._refused(error) from None
        return found

    def _refused(self, error: ParameterValueError) -> ParameterValueError:
        """Return the error to raise for unusable Euclidean rows."""
        return ParameterValueError(str(error), "metric")

    def _map(self, block: Points, rows: Any) -> Points:
        """Return the Euclidean rows of a block, which need not be finite."""
        raise NotImplementedError

    def in_units(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return values of some Euclidean columns in the units of the user's rows, if they differ.

        `columns` are the numbers of the columns of `values`.
        """
        del columns
        return values

    def width(self, n_columns: int) -> int:
        """Return the number of Euclidean columns for rows with `n_columns` columns."""
        return n_columns

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted arrays to save in a model file."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore a fitted space from `arrays`, or raise a `DamagedFileError`."""
        del arrays, n_columns
        return cls()

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        """Return the same map for tensors on a PyTorch device."""
        raise ParameterValueError(
            f"metric={self.name!r} is computed on the CPU: leave device None", "device"
        )


class Euclidean(Space):
    """Identity, which leaves rows unchanged."""

    name = "euclidean"
    takes_sparse = True

    def __call__(self, block: Points, rows: Any = 0) -> Points:
        return block

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        def unchanged(block: Any, rows: Any = 0) -> Any:
            del rows
            return block

        return unchanged


class Cosine(Space):
    """Rows scaled to unit length, whose Euclidean distance increases with the angle."""

    name = "cosine"
    takes_sparse = True

    def _map(self, block: Points, rows: Any) -> Points:
        from trigpoint._kernels.sparse_loops import scale_to_unit

        if issparse(block):
            values, starts = block.data, block.indptr
        else:
            block = np.ascontiguousarray(block)
            values, starts = block.reshape(-1), np.arange(len(block) + 1) * block.shape[1]
        units = np.empty_like(values, subok=False)
        zero = scale_to_unit(values, starts, units)
        refuse_zero_rows(rows[zero] if np.ndim(rows) else rows + zero, "X")
        if issparse(block):
            return csr_array((units, block.indices, block.indptr), shape=block.shape)
        return units.reshape(block.shape)

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        from trigpoint._spaces.torch import unit_rows

        return unit_rows


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


class UserSpace(Space):
    """Space of a user-defined object with ``fit(rows)`` and ``__call__(rows)``.

    The object is copied before fitting, because estimator parameters must not change. It receives
    read-only rows, since they may share memory with the user's array, and its return values are
    checked. A model file stores the object's name (its `name` attribute or its class name) and its
    `arrays`, if any, but not the object itself.
    """

    learns = True

    def __init__(self, given: Any) -> None:
        self.given = deepcopy(given)
        self.name = str(getattr(given, "name", type(given).__name__))
        self.takes_sparse = bool(getattr(given, "takes_sparse", False))
        self.takes_tensors = hasattr(given, "to")

    def fit(self, rows: Points) -> Self:
        self.given.fit(read_only(rows))
        # Map a row alone and together with another to check that rows are mapped independently.
        if rows.shape[0] > 1:
            alone, among = (
                take_rows(self._map(rows[:count], 0), np.array([0])) for count in (1, 2)
            )
            if (np.abs(alone - among) > _ROUNDING * np.abs(among).max()).any():
                raise ParameterValueError(
                    f"metric={self.name!r} maps row 0 to other values when row 1 is in the same "
                    "block: compute each row only from itself and from fitted attributes",
                    "metric",
                )
        return self

    def _refused(self, error: ParameterValueError) -> ParameterValueError:
        problem = str(error).partition(":")[0]
        return ParameterValueError(f"{problem}: correct what the metric returns", "metric")

    def _map(self, block: Points, rows: Any) -> Points:
        try:
            found = self.given(read_only(block))
        except AttributeError as error:
            raise ParameterValueError(
                f"metric={self.name!r} failed ({error}): correct it; if fit sets that attribute, "
                "load the model with a fitted object, or add arrays() and from_arrays(arrays)",
                "metric",
            ) from error
        if issparse(found):
            return csr_array(found, dtype=block.dtype)  # type: ignore[call-overload]  # SciPy stubs
        found = np.asarray(found)
        if found.ndim != 2 or found.shape[0] != block.shape[0] or found.dtype.kind not in "biuf":
            raise ParameterValueError(
                f"metric={self.name!r} returned {found.dtype} values of shape {found.shape} for "
                f"{block.shape[0]} rows: return a 2-D array of numbers with one row for each",
                "metric",
            )
        return np.ascontiguousarray(found, dtype=block.dtype)

    def arrays(self) -> dict[str, np.ndarray]:
        return dict(self.given.arrays()) if hasattr(self.given, "arrays") else {}

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        if not self.takes_tensors:
            return super().to(device)
        on_device: Callable[[Any], Any] = self.given.to(device)

        def mapped(block: Any, rows: Any = 0) -> Any:
            del rows
            return on_device(block)

        return mapped


SPACES: dict[str, type[Space]] = {space.name: space for space in (Euclidean, Cosine, Standardized)}


def space_for(metric: Any) -> Space:
    """Return an unfitted space, given the name of a metric or a user-defined object."""
    if isinstance(metric, str) and metric in SPACES:
        return SPACES[metric]()
    is_usable = callable(metric) and hasattr(metric, "fit") and not isinstance(metric, type)
    if not is_usable or isinstance(metric, str):
        names = ", ".join(map(repr, SPACES))
        raise ParameterTypeError(
            f"metric={metric!r} is not known: choose one of {names}, or pass an object with "
            "fit(rows) and __call__(rows), which returns Euclidean rows",
            "metric",
        )
    return UserSpace(metric)
