"""Telling how far long work has come."""

import os
import shutil
import sys
from collections.abc import Callable
from copy import copy
from numbers import Integral
from time import monotonic
from typing import Any, Self, TextIO

import numpy as np
from sklearn.base import BaseEstimator

from trigpoint._common.errors import ParameterTypeError

# Called as report(stage, done, total).
Report = Callable[[str, int, int], None]

# At most this often: a bar is redrawn, a line is written where there is no terminal.
_SECONDS_BETWEEN_BARS = 0.1
_SECONDS_BETWEEN_LINES = 10.0

# Columns of a bar; where there is no room for the shorter one, it is left out.
_SHORTEST_BAR, _LONGEST_BAR = 8, 40


def reporter(verbose: Any, callback: Any = None) -> Report:
    """Return what is asked for: bars on the terminal, calls of a function, both, or silence."""
    if not isinstance(verbose, (Integral, np.bool_)):
        raise ParameterTypeError(
            "verbose",
            verbose,
            "{parameter=} is not understood",
            "pass True or False; a function that is told the progress is passed as {callback}",
        )
    if callback is not None and not callable(callback):
        raise ParameterTypeError(
            "callback",
            callback,
            "{parameter=} cannot be called",
            "pass a function that takes the stage, what is done and the total",
        )
    listeners: list[Report] = [TerminalReport(sys.stderr)] if verbose else []
    if callback is not None:
        listeners.append(callback)

    def report(stage: str, done: int, total: int) -> None:
        for listener in listeners:
            listener(stage, done, total)

    return report


class ProgressMixin(BaseEstimator):
    """For estimators with `verbose` and `callback`: copies that know whom to tell.

    A callback may belong to a window or a file, which can be neither copied nor pickled. So clones
    have the very same one, and what is pickled, or copied otherwise, has none.
    """

    verbose: Any
    callback: Any

    def __sklearn_clone__(self) -> Self:
        cloned: Self = BaseEstimator.__sklearn_clone__(copy(self))
        cloned.callback = self.callback
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "callback": None}


class TerminalReport:
    """A bar for each stage on a terminal, brought up to date in place; elsewhere plain lines.

    A bar says what is done, how long that took, and how long the rest will take at the speed so
    far. Where `stream` is no terminal, a stage gets one line at its end, and one every ten seconds
    before it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._in_place = stream.isatty()
        self._filled, self._empty = _blocks(stream)
        self._stage = ""
        self._since = self._last = 0.0
        self._done_before = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""
        now = monotonic()
        if stage != self._stage:
            self._begin(stage, done, now)
        finished = done >= total
        between = _SECONDS_BETWEEN_BARS if self._in_place else _SECONDS_BETWEEN_LINES
        if not finished and now - self._last < between:
            return
        self._last = now
        text = self._bar(done, total, now) if self._in_place else self._line(done, total, now)
        self._stream.write(text + ("\n" if finished or not self._in_place else ""))
        self._stream.flush()
        if finished:
            self._stage = ""

    def _begin(self, stage: str, done: int, now: float) -> None:
        self._stage, self._since = stage, now
        # What was done before the first report tells nothing of the speed.
        self._done_before = done
        # A bar appears at once, a line only when there is something to say.
        self._last = float("-inf") if self._in_place else now

    def _line(self, done: int, total: int, now: float) -> str:
        times = self._times(done, total, now)
        # Of a stage that is one step there is nothing to count.
        if total == 1:
            return f"{self._stage}: {times}"
        return f"{self._stage}: {done:,} of {total:,} ({_share(done, total):.0%}), {times}"

    def _bar(self, done: int, total: int, now: float) -> str:
        share = _share(done, total)
        # Some terminals begin a new line as soon as the last column is written.
        room = _columns(self._stream) - 1
        counts = f" {done:,} of {total:,}," if total > 1 else ""
        times = f" {self._times(done, total, now)}"
        for ending in (counts + times, times, ""):
            ending = f" {share:4.0%}{ending}"
            length = min(room - len(self._stage) - 1 - len(ending), _LONGEST_BAR)
            if length >= _SHORTEST_BAR:
                filled = int(share * length)
                bar = self._filled * filled + self._empty * (length - filled)
                return f"\r\x1b[K{self._stage} {bar}{ending}"
        return f"\r\x1b[K{self._stage} {share:4.0%}"[: room + len("\r\x1b[K")]

    def _times(self, done: int, total: int, now: float) -> str:
        seconds = now - self._since
        text = _duration(seconds)
        progress = done - self._done_before
        if done < total and progress > 0:
            text += f", {_duration(seconds * (total - done) / progress)} left"
        return text


def _share(done: int, total: int) -> float:
    return min(done / total, 1.0) if total > 0 else 1.0


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60 // 1:02.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"


def _blocks(stream: TextIO) -> tuple[str, str]:
    """Characters for the filled and the empty part of a bar that the stream can write."""
    try:
        "█░".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#", "."
    return "█", "░"


def _columns(stream: TextIO) -> int:
    """Width of the terminal that the stream writes to, which may change at any time."""
    try:
        # A width of 0 means that the terminal does not know.
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size().columns
