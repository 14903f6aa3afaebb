"""State that the stages of one fit share: random numbers, threads, progress, checkpoints."""

import json
import logging
import time
from copy import copy
from typing import Any

import numpy as np

from trigpoint._common.checkpoints import NOTHING_KEPT, Checkpoints
from trigpoint._common.checks import as_generator
from trigpoint._common.progress import Report, reporter
from trigpoint._common.records import Landmarks, Projection
from trigpoint._graph import NeighborSearch
from trigpoint._landmarks import choose_landmarks
from trigpoint._numerics.sparse import Points
from trigpoint._numerics.threads import thread_count
from trigpoint._points.store import Store

logger = logging.getLogger(__name__)


class Run:
    """State of one call of `fit`, passed through the stages."""

    def __init__(self, random_state: Any, n_jobs: Any, report: Report, kept: Checkpoints) -> None:
        self.kept = kept
        self.rng = as_generator(random_state)
        self.n_threads = thread_count(n_jobs)
        self.report = report
        self.seconds: dict[str, float] = {}
        # Local dimension of the points, once the landmarks are known.
        self.dimension = 0.0
        # While several graphs are tried, they share one search for neighboring landmarks.
        self.search: NeighborSearch | None = None
        # Set by maps alone: the reduction of columns that they measure distances in, and the
        # reduced points that landmarks are chosen from.
        self.projection: Projection | None = None
        self.points: Any = np.empty((0, 0))
        # The PyTorch device that holds the points, or None for the host.
        self.device: Any = None
        self._last = time.perf_counter()
        self._begun = ""

    def quiet(self) -> "Run":
        """A copy of this state that reports no progress and keeps no checkpoints."""
        other = copy(self)
        other.report, other.seconds, other.kept = reporter(False, None), {}, NOTHING_KEPT
        return other

    def choose(
        self, landmarks: Any, X: Points | Store, *, metric: str, covariance: str | None
    ) -> Landmarks:
        """Choose landmarks of `X`, or reuse those that an interrupted run has kept."""
        if arrays := self.kept.read("landmarks"):
            self.rng.bit_generator.state = json.loads(arrays.pop("rng").tobytes())
            return Landmarks.from_arrays(arrays)
        chosen = choose_landmarks(
            landmarks,
            X,
            metric=metric,
            covariance=covariance,
            rng=self.rng,
            n_threads=self.n_threads,
            report=self.report,
        )
        if self.kept.is_on:
            state = json.dumps(self.rng.bit_generator.state).encode()
            self.kept.write("landmarks", rng=np.frombuffer(state, np.uint8), **chosen.arrays())
        return chosen

    def begin(self, stage: str) -> None:
        """Announce a stage that reports no progress of its own."""
        self._begun = stage
        self.report(stage, 0, 1)

    def done(self, stage: str) -> None:
        """Record how long a stage took."""
        if stage == self._begun:
            self.report(stage, 1, 1)
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now
        logger.info("%s: %.2f s", stage, self.seconds[stage])
