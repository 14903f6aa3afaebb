"""One case in a process of its own, with limits on time and memory.

The parent starts ``python -m experiments.framework.worker`` and reads JSON lines from it: a line
``{"phase": "fit"}`` or ``{"phase": "rest"}`` around everything that is timed, so that the time
limit covers the fit alone, and one line ``{"result": {...}}`` at the end.
"""

import json
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.framework.experiment import Row, Settings, load_experiment
from experiments.framework.measuring import memory_field, open_channel, tell

REST_LIMIT = 1800.0  # seconds for the data and the quality of the result
MEMORY_LIMIT = 16e9  # bytes
SAMPLING = 0.05  # seconds between two looks at a worker's memory


def run_apart(package: str, name: str, case: Row, settings: Settings) -> Row:
    """Run a case in a fresh process: its result, or ``{"error": reason}``.

    ``case["limit"]`` is how many seconds the timed part may take.
    """
    task = {"package": package, "name": name, "case": case}
    task |= {"settings": asdict(settings) | {"data": settings.data and str(settings.data)}}
    command = [sys.executable, "-m", "experiments.framework.worker", json.dumps(task)]
    root = Path(__file__).parents[2]
    with tempfile.TemporaryFile("w+") as noise:
        with subprocess.Popen(
            command, cwd=root, stdout=subprocess.PIPE, stderr=noise, text=True
        ) as worker:
            watch = _Watch(worker, case["limit"])
            try:
                result = watch.result()
            finally:
                worker.kill()
                # It reads to the end of the pipe that is about to be closed.
                watch.listener.join()
        if result is None:
            noise.seek(0)
            last = noise.read().strip().rpartition("\n")[2][:120]
            result = {"error": _death(worker.returncode, last)}
    return result


class _Watch:
    """Follows one worker: its messages, its clock and its memory."""

    def __init__(self, worker: subprocess.Popen[str], fit_limit: float) -> None:
        self._worker, self._fit_limit = worker, fit_limit
        self._fitting, self._fitted = False, 0.0
        self._since = time.monotonic()
        self._highest = 0
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self._worker.stdout is not None
        for line in self._worker.stdout:
            self._lines.put(line)
        self._lines.put("")

    def result(self) -> Row | None:
        """The worker's result or the limit it broke; None if it died without a message."""
        while True:
            try:
                line = self._lines.get(timeout=SAMPLING)
            except queue.Empty:
                pass
            else:
                if not line:
                    return None
                message = json.loads(line)
                if "result" in message:
                    return {**message["result"], "anonymous_peak": self._highest}
                self._enter(message["phase"] == "fit")
            if broken := self._broken_limit():
                return {"error": broken}

    def _enter(self, fitting: bool) -> None:
        now = time.monotonic()
        self._fitted += (now - self._since) * self._fitting
        self._fitting, self._since = fitting, now

    def _broken_limit(self) -> str | None:
        anonymous = memory_field("RssAnon", self._worker.pid) or 0
        if self._fitting:
            self._highest = max(self._highest, anonymous)
        if anonymous > MEMORY_LIMIT:
            return f"> {MEMORY_LIMIT / 1e9:.0f} GB"
        elapsed = time.monotonic() - self._since
        if self._fitting and self._fitted + elapsed > self._fit_limit:
            return f"> {self._fit_limit:g} s"
        return "preparation took too long" if elapsed > REST_LIMIT else None


def _death(code: int | None, last_words: str) -> str:
    if code in (-9, 137):
        return "killed by the system, out of memory"
    return f"ended with status {code}: {last_words}"


def _reason(error: Exception) -> str:
    """Why it failed, in a table cell."""
    if isinstance(error, MemoryError):
        asked = re.search(r"allocate ([\d.]+ \w+)", str(error))
        return f"out of memory (asked for {asked[1]})" if asked else "out of memory"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:90]}{'…' if len(text) > 90 else ''}"


def main() -> None:
    """Run the case that the argument describes, and report its result."""
    open_channel()
    warnings.filterwarnings("ignore")  # They would bury the reason for a failure.
    task: dict[str, Any] = json.loads(sys.argv[1])
    data = task["settings"].pop("data")
    settings = Settings(**task["settings"], data=data and Path(data))
    try:
        result = load_experiment(task["package"], task["name"]).run(task["case"], settings)
    except Exception as error:  # Anything a peer raises is its result, and goes into its row.
        traceback.print_exc()
        result = {"error": _reason(error)}
    tell(result=result)


if __name__ == "__main__":
    main()
