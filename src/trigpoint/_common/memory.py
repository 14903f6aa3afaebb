"""Reject work that cannot fit in memory before it starts."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from trigpoint._common.errors import ParameterValueError

try:
    import resource
except ImportError:  # Windows has none.
    resource = None  # type: ignore[assignment]

# The matrix, its factor, a working copy, and the solver's workspace.
_COPIES = 4

# Where Linux tells about the machine, this process, and the limits of control groups.
_MACHINE = Path("/proc/meminfo")
_PROCESS = Path("/proc/self")
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
    """Bytes of memory that this process may use at most; infinite if the system does not say.

    What a container, a batch system or ``ulimit -v`` allows, if that is less than the machine has.
    """
    try:
        machine = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        machine = float("inf")
    return min(machine, *(limit for limit, _ in _limits()))


def available_memory() -> float:
    """Bytes of memory available now; all of it if the system does not say."""
    found = (line.split()[1] for line in _lines(_MACHINE) if line.startswith("MemAvailable:"))
    free = next((1024.0 * int(kilobytes) for kilobytes in found), physical_memory())
    return max(0.0, min(free, *(limit - used() for limit, used in _limits())))


def _limits() -> Iterator[tuple[float, Callable[[], float]]]:
    """Limits of this process and of the groups it belongs to, in bytes, and what tells the use."""
    yield float("inf"), float
    if resource is not None:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            yield float(soft), _addressed
    for line in _lines(_PROCESS / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _group_limits(_GROUPS, path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes"
            yield from _group_limits(_GROUPS / "memory", path, *names)


def _addressed() -> float:
    """Bytes of addresses that this process uses."""
    pages = "".join(_lines(_PROCESS / "statm")).split() or ["0"]
    return float(int(pages[0]) * resource.getpagesize())


def _group_limits(
    root: Path, path: str, limit: str, usage: str
) -> Iterator[tuple[float, Callable[[], float]]]:
    """Limits of a control group and those around it; inside a container, its own is the root."""
    group = root / path.lstrip("/")
    while True:
        most = "".join(_lines(group / limit))
        # Without a limit, the newer version says "max", and the older a number without meaning.
        if most.isdecimal():
            yield float(most), partial(_used_in_group, group, usage)
        if group == root or root not in group.parents:
            return
        group = group.parent


def _used_in_group(group: Path, usage: str) -> float:
    """Bytes used in a control group; copies of files on disk count there, but give way."""
    used = "".join(_lines(group / usage))
    stored = (line.split() for line in _lines(group / "memory.stat"))
    cached = {name: int(value) for name, value in stored}
    in_use = int(used or 0) - cached.get("total_inactive_file", cached.get("inactive_file", 0))
    return float(max(0, in_use))


def _lines(path: Path) -> list[str]:
    """Lines of a file of the system; none if it is not there."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
