"""Progress of long computations on a terminal, in a notebook or in a log."""

import shutil
import sys
import threading
from dataclasses import dataclass, field
from os import get_terminal_size
from time import monotonic
from typing import Any, TextIO
from weakref import WeakSet

from trigpoint._common.words import duration, percent

# Seconds between redraws of a bar and between lines in a log, and minimum duration of a one-step
# stage to show.
_SECONDS_PER_FRAME, _SECONDS_PER_LINE, _SHORT = 0.1, 10.0, 0.5

# The remaining time is not estimated for fewer steps, whose durations may vary widely.
_FEWEST_STEPS = 10

_BAR_WIDTH = 20

_COMPILING = "compiling inner loops (first run only)"

_displays: WeakSet[Any] = WeakSet()


class Compilation:
    """State and total duration of the compilation of loops; see `_kernels.jit`."""

    def __init__(self) -> None:
        self.depth, self._began, self._seconds = 0, 0.0, 0.0

    def begin(self) -> None:
        """Record that the compilation of a loop begins, and refresh the displays."""
        self.depth += 1
        if self.depth == 1:
            self._began = monotonic()
            for display in list(_displays):
                display.refresh()

    def end(self) -> None:
        """Record that the compilation of a loop has ended."""
        self.depth -= 1
        if self.depth == 0:
            self._seconds += monotonic() - self._began

    @property
    def seconds(self) -> float:
        """Seconds spent compiling so far."""
        return self._seconds + (monotonic() - self._began if self.depth else 0.0)


compilation = Compilation()


@dataclass
class Stage:
    """Progress of one stage of a computation."""

    name: str
    done: int
    total: int
    done_before: int
    began: float = field(default_factory=lambda: monotonic())
    compiled_before: float = field(default_factory=lambda: compilation.seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the stage began."""
        return monotonic() - self.began

    def text(self) -> str:
        """Return the progress, the elapsed time and the estimated remaining time."""
        spent = duration(round(self.seconds, 1))
        if compilation.depth:
            return f"{_COMPILING}, {spent}"
        if self.total == 1:
            return spent
        share = self.done / self.total if self.total else 1.0
        return f"{self.done:,} of {self.total:,} ({percent(share)}), {spent}{self._left()}"

    def _left(self) -> str:
        # Exclude compilation, which happens only at the beginning.
        progress, left = self.done - self.done_before, self.total - self.done
        seconds = self.seconds - (compilation.seconds - self.compiled_before)
        if left <= 0 or progress <= 0 or self.total < _FEWEST_STEPS:
            return ""
        return f", {duration(seconds * left / progress)} left"


class Display:
    """Base class of displays, which show the stages of a computation one after the other."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage: Stage | None = None
        self._last = 0.0
        self._lock = threading.RLock()
        _displays.add(self)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
        with self._lock:
            if self._stage is None or self._stage.name != stage:
                self.close()
                self._stage, self._last = Stage(stage, done, total, done), monotonic()
                self._begin()
            self._stage.done, self._stage.total = done, total
            if done >= total:
                self._end()
                self._stage = None
            else:
                self._update()

    def refresh(self) -> None:
        """Redraw the current stage."""

    def close(self) -> None:
        """End the display of an unfinished stage."""

    def keep_fresh(self) -> None:
        """Redraw the stage twice a second in a thread, until `stop` is called."""

    def stop(self) -> None:
        """Close the display, and end the thread of `keep_fresh`."""
        self.close()

    def write(self, text: str) -> None:
        """Write a message."""
        print(text, file=self._stream, flush=True)

    def _begin(self) -> None: ...

    def _update(self) -> None: ...

    def _end(self) -> None: ...


class ProgressBars(Display):
    """Display that draws a bar per stage, on a terminal or below a notebook cell.

    One-step stages are shown without a bar, and only if they take a while.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._drawn = 0
        self._closed = threading.Event()

    def keep_fresh(self) -> None:
        def run() -> None:
            while not self._closed.wait(_SHORT):
                self.refresh()

        threading.Thread(target=run, daemon=True).start()

    def _begin(self) -> None:
        if self._stage is not None and self._stage.total != 1:
            self._draw()

    def _update(self) -> None:
        if monotonic() - self._last >= _SECONDS_PER_FRAME:
            self.refresh()

    def refresh(self) -> None:
        with self._lock:
            stage = self._stage
            if stage and (stage.total != 1 or compilation.depth or stage.seconds >= _SHORT):
                self._draw()

    def _end(self) -> None:
        if self._stage and self._stage.total == 1:
            # Erase a one-step stage, whose duration is of no interest once it is over.
            self._erase()
        else:
            self._draw()
            self._stream.write("\n")
            self._stream.flush()
            self._drawn = 0

    def close(self) -> None:
        with self._lock:
            if self._drawn:
                self._end()
            self._stage = None

    def stop(self) -> None:
        self._closed.set()
        super().stop()

    def write(self, text: str) -> None:
        with self._lock:
            self._erase()
            super().write(text)
            self.refresh()

    def _draw(self) -> None:
        assert self._stage is not None
        stage, width = self._stage, _width(self._stream)
        line = f"{stage.name}: "
        if stage.total != 1 and width >= len(line) + 2 * _BAR_WIDTH:
            line += _bar(stage.done / stage.total if stage.total else 1.0, self._stream) + " "
        # Leave the last column empty, since some terminals would begin a new line.
        line = (line + stage.text())[: width - 1]
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn, self._last = len(line), monotonic()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
        self._drawn = 0


class ProgressLines(Display):
    """Display that writes a line every ten seconds and at the end of each stage."""

    def _update(self) -> None:
        if monotonic() - self._last >= _SECONDS_PER_LINE:
            self._print()

    def _end(self) -> None:
        if self._stage and (self._stage.total != 1 or self._stage.seconds >= _SHORT):
            self._print()

    def close(self) -> None:
        self._stage = None

    def _print(self) -> None:
        assert self._stage is not None
        self._last = monotonic()
        self.write(f"{self._stage.name}: {self._stage.text()}")


def progress_display(stream: TextIO) -> ProgressBars | ProgressLines:
    """Return progress bars for a terminal or notebook, and plain lines elsewhere."""
    # A Jupyter kernel has already imported IPython.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    draws_bars = stream.isatty() or hasattr(shell, "kernel")
    return ProgressBars(stream) if draws_bars else ProgressLines(stream)


def _bar(share: float, stream: TextIO) -> str:
    full, empty = "█░" if "utf" in (getattr(stream, "encoding", None) or "").lower() else "#."
    done = int(share * _BAR_WIDTH)
    return full * done + empty * (_BAR_WIDTH - done)


def _width(stream: TextIO) -> int:
    """Return the width of the terminal, or a default if it is unknown."""
    try:
        return get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size().columns
