"""Measure the time and memory of cases in separate processes, with limits on both. Requires Linux.

`apart` wraps a function so that it runs each case in a fresh process. In that process, `timed` and
`measure` tell the parent when a fit begins and ends, so that the time limit covers only the fit.
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
SAMPLING = 0.05  # seconds between checks of a worker's memory

Run = Callable[[Row, Settings], Row]

# Connection to the parent, in a process that `apart` started.
_parent: Connection | None = None


def apart(
    run: Run,
    limit: float = FIT_LIMIT,
    quick_limit: float = QUICK_FIT_LIMIT,
    memory_limit: float = MEMORY_LIMIT,
) -> Run:
    """Wrap `run` to run cases in fresh processes; a failed case returns ``{"error": reason}``.

    `limit` is the maximum number of seconds for each timed call, `quick_limit` for quick runs, and
    `memory_limit` the maximum number of bytes.
    """

    def run_apart(case: Row, settings: Settings) -> Row:
        context = get_context("spawn")
        messages, there = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(there, run, case, settings))
        worker.start()
        there.close()
        try:
            return _followed(
                worker, messages, quick_limit if settings.quick else limit, memory_limit
            )
        finally:
            worker.kill()
            worker.join()

    return run_apart


def _work(parent: Connection, run: Run, case: Row, settings: Settings) -> None:
    global _parent
    _parent = parent
    warnings.filterwarnings("ignore")  # Warnings would bury the reason for a failure.
    try:
        result: Any = run(case, settings)
    except (MissingDataError, ModuleNotFoundError) as error:
        result = error
    except Exception as error:  # Any error of a peer is recorded as its result.
        traceback.print_exc()
        result = {"error": _reason(error)}
    parent.send(result)


def _reason(error: Exception) -> str:
    """Describe an error briefly enough for a table cell."""
    if isinstance(error, MemoryError):
        asked = re.search(r"allocate ([\d.]+ \w+)", str(error))
        return f"out of memory (asked for {asked[1]})" if asked else "out of memory"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"


def _followed(worker: BaseProcess, messages: Connection, limit: float, memory_limit: float) -> Row:
    """Return the result of a worker, the limit that it exceeded, or how it ended."""
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
        if memory_field("RssAnon", worker.pid) > memory_limit:
            return {"error": f"> {memory_limit / 1e9:.0f} GB"}
        if time.monotonic() > deadline:
            return {"error": f"> {limit:g} s"}


# In the measuring process ---------------------------------------------------------------------


def measure(fit: Callable[[], Any]) -> tuple[Any, Row]:
    """Return the result of `fit`, its wall time, and its peak resident memory above the start."""
    # Return freed memory to the system; otherwise, reusing it would not count as using memory.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # Reset the peak.
    before = memory_field("VmRSS")
    seconds, result = timed(fit)
    return result, {"seconds": seconds, "peak": memory_field("VmHWM") - before}


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the number of seconds that a call takes, and its result."""
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
    """Return a field of /proc/<process>/status in bytes, or 0 if the process has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return 1024 * int(found[1]) if found else 0
