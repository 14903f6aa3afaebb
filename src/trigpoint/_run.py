"""State that the stages of one fit share."""

import logging
import time
from typing import Any

from trigpoint._common.checks import as_generator
from trigpoint._common.progress import reporter
from trigpoint._common.warn import warn_user
from trigpoint._numerics.threads import thread_count

logger = logging.getLogger(__name__)


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
        self._notes: list[Warning] = []
        self._last = time.perf_counter()

    def note(self, *notes: Warning) -> None:
        """Collect warnings, to be emitted when the fit succeeds."""
        self._notes += notes

    def done(self, stage: str) -> None:
        """Record how long a stage took."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        logger.info("%s: %.2f s", stage, self.seconds[stage])

    def finish(self) -> None:
        """Emit the warnings that were collected."""
        for note in self._notes:
            warn_user(note)
