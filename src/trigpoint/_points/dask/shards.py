"""What a worker holds: the points of its partitions, one index over them, and their weights.

A shard knows nothing of other shards. Its rows are counted from 0, in the order of the partitions,
so that of two of its rows the lower one is also the lower one among all points.

Index and weights are made when they are first asked for. A shard that Dask computes again on
another worker, or moves there, has neither: the index follows from the points, and the weights from
the landmarks drawn so far, which the client sends again.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from trigpoint._numerics.blocks import distinct_rows
from trigpoint._numerics.neighbors import Neighborhoods, NeighborIndex, neighbor_index
from trigpoint._numerics.shells import (
    Lister,
    counts_up_to,
    edges_between,
    neighborhood_sums,
    shells,
)
from trigpoint._points.memory import whole_weights
from trigpoint._points.store import LogRepulsion
from trigpoint._points.torch.device import resolve_device
from trigpoint._points.torch.index import DeviceIndex


class Shard:
    """Points of some partitions, searched by the threads of their worker.

    Parameters
    ----------
    parts : sequence of ndarrays of shape (any, d)
        The points of each partition, checked.
    device : str or None, default=None
        The GPU of its worker that searches them.
    """

    def __init__(self, parts: Sequence[np.ndarray], device: str | None = None) -> None:
        # Refused at once if the worker has no such device.
        resolve_device(device)
        self.device = device
        self.sizes = np.array([len(part) for part in parts], dtype=np.int64)
        self.points = np.concatenate(parts)
        self._forget()

    def _forget(self) -> None:
        self._index: NeighborIndex | Lister | None = None
        self._state: ShardWeights | ShardDistances | None = None

    def __sizeof__(self) -> int:
        # Dask moves small objects; this size includes the index, which would have to be rebuilt.
        return object.__sizeof__(self) + 2 * self.points.nbytes + 16 * len(self.points)

    def __getstate__(self) -> dict[str, Any]:
        return {"sizes": self.sizes, "points": self.points, "device": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def describe(self) -> dict[str, np.ndarray]:
        """Number of points of each partition, and the box around all of them."""
        from trigpoint._numerics.tree_building import box

        lower, upper = box(self.points)
        return {"sizes": self.sizes, "lower": lower, "upper": upper}

    def prepare(self, m: int, n_queries: int) -> str:
        """Build the index for searches of about `m` neighbors; return its name."""
        if self._index is None:
            there = resolve_device(self.device)
            if there is None:
                self._index = neighbor_index(self.points, m, n_queries, worker_threads())
            else:
                self._index = DeviceIndex(self.points, there)
        return self._index.name

    def _searched(self, m: int, n_queries: int) -> NeighborIndex | Lister:
        self.prepare(m, n_queries)
        assert self._index is not None
        return self._index

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Points in a few rows."""
        return self.points[rows]

    def distinct(self, most: int) -> tuple[np.ndarray, np.ndarray] | None:
        """First rows of all distinct points, and the points; None if there are more than `most`."""
        rows = distinct_rows(self.points, most)
        return None if rows is None else (rows, self.points[rows])

    def counts(
        self,
        how: tuple[int, int],
        queries: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
        count: int,
    ) -> np.ndarray:
        """Number of points up to, and between, `count` edges around each query."""
        edges = edges_between(first, last, count)
        counts = counts_up_to(self._searched(*how), queries, edges, worker_threads())
        return counts.astype(np.int32 if len(self.points) < 2**31 else np.int64)

    def listed(
        self, how: tuple[int, int], queries: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared distances and rows of the few points between two radii, and how many for each."""
        found = list(shells(self._searched(*how), queries, lower, upper, worker_threads()))
        rows = [rows for rows, _ in found]
        squares = [squares for _, squares in found]
        return np.concatenate(squares), np.concatenate(rows), np.array([len(some) for some in rows])

    def ties(self, how: tuple[int, int], queries: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Number (q, partitions) of points at exactly a squared distance."""
        ends = np.cumsum(self.sizes)
        return np.array(
            [
                np.bincount(np.searchsorted(ends, rows, side="right"), minlength=len(ends))
                for rows in self._tied(how, queries, squares)
            ]
        ).reshape(len(queries), len(ends))

    def tie(
        self,
        how: tuple[int, int],
        queries: np.ndarray,
        squares: np.ndarray,
        parts: np.ndarray,
        ranks: np.ndarray,
    ) -> np.ndarray:
        """Row of the tie of some rank, counted from 0, within a partition."""
        starts = np.cumsum(self.sizes) - self.sizes
        rows = [
            found[np.searchsorted(found, starts[part]) + rank]
            for found, part, rank in zip(
                self._tied(how, queries, squares), parts, ranks, strict=True
            )
        ]
        return np.array(rows, dtype=np.int64)

    def _tied(
        self, how: tuple[int, int], queries: np.ndarray, squares: np.ndarray
    ) -> list[np.ndarray]:
        below = np.nextafter(squares, -np.inf)
        found = shells(self._searched(*how), queries, below, squares, worker_threads())
        return [np.sort(rows) for rows, _ in found]

    def sums(
        self,
        how: tuple[int, int],
        queries: np.ndarray,
        squared_radii: np.ndarray,
        last_rows: np.ndarray,
        with_products: bool,
    ) -> np.ndarray:
        """Whole-number sums over the neighborhoods of landmarks: see `neighborhood_sums`."""
        index = self._searched(*how)
        return neighborhood_sums(
            index, queries, squared_radii, last_rows, with_products, worker_threads()
        )

    def weigh(
        self, request: "WeightRequest | DistanceRequest", question: str, *arguments: Any
    ) -> Any:
        """Answer a question about all points, once the landmarks of a draw have been applied.

        If landmarks before those in the request are missing here, the answer is how many are known.
        """
        if self._state is None or self._state.draw != request.draw:
            self._state = request.begin(self)
        known = self._state.n_landmarks
        if known < request.first:
            return Missing(known)
        self._state.apply(request)
        return getattr(self._state, question)(*arguments)


class WeightRequest:
    """Landmarks that weights depend on: those after the `first` ones of a draw.

    Attributes
    ----------
    draw : str
        Which draw the landmarks belong to.
    first : int
        Number of landmarks before them.
    landmarks : Neighborhoods
    log_repulsion : callable
    how : tuple of two ints
        Neighbors and queries that the index is for.
    """

    def __init__(
        self,
        draw: str,
        first: int,
        landmarks: Neighborhoods,
        log_repulsion: LogRepulsion,
        how: tuple[int, int],
    ) -> None:
        self.draw, self.first = draw, first
        self.landmarks, self.log_repulsion = landmarks, log_repulsion
        self.how = how

    def begin(self, shard: Shard) -> "ShardWeights":
        """Weights before the first landmark."""
        return ShardWeights(shard, self)


class DistanceRequest:
    """Landmarks that distances depend on: those after the `first` ones of a draw.

    Attributes
    ----------
    draw : str
    first : int
    points : ndarray of shape (any, d)
    """

    def __init__(self, draw: str, first: int, points: np.ndarray) -> None:
        self.draw, self.first, self.points = draw, first, points

    def begin(self, shard: Shard) -> "ShardDistances":
        """Distances before the first landmark."""
        return ShardDistances(shard, self)


class Missing:
    """Answer of a shard that lacks landmarks: it has only the first `known` ones."""

    def __init__(self, known: int) -> None:
        self.known = known


class ShardWeights:
    """Weights of a shard's points, as in `MemoryWeights`."""

    def __init__(self, shard: Shard, request: WeightRequest) -> None:
        self.draw = request.draw
        self.n_landmarks = 0
        self._shard, self._how = shard, request.how
        self._log_weights = np.zeros(len(shard.points))
        self._cumulative: tuple[tuple[float, float], np.ndarray, np.ndarray] | None = None

    def apply(self, request: Any) -> None:
        """Apply those landmarks of a request that have not been applied yet, in order."""
        skipped = self.n_landmarks - request.first
        landmarks = request.landmarks.take(range(skipped, len(request.landmarks)))
        if not len(landmarks):
            return
        self._cumulative = None
        index = self._shard._searched(*self._how)
        below = np.full(len(landmarks), -1.0)
        found = shells(index, landmarks.points, below, landmarks.squared_radii, worker_threads())
        for q, (rows, squares) in enumerate(found):
            inside = landmarks.holds(q, squares, rows)
            rows, squares = rows[inside], squares[inside]
            self._log_weights[rows] += request.log_repulsion(squares)
            self._log_weights[rows[squares == 0]] = -np.inf
            if landmarks.squared_radii[q] == 0:
                self._log_weights[index.copies(landmarks.points[q])] = -np.inf
        self.n_landmarks += len(landmarks)

    def top(self) -> float:
        """Logarithm of the largest weight."""
        return float(self._log_weights.max())

    def totals(self, top: float, scale: float) -> np.ndarray:
        """Sums of the whole weights of each partition."""
        sums = np.concatenate([[0], np.cumsum(self._whole(top, scale)[0])])
        ends = np.cumsum(self._shard.sizes)
        return sums[ends] - sums[ends - self._shard.sizes]

    def find(
        self, top: float, scale: float, parts: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows at which whole weights of partitions add up to targets, and their whole weights."""
        whole, cumulative = self._whole(top, scale)
        starts = np.cumsum(self._shard.sizes) - self._shard.sizes
        before = np.concatenate([[0], cumulative])[starts[parts]]
        rows = np.searchsorted(cumulative, before + targets, side="right")
        return rows, whole[rows]

    def _whole(self, top: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
        if self._cumulative is None or self._cumulative[0] != (top, scale):
            whole = whole_weights(self._log_weights, top, scale)
            self._cumulative = (top, scale), whole, np.cumsum(whole)
        return self._cumulative[1:]


class ShardDistances:
    """Squared distances of a shard's points from the nearest landmark so far."""

    def __init__(self, shard: Shard, request: DistanceRequest) -> None:
        self.draw = request.draw
        self.n_landmarks = 0
        self._shard = shard
        self._squares = np.full(len(shard.points), np.inf)
        self._rows = np.arange(len(shard.points))

    def apply(self, request: Any) -> None:
        """Add those landmarks of a request that have not been added yet."""
        from trigpoint._numerics.compiled.distances import squares_to

        for landmark in request.points[self.n_landmarks - request.first :]:
            nearer = squares_to(self._shard.points, self._rows, landmark)
            np.minimum(self._squares, nearer, out=self._squares)
            self.n_landmarks += 1

    def ready(self) -> None:
        """Does nothing: asking applies the landmarks."""

    def accumulate(self, first: int, last: int, before: float) -> float:
        """Sum over some partitions, added in the order of their rows to what is before them."""
        return float(self._sums(first, last, before)[-1])

    def find(self, first: int, last: int, before: float, target: float, side: str) -> int:
        """Row of these partitions at which the sum reaches (left) or exceeds (right) a target."""
        sums = self._sums(first, last, before)[1:]
        place = np.searchsorted(sums, target, side="left" if side == "left" else "right")
        return int(self._bounds(first, last).start + place)

    def _bounds(self, first: int, last: int) -> slice:
        ends = np.cumsum(self._shard.sizes)
        return slice(int(ends[first] - self._shard.sizes[first]), int(ends[last]))

    def _sums(self, first: int, last: int, before: float) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.cumsum(np.concatenate([[before], self._squares[self._bounds(first, last)]]))


def worker_threads() -> int:
    """Threads of the worker that this runs on; 1 anywhere else."""
    worker = sys.modules.get("distributed.worker")
    if worker is None:
        return 1
    try:
        return int(worker.get_worker().state.nthreads)
    except ValueError:
        return 1
