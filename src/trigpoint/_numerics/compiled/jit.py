"""How all loops are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile at the first call, keep the result on disk, and leave the interpreter lock alone.

    Sums may be reordered into vector lanes, in the same way at every call; infinities and NaN
    keep their meaning. Where there is no folder to keep results in, each process compiles anew.
    """
    return _compile(function, {"reassoc", "contract", "nsz"})


def compiled_strictly(function: Function) -> Function:
    """Compile likewise, but keep the order of every sum, so that all callers get the same bits."""
    return _compile(function, False)


def _compile(function: Function, fastmath: Any) -> Function:
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(Function, numba.njit(cache=False, **options)(function))
