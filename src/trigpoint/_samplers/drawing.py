"""Main loop of Algorithm 2, which draws landmarks one by one.

The weight of a proposal can be computed from the landmarks drawn so far and the radii of their
neighborhoods. The weights of all points are stored only if proposals are drawn from them, or if
there are few points.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trigpoint._common.checks import check_choice
from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import block_rows
from trigpoint._numerics.gaussian import REPULSIONS
from trigpoint._samplers.window import SUM_ROUNDING, DrawnLandmarks, Screen, Window

# Maximum number of proposals to draw at once, and to examine when predicting acceptance.
_MOST_PROPOSALS = 2**16
_FORESEEN = 512

# Number of rejections (at most one per point) after which computing the weights of all points pays
# off.
_PATIENCE = 2**18

# Number of points up to which a single-threaded loop is faster than multithreaded searches.
RACE_UP_TO = 200_000

# Maximum number of neighbor indices kept from the search, to be reused for the weights of all
# points and for covariances. Beyond this limit, neighbors are searched again.
NEIGHBORS_KEPT = 2**24


class Repulsion:
    """Logarithm of a repulsion function of `EfficientDPP`, as a function of squared distances."""

    def __init__(self, repulsion: Any, bandwidth: float) -> None:
        self.name = repulsion
        self.bandwidth = bandwidth
        self.precision = 1 / bandwidth**2
        self.is_compiled = isinstance(repulsion, str)
        self.is_sine = self.is_compiled and repulsion == "sin2"
        self._function: Callable[[np.ndarray, float], np.ndarray] = repulsion
        if not callable(repulsion):
            self._function = REPULSIONS[check_choice("repulsion", repulsion, REPULSIONS)]

    def __call__(self, squares: np.ndarray) -> np.ndarray:
        """Return the log factors at squared distances."""
        if self.is_compiled:
            from trigpoint._kernels.tree_search import log_factors

            return log_factors(squares, self.precision, self.is_sine)
        factors = self._function(np.sqrt(squares), self.bandwidth)
        if not ((factors >= 0) & (factors <= 1)).all():
            raise ParameterValueError(
                f"repulsion={self.name!r} returned values outside 0 to 1", "repulsion"
            )
        with np.errstate(divide="ignore"):
            return np.log(factors)


class Proposals:
    """Rows out of `n`, drawn uniformly or in proportion to a snapshot of the weights.

    Weights are rounded up to integers, so that sums are exact. Proposing a row slightly too often
    is harmless, because acceptance is relative to the weight that the row was proposed with.
    """

    def __init__(self, n: int, log_weights: np.ndarray | None = None) -> None:
        self._n, self._whole = n, None
        if log_weights is None:
            return
        self._top = log_weights.max()
        # The sum of all weights fits in 63 bits.
        self._scale = 2.0 ** (62 - n.bit_length())
        whole = np.ceil(np.exp(log_weights - self._top) * self._scale).astype(np.int64)
        # Weights that underflowed can still be drawn; excluded points cannot.
        whole[(whole == 0) & (log_weights > -np.inf)] = 1
        self._whole, self._cumulative = whole, np.cumsum(whole)

    def draw(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Map uniform random numbers to proposed rows and the log weights of the proposals."""
        if self._whole is None:
            return (numbers * self._n).astype(np.int64), np.zeros(len(numbers))
        total = int(self._cumulative[-1])
        # Rounding may raise the largest target to the total.
        targets = np.minimum((numbers * float(total)).astype(np.int64), total - 1)
        rows = np.searchsorted(self._cumulative, targets, side="right")
        return rows, self._top + np.log(self._whole[rows] / self._scale)


class Decided(NamedTuple):
    """Decisions on a batch of proposals."""

    used: int  # Number of leading proposals that were decided.
    accepted: np.ndarray  # Positions of the accepted proposals.
    found: Neighborhoods  # Neighborhoods of the accepted proposals.
    few: bool  # Whether acceptance is so rare that more proposals should be drawn at once.


