"""Decorators that compile loops."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile at the first call, keep the result on disk, and release the interpreter lock.

    Sums may be reordered into vector lanes, in the same way at every call; infinities and NaN keep
    their meaning. With ``NUMBA_DISABLE_JIT=1``, the loop runs in Python, for debugging.

    numba's cache only detects changes of the file of a function: all compiled functions that it
    calls must be in the same file.
    """
    return _compile(function, {"reassoc", "contract", "nsz"})


def compiled_strictly(function: Function) -> Function:
    """Compile, and keep the order of every sum, so that all callers get the same bits."""
    return _compile(function, False)


def _compile(function: Function, fastmath: set[str] | bool) -> Function:
    loop = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath, cache=True)(function)
    return cast(Function, loop)
