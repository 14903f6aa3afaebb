"""Argument checks shared by several datasets."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short


def check_dtype(dtype: DTypeLike) -> np.dtype:
    """Return `dtype` as a floating NumPy type."""
    try:
        checked = np.dtype(dtype)
    except TypeError as error:
        raise ParameterTypeError(
            f"dtype={short(dtype)} is not known to NumPy: choose np.float32, for example", "dtype"
        ) from error
    if not np.issubdtype(checked, np.floating):
        message = f"dtype={checked} cannot hold the values"
        raise ParameterValueError(f"{message}: choose np.float32 or np.float64", "dtype")
    return checked


def check_interval(name: str, value: Any) -> tuple[float, float]:
    """Return `value` as two finite floats, the first below the second."""
    ends = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else ()
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        raise ParameterTypeError(
            f"{name} must be a pair of numbers (low, high), got {short(value)}", name
        )
    low, high = float(ends[0]), float(ends[1])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ParameterValueError(
            f"{name}={(low, high)!r} is not an interval: choose finite {name} with low < high", name
        )
    return low, high
