"""Ctrl-C ends the command the first time, even where the exception gets lost.

Python raises KeyboardInterrupt wherever it happens to be. While numba compiles, that may be in a
function that C code has called, which cannot pass the exception on: Python drops it, with a message
at most, and the work continues. So the signal is remembered, and checked whenever progress is
reported.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trigpoint._common.progress import Report

_asked = threading.Event()


@contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Remember Ctrl-C, besides raising KeyboardInterrupt as usual."""
    _asked.clear()
    is_main = threading.current_thread() is threading.main_thread()
    # Another handler, or none, was chosen by whoever started this process.
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def stopping(report: Report) -> Report:
    """Report progress, but stop if Ctrl-C was pressed and has not ended the work."""

    def report_or_stop(stage: str, done: int, total: int) -> None:
        if _asked.is_set():
            raise KeyboardInterrupt
        report(stage, done, total)

    return report_or_stop


def _interrupt(number: int, frame: FrameType | None) -> None:
    _asked.set()
    signal.default_int_handler(number, frame)
