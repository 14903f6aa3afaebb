"""Progress reports of long work."""

import os
import sys
from collections.abc import Callable
from copy import copy
from html import escape
from numbers import Integral
from time import monotonic
from typing import Any, Protocol, Self, TextIO

import numpy as np
from sklearn.base import BaseEstimator

from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.words import duration

# Called as report(stage, done, total).
Report = Callable[[str, int, int], None]

_USUAL_SIZE = {"ncols": 80, "nrows": 24}
_BAR = "{l_bar}{bar}| {n:,} of {total:,} [{elapsed}<{remaining}]{postfix}"

# The time that is left is shown if it is at least this many seconds.
_WORTH_SAYING = 2.0
# After this many seconds, a stage is judged by its own pace instead of by its forecast.
_TELLING = 1.0


def reporter(verbose: Any, callback: Any = None) -> Report:
    """Return a reporter: bars on the terminal, calls of a function, both, or neither."""
    if not isinstance(verbose, (Integral, np.bool_)):
        raise ParameterTypeError(
            "verbose",
            verbose,
            "{parameter=} is not understood",
            "pass True or False; a function that receives progress goes in {callback}",
        )
    if callback is not None and not callable(callback):
        raise ParameterTypeError(
            "callback",
            callback,
            "{parameter=} cannot be called",
            "pass a function of the stage, the amount done and the total",
        )
    listeners: list[Report] = [progress_display(sys.stderr)] if verbose else []
    if callback is not None:
        listeners.append(callback)

    def report(stage: str, done: int, total: int) -> None:
        for listener in listeners:
            listener(stage, done, total)

    return report


class ProgressMixin(BaseEstimator):
    """For estimators with `verbose` and `callback`: clones keep the callback.

    A callback may belong to a window or a file, which can be neither copied nor pickled. So clones
    share the same callback object, and pickles and other copies have none.
    """

    verbose: Any
    callback: Any

    def __sklearn_clone__(self) -> Self:
        cloned: Self = BaseEstimator.__sklearn_clone__(copy(self))
        cloned.callback = self.callback
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "callback": None}


class Display(Protocol):
    """Something that shows progress and can be closed.

    Attributes
    ----------
    expected : dict of str to float
        Seconds of the stages to come, in order, if they are known.
    """

    expected: dict[str, float]

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""

    def close(self) -> None:
        """Finish the display cleanly, even in the middle of a stage."""


def progress_display(stream: TextIO) -> Display:
    """Bars on a terminal or in a notebook, plain lines elsewhere."""
    if _in_notebook():
        return NotebookBars()
    return ProgressBars(stream) if stream.isatty() else ProgressLines(stream)


def _in_notebook() -> bool:
    """Whether the code is run by a kernel; where there is one, IPython has been imported."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def left_in_all(
    expected: dict[str, float], stage: str, done: int, total: int, seconds: float
) -> str:
    """What is left of a run, in words: of this stage and of those to come; empty if it is little.

    Stages that are over are taken out of those `expected`.
    """
    if stage in expected:
        for earlier in list(expected)[: list(expected).index(stage)]:
            del expected[earlier]
    share = min(done / total, 1.0) if total > 0 else 1.0
    own = expected.get(stage, 0.0) * (1 - share)
    if share > 0 and seconds > _TELLING:
        own = seconds * (1 - share) / share
    left = own + sum(later for name, later in expected.items() if name != stage)
    if share == 1.0:
        expected.pop(stage, None)
    return f"about {duration(left)} left in all" if left >= _WORTH_SAYING else ""


class ProgressBars:
    """A bar for each stage.

    Parameters
    ----------
    stream : file
        A terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        # Slow to import, and needed only here.
        from tqdm import tqdm

        self._bar_class, self._stream = tqdm, stream
        self.expected: dict[str, float] = {}
        self._stage, self._since = "", 0.0
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""
        if self._bar is None or stage != self._stage:
            self.close()
            self._stage, self._bar = stage, self._new_bar(stage, done, total)
            self._since = monotonic()
        if self.expected:
            left = left_in_all(self.expected, stage, done, total, monotonic() - self._since)
            self._bar.set_postfix_str(left, refresh=False)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self.close()

    def close(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _new_bar(self, stage: str, done: int, total: int) -> Any:
        # Work done before the first report says nothing about the speed.
        return self._bar_class(
            desc=stage,
            initial=done,
            total=total,
            file=self._stream,
            **_width(self._stream),
            bar_format=_BAR if total > 1 else None,
        )


def _width(stream: TextIO) -> dict[str, Any]:
    """Options for the width of a bar."""
    try:
        known = os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError, AttributeError):
        known = True  # If tqdm can find it out.
    # Some terminals report a width of 0, at which nothing would be drawn.
    return {"dynamic_ncols": True} if known else _USUAL_SIZE


class ProgressLines:
    """A line at the end of each stage, and one every ten seconds before it.

    Parameters
    ----------
    stream : file
    """

    _seconds_between = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.expected: dict[str, float] = {}
        self._stage = ""
        self._since = self._last = 0.0
        self._done_before = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""
        now = monotonic()
        if stage != self._stage:
            self._stage, self._done_before = stage, done
            self._since = self._last = now
            self._begin()
        if done < total and now - self._last < self._seconds_between:
            return
        self._last = now
        self._show(self._line(done, total, now - self._since), done, total)
        if done >= total:
            self._stage = ""

    def _begin(self) -> None:
        """Nothing is shown of a stage before its first line."""

    def _show(self, line: str, done: int, total: int) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing is left open."""

    def _line(self, done: int, total: int, seconds: float) -> str:
        times = duration(seconds)
        progress = done - self._done_before
        if done < total and progress > 0:
            times += f", {duration(seconds * (total - done) / progress)} left"
        if self.expected and (
            in_all := left_in_all(self.expected, self._stage, done, total, seconds)
        ):
            times += f", {in_all}"
        # A stage of one step has nothing to count.
        if total == 1:
            return f"{self._stage}: {times}"
        share = min(done / total, 1.0) if total > 0 else 1.0
        return f"{self._stage}: {done:,} of {total:,} ({share:.0%}), {times}"


class NotebookBars(ProgressLines):
    """A bar for each stage, below the cell of a notebook; needs no widgets."""

    _seconds_between = 0.2

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._over: list[str] = []
        self._handle: Any = None

    def _begin(self) -> None:
        # Drawn at once, unless the stage before has just been.
        self._last = 0.0

    def _show(self, line: str, done: int, total: int) -> None:
        from IPython.display import HTML, display

        stage, _, rest = line.partition(": ")
        share = min(done / total, 1.0) if total > 0 else 1.0
        bar = (
            f'<div style="font-family: monospace">{escape(stage)} '
            f'<progress value="{share:.3f}" style="vertical-align: middle">{share:.0%}</progress> '
            f"{escape(rest)}</div>"
        )
        page = HTML("".join([*self._over, bar]))
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)
        if done >= total:
            self._over.append(bar)
