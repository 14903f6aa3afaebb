"""Algorithm 2 of the paper: determinantal sampling in time that does not grow with n k."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trigpoint.checks import check_choice, check_count, check_positive
from trigpoint.geometry import local_covariance
from trigpoint.kernels import resolve_repulsion
from trigpoint.landmarks.base import Sampler, check_n_landmarks
from trigpoint.neighbors import NeighborIndex, coincident_rows, neighbor_index
from trigpoint.points import row_blocks
from trigpoint.records import Landmarks
from trigpoint.threads import thread_count

# Neighbourhoods of this many queries are held at once, as far as their total size allows.
_QUERIES = 256
_NEIGHBORS_HELD = 2**21
_PROPOSALS = 2**16
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
    ) -> None:
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.repulsion = repulsion
        self.covariance = covariance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _select(self, X: np.ndarray, rng: np.random.Generator) -> Landmarks:
        k = check_n_landmarks(self.n_landmarks, len(X))
        m = resolve_n_neighbors(self.n_neighbors, len(X), k)
        check_choice("covariance", self.covariance, (None, "full", "diag"))
        repulsion = resolve_repulsion(self.repulsion)
        # Separate streams: whether the bandwidth is given must not change the draw.
        draw_rng, pilot_rng = map(np.random.default_rng, rng.integers(2**63, size=2))

        index = neighbor_index(X, thread_count(self.n_jobs))
        if self.bandwidth is None:
            self.bandwidth_ = 1.5 * neighborhood_radius(index, m, pilot_rng)
        else:
            self.bandwidth_ = check_positive("bandwidth", self.bandwidth)

        radii: list[float] = []
        covariances: list[np.ndarray] = []

        def keep(row: int, distances: np.ndarray, neighbors: np.ndarray) -> None:
            radii.append(distances[-1])
            if self.covariance is not None:
                covariances.append(local_covariance(X[neighbors], X[row], self.covariance))

        def log_repulsion(distances: np.ndarray) -> np.ndarray:
            factors = repulsion(distances, self.bandwidth_)
            if not ((factors >= 0) & (factors <= 1)).all():
                raise ValueError(
                    f"repulsion={self.repulsion!r} returned values outside 0 to 1: weights may "
                    "only shrink"
                )
            with np.errstate(divide="ignore"):
                return np.log(factors)

        rows, self.n_proposals_ = draw_landmarks(index, k, m, log_repulsion, draw_rng, keep)
        self.n_distance_rows_ = index.rows_computed
        self.radii_ = np.array(radii)
        self.covariances_ = np.array(covariances) if covariances else None
        return Landmarks(X[rows], rows, self.radii_, self.covariances_)


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
    radii = np.concatenate(
        [
            index.query(index.points[rows[part]], m)[0][:, -1]
            for part in row_blocks(len(rows), max(1, _NEIGHBORS_HELD // m))
        ]
    )
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
    keep: Callable[[int, np.ndarray, np.ndarray], None],
    *,
    queries_at_once: int | None = None,
) -> tuple[np.ndarray, int]:
    """Draw `k` rows by Algorithm 2 and hand each one's neighbourhood to `keep`.

    Returns the rows and the number of proposals. Weights are kept as logarithms: products of
    hundreds of small factors would underflow.
    """
    points = index.points
    n = len(points)
    log_weights = np.zeros(n)
    proposals: _Proposals = _UniformProposals(n)
    if queries_at_once is None:
        queries_at_once = max(1, min(_QUERIES, k // 16, _NEIGHBORS_HELD // m))

    chosen: list[int] = []
    n_proposals, rejected, batch = 0, 0, queries_at_once
    while len(chosen) < k:
        if rejected == n:
            proposals, rejected = _WeightedProposals(log_weights, len(chosen), k), 0
        # At most as many as may still be rejected: the proposals change at the same draw for
        # every batch size. Each draw takes two numbers from the stream, likewise.
        batch_now = min(batch, n - rejected)
        where, accept = rng.random((batch_now, 2)).T
        rows = proposals.rows(where)
        thresholds = np.log1p(-accept) + proposals.log_weights(rows)
        accepted_before = len(chosen)

        alive = np.flatnonzero(thresholds <= log_weights[rows])
        if len(alive) <= queries_at_once // 2:
            batch = min(2 * batch, _PROPOSALS)
        while len(alive) and len(chosen) < k:
            size = min(queries_at_once, k - len(chosen))
            group, alive = alive[:size], alive[size:]
            found = index.query(points[rows[group]], m)
            for draw, distances, neighbors in zip(group, *found, strict=True):
                row = int(rows[draw])
                if thresholds[draw] <= log_weights[row]:
                    log_weights[neighbors] += log_repulsion(distances)
                    log_weights[_coinciding(points, row, distances, neighbors)] = -np.inf
                    chosen.append(row)
                    keep(row, distances, neighbors)
            alive = alive[thresholds[alive] <= log_weights[rows[alive]]]
        n_proposals += batch_now
        rejected += batch_now - (len(chosen) - accepted_before)
    return np.array(chosen, dtype=np.int64), n_proposals


def _coinciding(
    points: np.ndarray, row: int, distances: np.ndarray, neighbors: np.ndarray
) -> np.ndarray:
    """Rows at distance 0 from `row`, itself included."""
    if distances[-1] > 0:
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