class Race:
    """Decide proposals in one compiled loop that keeps the weights of all points up to date."""

    fewest = _FORESEEN
    most = _MOST_PROPOSALS

    def __init__(self, index: NeighborIndex, m: int, repulsion: Repulsion) -> None:
        self._index: Any = index
        self._m, self._repulsion = m, repulsion
        # Log weights of all points, since the weights themselves could underflow.
        self.log_weights = np.zeros(len(index.points))

    def decide(
        self, rows: np.ndarray, thresholds: np.ndarray, wanted: int, rejections: int
    ) -> Decided:
        """Decide in order until `wanted` are accepted or `rejections` rejected."""
        from trigpoint._kernels.tree_search import race

        accepted, last_rows = np.empty((2, wanted), dtype=np.int64)
        squared_radii = np.empty(wanted)
        used, count, searches = race(
            self._index.tree,
            rows,
            thresholds,
            self._index.points,
            self._m,
            self.log_weights,
            self._repulsion.precision,
            self._repulsion.is_sine,
            rejections,
            accepted,
            squared_radii,
            last_rows,
        )
        self._index.n_searches += searches
        accepted = accepted[:count]
        points = self._index.points[rows[accepted]]
        found = Neighborhoods(points, self._m, squared_radii[:count], last_rows[:count])
        return Decided(used, accepted, found, few=count < used / 8)

    def exclude(self, rows: np.ndarray) -> None:
        """Exclude duplicates of a landmark."""
        self.log_weights[rows] = -np.inf


