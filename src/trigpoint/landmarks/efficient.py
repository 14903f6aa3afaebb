"""Algorithm 2 of the paper: determinantal sampling in time that does not grow with n k."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from trigpoint.checks import check_choice, check_count, check_positive
from trigpoint.kernels import resolve_repulsion, squared_distances
from trigpoint.landmarks.base import Sampler, check_n_landmarks
from trigpoint.neighbors import Neighborhoods, NeighborIndex, coincident_rows, neighbor_index
from trigpoint.progress import Report, reporter
from trigpoint.records import Landmarks
from trigpoint.threads import thread_count

logger = logging.getLogger(__name__)

# Neighbours of landmarks that are held at once, and landmarks whose covariances are measured so.
NEIGHBORS_HELD = 2**22
MEASURED_TOGETHER = 512

# Proposals drawn at once, and looked at to foresee which will be accepted.
_PROPOSALS = 2**16
_FORESEEN = 512
_PILOT_QUERIES = 64


class EfficientDPP(Sampler):
    """Efficient determinantal sampling on a manifold (Algorithm 2).

    Landmarks are drawn one after the other with probability proportional to a weight that starts
    at 1 for every point. A landmark multiplies the weights of its `n_neighbors` nearest points by
    a repulsion function of their distance, so later landmarks keep away from it: along the
    manifold, because only the neighbourhood is touched.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k.
    n_neighbors : int or None, default=None
        Size m of the neighbourhood that a landmark repels (itself included), also used for its
        covariance. ``None`` takes three times the points per landmark, ``3 n / k``, and at
        least 10.
    bandwidth : float or None, default=None
        Bandwidth sigma of the repulsion. ``None`` takes 1.5 times the median radius of the
        neighbourhoods.
    repulsion : {"welsch", "sin2"} or callable, default="welsch"
        The function f: ``1 - exp(-distance^2 / 2 sigma^2)`` or ``sin^2(distance / sqrt(2) sigma)``;
        a callable takes distances and the bandwidth and returns values from 0 to 1.
    covariance : {None, "full", "diag"}, default=None
        Whether to keep the local covariance around each landmark, whole or its diagonal.
    random_state : None, int, RandomState or Generator, default=None
        Seed. The same seed gives the same landmarks with any number of threads.
    n_jobs : int, default=-1
        Number of threads; -1 for all cores.
    verbose : bool or callable, default=False
        Show progress on the terminal, or call ``verbose(stage, done, total)``.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,)
        Rows of the landmarks, in the order they were drawn.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Their coordinates.
    radii_ : ndarray of shape (n_landmarks,)
        Distance from each landmark to the last of its neighbours.
    covariances_ : ndarray of shape (n_landmarks, d, d) or (n_landmarks, d), or None
        Covariance of each landmark's neighbours.
    bandwidth_ : float
        The bandwidth that was used.
    search_ : {"tree", "products"}
        How neighbours were found, which the dimension decides: a k-d tree, or matrix products
        over all points. Both are exact.
    n_proposals_ : int
        How many proposals it took to draw the landmarks.
    n_distance_rows_ : int
        How many neighbourhoods were computed; the paper's loop computes one per landmark.

    Notes
    -----
    Weights only ever shrink, so rejection is exact: propose a point from older weights, accept it
    with the ratio of its weight now to its weight then. Uniform proposals cost nothing, and no
    step scans all points; only when n proposals have been rejected are they drawn anew from the
    current weights. Neighbourhoods of several proposals are searched at once, but decided one
    after the other, so batches change the speed and never the result.

    Points that coincide with a landmark get weight 0 even if there are more than `n_neighbors`
    of them: the landmarks are always distinct.

    References
    ----------
    C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
    scalable manifold learning", 2015, Algorithm 2.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(2000, random_state=0)
    >>> sampler = tp.EfficientDPP(50, random_state=0).fit(X)
    >>> sampler.landmarks_.shape
    (50, 3)
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        repulsion: Any = "welsch",
        covariance: str | None = None,
        random_state: Any = None,
        n_jobs: int = -1,
        verbose: Any = False,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.repulsion = repulsion
        self.covariance = covariance
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _select(self, X: np.ndarray, rng: np.random.Generator) -> Landmarks:
        k = check_n_landmarks(self.n_landmarks, len(X))
        m = resolve_n_neighbors(self.n_neighbors, len(X), k)
        check_choice("covariance", self.covariance, (None, "full", "diag"))
        repulsion = resolve_repulsion(self.repulsion)
        # Separate streams: whether the bandwidth is given must not change the draw.
        draw_rng, pilot_rng = map(np.random.default_rng, rng.integers(2**63, size=2))

        index = neighbor_index(X, m, k, thread_count(self.n_jobs))
        logger.info("neighbours of %d points by %s", len(X), index.name)
        if self.bandwidth is None:
            self.bandwidth_ = 1.5 * neighborhood_radius(index, m, pilot_rng)
        else:
            self.bandwidth_ = check_positive("bandwidth", self.bandwidth)

        def log_repulsion(distances: np.ndarray) -> np.ndarray:
            factors = repulsion(distances, self.bandwidth_)
            if not ((factors >= 0) & (factors <= 1)).all():
                raise ValueError(
                    f"repulsion={self.repulsion!r} returned values outside 0 to 1: weights may "
                    "only shrink"
                )
            with np.errstate(divide="ignore"):
                return np.log(factors)

        chosen, self.n_proposals_ = draw_landmarks(
            index,
            k,
            m,
            log_repulsion,
            draw_rng,
            covariance=self.covariance,
            report=reporter(self.verbose),
        )
        self.search_ = index.name
        self.n_distance_rows_ = index.rows_computed
        self.radii_ = chosen.radii
        self.covariances_ = chosen.covariances
        return chosen


