"""Measurements in processes of their own: the protocol, time, memory and the environment.

The parent starts ``python -m experiments.benchmarks.worker`` and reads JSON lines from it: a line
``{"phase": "fit"}`` or ``{"phase": "rest"}`` around everything that is timed, so that the time
limit covers the fit alone, and one line ``{"result": {...}}`` at the end.
"""

import ctypes
import gc
import hashlib
import json
import os
import platform
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FIT_LIMIT = 600  # seconds
QUICK_FIT_LIMIT = 10
REST_LIMIT = 1800.0  # seconds for the data and the quality of the result
MEMORY_LIMIT = 16e9  # bytes
SAMPLING = 0.05  # seconds between two looks at a worker's memory
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "umap-learn", "pynndescent"),
    *("phate", "graphtools", "geosketch", "fbpca", "faiss-cpu", "dppy"),
)


# In the worker ------------------------------------------------------------------------------


class Channel:
    """The worker's line to its parent; whatever else is printed goes to standard error."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)

    def tell(self, **message: Any) -> None:
        """Send one line."""
        self._file.write(json.dumps(message) + "\n")


_channel: Channel | None = None


def open_channel() -> Channel:
    """Open the line to the parent, once per process."""
    global _channel
    _channel = _channel or Channel()
    return _channel


def measure(fit: Callable[[], Any], before: int | None = None) -> tuple[Any, dict[str, Any]]:
    """Result of `fit`, with its wall seconds and the peak of resident memory above the start.

    `before` is the resident memory to compare with, where that is not what it is now.
    """
    settle()
    source = reset_peak()
    before = resident() if before is None else before
    seconds, result = timed(fit)
    return result, {"seconds": seconds, "peak": peak(source) - before, "peak_from": source}


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and its result."""
    channel = open_channel()
    channel.tell(phase="fit")
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    channel.tell(phase="rest")
    return seconds, result


def settle() -> None:
    """Give freed memory back to the system, so that its reuse is not mistaken for no use."""
    gc.collect()
    with suppress(AttributeError, OSError):  # Not glibc: nothing to trim.
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of resident memory now."""
    return memory_field("VmRSS") or _rusage_peak()


def reset_peak() -> str:
    """Start the peak anew where the system can; says where the peak is read from."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return "getrusage"
    return "VmHWM"


def peak(source: str) -> int:
    """Peak of resident memory in bytes, since `reset_peak` where that was possible."""
    return (memory_field("VmHWM") if source == "VmHWM" else None) or _rusage_peak()


def memory_field(name: str, process: int | str = "self") -> int | None:
    """One line of /proc/<process>/status in bytes; None where there is none."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return next((1024 * int(kilobytes) for kilobytes in found), None)


def _rusage_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# In the parent ------------------------------------------------------------------------------


def run_worker(spec: dict[str, Any]) -> dict[str, Any]:
    """Measure `spec` in a fresh process: its result, or ``{"error": reason}``."""
    command = [sys.executable, "-m", "experiments.benchmarks.worker", json.dumps(spec)]
    with tempfile.TemporaryFile("w+") as noise:
        worker = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=noise, text=True
        )
        try:
            result = _Watch(worker, spec["limit"]).result()
        finally:
            worker.kill()
            worker.wait()
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
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._worker.stdout is not None
        for line in self._worker.stdout:
            self._lines.put(line)
        self._lines.put("")

    def result(self) -> dict[str, Any] | None:
        """The worker's result or the limit it broke; None when it died without a word."""
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
            return f"> {self._fit_limit:.0f} s"
        return "preparation took too long" if elapsed > REST_LIMIT else None


def _death(code: int | None, last_words: str) -> str:
    if code in (-9, 137):
        return "killed by the system, out of memory"
    return f"ended with status {code}: {last_words}"


# The environment ----------------------------------------------------------------------------


def environment() -> dict[str, Any]:
    """Versions and machine, as far as they bear on the figures."""
    return {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("trigpoint", *PACKAGES)},
        "source": _source_digest(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _source_digest() -> str:
    """Eight digits that tell one state of the library from another."""
    spec = find_spec("trigpoint")
    if spec is None or spec.origin is None:
        return "not found"
    digest = hashlib.sha256()
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
