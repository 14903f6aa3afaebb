"""Issue warnings that point to the user's line, not into the library."""

import sys
import warnings

_INSIDE = ("trigpoint.", "sklearn.", "numba.", "contextlib", "functools")


def warn_user(warning: Warning) -> None:
    """Warn at the innermost stack frame outside trigpoint and the libraries that wrap it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
