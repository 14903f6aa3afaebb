"""How all loops are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from trigpoint._numerics.compiled.cache import LoopCache
from trigpoint._numerics.compiled.clock import COMPILE_CLOCK

Function = TypeVar("Function", bound=Callable[..., Any])


class _Compiling(event.Listener):
    """Tells the clock when a loop is compiled; one that is loaded from disk is not."""

    on_start = COMPILE_CLOCK.on_start
    on_end = COMPILE_CLOCK.on_end


event.register("numba:compile", _Compiling())


def compiled(function: Function) -> Function:
    """Compile at the first call, keep the result on disk, and release the interpreter lock.

    Sums may be reordered into vector lanes, in the same way at every call; infinities and NaN
    keep their meaning. With ``NUMBA_DISABLE_JIT=1`` the loop stays Python, for a debugger.
    """
    return _compile(function, {"reassoc", "contract", "nsz"})


def compiled_strictly(function: Function) -> Function:
    """Compile likewise, but keep the order of every sum, so that all callers get the same bits."""
    return _compile(function, False)


def _compile(function: Function, fastmath: set[str] | bool) -> Function:
    loop: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    if numba.extending.is_jitted(loop):
        # What `cache=True` does, with a cache that sees edits in every file of this package.
        loop._cache = LoopCache(function)
    return cast(Function, loop)
