"""State that the stages of one fit share, and how its progress is reported."""

import logging
import sys
import time
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from trigpoint._common.checks import as_generator
from trigpoint._common.errors import ParameterTypeError, short
from trigpoint._numerics.blocks import thread_count

logger = logging.getLogger(__name__)

# Called as report(stage, done, total).
Report = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def reporter(verbose: Any) -> Report:
    """Return a reporter for the parameter `verbose`.

    ``True`` shows bars or lines on standard error, ``False`` nothing, and a function receives the
    stage, the amount done and the total.
    """
    if callable(verbose):
        report: Report = verbose
        return report
    if not isinstance(verbose, (Integral, np.bool_)):
        raise ParameterTypeError(
            f"verbose={short(verbose)} is neither a switch nor a function: pass True, False, or a "
            "function of the stage, the amount done and the total",
            "verbose",
        )
    if not verbose:
        return silent
    from trigpoint._common.progress import progress_display

    return progress_display(sys.stderr)


class Run:
    """Random numbers, threads, progress and timings of one call of `fit`.

    Attributes
    ----------
    rng : Generator
        The only source of randomness of the fit.
    n_threads : int
    report : callable
        Called as ``report(stage, done, total)``.
    source : Source
        Where the rows are, for the rare stage that needs more of them than the pool.
    seconds : dict
        How long each stage took.
    """

    def __init__(self, random_state: Any, n_jobs: Any, verbose: Any, source: Any = None) -> None:
        self.rng = as_generator(random_state)
        self.n_threads = thread_count(n_jobs)
        self.report = reporter(verbose)
        self.source = source
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def done(self, stage: str) -> None:
        """Record how long a stage took."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        logger.info("%s: %.2f s", stage, self.seconds[stage])
