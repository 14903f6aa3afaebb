"""Drawing landmarks by Algorithm 2: what is drawn, and how proposals are decided."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report
from trigpoint._common.records import Landmarks
from trigpoint._numerics.kernels import resolve_repulsion, squared_distances
from trigpoint._numerics.neighbors import Neighborhoods, NeighborIndex, TreeIndex, coincident_rows

# Logarithms of the factors by which weights shrink, from distances.
LogRepulsion = Callable[[np.ndarray], np.ndarray]

# Neighbours of landmarks that are held at once, and landmarks whose covariances are measured so.
NEIGHBORS_HELD = 2**22
MEASURED_TOGETHER = 512

# Proposals drawn at once, and looked at to foresee which will be accepted.
_PROPOSALS = 2**16
_FORESEEN = 512

# Up to so many points, one loop in one thread is faster than searches in several.
_COMPILED_UP_TO = 200_000


class Repulsion:
    """The logarithm of a repulsion function, with its bandwidth.

    Parameters
    ----------
    repulsion : {"welsch", "sin2"} or callable
        As for `EfficientDPP`.
    bandwidth : float
    """

    def __init__(self, repulsion: Any, bandwidth: float) -> None:
        self.name = repulsion
        self.bandwidth = bandwidth
        self._function = resolve_repulsion(repulsion)

    def __call__(self, distances: np.ndarray) -> np.ndarray:
        """Logarithms of the factors at some distances."""
        factors = self._function(distances, self.bandwidth)
        if not ((factors >= 0) & (factors <= 1)).all():
            raise ValueError(
                f"repulsion={self.name!r} returned values outside 0 to 1: weights may only shrink"
            )
        with np.errstate(divide="ignore"):
            return np.log(factors)


def draw_landmarks(
    index: NeighborIndex,
    k: int,
    m: int,
    log_repulsion: LogRepulsion,
    rng: np.random.Generator,
    *,
    covariance: str | None = None,
    report: Report | None = None,
    queries_at_once: int | None = None,
) -> tuple[Landmarks, int]:
    """Draw `k` landmarks by Algorithm 2, with the covariances of their neighbourhoods if wanted.

    Returns them and the number of proposals. Weights are kept as logarithms: products of hundreds
    of small factors would underflow.
    """
    n = len(index.points)
    drawn = _Drawn(index, log_repulsion, covariance)
    proposals: _Proposals = _UniformProposals(n)
    if queries_at_once is None:
        queries_at_once = max(1, min(index.together, k // 8, NEIGHBORS_HELD // m))
    foreseen = min(_FORESEEN, 8 * queries_at_once)

    is_compiled = _is_compiled(index, log_repulsion)

    n_proposals, rejected, size = 0, 0, _FORESEEN if is_compiled else foreseen
    # Each proposal takes two numbers from the stream; what is left over serves the next.
    numbers = np.empty((0, 2))
    while len(drawn.rows) < k:
        # New weights cost a pass over all points, about as much as n rejections.
        if rejected == n:
            proposals, rejected = _WeightedProposals(drawn.log_weights, len(drawn.rows), k), 0
        if len(numbers) < size:
            numbers = np.concatenate([numbers, rng.random((size - len(numbers), 2))])
        rows = proposals.rows(numbers[:, 0])
        thresholds = np.log1p(-numbers[:, 1]) + proposals.log_weights(rows)
        # They change after the n-th rejection, whatever the number of proposals drawn at once.
        if is_compiled:
            used, accepted = _run_compiled(drawn, m, rows, thresholds, k, n - rejected)
            few = accepted < used / 8
        else:
            race = _Race(drawn, m, rows, thresholds, foreseen)
            few = len(race.waiting) < foreseen
            used, accepted = race.run(k, queries_at_once, n - rejected)
        if few:
            size = max(size, min(4 * size, _PROPOSALS, n))
        if report is not None:
            report("landmarks", len(drawn.rows), k)
        numbers = numbers[used:]
        n_proposals += used
        rejected += used - accepted
    return drawn.landmarks(), n_proposals


class _Drawn:
    """Landmarks drawn so far, and the weights that they leave.

    Attributes
    ----------
    log_weights : ndarray of shape (n,)
    rows : list of int
    """

    def __init__(
        self,
        index: NeighborIndex,
        log_repulsion: LogRepulsion,
        covariance: str | None,
    ) -> None:
        self.index = index
        self.log_repulsion = log_repulsion
        self.log_weights = np.zeros(len(index.points))
        self.rows: list[int] = []
        self._radii: list[float] = []
        self._covariance = covariance
        self._unmeasured: list[np.ndarray] = []
        self._covariances: list[np.ndarray] = []

    def add(self, row: int, neighbors: np.ndarray, distances: np.ndarray) -> None:
        """Take in a landmark, which repels its neighbours."""
        self.log_weights[neighbors] += self.log_repulsion(distances)
        self.log_weights[neighbors[distances == 0]] = -np.inf
        self.note(row, neighbors, float(distances.max()))

    def note(self, row: int, neighbors: np.ndarray, radius: float) -> None:
        """Take in a landmark that has repelled its neighbours."""
        if radius == 0:
            # The neighbourhood is full of copies of the landmark, and there may be more outside.
            points = self.index.points
            self.log_weights[coincident_rows(points, points[row])] = -np.inf
        self.rows.append(row)
        self._radii.append(radius)
        if self._covariance is not None:
            self._unmeasured.append(neighbors)
            # Along the way, for several at a time: in high dimension that is much faster.
            held = len(self._unmeasured) * len(neighbors)
            if len(self._unmeasured) == MEASURED_TOGETHER or held > NEIGHBORS_HELD:
                self._measure(self._covariance)

    def _measure(self, mode: str) -> None:
        landmarks = self.index.points[self.rows[-len(self._unmeasured) :]]
        found = self.index.covariances(landmarks, np.array(self._unmeasured), mode)
        self._covariances.append(found)
        self._unmeasured = []

    def landmarks(self) -> Landmarks:
        """All of them, with radii, and covariances if these are wanted."""
        if self._covariance is not None and self._unmeasured:
            self._measure(self._covariance)
        rows = np.array(self.rows, dtype=np.int64)
        covariances = np.concatenate(self._covariances) if self._covariances else None
        return Landmarks(self.index.points[rows], rows, np.array(self._radii), covariances)


class _Race:
    """Proposals from one set of weights, decided one after the other.

    Neighbourhoods are searched for several at once, and where that is worth it for those that will
    probably be accepted: with a twelfth of all points around each landmark, half of all searches
    would be in vain. A wrong guess costs time and changes nothing.

    Attributes
    ----------
    waiting : int64 ndarray
        Numbers of the proposals that have not been decided and may still be accepted.
    """

    def __init__(
        self,
        drawn: _Drawn,
        m: int,
        rows: np.ndarray,
        thresholds: np.ndarray,
        foreseen: int,
    ) -> None:
        self._drawn = drawn
        self._m = m
        self._rows = rows
        self._thresholds = thresholds
        self._foreseen = foreseen
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._reach: dict[int, float] = {}
        self.waiting = self._still_in(np.arange(len(rows)))

    def _still_in(self, draws: np.ndarray) -> np.ndarray:
        return draws[self._thresholds[draws] <= self._drawn.log_weights[self._rows[draws]]]

    def run(self, k: int, queries_at_once: int, rejections: int) -> tuple[int, int]:
        """Decide until there are `k` landmarks, or so many rejections, or no proposals left.

        Returns how many proposals were decided, and how many of them accepted.
        """
        rows = self._drawn.rows
        before = len(rows)
        while len(self.waiting) and self.waiting[0] < rejections + len(rows) - before:
            end = rejections + len(rows) - before
            self._look_around(min(queries_at_once, k - len(rows)), end)
            last = self._decide(k, end)
            if len(rows) == k:
                return last + 1, k - before
            self.waiting = self._still_in(self.waiting[self.waiting >= last])
        accepted = len(rows) - before
        return min(len(self._rows), rejections + accepted), accepted

    def _decide(self, k: int, end: int) -> int:
        """Decide in order, as far as neighbourhoods are known; return the last one looked at.

        `end` is the proposal after which weights change, which each one accepted puts off.
        """
        for draw in self.waiting.tolist():
            row = int(self._rows[draw])
            if self._thresholds[draw] > self._drawn.log_weights[row]:
                continue
            if draw >= end or draw not in self._known:
                break
            self._drawn.add(row, *self._known.pop(draw))
            end += 1
            if len(self._drawn.rows) == k:
                break
        return draw

    def _look_around(self, wanted: int, end: int) -> None:
        """Search the neighbourhoods of up to `wanted` proposals that come before the `end`."""
        likely = self._likely(self.waiting[: self._foreseen])
        likely = likely[likely < end + np.arange(len(likely))]
        asked = [draw for draw in likely.tolist() if draw not in self._known][:wanted]
        index = self._drawn.index
        found = index.neighborhoods(index.points[self._rows[asked]], self._m)
        self._known.update(zip(asked, _one_by_one(found), strict=True))

    def _likely(self, draws: np.ndarray) -> np.ndarray:
        """Those of the proposals that will probably be accepted."""
        index = self._drawn.index
        points = index.points[self._rows[draws]]
        new = [place for place, draw in enumerate(draws.tolist()) if draw not in self._reach]
        guessed = index.reach(points[new], self._m)
        if guessed is None:
            return draws
        self._reach.update(zip(draws[new].tolist(), guessed.tolist(), strict=True))
        log_weights = self._drawn.log_weights[self._rows[draws]]
        distances = np.sqrt(squared_distances(points, points))
        likely = []
        for place, draw in enumerate(draws.tolist()):
            if self._thresholds[draw] <= log_weights[place]:
                likely.append(draw)
                near = np.flatnonzero(distances[place] <= self._reach[draw])
                log_weights[near] += self._drawn.log_repulsion(distances[place, near])
        return np.array(likely, dtype=np.int64)


def _one_by_one(found: Iterable[Neighborhoods]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and distances of each query in turn."""
    for rows, distances in found:
        yield from zip(rows, distances, strict=True)


