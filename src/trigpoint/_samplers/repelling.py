"""How landmarks repel the points around them in Algorithm 2, and the weights that this leaves."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex, TreeIndex
from trigpoint._numerics.gaussian import resolve_repulsion

# Up to this many points, one loop in one thread is faster than searches in several threads.
RACE_UP_TO = 200_000

# Far more than rounding can change a sum of logarithms.
_SUM_ROUNDING = 1e-9


class Repulsion:
    """The logarithm of a repulsion function of squared distances, with its bandwidth.

    Parameters
    ----------
    repulsion : {"welsch", "sin2"} or callable
        As for `EfficientDPP`.
    bandwidth : float
    """

    def __init__(self, repulsion: Any, bandwidth: float) -> None:
        self.name = repulsion
        self.bandwidth = bandwidth
        self.precision = 1 / bandwidth**2
        self.is_compiled = isinstance(repulsion, str)
        self.is_sine = self.is_compiled and repulsion == "sin2"
        self._function = resolve_repulsion(repulsion)

    def __call__(self, squares: np.ndarray) -> np.ndarray:
        """Logarithms of the factors at some squared distances."""
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


class PointWeights:
    """Logarithms of the weights of all points. The weights themselves could underflow."""

    def __init__(self, index: NeighborIndex, repulsion: Repulsion) -> None:
        self._index, self._repulsion = index, repulsion
        self._logs = np.zeros(index.points.shape[0])

    def repel(self, landmarks: Neighborhoods) -> None:
        """Let more landmarks repel their neighborhoods."""
        for rows, squares in self._index.members(landmarks):
            self._logs[rows] += self._repulsion(squares)
            self._logs[rows[squares == 0]] = -np.inf
        self._exclude_duplicates(landmarks)

    def _exclude_duplicates(self, landmarks: Neighborhoods) -> None:
        """Exclude duplicates of a landmark, even if they do not all fit in its neighborhood."""
        for place in np.flatnonzero(landmarks.squared_radii == 0):
            self._logs[self._index.copies(landmarks.points[place])] = -np.inf

    def proposals(self) -> "WeightedProposals | None":
        """Proposals in proportion to the weights; None if no point has any weight left."""
        return None if self._logs.max() == -np.inf else WeightedProposals(self._logs)


class Race(PointWeights):
    """Algorithm 2 as one compiled loop that searches a tree and keeps all weights up to date."""

    @classmethod
    def suits(cls, index: NeighborIndex, repulsion: Repulsion) -> bool:
        """Whether points are few enough that other threads would take longer to start."""
        few = index.points.shape[0] <= RACE_UP_TO
        return few and isinstance(index, TreeIndex) and repulsion.is_compiled

    def run(
        self, rows: np.ndarray, thresholds: np.ndarray, most: int, rejections: int, m: int
    ) -> tuple[int, np.ndarray, Neighborhoods]:
        """Decide proposals in order until `most` are accepted or this many are rejected.

        Returns the number of proposals decided, the accepted ones (their places in `rows`), and
        their neighborhoods, which have been repelled.
        """
        from trigpoint._kernels.tree_search import race

        index, repulsion = self._index, self._repulsion
        assert isinstance(index, TreeIndex)
        accepted, last_rows = np.empty((2, most), dtype=np.int64)
        squared_radii = np.empty(most)
        used, count, searches = race(
            index.tree,
            rows,
            thresholds,
            index.points,
            m,
            self._logs,
            repulsion.precision,
            repulsion.is_sine,
            rejections,
            accepted,
            squared_radii,
            last_rows,
        )
        index.n_searches += searches
        accepted = accepted[:count]
        points = index.take(rows[accepted])
        found = Neighborhoods(points, m, squared_radii[:count], last_rows[:count])
        self._exclude_duplicates(found)
        return used, accepted, found


class Screen:
    """Upper bounds of the weights of all points, from the rounded distances of products.

    They spare the loop most proposals in high dimension.
    """

    def __init__(self, index: NeighborIndex, repulsion: Repulsion) -> None:
        self._repulsion = repulsion
        self._log_bounds = np.zeros(index.points.shape[0])

    @classmethod
    def suits(cls, index: NeighborIndex, repulsion: Repulsion) -> bool:
        """Whether distances have bounds, and repulsion is known to grow with the distance."""
        return not isinstance(index, TreeIndex) and repulsion.is_compiled

    def repel(self, landmarks: Neighborhoods) -> None:
        """Lower the bounds of the landmarks' neighbors."""
        assert landmarks.members is not None
        assert landmarks.bounds is not None
        for rows, bounds in zip(landmarks.members, landmarks.bounds, strict=True):
            # Repulsion grows with the distance, so a bound of one is a bound of the other.
            self._log_bounds[rows] += self._repulsion(bounds)

    def passes(self, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Whether the logarithm of each row's weight may reach its threshold."""
        passed: np.ndarray = thresholds <= self._log_bounds[rows] + _SUM_ROUNDING
        return passed


class UniformProposals:
    """Every point equally likely: the weights before the first landmark."""

    def __init__(self, n: int) -> None:
        self._n = n

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers."""
        return (numbers * self._n).astype(np.int64)

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which rows are proposed."""
        return np.zeros(len(rows))


class WeightedProposals:
    """Rows in proportion to a snapshot of the weights.

    Weights are rounded up to whole numbers, whose sums are exact. Proposing a row a little too
    often does no harm, since it is accepted relative to the weight it was proposed with.
    """

    def __init__(self, log_weights: np.ndarray) -> None:
        self._top = log_weights.max()
        # The sum of all weights fits in 63 bits.
        self._scale = 2.0 ** (62 - len(log_weights).bit_length())
        whole = np.ceil(np.exp(log_weights - self._top) * self._scale).astype(np.int64)
        # Weights that underflowed can still be drawn; excluded points cannot.
        whole[(whole == 0) & (log_weights > -np.inf)] = 1
        self._whole, self._cumulative = whole, np.cumsum(whole)

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers."""
        total = int(self._cumulative[-1])
        # Rounding may lift the largest random number onto the total itself.
        targets = np.minimum((numbers * float(total)).astype(np.int64), total - 1)
        return np.searchsorted(self._cumulative, targets, side="right")

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which rows are proposed."""
        logs: np.ndarray = self._top + np.log(self._whole[rows] / self._scale)
        return logs
