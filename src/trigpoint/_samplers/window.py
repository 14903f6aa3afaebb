"""Proposals of Algorithm 2, decided one by one while neighborhoods are searched together."""

import numpy as np

from trigpoint._neighbors.index import TREE_MAX_DIMENSION, Neighborhoods, NeighborIndex
from trigpoint._numerics.gaussian import squared_distances
from trigpoint._samplers.drawn import DrawnLandmarks, lower_bounds


class Window:
    """Proposals from one set of weights, decided one by one.

    Several neighborhoods are searched at once. If the index can guess their radii, only proposals
    that will probably be accepted are searched: with a twelfth of all points around each landmark,
    half of all searches would otherwise be wasted. A wrong guess costs time but changes nothing.
    """

    def __init__(
        self,
        index: NeighborIndex,
        drawn: DrawnLandmarks,
        m: int,
        rows: np.ndarray,
        thresholds: np.ndarray,
        passed: np.ndarray,
    ) -> None:
        self._index, self._m = index, m
        self._repulsion = drawn.repulsion
        self._size = len(rows)
        # Proposals that may still be accepted, in order: their places in the window, and their
        # data.
        self._places = passed
        self._rows, self._thresholds = rows[passed], thresholds[passed]
        self._points = index.take(self._rows)
        self._log_weights = drawn.log_weights(self._points, self._rows, self._thresholds)
        self._among_first = np.arange(len(passed))
        self._keep_waiting()
        # In high dimension, lower bounds spare most distances between proposals. They are computed
        # once, between all proposals that wait at first; this says where among those each one is.
        self._bounds: np.ndarray | None = None
        if self._points.shape[1] > TREE_MAX_DIMENSION and self.n_waiting:
            self._bounds = lower_bounds(self._points, self._points)
        self._among_first = np.arange(self.n_waiting)
        self._guesses: dict[int, float] = {}
        self._known: dict[int, tuple[Neighborhoods, int]] = {}

    @property
    def n_waiting(self) -> int:
        """Number of proposals that may still be accepted."""
        return len(self._places)

    def _keep_waiting(self) -> None:
        waiting = self._thresholds <= self._log_weights
        self._places, self._rows = self._places[waiting], self._rows[waiting]
        self._thresholds, self._points = self._thresholds[waiting], self._points[waiting]
        self._log_weights = self._log_weights[waiting]
        self._among_first = self._among_first[waiting]

    def run(
        self, wanted: int, rejections: int, queries_at_once: int, foreseen: int
    ) -> tuple[int, np.ndarray, Neighborhoods]:
        """Decide until enough are accepted, too many rejected, or none is left.

        Returns the number of proposals decided, the places of those accepted, and their
        neighborhoods.
        """
        accepted: list[int] = []
        found = [Neighborhoods.none(self._points, self._m)]
        while self.n_waiting and self._places[0] < rejections + len(accepted):
            # Each acceptance moves the end by one.
            end = rejections + len(accepted)
            self._look_around(min(queries_at_once, wanted - len(accepted)), end, foreseen)
            places = self._decide(wanted - len(accepted), end)
            found += [all_found.take([q]) for all_found, q in map(self._known.pop, places)]
            accepted += places
            if len(accepted) == wanted:
                break
            self._keep_waiting()
        used = min(self._size, rejections + len(accepted))
        if len(accepted) == wanted:
            used = accepted[-1] + 1
        return used, np.array(accepted, dtype=np.int64), Neighborhoods.joined(found)

    def _decide(self, wanted: int, end: int) -> list[int]:
        """Accept in order while neighborhoods are known; return the places accepted."""
        accepted: list[int] = []
        for i, place in enumerate(self._places.tolist()):
            if self._thresholds[i] > self._log_weights[i]:
                continue
            if len(accepted) == wanted or place >= end + len(accepted) or place not in self._known:
                break
            self._repel(i, *self._known[place])
            accepted.append(place)
        return accepted

    def _repel(self, i: int, found: Neighborhoods, q: int) -> None:
        """Let an accepted proposal repel those still waiting."""
        from trigpoint._kernels.distances import squares_to

        near = np.arange(self.n_waiting)
        if self._bounds is not None:
            bounds = self._bounds[self._among_first[i], self._among_first]
            near = np.flatnonzero(bounds <= found.squared_radii[q])
        squares = squares_to(self._points, near, self._points[i])
        inside = found.holds(q, squares, self._rows[near])
        self._log_weights[near[inside]] += self._repulsion(squares[inside])
        self._log_weights[near[squares == 0]] = -np.inf

    def _look_around(self, wanted: int, end: int, foreseen: int) -> None:
        """Search the neighborhoods of up to `wanted` proposals that come before the `end`."""
        likely = self._likely(foreseen)
        likely = likely[self._places[likely] < end + np.arange(len(likely))]
        # Duplicates of a proposal are rejected if it is accepted, so one of them is enough.
        first: dict[bytes, int] = {}
        for i in likely.tolist():
            first.setdefault(self._points[i].tobytes(), i)
        asked = [i for i in first.values() if self._places[i] not in self._known][:wanted]
        if not asked:
            return
        found = self._index.search(self._points[asked], self._m)
        self._known.update((int(self._places[i]), (found, q)) for q, i in enumerate(asked))

    def _likely(self, foreseen: int) -> np.ndarray:
        """The first proposals that will probably be accepted."""
        first = np.arange(min(foreseen, self.n_waiting))
        places, points = self._places[first].tolist(), self._points[first]
        new = [i for i, place in enumerate(places) if place not in self._guesses]
        guessed = self._index.guess(points[new], self._m)
        if guessed is None:
            return first
        self._guesses.update(zip([places[i] for i in new], guessed.tolist(), strict=True))
        log_weights = self._log_weights[first]
        # If there are lower bounds, they are precise enough for a guess.
        bounds, among_first = self._bounds, self._among_first[first]
        if bounds is None:
            bounds, among_first = squared_distances(points, points), first
        likely = []
        for i, place in enumerate(places):
            if self._thresholds[i] <= log_weights[i]:
                likely.append(i)
                squares = bounds[among_first[i], among_first]
                near = np.flatnonzero(squares <= self._guesses[place] ** 2)
                log_weights[near] += self._repulsion(np.maximum(squares[near], 0))
        return np.array(likely, dtype=np.int64)
