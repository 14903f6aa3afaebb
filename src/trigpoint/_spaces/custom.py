"""Spaces of user-defined objects."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.sparse import Points, read_only, take_rows
from trigpoint._spaces.space import Space

# Maximum relative difference that rounding may cause.
_ROUNDING = 1e-3


class UserSpace(Space):
    """Space of a user-defined object with ``fit(rows)`` and ``__call__(rows)``.

    The object is copied before fitting, because estimator parameters must not change. It receives
    read-only rows, since they may share memory with the user's array, and its return values are
    checked. A model file stores the object's name (its `name` attribute or its class name) and its
    `arrays`, if any, but not the object itself.
    """

    learns = True
    is_given = True

    def __init__(self, given: Any) -> None:
        self.given = deepcopy(given)
        self.name = str(getattr(given, "name", type(given).__name__))
        self.takes_sparse = bool(getattr(given, "takes_sparse", False))
        self.takes_tensors = hasattr(given, "to")

    def fit(self, rows: Points) -> Self:
        self.given.fit(read_only(rows))
        # Map a row alone and together with another, to check that rows are mapped independently.
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

    def restored(self, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        if arrays and hasattr(self.given, "from_arrays"):
            self.given = self.given.from_arrays(arrays)
        return self

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        if not self.takes_tensors:
            raise ParameterValueError(
                f"metric={self.name!r} is computed on the CPU: leave device None", "device"
            )
        on_device: Callable[[Any], Any] = self.given.to(device)

        def mapped(block: Any, rows: Any = 0) -> Any:
            del rows
            return on_device(block)

        return mapped