def resolve_n_neighbors(n_neighbors: Any, n_points: int, n_landmarks: int) -> int:
    """Neighbourhood size m: three times the points per landmark where none is given.

    Smaller ones describe a patch far smaller than the distance between landmarks; a few points at
    least are needed for a covariance.
    """
    if n_neighbors is None:
        return min(n_points, max(10, -(-3 * n_points // n_landmarks)))
    return check_count(
        "n_neighbors", n_neighbors, high=n_points, why=f"the data has {n_points} points"
    )


def neighborhood_radius(index: NeighborIndex, m: int, rng: np.random.Generator) -> float:
    """Median distance from a point to its `m`-th neighbour, over a few points drawn at random.

    Where all of them are copies of the point, more neighbours are looked at.
    """
    n = len(index.points)
    rows = rng.choice(n, min(n, _PILOT_QUERIES), replace=False)
    found = index.neighborhoods(index.points[rows], m)
    radii = np.concatenate([some.distances.max(axis=1) for some in found])
    if not radii.any():
        if m == n:
            raise ValueError(
                f"n_landmarks is too large: all {n} points coincide, so that only one landmark can "
                "be drawn, and no bandwidth be set"
            )
        return neighborhood_radius(index, min(2 * m, n), rng)
    return float(np.median(radii[radii > 0]))


def draw_landmarks(
    index: NeighborIndex,
    k: int,
    m: int,
    log_repulsion: Callable[[np.ndarray], np.ndarray],
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

    n_proposals, rejected, size = 0, 0, foreseen
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
        race = _Race(drawn, m, rows, thresholds, foreseen)
        if len(race.waiting) < foreseen:
            size = min(4 * size, _PROPOSALS)
        # They change after the n-th rejection, whatever the number of proposals drawn at once.
        used, accepted = race.run(k, queries_at_once, n - rejected, report)
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
        log_repulsion: Callable[[np.ndarray], np.ndarray],
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
        coinciding = _coinciding(self.index.points, row, distances, neighbors)
        self.log_weights[coinciding] = -np.inf
        self.rows.append(row)
        self._radii.append(float(distances.max()))
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

    def run(
        self, k: int, queries_at_once: int, rejections: int, report: Report | None
    ) -> tuple[int, int]:
        """Decide until there are `k` landmarks, or so many rejections, or no proposals left.

        Returns how many proposals were decided, and how many of them accepted.
        """
        rows = self._drawn.rows
        before = len(rows)
        while len(self.waiting) and self.waiting[0] < rejections + len(rows) - before:
            end = rejections + len(rows) - before
            self._look_around(min(queries_at_once, k - len(rows)), end)
            last = self._decide(k, end)
            if report is not None:
                report("landmarks", len(rows), k)
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


def _coinciding(
    points: np.ndarray, row: int, distances: np.ndarray, neighbors: np.ndarray
) -> np.ndarray:
    """Rows at distance 0 from `row`, itself included."""
    if distances.any():
        return neighbors[distances == 0]
    # The neighbourhood is full of copies of the landmark, and there may be more outside it.
    return coincident_rows(points, points[row])


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
            raise ValueError(
                f"n_landmarks={k} is too large: after {n_chosen} landmarks every one of the "
                f"{len(log_weights)} points coincides with one or is repelled for good; choose "
                f"n_landmarks <= {n_chosen}, or remove duplicated points"
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
