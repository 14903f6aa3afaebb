"""Reject work that cannot fit in memory before it starts."""

import os
from pathlib import Path

from trigpoint._common.errors import ParameterValueError

# The matrix, its factor, a working copy, and the solver's workspace.
_COPIES = 4


def check_dense(parameter: str, n: int, what: str, remedy: str) -> None:
    """Reject dense (n, n) float64 work that exceeds the machine's memory.

    Parameters
    ----------
    parameter : str
        The parameter that decides on `n`.
    n : int
        Number of rows and columns.
    what : str
        What there are `n` of.
    remedy : str
        What to use instead.
    """
    needed = _COPIES * 8 * n**2
    available = physical_memory()
    if needed > available:
        raise ParameterValueError(
            parameter,
            n,
            "{n} {what} need a dense matrix and about {needed:.0f} GB, and this machine has "
            "{available:.0f} GB",
            "use {remedy}",
            n=n,
            what=what,
            needed=needed / 1e9,
            available=available / 1e9,
            remedy=remedy,
        )


def physical_memory() -> float:
    """Bytes of memory of this machine; infinite if the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def available_memory() -> float:
    """Bytes of memory available now; all of it if the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return physical_memory()
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((1024.0 * int(kilobytes) for kilobytes in found), physical_memory())