class Windows:
    """Decide proposals in windows, with weights computed from the landmarks drawn so far.

    `LandmarkDraw` appends the neighborhoods of these landmarks to `found`; see `LandmarkDraw` for
    the other parameters.
    """

    def __init__(
        self,
        index: NeighborIndex,
        k: int,
        m: int,
        repulsion: Repulsion,
        found: list[Neighborhoods],
        n_threads: int,
    ) -> None:
        self._index, self._m, self._repulsion, self._found = index, m, repulsion, found
        n, n_features = index.points.shape
        self._drawn = DrawnLandmarks(index, k, repulsion, n_threads)
        # Screening needs distance bounds, which matrix products provide, and a repulsion factor
        # that is known to increase with distance.
        is_screened = index.name != "tree" and repulsion.is_compiled
        self._screen = Screen(index, repulsion) if is_screened else None
        # Log weights of all points, computed when first needed, and the number of entries of
        # `found` that they account for.
        self._logs: np.ndarray | None = None
        self._n_repelled = 0
        # Duplicates of landmarks that have more duplicates than neighbors.
        self._excluded = np.zeros(n, dtype=bool)
        self._queries_at_once = max(1, min(index.together, k // 8))
        # Examined proposals are compared pairwise, so examine fewer if there are very many columns.
        affordable = block_rows(8 * n_features)
        self._most_foreseen = min(_FORESEEN, max(2 * self._queries_at_once, affordable))
        self.fewest = min(self._most_foreseen, 8 * self._queries_at_once)
        # Without a screen, the points of all proposals are fetched.
        self.most = _MOST_PROPOSALS if is_screened else min(_MOST_PROPOSALS, affordable)

    def decide(
        self, rows: np.ndarray, thresholds: np.ndarray, wanted: int, rejections: int
    ) -> Decided:
        """Decide in order until `wanted` are accepted or `rejections` rejected."""
        passed = np.flatnonzero(~self._excluded[rows])
        if self._screen is not None:
            passed = passed[self._screen.passes(rows[passed], thresholds[passed])]
            # Keep only as many as are examined at once; the next window reuses the other numbers.
            most = self._most_foreseen
            rows = rows[: passed[most]] if len(passed) > most else rows
            passed = passed[:most]
        elif self._logs is not None:
            # After many rejections, most of the following proposals are rejected, too.
            logs = self.log_weights
            passed = passed[thresholds[passed] <= logs[rows[passed]] + SUM_ROUNDING]
        window = Window(self._index, self._drawn, self._m, rows, thresholds, passed)
        few = window.n_waiting < self.fewest
        used, accepted, found = window.run(wanted, rejections, self._queries_at_once, self.fewest)
        self._drawn.add(found)
        if self._screen is not None:
            self._screen.repel(found)
        return Decided(used, accepted, found, few)

    def exclude(self, rows: np.ndarray) -> None:
        """Exclude duplicates of a landmark."""
        self._excluded[rows] = True

    @property
    def log_weights(self) -> np.ndarray:
        """Log weights of all points, brought up to date."""
        if self._logs is None:
            self._logs = np.zeros(len(self._excluded))
        if self._n_repelled < len(self._found):
            new = Neighborhoods.joined(self._found[self._n_repelled :])
            for rows, squares in self._index.members(new):
                self._logs[rows] += self._repulsion(squares)
                self._logs[rows[squares == 0]] = -np.inf
            self._n_repelled = len(self._found)
        self._logs[self._excluded] = -np.inf
        return self._logs


class LandmarkDraw:
    """Draw of `k` landmarks by Algorithm 2; iteration yields rows as they are accepted.

    Each landmark repels its `m` nearest points, including itself. Weights never increase, so
    rejection sampling is exact: a proposal from older weights is accepted with probability equal to
    the ratio of its current weight to its older one. Each proposal takes two numbers from a single
    random stream, and proposals are decided in order, so the landmarks do not depend on the index,
    the number of threads or the number of queries per batch.

    `n_drawn` is the number of landmarks so far and `n_proposals` the number of proposals decided.
    `found` lists the neighborhoods of the landmarks, without their members if there are too many.
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
    ) -> None:
        self._index, self._k, self._rng = index, k, rng
        self._n = index.points.shape[0]
        self.n_drawn = self.n_proposals = 0
        self.found: list[Neighborhoods] = []
        self._keeps_members = True
        self.decider: Race | Windows
        if index.name == "tree" and repulsion.is_compiled and self._n <= RACE_UP_TO:
            self.decider = Race(index, m, repulsion)
        else:
            self.decider = Windows(index, k, m, repulsion, self.found, n_threads)

    def __iter__(self) -> Iterator[np.ndarray]:
        decider, patience = self.decider, min(self._n, _PATIENCE)
        size, most = decider.fewest, min(decider.most, self._n)
        proposals, rejected = Proposals(self._n), 0
        numbers = np.empty((0, 2))
        while self.n_drawn < self._k:
            if rejected == patience:
                weights = decider.log_weights
                if weights.max() == -np.inf:
                    raise ParameterValueError(
                        f"n_landmarks={self._k} is too large: after {self.n_drawn} landmarks, each "
                        f"of the {self._n} points coincides with a landmark or has zero weight; "
                        f"choose n_landmarks <= {self.n_drawn} or remove duplicated points",
                        "n_landmarks",
                    )
                proposals, rejected = Proposals(self._n, weights), 0
                # The first new proposals are accepted and repel many of the others.
                size = decider.fewest
            if len(numbers) < size:
                # Use the random numbers left over from the last decisions first.
                more = self._rng.random((size - len(numbers), 2))
                numbers = np.concatenate([numbers, more])
            rows, log_weights = proposals.draw(numbers[:, 0])
            thresholds = np.log1p(-numbers[:, 1]) + log_weights
            # Stop at the rejection that renews the weights, so batch size does not affect the draw.
            wanted, rejections = self._k - self.n_drawn, patience - rejected
            decided = decider.decide(rows, thresholds, wanted, rejections)
            self._add(decided.found)
            if decided.few:
                size = max(size, min(4 * size, most))
            numbers = numbers[decided.used :]
            self.n_proposals += decided.used
            self.n_drawn += len(decided.accepted)
            rejected += decided.used - len(decided.accepted)
            yield rows[decided.accepted]

    def _add(self, found: Neighborhoods) -> None:
        """Record landmarks and exclude all their duplicates, even more than `m` of them."""
        for place in np.flatnonzero(found.squared_radii == 0):
            self.decider.exclude(self._index.copies(found.points[place]))
        if self._keeps_members and (self.n_drawn + len(found.points)) * found.size > NEIGHBORS_KEPT:
            self._keeps_members = False
            self.found[:] = [replace(some, members=None) for some in self.found]
        members = found.members if self._keeps_members else None
        self.found.append(replace(found, members=members, bounds=None))
