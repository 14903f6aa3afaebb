"""Decisions on the proposals of Algorithm 2, with neighborhoods searched in batches."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trigpoint._neighbors.index import TREE_MAX_DIMENSION, Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import one_blas_thread, row_blocks, thread_map
from trigpoint._numerics.gaussian import squared_distances

# Function that maps squared distances to the logarithms of repulsion factors.
LogFactors = Callable[[np.ndarray], np.ndarray]

# Tolerance far above the rounding error of a sum of logarithms.
SUM_ROUNDING = 1e-9

# Number of proposals to compare with the landmarks per call, in low and in high dimension. In high
# dimension, proposals are first compared with `_FIRST_COMPARED` landmarks, and only those that may
# still be accepted are compared with more.
_COMPARED, _COMPARED_BY_PRODUCTS = 4096, 512
_FIRST_COMPARED = 32

# Landmarks per bucket of the tree.
_IN_BUCKET = 8


class DrawnLandmarks:
    """Landmarks drawn so far, from which the weights of proposals are computed."""

    def __init__(self, index: NeighborIndex, k: int, repulsion: LogFactors, n_threads: int) -> None:
        self._points = np.empty((k, index.points.shape[1]), dtype=index.points.dtype)
        self._squared_radii = np.empty(k)
        self._last_rows = np.empty(k, dtype=np.int64)
        self._count = 0
        self.repulsion = repulsion
        self._n_threads = n_threads
        # Tree over the first landmarks, and the largest squared radius in each node.
        self._tree: tuple[Any, np.ndarray] | None = None
        self._in_tree = 0

    def add(self, found: Neighborhoods) -> None:
        """Add landmarks with their neighborhoods."""
        part = slice(self._count, self._count + len(found.points))
        self._points[part] = found.points
        self._squared_radii[part] = found.squared_radii
        self._last_rows[part] = found.last_rows
        self._count = part.stop

    def log_weights(
        self, points: np.ndarray, rows: np.ndarray, thresholds: np.ndarray
    ) -> np.ndarray:
        """Return log weights of proposals, summed in the order of the landmarks.

        Sums below their threshold may be incomplete, since weights never increase.
        """
        if not self._count or not len(points):
            return np.zeros(len(points))
        in_low_dimension = points.shape[1] <= TREE_MAX_DIMENSION
        if in_low_dimension:
            self._grow_tree()
        blocks = row_blocks(len(points), _COMPARED if in_low_dimension else _COMPARED_BY_PRODUCTS)

        def compare(part: slice) -> np.ndarray:
            if in_low_dimension:
                return self._compare_in_tree(points[part], rows[part])
            return self._compare(points[part], rows[part], thresholds[part])

        # Blocks run in parallel, so each product uses one thread.
        with one_blas_thread():
            return np.concatenate(list(thread_map(compare, blocks, self._n_threads)))

    def _log_factors(self, squares: np.ndarray) -> np.ndarray:
        logs = self.repulsion(squares)
        logs[squares == 0] = -np.inf
        return logs

    def _grow_tree(self) -> None:
        """Rebuild the tree if too many landmarks are missing from it."""
        from trigpoint._kernels.distances import largest_radii
        from trigpoint._neighbors.tree import build_tree

        if self._tree is None or self._count > 64 + 1.0625 * self._in_tree:
            tree = build_tree(self._points[: self._count], _IN_BUCKET)
            self._tree = tree, largest_radii(tree, self._squared_radii)
            self._in_tree = self._count

    def _compare_in_tree(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return log weights, using only the landmarks around each point."""
        from trigpoint._kernels.distances import add_in_order, repelling_in_tree

        assert self._tree is not None
        squares, starts = repelling_in_tree(points, rows, *self._tree, *self._part(0, self._count))
        sums = np.zeros(len(points))
        add_in_order(sums, np.arange(len(points)), self._log_factors(squares), starts)
        return sums

    def _compare(self, points: np.ndarray, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return log weights, adding groups of landmarks as long as acceptance is possible."""
        from trigpoint._kernels.distances import add_in_order, repelling

        sums = np.zeros(len(points))
        waiting = np.arange(len(points))
        start, stop = 0, _FIRST_COMPARED
        while len(waiting) and start < self._count:
            part = self._part(start, stop)
            bounds = lower_bounds(points[waiting], part[0])
            squares, starts = repelling(points[waiting], rows[waiting], *part, bounds)
            add_in_order(sums, waiting, self._log_factors(squares), starts)
            waiting = waiting[sums[waiting] >= thresholds[waiting]]
            start, stop = stop, 2 * stop
        return sums

    def _part(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the points, squared radii and last rows of a range of landmarks."""
        part = slice(start, min(stop, self._count))
        return self._points[part], self._squared_radii[part], self._last_rows[part]


def lower_bounds(points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Return lower bounds of squared distances, from a product centered at the first landmark."""
    left, right = points - landmarks[0], landmarks - landmarks[0]
    norms = np.add.outer(np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right))
    error = 2 * (points.shape[1] + 8) * np.finfo(points.dtype).eps
    return (1 - error) * norms - 2 * (left @ right.T)


class Screen:
    """Upper bounds on the weights of all points, from distances computed by matrix products.

    In high dimension, these bounds rule out most proposals.
    """

    def __init__(self, index: NeighborIndex, repulsion: LogFactors) -> None:
        self._repulsion = repulsion
        self._log_bounds = np.zeros(index.points.shape[0])

    def repel(self, landmarks: Neighborhoods) -> None:
        """Lower the bounds of the landmarks' neighbors."""
        assert landmarks.members is not None
        assert landmarks.bounds is not None
        for rows, bounds in zip(landmarks.members, landmarks.bounds, strict=True):
            # The factor increases with distance, so a bound on the distance bounds the factor.
            self._log_bounds[rows] += self._repulsion(bounds)

    def passes(self, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return whether the log weight of each row may reach its threshold."""
        passed: np.ndarray = thresholds <= self._log_bounds[rows] + SUM_ROUNDING
        return passed


class Window:
    """Proposals from one set of weights, decided one by one.

    Several neighborhoods are searched at once. If the index can guess their radii, only proposals
    that are likely to be accepted are searched. Otherwise, half of the searches would be wasted if
    a neighborhood holds a twelfth of all points. A wrong guess costs time but does not change the
    result.
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
        # Positions in the window, and data, of the proposals that may still be accepted, in order.
        self._places = passed
        self._rows, self._thresholds = rows[passed], thresholds[passed]
        self._points = index.take(self._rows)
        self._log_weights = drawn.log_weights(self._points, self._rows, self._thresholds)
        self._among_first = np.arange(len(passed))
        self._keep_waiting()
        # In high dimension, lower bounds rule out most distances between proposals. They are
        # computed once, for the proposals that wait at the start, and indexed by `_among_first`.
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
        """Decide until enough proposals are accepted, too many are rejected, or none is left.

        Returns the number of proposals decided, and the positions and neighborhoods of the accepted
        ones.
        """
        accepted: list[int] = []
        found = [Neighborhoods.none(self._points, self._m)]
        while self.n_waiting and self._places[0] < rejections + len(accepted):
            # Each acceptance moves the end by one proposal.
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
        """Accept proposals in order while their neighborhoods are known; return positions."""
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
        """Lower the weights of waiting proposals around an accepted one."""
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
        # Among duplicates, search only the first: if it is accepted, the others are rejected.
        first: dict[bytes, int] = {}
        for i in likely.tolist():
            first.setdefault(self._points[i].tobytes(), i)
        asked = [i for i in first.values() if self._places[i] not in self._known][:wanted]
        if not asked:
            return
        found = self._index.search(self._points[asked], self._m)
        self._known.update((int(self._places[i]), (found, q)) for q, i in enumerate(asked))

    def _likely(self, foreseen: int) -> np.ndarray:
        """Return the first proposals that are likely to be accepted."""
        first = np.arange(min(foreseen, self.n_waiting))
        places, points = self._places[first].tolist(), self._points[first]
        new = [i for i, place in enumerate(places) if place not in self._guesses]
        guessed = self._index.guess(points[new], self._m)
        if guessed is None:
            return first
        self._guesses.update(zip([places[i] for i in new], guessed.tolist(), strict=True))
        log_weights = self._log_weights[first]
        # Lower bounds, if available, are precise enough for a guess.
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
