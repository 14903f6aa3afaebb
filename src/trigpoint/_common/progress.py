"""Progress displays for long computations."""

import os
import sys
from copy import copy
from time import monotonic
from typing import Any, Self, TextIO

from sklearn.base import BaseEstimator

from trigpoint._common.words import duration

_BAR = "{l_bar}{bar}| {n:,} of {total:,} [{elapsed}<{remaining}]"
_FINISHED_BAR = "{l_bar}{bar}| {n:,} of {total:,} [{elapsed}]"
_ONE_STEP_BAR = "{desc}: {elapsed}"

_SECONDS_BETWEEN = 10.0


class ProgressMixin(BaseEstimator):
    """Mixin for estimators whose parameter `verbose` may be a progress callback.

    Clones share the callback, which may refer to a window or file that can be neither copied nor
    pickled. Pickles and other copies do not report progress.
    """

    verbose: Any

    def __sklearn_clone__(self) -> Self:
        cloned: Self = BaseEstimator.__sklearn_clone__(copy(self))
        cloned.verbose = self.verbose
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}
        return state | {"verbose": False} if callable(self.verbose) else state


def progress_display(stream: TextIO) -> "ProgressBars | ProgressLines":
    """Return progress bars for a terminal or notebook, and plain lines elsewhere."""
    # A Jupyter kernel has already imported IPython.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    draws_bars = stream.isatty() or hasattr(shell, "kernel")
    return ProgressBars(stream) if draws_bars else ProgressLines(stream)


class ProgressBars:
    """Progress display with a bar per stage, on a terminal or below a notebook cell."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._stage = stream, ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
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

        # `initial` excludes work done before the first report from the estimated speed.
        return tqdm(
            desc=stage,
            initial=done,
            total=total,
            file=self._stream,
            bar_format=_BAR if total > 1 else _ONE_STEP_BAR,
            **_width(self._stream),
        )


def _width(stream: TextIO) -> dict[str, Any]:
    """Return the width of a bar: 80 if the terminal reports 0, in which case tqdm draws nothing."""
    try:
        is_known = os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError, AttributeError):
        is_known = True  # tqdm may determine the width in another way.
    return {"dynamic_ncols": True} if is_known else {"ncols": 80, "nrows": 24}


class ProgressLines:
    """Progress display with a line every ten seconds and at the end of each stage."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._stage = stream, ""
        self._began = self._last = 0.0
        self._done_before = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
        now = monotonic()
        if stage != self._stage:
            self._stage, self._done_before = stage, done
            self._began = self._last = now
        if done < total and now - self._last < _SECONDS_BETWEEN:
            return
        self._last, seconds, progress = now, now - self._began, done - self._done_before
        share = done / total if total else 1.0
        # A single-step stage has nothing to count.
        counts = "" if total == 1 else f"{done:,} of {total:,} ({share:.0%}), "
        left = ""
        if done < total and progress > 0:
            left = f", {duration(seconds * (total - done) / progress)} left"
        print(f"{stage}: {counts}{duration(seconds)}{left}", file=self._stream, flush=True)
        if done >= total:
            self._stage = ""

    def close(self) -> None:
        """Do nothing, because nothing is open."""
