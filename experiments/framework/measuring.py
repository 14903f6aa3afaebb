"""Time and memory of a call, in the process that makes it."""

import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

# To the parent of a `worker` process; None elsewhere.
_channel: TextIO | None = None


def open_channel() -> None:
    """Keep standard output for `tell`; everything else that is printed goes to standard error."""
    global _channel
    _channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)


def tell(**message: Any) -> None:
    """Send one line to the parent, if there is one."""
    if _channel is not None:
        _channel.write(json.dumps(message) + "\n")


def measure(fit: Callable[[], Any], before: int | None = None) -> tuple[Any, dict[str, Any]]:
    """Result of `fit`, with its wall seconds and the peak of resident memory above the start.

    `before` is the resident memory to compare with, if not the current one.
    """
    settle()
    source = _reset_peak()
    before = resident() if before is None else before
    seconds, result = timed(fit)
    return result, {"seconds": seconds, "peak": _peak(source) - before, "peak_from": source}


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and its result; the time limit of a worker is for these calls."""
    tell(phase="fit")
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    tell(phase="rest")
    return seconds, result


def settle() -> None:
    """Give freed memory back to the system, so that reusing it is not mistaken for using none."""
    gc.collect()
    with suppress(AttributeError, OSError):  # Not glibc: nothing to trim.
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of resident memory now."""
    return memory_field("VmRSS") or _rusage_peak()


def memory_field(name: str, process: int | str = "self") -> int | None:
    """One line of /proc/<process>/status in bytes; None where it does not exist."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return next((1024 * int(kilobytes) for kilobytes in found), None)


def _reset_peak() -> str:
    """Reset the peak where the system can; returns where the peak is read from."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return "getrusage"
    return "VmHWM"


def _peak(source: str) -> int:
    """Peak of resident memory in bytes, since `_reset_peak` where that was possible."""
    return (memory_field("VmHWM") if source == "VmHWM" else None) or _rusage_peak()


def _rusage_peak() -> int:
    try:
        import resource
    except ImportError:  # Windows.
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
