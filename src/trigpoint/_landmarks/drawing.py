"""Algorithm 2: landmarks drawn one by one, wherever the points are stored.

The loop sees row numbers, weights of proposals, radii, and distances between proposals; everything
else is up to a `Store`. The weight of a proposal follows from the landmarks drawn so far and how
far their neighborhoods reach, so the weights of all points are kept only if proposals are drawn
from them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._landmarks.drawn import DrawnLandmarks
from trigpoint._landmarks.window import Window
from trigpoint._numerics.blocks import block_rows
from trigpoint._numerics.neighbors import Neighborhoods
from trigpoint._points.store import LogRepulsion, Proposals, Store, Weights

# Most proposals drawn at once, and most examined to predict which will be accepted.
_MOST_PROPOSALS = 2**16
_FORESEEN = 512

# After this many rejections, or one per point if that is fewer, it pays to compute the weights of
# all points.
_PATIENCE = 2**18


class Accepted(NamedTuple):
    """Landmarks that were just accepted."""

    rows: np.ndarray
    neighborhoods: Neighborhoods


class LandmarkDraw:
    """A draw of `k` landmarks by Algorithm 2; iterating over it yields them as they are accepted.

    Weights only ever shrink, so rejection is exact: a proposal from older weights is accepted with
    a probability that is the ratio of its current weight to the older one. Each proposal takes two
    numbers from one stream, and proposals are decided in order, so the landmarks are the same for
    any store, any number of threads and any number of queries at once.

    Parameters
    ----------
    store : Store
    k : int
        Number of landmarks.
    m : int
        Number of points that each one repels, itself included.
    log_repulsion : callable
        Logarithms of the factors by which weights shrink, from squared distances.
    rng : Generator
    n_threads : int, default=1
    queries_at_once : int or None, default=None

    Attributes
    ----------
    n_landmarks, n_drawn : int
        Landmarks wanted, and drawn so far.
    n_proposals : int
        Proposals decided so far.
    """

    def __init__(
        self,
        store: Store,
        k: int,
        m: int,
        log_repulsion: LogRepulsion,
        rng: np.random.Generator,
        *,
        n_threads: int = 1,
        queries_at_once: int | None = None,
    ) -> None:
        self.n_landmarks = k
        self._store, self._m = store, m
        self._log_repulsion = log_repulsion
        self._rng = rng
        self._drawn = DrawnLandmarks(store, k, log_repulsion, n_threads)
        self._racer = store.racer(log_repulsion)
        self._screen = store.screen(log_repulsion)
        self._weights: Weights | None = self._racer
        self._queries_at_once = queries_at_once or max(1, min(store.together, k // 8))
        # Proposals that are examined are compared in pairs: fewer if there are very many columns.
        few = max(2 * self._queries_at_once, block_rows(8 * store.n_features))
        self._most_foreseen = min(_FORESEEN, few)
        self.n_drawn = self.n_proposals = 0

    def __iter__(self) -> Iterator[Accepted]:
        n = self._store.n_points
        patience = min(n, _PATIENCE)
        foreseen = min(self._most_foreseen, 8 * self._queries_at_once)
        size = foreseen if self._racer is None else _FORESEEN
        most = min(_MOST_PROPOSALS, n)
        if self._screen is None:
            # Without a screen, the points of all proposals are fetched.
            most = min(most, block_rows(8 * self._store.n_features))
        proposals: Proposals = UniformProposals(n)
        rejected = 0
        numbers = np.empty((0, 2))
        while self.n_drawn < self.n_landmarks:
            if rejected == patience:
                proposals, rejected = self._weighted_proposals(), 0
            if len(numbers) < size:
                # Numbers left over from the last window come first.
                more = self._rng.random((size - len(numbers), 2))
                numbers = np.concatenate([numbers, more])
            rows = proposals.rows(numbers[:, 0])
            thresholds = np.log1p(-numbers[:, 1]) + proposals.log_weights(rows)
            # Weights change after the last rejection, however many proposals are drawn at once.
            wanted, rejections = self.n_landmarks - self.n_drawn, patience - rejected
            if self._racer is not None:
                decided = self._racer.race(rows, thresholds, wanted, rejections, self._m)
                few = len(decided[1]) < decided[0] / 8
            else:
                window = self._window(rows, thresholds)
                few = window.n_waiting < foreseen
                decided = window.run(wanted, rejections, self._queries_at_once, foreseen)
                self._drawn.add(decided[2])
                if self._screen is not None:
                    self._screen.repel(decided[2])
            if few:
                size = max(size, min(4 * size, most))
            used, accepted, found = decided
            numbers = numbers[used:]
            self.n_proposals += used
            self.n_drawn += len(accepted)
            rejected += used - len(accepted)
            yield Accepted(rows[accepted], found)

    def _window(self, rows: np.ndarray, thresholds: np.ndarray) -> Window:
        """Proposals to decide: all of them, or those that a screen does not reject."""
        passed = np.arange(len(rows))
        if self._screen is not None:
            passed = np.flatnonzero(self._screen.passes(rows, thresholds))
            # As many as are examined at once; the numbers of the others serve the next window.
            most = self._most_foreseen
            rows = rows[: passed[most]] if len(passed) > most else rows
            passed = passed[:most]
        return Window(self._store, self._drawn, self._m, rows, thresholds, passed)

    def _weighted_proposals(self) -> Proposals:
        """Proposals in proportion to the current weights."""
        if self._weights is None:
            self._weights = self._store.weights(self._log_repulsion)
        if self._racer is None:
            self._weights.repel(self._drawn.since_last_asked())
        proposals = self._weights.proposals()
        if proposals is None:
            raise ParameterValueError(
                "n_landmarks",
                self.n_landmarks,
                "{parameter=} is too large: after {n_drawn} landmarks every one of the {n} points "
                "coincides with one or has no weight left",
                ("choose {parameter} <= {n_drawn}", "remove duplicated points"),
                n_drawn=self.n_drawn,
                n=self._store.n_points,
            )
        return proposals


class UniformProposals:
    """Every point equally likely: weights as they were before the first landmark."""

    def __init__(self, n: int) -> None:
        self._n = n

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers."""
        return (numbers * self._n).astype(np.int64)

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which rows are proposed."""
        return np.zeros(len(rows))
