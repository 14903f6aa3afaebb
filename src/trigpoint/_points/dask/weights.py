"""Weights of all points, or their distances from landmarks, kept by the shards that hold them."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trigpoint._numerics.neighbors import Neighborhoods
from trigpoint._points.dask.cluster import Cluster
from trigpoint._points.dask.layout import Layout
from trigpoint._points.dask.shards import DistanceRequest, Missing, WeightRequest
from trigpoint._points.memory import whole_scale, whole_targets
from trigpoint._points.store import LogRepulsion


class Replayed(ABC):
    """What shards keep for each point, and what follows from the landmarks of one draw.

    The client keeps the landmarks alone. A shard that has lost its state, because its worker was
    lost, says so, and is sent all landmarks again.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._draw = uuid.uuid4().hex
        # Landmarks that every shard has applied, unless it has been lost since.
        self._n_sent = 0

    @abstractmethod
    def _count(self) -> int:
        """Number of landmarks so far."""

    @abstractmethod
    def _requests(self, first: dict[int, int]) -> dict[int, Any]:
        """For some shards, the landmarks after the first ones."""

    def ask(self, question: str, arguments: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of some shards that all landmarks have been applied to."""
        answers = self._ask(question, arguments, dict.fromkeys(arguments, self._n_sent))
        while missing := {
            shard: answer.known for shard, answer in answers.items() if isinstance(answer, Missing)
        }:
            again = {shard: arguments[shard] for shard in missing}
            answers |= self._ask(question, again, missing)
        if len(arguments) == len(self._cluster):
            self._n_sent = self._count()
        return answers

    def _ask(
        self, question: str, arguments: dict[int, tuple[Any, ...]], first: dict[int, int]
    ) -> dict[int, Any]:
        requests = self._requests(first)
        asked = {shard: (requests[shard], question, *own) for shard, own in arguments.items()}
        return self._cluster.ask("weigh", asked)

    def ask_everywhere(self, question: str, *arguments: Any) -> list[Any]:
        """Answers of all shards."""
        everywhere = dict.fromkeys(range(len(self._cluster)), arguments)
        return list(self.ask(question, everywhere).values())


class DaskWeights(Replayed):
    """Weights of all points, 1 until landmarks repel them.

    Parameters
    ----------
    cluster : Cluster
    layout : Layout
    log_repulsion : callable
    how : tuple of two ints
        What shards build their index for.
    """

    def __init__(
        self, cluster: Cluster, layout: Layout, log_repulsion: LogRepulsion, how: tuple[int, int]
    ) -> None:
        super().__init__(cluster)
        self._layout = layout
        self._log_repulsion, self._how = log_repulsion, how
        self._landmarks: Neighborhoods | None = None

    def repel(self, landmarks: Neighborhoods) -> None:
        """Let more landmarks repel their neighborhoods, when weights are next asked for."""
        plain = replace(landmarks, members=None, bounds=None)
        together = [plain] if self._landmarks is None else [self._landmarks, plain]
        self._landmarks = Neighborhoods.joined(together)

    def proposals(self) -> "DaskProposals | None":
        """Proposals in proportion to the weights; None if no point has any left."""
        top = max(self.ask_everywhere("top"))
        if top == -np.inf:
            return None
        scale = whole_scale(self._layout.n_points)
        totals = self.ask_everywhere("totals", top, scale)
        return DaskProposals(self, self._layout, top, scale, totals)

    def _count(self) -> int:
        return 0 if self._landmarks is None else len(self._landmarks)

    def _requests(self, first: dict[int, int]) -> dict[int, Any]:
        assert self._landmarks is not None
        local = self._layout.last_rows(self._landmarks.last_rows)
        requests = {}
        for shard, known in first.items():
            landmarks = replace(self._landmarks, last_rows=local[shard])
            new = landmarks.take(range(known, len(landmarks)))
            requests[shard] = WeightRequest(self._draw, known, new, self._log_repulsion, self._how)
        return requests


class DaskProposals:
    """Rows in proportion to a snapshot of the weights, as in `WeightedProposals`."""

    def __init__(
        self,
        weights: DaskWeights,
        layout: Layout,
        top: float,
        scale: float,
        totals: list[np.ndarray],
    ) -> None:
        self._weights, self._layout = weights, layout
        self._top, self._scale = top, scale
        # Where the whole weights of each partition end, in the order of the rows.
        self._ends = layout.by_part(totals)
        self._rows, self._whole = np.empty((2, 0), dtype=np.int64)

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers."""
        targets = whole_targets(numbers, int(self._ends[-1]))
        parts = self._layout.parts_at(targets, self._ends)
        before = np.where(parts > 0, self._ends[parts - 1], 0)
        shards, places = self._layout.parts(parts)
        asked = {shard: np.flatnonzero(shards == shard) for shard in np.unique(shards).tolist()}
        found = self._weights.ask(
            "find",
            {
                shard: (self._top, self._scale, places[some], (targets - before)[some])
                for shard, some in asked.items()
            },
        )
        self._rows, self._whole = np.empty((2, len(numbers)), dtype=np.int64)
        for shard, some in asked.items():
            self._rows[some] = self._layout.to_rows(shard, found[shard][0])
            self._whole[some] = found[shard][1]
        return self._rows.copy()

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which rows are proposed, those that were drawn last."""
        assert np.array_equal(rows, self._rows), "weights of other rows"
        return np.asarray(self._top + np.log(self._whole / self._scale))


class DaskSeeding(Replayed):
    """Sums of squared distances to the nearest landmark so far, as of one array.

    Sums are those of numbers added one by one in the order of the rows, to the bit. So shards take
    turns: each adds its distances to the sum over all rows before its own.

    Parameters
    ----------
    cluster : Cluster
    layout : Layout
    take : callable
        Points in some rows.
    """

    def __init__(
        self, cluster: Cluster, layout: Layout, take: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        super().__init__(cluster)
        self._layout, self._take = layout, take
        self._points: np.ndarray | None = None
        self._runs = layout.runs()
        self._before = np.zeros(len(self._runs) + 1)

    def _count(self) -> int:
        return 0 if self._points is None else len(self._points)

    def _requests(self, first: dict[int, int]) -> dict[int, Any]:
        assert self._points is not None
        return {
            shard: DistanceRequest(self._draw, known, self._points[known:])
            for shard, known in first.items()
        }

    def add(self, row: int) -> float:
        """Add a landmark; return the sum of all squared distances."""
        point = self._take(np.array([row]))
        self._points = point if self._points is None else np.concatenate([self._points, point])
        self.ask_everywhere("ready")
        for turn, (shard, first, last) in enumerate(self._runs):
            before = float(self._before[turn])
            answer = self.ask("accumulate", {shard: (first, last, before)})
            self._before[turn + 1] = answer[shard]
        return float(self._before[-1])

    def find(self, target: float, side: str) -> int:
        """First row at which the sum reaches (left) or exceeds (right) a target; n if none does."""
        ends = self._before[1:]
        turn = int(np.searchsorted(ends, target, side="left" if side == "left" else "right"))
        if turn == len(ends):
            return self._layout.n_points
        shard, first, last = self._runs[turn]
        asked = first, last, float(self._before[turn]), target, side
        local = self.ask("find", {shard: asked})[shard]
        return int(self._layout.to_rows(shard, np.array([local]))[0])
