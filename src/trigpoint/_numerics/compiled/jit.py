"""How all loops are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from trigpoint._numerics.compiled.cache import LoopCache

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile at the first call, keep the result on disk, and leave the interpreter lock alone.

    Sums may be reordered into vector lanes, in the same way at every call; infinities and NaN
    keep their meaning. With ``NUMBA_DISABLE_JIT=1`` the loop stays Python, for a debugger.
    """
    loop: Any = numba.njit(
        nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )(function)
    if numba.extending.is_jitted(loop):
        # What `cache=True` does, with a cache that sees edits in every file of this package.
        loop._cache = LoopCache(function)
    return cast(Function, loop)
