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
    try:
        return _compile(function, cache=True)
    except RuntimeError:
        return _compile(function, cache=False)


def _compile(function: Function, *, cache: bool) -> Function:
    dispatcher: Any = numba.njit(
        cache=cache, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )(function)
    return cast(Function, dispatcher)
