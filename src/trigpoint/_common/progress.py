"""Progress reports of long work."""

import os
import sys
from copy import copy
from html import escape
from time import monotonic
from typing import Any, Protocol, Self, TextIO

from sklearn.base import BaseEstimator

from trigpoint._common.words import duration

_BAR = "{l_bar}{bar}| {n:,} of {total:,} [{elapsed}<{remaining}]"
_FINISHED_BAR = "{l_bar}{bar}| {n:,} of {total:,} [{elapsed}]"
_ONE_STEP_BAR = "{desc}: {elapsed}"


class ProgressMixin(BaseEstimator):
    """Mixin for estimators with `verbose`: clones share the function that receives progress.

    Such a function may belong to a window or a file, which can be neither copied nor pickled.
    Pickles and other copies are silent.
    """

    verbose: Any

    def __sklearn_clone__(self) -> Self:
        cloned: Self = BaseEstimator.__sklearn_clone__(copy(self))
        cloned.verbose = self.verbose
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}
        return state | {"verbose": False} if callable(self.verbose) else state


class Display(Protocol):
    """Something that shows progress and can be closed."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""

    def close(self) -> None:
        """Finish the display cleanly, even in the middle of a stage."""


def progress_display(stream: TextIO) -> Display:
    """Return bars for a terminal or notebook, and plain lines elsewhere."""
    if _in_notebook():
        return NotebookBars()
    return ProgressBars(stream) if stream.isatty() else ProgressLines(stream)


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this code; it has imported IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class ProgressBars:
    """A bar for each stage.

    Parameters
    ----------
    stream : file
        A terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""
        if self._bar is None or stage != self._stage:
            self.close()
            self._stage, self._bar = stage, self._new_bar(stage, done, total)
        self._bar.update(done - self._bar.n)
        if done >= total:
            if total > 1:
                self._bar.bar_format = _FINISHED_BAR
            self.close()

    def close(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _new_bar(self, stage: str, done: int, total: int) -> Any:
        # Slow to import, and needed only here.
        from tqdm import tqdm

        # `initial`: work done before the first report says nothing about the speed.
        return tqdm(
            desc=stage,
            initial=done,
            total=total,
            file=self._stream,
            bar_format=_BAR if total > 1 else _ONE_STEP_BAR,
            **_width(self._stream),
        )


def _width(stream: TextIO) -> dict[str, Any]:
    """Return the width of a bar; for terminals that report 0, where tqdm draws nothing, 80."""
    try:
        is_known = os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError, AttributeError):
        is_known = True  # tqdm may find out in another way.
    return {"dynamic_ncols": True} if is_known else {"ncols": 80, "nrows": 24}


class ProgressLines:
    """A line at the end of each stage, and one every ten seconds before it.

    Parameters
    ----------
    stream : file
    """

    _seconds_between = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
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
        """A stage shows nothing before its first line."""

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
        self._finished: list[str] = []
        self._handle: Any = None

    def _begin(self) -> None:
        # Draw the first bar of a stage at once.
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
        page = HTML("".join([*self._finished, bar]))
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)
        if done >= total:
            self._finished.append(bar)
