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
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from experiments.pages import Cell, number
from experiments.runner import MissingDataError, Row, Settings

FIT_LIMIT, QUICK_FIT_LIMIT = 600, 10  # seconds
MEMORY_LIMIT = 16e9  # bytes
SAMPLING = 0.05  # seconds between two looks at a worker's memory
ONE_SEED_FROM = 20.0  # seconds; longer runs are not repeated with other seeds

# Few points are drawn by one compiled loop, more than 200,000 by another.
WARM_UP_ROWS = 5000, 250_000

Run = Callable[[Row, Settings], Row]

# To the parent, in a process that `apart` started.
_parent: Connection | None = None


def apart(run: Run, limit: float = FIT_LIMIT, quick_limit: float = QUICK_FIT_LIMIT) -> Run:
    """Run cases in fresh processes: their result, or ``{"error": reason}``.

    The limit is how many seconds the timed part may take. The result also has the highest anonymous
    memory of the process meanwhile, in bytes.
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
    fitting, spent, since, highest = False, 0.0, time.monotonic(), 0
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
                return {**message, "anonymous_peak": highest}
            spent += (time.monotonic() - since) * fitting
            fitting, since = message, time.monotonic()
        anonymous = memory_field("RssAnon", worker.pid) or 0
        if anonymous > MEMORY_LIMIT:
            return {"error": f"> {MEMORY_LIMIT / 1e9:.0f} GB"}
        if fitting:
            highest = max(highest, anonymous)
            if spent + time.monotonic() - since > limit:
                return {"error": f"> {limit:g} s"}


def foregone(case: Row, rows: Sequence[Row]) -> Row | None:
    """Result of a case that need not be run; an empty row leaves it out.

    A method is not tried on more points than those on which it failed, nor where it would break the
    limit even if its time grew no faster than the number of points. Where one seed took long, one
    must suffice.
    """
    family = [row for row in rows if all(row[name] == case[name] for name in ("data", "method"))]
    n = max((row["n"] for row in family), default=0)
    # The largest is the most informative.
    for row in family:
        if row["n"] != n:
            continue
        if error := row.get("error"):
            again = n == case["n"] or error.startswith("not tried")
            return {"error": error if again else f"not tried: {error} at n = {n:,}"}
        if n < case["n"] and row["seconds"] * case["n"] / n > FIT_LIMIT:
            return {"error": f"not tried: {row['seconds']:.0f} s at n = {n:,}"}
        if n == case["n"] and row["seconds"] > ONE_SEED_FROM:
            return {}
    return None


# In the process that measures -----------------------------------------------------------------


def measure(fit: Callable[[], Any], before: int | None = None) -> tuple[Any, Row]:
    """Result of `fit`, with its wall seconds and the peak of resident memory above the start.

    `before` is the resident memory to compare with, if not the current one.
    """
    settle()
    Path("/proc/self/clear_refs").write_text("5")  # Resets the peak.
    before = memory_field("VmRSS") if before is None else before
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


def settle() -> None:
    """Give freed memory back to the system, so that reusing it is not mistaken for using none."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def memory_field(name: str, process: int | str | None = "self") -> int:
    """One line of /proc/<process>/status in bytes; 0 when the process has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


# The whole pipeline of trigpoint --------------------------------------------------------------


def warm_up(emb: Any, X: np.ndarray) -> None:
    """Compile all that is timed afterwards."""
    for rows in WARM_UP_ROWS:
        emb.fit(X[:rows]).transform(X[:rows])


def fit_and_transform(
    emb: Any, X: Any, points: Any, *, before: int | None = None, **options: Any
) -> tuple[Any, Row]:
    """Embedding of `points` after a fit to `X`; seconds of both and of the stages, and memory."""

    def both() -> tuple[Any, float]:
        emb.fit(X)
        fitted = time.perf_counter()
        Y = emb.transform(points, **options)
        return Y, time.perf_counter() - fitted

    (Y, transform), cost = measure(both, before=before)
    times = {"fit": cost["seconds"] - transform, "transform": transform}
    return Y, {**cost, **times, "stages": emb.stage_seconds_}


def stage_rows(row: Row) -> list[list]:
    """Rows of a table of seconds."""
    rows = [[f"fit: {name}", number(seconds)] for name, seconds in row["stages"].items()]
    rows += [["fit", number(row["fit"])], ["transform", number(row["transform"])]]
    return [*rows, ["**total**", Cell(f"**{number(row['seconds']).text}**")]]


# Targets --------------------------------------------------------------------------------------

TARGET_COLUMNS = ("what", "measured", "target", "met")


def target(what: str, measured: Cell, most: float, unit: str = "") -> list[str]:
    """Row of a table of targets."""
    assert measured.value is not None
    met = "yes" if measured.value <= most else "**no**"
    return [what, measured.text, f"≤ {most:g}{unit}", met]
