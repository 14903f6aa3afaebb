"""Points in memory, or in a memory-mapped file."""

from collections.abc import Iterator
from typing import Protocol, Self

import numpy as np

from trigpoint._common.records import Covariances
from trigpoint._numerics.blocks import distinct_rows
from trigpoint._numerics.neighbors import Neighborhoods, NeighborIndex, TreeIndex, neighbor_index
from trigpoint._numerics.sparse import Points
from trigpoint._points.repulsion import Repulsion
from trigpoint._points.store import LogRepulsion

# Up to this many points, one loop in one thread is faster than searches in several threads.
RACE_UP_TO = 200_000

# Far more than rounding can change a sum of logarithms.
SUM_ROUNDING = 1e-9


class MemoryStore:
    """An array of points, searched through a k-d tree or, in high dimension, by products.

    The array may be sparse.

    Parameters
    ----------
    index : NeighborIndex
    """

    def __init__(self, index: NeighborIndex) -> None:
        self.index = index
        self.n_points, self.n_features = index.points.shape
        self.dtype = index.points.dtype
        self.name, self.together = index.name, index.together

    @classmethod
    def of(cls, points: Points, m: int, n_queries: int, n_threads: int = 1) -> Self:
        """Store of `points` for `n_queries` searches of about `m` neighbors."""
        return cls(neighbor_index(points, m, n_queries, n_threads))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of their coordinates."""
        return self.n_points, self.n_features

    @property
    def n_searches(self) -> int:
        """Number of neighborhoods searched so far."""
        return self.index.n_searches

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The points in a few rows."""
        return self.index.take(rows)

    def distinct(self, most: int) -> np.ndarray | None:
        """First rows of all distinct points, in order; None if there are more than `most`."""
        return distinct_rows(self.index.points, most)

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """How far the `m` nearest points of each query reach."""
        return self.index.search(queries, m)

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the radii where that is much faster than the search."""
        return self.index.guess(queries, m)

    def covariances(self, found: Neighborhoods, mode: str) -> Covariances:
        """Covariances of the points in neighborhoods, full, their diagonals, or of low rank."""
        return self.index.covariances(found, mode)

    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""
        return self.index.members(found)

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""
        return self.index.copies(point)

    def weights(self, log_repulsion: LogRepulsion) -> "MemoryWeights":
        """Weights of all points, 1 until landmarks repel them."""
        return MemoryWeights(self, log_repulsion)

    def screen(self, log_repulsion: LogRepulsion) -> "MemoryScreen | None":
        """Bounds by products, in high dimension, of repulsions that grow with the distance."""
        if isinstance(self.index, TreeIndex):
            return None
        if not isinstance(log_repulsion, Repulsion) or not log_repulsion.is_compiled:
            return None
        return MemoryScreen(self.n_points, log_repulsion)

    def racer(self, log_repulsion: LogRepulsion) -> "MemoryRacer | None":
        """One compiled loop, for few points: threads would take longer to start."""
        if not isinstance(self.index, TreeIndex) or self.n_points > RACE_UP_TO:
            return None
        if not isinstance(log_repulsion, Repulsion) or not log_repulsion.is_compiled:
            return None
        return MemoryRacer(self, log_repulsion)


class MemoryScreen:
    """Upper bounds of the weights of all points, from the rounded distances of products."""

    def __init__(self, n_points: int, log_repulsion: LogRepulsion) -> None:
        self._log_bounds = np.zeros(n_points)
        self._log_repulsion = log_repulsion

    def repel(self, landmarks: Neighborhoods) -> None:
        """Lower the bounds of landmarks' neighbors."""
        assert landmarks.members is not None
        assert landmarks.bounds is not None
        for rows, bounds in zip(landmarks.members, landmarks.bounds, strict=True):
            # Repulsion grows with the distance, so a bound of one is a bound of the other.
            self._log_bounds[rows] += self._log_repulsion(bounds)

    def passes(self, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Whether the logarithm of each row's weight may reach its threshold."""
        return thresholds <= self._log_bounds[rows] + SUM_ROUNDING


class Listing(Protocol):
    """A store that can list the points in neighborhoods."""

    @property
    def n_points(self) -> int:
        """Number of points."""

    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""


class MemoryWeights:
    """Logarithms of the weights of all points: products of many factors would underflow."""

    def __init__(self, store: Listing, log_repulsion: LogRepulsion) -> None:
        self._store = store
        self._log_repulsion = log_repulsion
        self._log_weights = np.zeros(store.n_points)

    def repel(self, landmarks: Neighborhoods) -> None:
        """Let more landmarks repel their neighborhoods."""
        for rows, squares in self._store.members(landmarks):
            self._log_weights[rows] += self._log_repulsion(squares)
            self._log_weights[rows[squares == 0]] = -np.inf
        self._exclude_copies(landmarks)

    def _exclude_copies(self, landmarks: Neighborhoods) -> None:
        """Exclude copies of a landmark, even if they do not all fit in its neighborhood."""
        for place in np.flatnonzero(landmarks.squared_radii == 0):
            self._log_weights[self._store.copies(landmarks.points[place])] = -np.inf

    def proposals(self) -> "WeightedProposals | None":
        """Proposals in proportion to the weights; None if no point has any left."""
        if self._log_weights.max() == -np.inf:
            return None
        return WeightedProposals(self._log_weights)


class MemoryRacer(MemoryWeights):
    """Weights of all points, and the loop of Algorithm 2 as compiled code that searches a tree."""

    def race(
        self, rows: np.ndarray, thresholds: np.ndarray, most: int, rejections: int, m: int
    ) -> tuple[int, np.ndarray, Neighborhoods]:
        """Decide proposals in order, and search only the neighborhoods of those accepted."""
        from trigpoint._numerics.compiled.tree_search import race

        assert isinstance(self._store, MemoryStore)
        index, repulsion = self._store.index, self._log_repulsion
        assert isinstance(index, TreeIndex)
        assert isinstance(repulsion, Repulsion)
        accepted, last_rows = np.empty((2, most), dtype=np.int64)
        squared_radii = np.empty(most)
        used, count, searches = race(
            index.tree,
            rows,
            thresholds,
            index.points,
            m,
            self._log_weights,
            repulsion.precision,
            repulsion.is_sine,
            rejections,
            accepted,
            squared_radii,
            last_rows,
        )
        index.n_searches += searches
        accepted = accepted[:count]
        points = self._store.take(rows[accepted])
        found = Neighborhoods(points, m, squared_radii[:count], last_rows[:count])
        self._exclude_copies(found)
        return used, accepted, found


class WeightedProposals:
    """Rows in proportion to a snapshot of the weights.

    Weights are rounded up to whole numbers, whose sums do not depend on their order, so that they
    are the same for points stored in several places. Proposing a row a little too often does no
    harm, since it is accepted relative to the weight it was proposed with.
    """

    def __init__(self, log_weights: np.ndarray) -> None:
        self._top = log_weights.max()
        self._scale = whole_scale(len(log_weights))
        self._whole = whole_weights(log_weights, self._top, self._scale)
        self._cumulative = np.cumsum(self._whole)

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers."""
        targets = whole_targets(numbers, int(self._cumulative[-1]))
        return np.searchsorted(self._cumulative, targets, side="right")

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which rows are proposed."""
        return self._top + np.log(self._whole[rows] / self._scale)


def whole_scale(n_points: int) -> float:
    """What the largest weight is rounded to, so that the sum of all fits in 63 bits."""
    return 2.0 ** (62 - n_points.bit_length())


def whole_weights(log_weights: np.ndarray, top: float, scale: float) -> np.ndarray:
    """Weights relative to the largest, rounded up to whole numbers."""
    whole = np.ceil(np.exp(log_weights - top) * scale).astype(np.int64)
    # Weights that underflowed can still be drawn; excluded points cannot.
    whole[(whole == 0) & (log_weights > -np.inf)] = 1
    return whole


def whole_targets(numbers: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers below a total, for uniform random numbers."""
    # Rounding may lift the largest random number onto the total itself.
    return np.minimum((numbers * float(total)).astype(np.int64), total - 1)
