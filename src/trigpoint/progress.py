"""Telling how far long work has come."""

import sys
import time
from collections.abc import Callable
from numbers import Integral
from typing import Any, TextIO

# Called as report(stage, done, total).
Report = Callable[[str, int, int], None]

_SECONDS_BETWEEN = 0.1


def reporter(verbose: Any) -> Report:
    """Return what `verbose` asks for: silence, lines on the terminal, or the user's callable."""
    if isinstance(verbose, Integral):
        return TerminalReport(sys.stderr) if verbose else _silent
    if callable(verbose):
        own: Report = verbose
        return own
    raise TypeError(
        f"verbose={verbose!r} is not understood: pass True, False or a callable that takes the "
        "stage, what is done and the total"
    )


def _silent(stage: str, done: int, total: int) -> None:
    pass


class TerminalReport:
    """One line for each stage, brought up to date in place on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._in_place = stream.isatty()
        self._stage = ""
        self._since = self._last = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._since, self._last = stage, now, 0.0
        finished = done >= total
        if not finished and (not self._in_place or now - self._last < _SECONDS_BETWEEN):
            return
        self._last = now
        share, seconds = done / max(total, 1), now - self._since
        start = "\r\x1b[K" if self._in_place else ""
        line = f"{stage}: {done:,} of {total:,} ({share:.0%}), {seconds:.1f} s"
        self._stream.write(start + line + ("\n" if finished else ""))
        self._stream.flush()
        if finished:
            self._stage = ""
