"""Time and memory of a case, in a process of its own with limits on both. Needs Linux.

`apart` makes a function that runs a case in a fresh process. In that process, `timed` and `measure`
tell the parent when a fit begins and ends, so that the limit of time covers the fit alone.
"""

import ctypes
import gc
import re
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from experiments.runner import MissingDataError, Row, Settings

FIT_LIMIT, QUICK_FIT_LIMIT = 600.0, 120.0  # seconds
MEMORY_LIMIT = 16e9  # bytes
SAMPLING = 0.05  # seconds between two looks at a worker's memory

Run = Callable[[Row, Settings], Row]

# To the parent, in a process that `apart` started.
_parent: Connection | None = None


def apart(run: Run, limit: float = FIT_LIMIT, quick_limit: float = QUICK_FIT_LIMIT) -> Run:
    """Run cases in fresh processes: their result, or ``{"error": reason}``.

    The limit is how many seconds whatever is timed may take.
    """

    def run_apart(case: Row, settings: Settings) -> Row:
        context = get_context("spawn")
        messages, there = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(there, run, case, settings))
        worker.start()
        there.close()
        try:
            return _followed(worker, messages, quick_limit if settings.quick else limit)
        finally:
            worker.kill()
            worker.join()

    return run_apart


def _work(parent: Connection, run: Run, case: Row, settings: Settings) -> None:
    global _parent
    _parent = parent
    warnings.filterwarnings("ignore")  # They would bury the reason for a failure.
    try:
        result: Any = run(case, settings)
    except (MissingDataError, ModuleNotFoundError) as error:
        result = error
    except Exception as error:  # Anything a peer raises is its result, and goes into its row.
        traceback.print_exc()
        result = {"error": _reason(error)}
    parent.send(result)


def _reason(error: Exception) -> str:
    """Why it failed, in a table cell."""
    if isinstance(error, MemoryError):
        asked = re.search(r"allocate ([\d.]+ \w+)", str(error))
        return f"out of memory (asked for {asked[1]})" if asked else "out of memory"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"


def _followed(worker: BaseProcess, messages: Connection, limit: float) -> Row:
    """Result of a worker, the limit that it broke, or how it died."""
    deadline = float("inf")
    while True:
        if messages.poll(SAMPLING):
            try:
                message = messages.recv()
            except EOFError:
                worker.join()
                killed = worker.exitcode == -9
                return {"error": "out of memory" if killed else f"ended with {worker.exitcode}"}
            if isinstance(message, Exception):
                raise message
            if isinstance(message, dict):
                return message
            deadline = time.monotonic() + limit if message else float("inf")
        if memory_field("RssAnon", worker.pid) > MEMORY_LIMIT:
            return {"error": f"> {MEMORY_LIMIT / 1e9:.0f} GB"}
        if time.monotonic() > deadline:
            return {"error": f"> {limit:g} s"}


# In the process that measures -----------------------------------------------------------------


def measure(fit: Callable[[], Any]) -> tuple[Any, Row]:
    """Result of `fit`, with its wall seconds and the peak of resident memory above the start."""
    # Freed memory goes back to the system: reusing it must not be mistaken for using none.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # Resets the peak.
    before = memory_field("VmRSS")
    seconds, result = timed(fit)
    return result, {"seconds": seconds, "peak": memory_field("VmHWM") - before}


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and its result."""
    _tell(True)
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    _tell(False)
    return seconds, result


def _tell(fitting: bool) -> None:
    if _parent is not None:
        _parent.send(fitting)


def memory_field(name: str, process: int | str | None = "self") -> int:
    """One line of /proc/<process>/status in bytes; 0 when the process has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return 1024 * int(found[1]) if found else 0
