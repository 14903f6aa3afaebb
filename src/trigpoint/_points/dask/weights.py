"""Weights of all points, kept by the shards that hold them."""

import uuid
from dataclasses import replace
from typing import Any

import numpy as np

from trigpoint._numerics.neighbors import Neighborhoods
from trigpoint._points.dask.cluster import Cluster
from trigpoint._points.dask.layout import Layout
from trigpoint._points.dask.shards import Missing, WeightRequest
from trigpoint._points.memory import whole_scale, whole_targets
from trigpoint._points.store import LogRepulsion


class DaskWeights:
    """Weights of all points, 1 until landmarks repel them.

    The client keeps the landmarks, and no weights. A shard that has lost its weights, because its
    worker was lost, says so, and is sent all landmarks again.

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
        self._cluster, self._layout = cluster, layout
        self._log_repulsion, self._how = log_repulsion, how
        self._draw = uuid.uuid4().hex
        self._landmarks: Neighborhoods | None = None
        # Landmarks that every shard has applied, unless it has been lost since.
        self._n_sent = 0

    def repel(self, landmarks: Neighborhoods) -> None:
        """Let more landmarks repel their neighborhoods, when weights are next asked for."""
        plain = replace(landmarks, members=None, bounds=None)
        together = [plain] if self._landmarks is None else [self._landmarks, plain]
        self._landmarks = Neighborhoods.joined(together)

    def proposals(self) -> "DaskProposals | None":
        """Proposals in proportion to the weights; None if no point has any left."""
        everywhere = dict.fromkeys(range(len(self._cluster)), ())
        top = max(self.ask("top", everywhere).values())
        if top == -np.inf:
            return None
        scale = whole_scale(self._layout.n_points)
        totals = self.ask("totals", dict.fromkeys(everywhere, (top, scale)))
        return DaskProposals(self, self._layout, top, scale, list(totals.values()))

    def ask(self, question: str, arguments: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of some shards that all landmarks have repelled."""
        answers = self._ask(question, arguments, dict.fromkeys(arguments, self._n_sent))
        while missing := {
            shard: answer.known for shard, answer in answers.items() if isinstance(answer, Missing)
        }:
            again = {shard: arguments[shard] for shard in missing}
            answers |= self._ask(question, again, missing)
        if len(arguments) == len(self._cluster):
            assert self._landmarks is not None
            self._n_sent = len(self._landmarks)
        return answers

    def _ask(
        self, question: str, arguments: dict[int, tuple[Any, ...]], first: dict[int, int]
    ) -> dict[int, Any]:
        assert self._landmarks is not None
        local = self._layout.last_rows(self._landmarks.last_rows)
        requests = {}
        for shard, own in arguments.items():
            landmarks = replace(self._landmarks, last_rows=local[shard])
            new = landmarks.take(range(first[shard], len(landmarks)))
            request = WeightRequest(self._draw, first[shard], new, self._log_repulsion, self._how)
            requests[shard] = (request, question, *own)
        return self._cluster.ask("weigh", requests)


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
