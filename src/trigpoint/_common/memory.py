"""Reject work that cannot fit in memory before it starts."""

import os
from collections.abc import Iterator
from pathlib import Path

from trigpoint._common.errors import ParameterValueError

try:
    import resource
except ImportError:  # Windows has none.
    resource = None  # type: ignore[assignment]

# The matrix, its factor, a working copy, and the solver's workspace.
_COPIES = 4

# Where Linux describes the control groups of this process and their limits.
_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


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
            f"{n} {what} need a dense matrix and about {needed / 1e9:.0f} GB, but this machine "
            f"has {available / 1e9:.0f} GB: use {remedy}",
            parameter,
        )


def physical_memory() -> float:
    """Return how many bytes of memory this process may use; infinite if that is unknown.

    The smallest of what the machine has and what a container, a batch system or ``ulimit -v``
    allows.
    """
    try:
        machine = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        machine = float("inf")
    return min(machine, *_limits())


def _limits() -> Iterator[float]:
    """Yield the memory limits of this process and of its control groups, in bytes."""
    yield float("inf")
    if resource is not None:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            yield float(soft)
    for line in _text(_MEMBERSHIP).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _group_limits(_GROUPS, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _group_limits(_GROUPS / "memory", path, "memory.limit_in_bytes")


def _group_limits(root: Path, path: str, name: str) -> Iterator[float]:
    """Yield the limits of a control group and its parents; in a container, the root is its own."""
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        most = _text(folder / name).strip()
        # Without a limit, version 2 says "max", and version 1 a huge number.
        if most.isdecimal():
            yield float(most)
        if folder == root:
            return


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
