"""How all loops are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# What may be done to sums so that they run in vector lanes.
_REORDERED = {"reassoc", "contract", "nsz"}


def compiled(function: Function) -> Function:
    """Compile at the first call, keep the result on disk, and leave the interpreter lock alone.

    Sums may be reordered into vector lanes, in the same way at every call; infinities and NaN
    keep their meaning. Where there is no folder to keep results in, each process compiles anew.
    """
    return _cached(function, _REORDERED)


def compiled_exactly(function: Function) -> Function:
    """Compile as `compiled` does, but with every operation rounded as it is written.

    For distances that are compared with each other: the same two points always have the same one.
    """
    return _cached(function, set())


def _cached(function: Function, fastmath: set[str]) -> Function:
    try:
        return _compile(function, fastmath, cache=True)
    except RuntimeError:
        return _compile(function, fastmath, cache=False)


def _compile(function: Function, fastmath: set[str], *, cache: bool) -> Function:
    dispatcher: Any = numba.njit(
        cache=cache, nogil=True, error_model="numpy", fastmath=fastmath or False
    )(function)
    return cast(Function, dispatcher)
