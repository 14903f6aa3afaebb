"""Decorators that compile loops."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a loop on the first call, cache it on disk, and release the interpreter lock.

    Sums may be reordered for vectorization, but always in the same way; infinities and NaN keep
    their meaning. With ``NUMBA_DISABLE_JIT=1``, the loop runs in Python, for debugging.

    numba's cache detects changes only in the file of a function, so all compiled functions that it
    calls must be in the same file.
    """
    return _compile(function, {"reassoc", "contract", "nsz"})


def compiled_strictly(function: Function) -> Function:
    """Compile a loop like `compiled`, but preserve the order of sums, so that bits never vary."""
    return _compile(function, False)


def _compile(function: Function, fastmath: set[str] | bool) -> Function:
    loop = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath, cache=True)(function)
    return cast(Function, loop)
