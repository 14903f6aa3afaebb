"""Amount of memory that this process may use."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

try:
    import resource
except ImportError:  # Not available on Windows.
    resource = None  # type: ignore[assignment]

# Linux files that list the control groups of this process, and their limits.
_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


@cache
def physical_memory() -> float:
    """Return the number of bytes of memory that this process may use, or infinity if unknown.

    This is the smallest of the machine's memory and the limits set by a container, a batch system
    or ``ulimit -v``.
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
        root, name = _GROUPS, "memory.max"
        if controllers:  # Version 1 has a folder for each kind of limit.
            root, name = _GROUPS / controllers, "memory.limit_in_bytes"
        # The limits of parent groups also apply. In a container, the root is the container's own
        # group.
        for depth in range(len(Path(path).parts)):
            most = _text(Path(root, *Path(path).parts[1 : depth + 1], name)).strip()
            # Without a limit, version 2 says "max", and version 1 a huge number.
            if most.isdecimal():
                yield float(most)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
