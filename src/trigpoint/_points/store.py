"""What Algorithm 2 needs from the place where the points are stored.

The work is done where the points are: a store returns a few rows, how far neighborhoods reach, and
their covariances, but neither neighbors nor weights. It never decides anything, so every store
leads to the same landmarks.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from trigpoint._common.records import Covariances
from trigpoint._numerics.neighbors import Neighborhoods

# Logarithms of the factors by which weights shrink, from squared distances.
LogRepulsion = Callable[[np.ndarray], np.ndarray]


class Proposals(Protocol):
    """A distribution over all rows that proposals are drawn from."""

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers from 0 to 1."""

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which these rows are proposed."""


class Weights(Protocol):
    """The weights of all points under a repulsion, in case the loop needs them."""

    def repel(self, landmarks: Neighborhoods) -> None:
        """Let more landmarks repel their neighborhoods."""

    def proposals(self) -> Proposals | None:
        """Proposals in proportion to the weights; None if no point has any weight left."""


class Racer(Weights, Protocol):
    """Weights of all points, and a faster way to make the same decisions as the loop."""

    def race(
        self, rows: np.ndarray, thresholds: np.ndarray, most: int, rejections: int, m: int
    ) -> tuple[int, np.ndarray, Neighborhoods]:
        """Decide proposals in order until `most` are accepted or this many are rejected.

        Returns the number decided, the accepted ones (their places in `rows`), and their
        neighborhoods, whose points have been repelled.
        """


class Screen(Protocol):
    """Upper bounds of the weights of all points, which spare the loop most proposals."""

    def repel(self, landmarks: Neighborhoods) -> None:
        """Lower the bounds of landmarks' neighbors."""

    def passes(self, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Whether the logarithm of each row's weight may reach its threshold."""


class Store(Protocol):
    """Points that stay where they are.

    Attributes
    ----------
    n_points, n_features : int
    dtype : dtype
    name : str
        How neighbors are searched.
    together : int
        Number of queries that are best searched together.
    """

    n_points: int
    n_features: int
    dtype: np.dtype
    name: str
    together: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of their coordinates, as of an array."""

    @property
    def n_searches(self) -> int:
        """Number of neighborhoods searched so far."""

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The points (q, d) in a few rows."""

    def distinct(self, most: int) -> np.ndarray | None:
        """First rows of all distinct points, in order; None if there are more than `most`."""

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """How far the `m` nearest points of each query reach."""

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the radii (q,), where that is much faster than the search; else None."""

    def covariances(self, found: Neighborhoods, mode: str) -> Covariances:
        """Covariances of the points in neighborhoods.

        For ``"full"`` (q, d, d), for ``"diag"`` their diagonals (q, d), and for ``"low-rank"`` the
        leading directions and their variances: 7, or as many as there can be.
        """

    def weights(self, log_repulsion: LogRepulsion) -> Weights:
        """Weights of all points, 1 until landmarks repel them."""

    def racer(self, log_repulsion: LogRepulsion) -> Racer | None:
        """A faster way to decide, if the store has one."""

    def screen(self, log_repulsion: LogRepulsion) -> Screen | None:
        """Cheap bounds of the weights, if the store has them."""


class Seeding(Protocol):
    """Sums of squared distances to the nearest of landmarks that are added one by one.

    Distances are added in the order of the rows.
    """

    def add(self, row: int) -> float:
        """Add a landmark; return the sum of all squared distances."""

    def find(self, target: float, side: str) -> int:
        """First row at which the sum reaches (left) or exceeds (right) a target; n if none does."""


@runtime_checkable
class SeedingStore(Protocol):
    """A store that can also draw landmarks by their distances, as k-means++ does."""

    def seeding(self) -> Seeding:
        """The sums before the first landmark."""