def _is_compiled(index: NeighborIndex, log_repulsion: LogRepulsion) -> bool:
    """Whether proposals can be decided in one compiled loop."""
    return (
        isinstance(index, TreeIndex)
        and len(index.points) <= _COMPILED_UP_TO
        and isinstance(log_repulsion, Repulsion)
        and isinstance(log_repulsion.name, str)
    )


def _run_compiled(
    drawn: _Drawn, m: int, rows: np.ndarray, thresholds: np.ndarray, k: int, rejections: int
) -> tuple[int, int]:
    """Do what `_Race` does, one search after the other and none in vain."""
    from trigpoint._numerics.compiled.race import race

    index, repulsion = drawn.index, drawn.log_repulsion
    assert isinstance(index, TreeIndex)
    assert isinstance(repulsion, Repulsion)
    most = min(k - len(drawn.rows), max(1, NEIGHBORS_HELD // m))
    accepted, squared_radii = np.empty(most, dtype=np.int64), np.empty(most)
    neighbors = np.empty((most, m), dtype=np.int64)
    used, count = race(
        index.tree,
        rows,
        thresholds,
        index.points,
        drawn.log_weights,
        repulsion.bandwidth,
        repulsion.name == "sin2",
        rejections,
        accepted,
        squared_radii,
        neighbors,
    )
    index.rows_computed += count
    for row, around, radius in zip(
        rows[accepted[:count]].tolist(), neighbors, np.sqrt(squared_radii[:count]), strict=False
    ):
        drawn.note(row, around, float(radius))
    return used, count


class _UniformProposals:
    """Every point equally likely: weights as they were before the first landmark."""

    def __init__(self, n: int) -> None:
        self._n = n

    def rows(self, where: np.ndarray) -> np.ndarray:
        return (where * self._n).astype(np.int64)

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows))


class _WeightedProposals:
    """Points in proportion to a snapshot of the weights."""

    def __init__(self, log_weights: np.ndarray, n_chosen: int, k: int) -> None:
        top = log_weights.max()
        if top == -np.inf:
            raise ParameterValueError(
                "n_landmarks",
                k,
                "{parameter=} is too large: after {n_chosen} landmarks every one of the {n} points "
                "coincides with one or is repelled for good",
                ("choose {parameter} <= {n_chosen}", "remove duplicated points"),
                n_chosen=n_chosen,
                n=len(log_weights),
            )
        self._snapshot = log_weights.copy()
        weights = np.exp(log_weights - top)
        self._last = int(np.flatnonzero(weights)[-1])
        self._cumulative = np.cumsum(weights)

    def rows(self, where: np.ndarray) -> np.ndarray:
        rows = np.searchsorted(self._cumulative, where * self._cumulative[-1], side="right")
        # Rounding may lift the last number of the stream onto the total itself.
        return np.minimum(rows, self._last)

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        return self._snapshot[rows]


_Proposals = _UniformProposals | _WeightedProposals
