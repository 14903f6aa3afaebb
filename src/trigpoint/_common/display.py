"""Progress of long computations on a terminal, in a notebook or in a log."""

import shutil
import sys
import threading
from dataclasses import dataclass, field
from os import get_terminal_size
from time import monotonic
from typing import Any, TextIO
from weakref import WeakSet

from trigpoint._common.words import duration

# Seconds between redrawn bars and between lines in a log, and of a stage of one step not shown.
_SECONDS_PER_FRAME, _SECONDS_PER_LINE, _SHORT = 0.1, 10.0, 0.5

# No time is estimated for fewer steps, which may take very different times.
_FEWEST_STEPS = 10

_BAR_WIDTH = 20

_COMPILING = "compiling inner loops (first run only)"

_displays: WeakSet[Any] = WeakSet()


class Compilation:
    """Whether loops are being compiled, and seconds spent on that; see `_kernels.jit`."""

    def __init__(self) -> None:
        self.depth, self._began, self._seconds = 0, 0.0, 0.0

    def begin(self) -> None:
        """Begin to compile a loop, and show that."""
        self.depth += 1
        if self.depth == 1:
            self._began = monotonic()
            for display in list(_displays):
                display.refresh()

    def end(self) -> None:
        """End what was begun."""
        self.depth -= 1
        if self.depth == 0:
            self._seconds += monotonic() - self._began

    @property
    def seconds(self) -> float:
        """Seconds spent so far."""
        return self._seconds + (monotonic() - self._began if self.depth else 0.0)


compilation = Compilation()


@dataclass
class Stage:
    """A stage of a computation, as far as it has come."""

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
        """Return counts, time, and the time left."""
        spent = duration(round(self.seconds, 1))
        if compilation.depth:
            return f"{_COMPILING}, {spent}"
        if self.total == 1:
            return spent
        share = self.done / self.total if self.total else 1.0
        return f"{self.done:,} of {self.total:,} ({100 * share:.0f} %), {spent}{self._left()}"

    def _left(self) -> str:
        # Loops are compiled at the beginning, and only there.
        progress, left = self.done - self.done_before, self.total - self.done
        seconds = self.seconds - (compilation.seconds - self.compiled_before)
        if left <= 0 or progress <= 0 or self.total < _FEWEST_STEPS:
            return ""
        return f", {duration(seconds * left / progress)} left"


class Display:
    """Shows the stages of a computation, one after the other."""

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
        """Show the stage as it is now."""

    def close(self) -> None:
        """End a stage that did not come to its end."""

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
    """Display with a bar per stage, on a terminal or below a notebook cell.

    Stages of one step are shown without a bar, and only if they take a while.
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
            # Nothing is left of it, since its time says little afterwards.
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
        # The last column would begin a new line on some terminals.
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
    """Display with a line every ten seconds and at the end of each stage."""

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
    """Return the columns of the terminal; some do not know them."""
    try:
        return get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size().columns
