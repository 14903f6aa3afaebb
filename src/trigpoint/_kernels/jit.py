"""Decorators that compile loops.

A literal that is passed to a compiled function has a type of its own, for which the function would
be compiled once more, so counters that are passed begin as ``int(np.int64(0))``.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from trigpoint._common.display import compilation
from trigpoint._common.warn import warn_user


class _Listener(event.Listener):
    """Notify the progress displays while loops are compiled."""

    def on_start(self, event: Any) -> None:
        compilation.begin()

    def on_end(self, event: Any) -> None:
        compilation.end()


event.register("numba:compile", _Listener())

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
    compile = partial(numba.njit, nogil=True, error_model="numpy", fastmath=fastmath)
    try:
        return cast(Function, compile(cache=True)(function))
    except RuntimeError:
        _warn_once()
        return cast(Function, compile()(function))


@cache
def _warn_once() -> None:
    """Warn that compiled code can be stored neither in the package nor in the home folder."""
    text = (
        "compiled loops cannot be stored, so every process compiles them again, which takes about "
        "10 seconds: set NUMBA_CACHE_DIR, an environment variable, to a folder that can be written"
    )
    warn_user(UserWarning(text))
