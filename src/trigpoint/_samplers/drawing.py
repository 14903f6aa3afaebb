"""The loop of Algorithm 2: landmarks drawn one by one.

The weight of a proposal follows from the landmarks drawn so far and how far their neighborhoods
reach, so the weights of all points are kept only if proposals are drawn from them.
"""

from collections.abc import Iterator

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import block_rows
from trigpoint._samplers.drawn import DrawnLandmarks
from trigpoint._samplers.repelling import (
    PointWeights,
    Race,
    Repulsion,
    Screen,
    UniformProposals,
    WeightedProposals,
)
from trigpoint._samplers.window import Window

# Most proposals drawn at once, and most examined to predict which will be accepted.
_MOST_PROPOSALS = 2**16
_FORESEEN = 512

# After this many rejections, or one per point if that is fewer, it pays to compute the weights of
# all points.
_PATIENCE = 2**18


class LandmarkDraw:
    """A draw of `k` landmarks by Algorithm 2; iterating over it yields rows as they are accepted.

    Weights only ever shrink, so rejection is exact: a proposal from older weights is accepted with
    a probability that is the ratio of its current weight to the older one. Each proposal takes two
    numbers from one stream, and proposals are decided in order, so the landmarks are the same for
    any index, any number of threads and any number of queries at once.

    Parameters
    ----------
    index : NeighborIndex
        Of the points to draw from.
    k : int
        Number of landmarks.
    m : int
        Number of points that each one repels, itself included.
    repulsion : Repulsion
    rng : Generator
    n_threads : int, default=1
    queries_at_once : int or None, default=None

    Attributes
    ----------
    n_drawn : int
        Landmarks drawn so far.
    n_proposals : int
        Proposals decided so far.
    """

    def __init__(
        self,
        index: NeighborIndex,
        k: int,
        m: int,
        repulsion: Repulsion,
        rng: np.random.Generator,
        *,
        n_threads: int = 1,
        queries_at_once: int | None = None,
    ) -> None:
        self._index, self._k, self._m = index, k, m
        self._n, n_features = index.points.shape
        self._repulsion, self._rng = repulsion, rng
        self._drawn = DrawnLandmarks(index, k, repulsion, n_threads)
        self._race = Race(index, repulsion) if Race.suits(index, repulsion) else None
        self._screen = Screen(index, repulsion) if Screen.suits(index, repulsion) else None
        self._weights: PointWeights | None = self._race
        # Duplicates of landmarks that have more of them than neighbors, if there are any.
        self._excluded: np.ndarray | None = None
        self._queries_at_once = queries_at_once or max(1, min(index.together, k // 8))
        # Proposals that are examined are compared in pairs: fewer if there are very many columns.
        self._affordable = block_rows(8 * n_features)
        self._most_foreseen = min(_FORESEEN, max(2 * self._queries_at_once, self._affordable))
        self.n_drawn = self.n_proposals = 0

    def __iter__(self) -> Iterator[np.ndarray]:
        patience = min(self._n, _PATIENCE)
        foreseen = min(self._most_foreseen, 8 * self._queries_at_once)
        size = foreseen if self._race is None else _FORESEEN
        most = min(_MOST_PROPOSALS, self._n)
        if self._screen is None:
            # Without a screen, the points of all proposals are fetched.
            most = min(most, self._affordable)
        proposals: UniformProposals | WeightedProposals = UniformProposals(self._n)
        rejected = 0
        numbers = np.empty((0, 2))
        while self.n_drawn < self._k:
            if rejected == patience:
                proposals, rejected = self._weighted_proposals(), 0
            if len(numbers) < size:
                # Numbers left over from the last window come first.
                more = self._rng.random((size - len(numbers), 2))
                numbers = np.concatenate([numbers, more])
            rows = proposals.rows(numbers[:, 0])
            thresholds = np.log1p(-numbers[:, 1]) + proposals.log_weights(rows)
            # Weights change after the last rejection, however many proposals are drawn at once.
            wanted, rejections = self._k - self.n_drawn, patience - rejected
            if self._race is not None:
                used, accepted, found = self._race.run(
                    rows, thresholds, wanted, rejections, self._m
                )
                few = len(accepted) < used / 8
            else:
                window = self._window(rows, thresholds)
                few = window.n_waiting < foreseen
                used, accepted, found = window.run(
                    wanted, rejections, self._queries_at_once, foreseen
                )
                if self._screen is not None:
                    self._screen.repel(found)
                self._exclude_duplicates(found)
            self._drawn.add(found)
            if few:
                size = max(size, min(4 * size, most))
            numbers = numbers[used:]
            self.n_proposals += used
            self.n_drawn += len(accepted)
            rejected += used - len(accepted)
            yield rows[accepted]

    @property
    def neighborhoods(self) -> Neighborhoods:
        """What each landmark drawn so far repels; its members are listed unless they are many."""
        return self._drawn.neighborhoods()

    def _window(self, rows: np.ndarray, thresholds: np.ndarray) -> Window:
        """Proposals to decide: all of them, or those that a screen does not reject."""
        passed = np.arange(len(rows))
        if self._excluded is not None:
            passed = np.flatnonzero(~self._excluded[rows])
        if self._screen is not None:
            passed = passed[self._screen.passes(rows[passed], thresholds[passed])]
            # As many as are examined at once; the numbers of the others serve the next window.
            most = self._most_foreseen
            rows = rows[: passed[most]] if len(passed) > most else rows
            passed = passed[:most]
        return Window(self._index, self._drawn, self._m, rows, thresholds, passed)

    def _exclude_duplicates(self, found: Neighborhoods) -> None:
        """Remember rows whose weight is zero, which may be most of all, to reject them at once."""
        for place in np.flatnonzero(found.squared_radii == 0):
            if self._excluded is None:
                self._excluded = np.zeros(self._n, dtype=bool)
            self._excluded[self._index.copies(found.points[place])] = True

    def _weighted_proposals(self) -> WeightedProposals:
        """Proposals in proportion to the current weights."""
        if self._weights is None:
            self._weights = PointWeights(self._index, self._repulsion)
        if self._race is None:
            self._weights.repel(self._drawn.since_last_asked())
        proposals = self._weights.proposals()
        if proposals is None:
            raise ParameterValueError(
                f"n_landmarks={self._k} is too large: after {self.n_drawn} landmarks, each of the "
                f"{self._n} points coincides with a landmark or has zero weight; choose "
                f"n_landmarks <= {self.n_drawn} or remove duplicated points",
                "n_landmarks",
            )
        return proposals
