"""Algorithm 2: landmarks drawn one by one, wherever the points are stored.

The loop sees row numbers, weights of proposals, radii, and distances between proposals; everything
else is up to a `Store`. The weight of a proposal follows from the landmarks drawn so far and how
far their neighborhoods reach, so the weights of all points are kept only if proposals are drawn
from them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.kernels import squared_distances
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, Neighborhoods
from trigpoint._numerics.threads import one_blas_thread, thread_map
from trigpoint._points.store import LogRepulsion, Proposals, Store, Weights

# Most proposals drawn at once, and most examined to predict which will be accepted.
_MOST_PROPOSALS = 2**16
_FORESEEN = 512

# After this many rejections, or one per point if that is fewer, the weights of all points are worth
# a pass over them.
_PATIENCE = 2**18

# Neighbors of landmarks that are kept for such a pass, where a search has listed them.
NEIGHBORS_KEPT = 2**23

# Proposals that are compared with the landmarks by one call; landmarks that they are compared with
# first, where only those that still may be accepted are compared with more; landmarks in a bucket
# of a tree.
_COMPARED = 4096
_FIRST_COMPARED = 32
_LANDMARKS_IN_BUCKET = 8


class Accepted(NamedTuple):
    """Landmarks as they are drawn."""

    rows: np.ndarray
    neighborhoods: Neighborhoods


class LandmarkDraw:
    """A draw of `k` landmarks by Algorithm 2; iterating over it yields them as they are accepted.

    Weights only ever shrink, so rejection is exact: a proposal from older weights is accepted with
    a probability that is the ratio of its current weight to the older one. Each proposal takes two
    numbers from one stream, and proposals are decided in order, so the landmarks are the same for
    any store, any number of threads and any number of queries at once.

    Parameters
    ----------
    store : Store
    k : int
        Number of landmarks.
    m : int
        Number of points that each one repels, itself included.
    log_repulsion : callable
        Logarithms of the factors by which weights shrink, from squared distances.
    rng : Generator
    n_threads : int, default=1
    queries_at_once : int or None, default=None

    Attributes
    ----------
    n_landmarks, n_drawn : int
        Landmarks wanted, and drawn so far.
    n_proposals : int
        Proposals decided so far.
    """

    def __init__(
        self,
        store: Store,
        k: int,
        m: int,
        log_repulsion: LogRepulsion,
        rng: np.random.Generator,
        *,
        n_threads: int = 1,
        queries_at_once: int | None = None,
    ) -> None:
        self.n_landmarks = k
        self._store, self._m = store, m
        self._log_repulsion = log_repulsion
        self._rng = rng
        self._chosen = _Chosen(store, k, log_repulsion, n_threads)
        self._racer = store.racer(log_repulsion)
        self._screen = store.screen(log_repulsion)
        self._weights: Weights | None = self._racer
        self._queries_at_once = queries_at_once or max(1, min(store.together, k // 8))
        # Those foreseen are compared in pairs, so with very many columns they are fewer.
        few = max(2 * self._queries_at_once, block_rows(8 * store.n_features))
        self._most_foreseen = min(_FORESEEN, few)
        self.n_drawn = self.n_proposals = 0

    def __iter__(self) -> Iterator[Accepted]:
        n = self._store.n_points
        patience = min(n, _PATIENCE)
        foreseen = min(self._most_foreseen, 8 * self._queries_at_once)
        size = foreseen if self._racer is None else _FORESEEN
        most = min(_MOST_PROPOSALS, n)
        if self._screen is None:
            # Without a screen, the points of all proposals are asked for.
            most = min(most, block_rows(8 * self._store.n_features))
        proposals: Proposals = UniformProposals(n)
        rejected = 0
        numbers = np.empty((0, 2))
        while self.n_drawn < self.n_landmarks:
            if rejected == patience:
                proposals, rejected = self._weighted_proposals(), 0
            if len(numbers) < size:
                # Numbers left over from the last window come first.
                more = self._rng.random((size - len(numbers), 2))
                numbers = np.concatenate([numbers, more])
            rows = proposals.rows(numbers[:, 0])
            thresholds = np.log1p(-numbers[:, 1]) + proposals.log_weights(rows)
            # Weights change after the last rejection, however many proposals are drawn at once.
            wanted, rejections = self.n_landmarks - self.n_drawn, patience - rejected
            if self._racer is not None:
                decided = self._racer.race(rows, thresholds, wanted, rejections, self._m)
                few = len(decided[1]) < decided[0] / 8
            else:
                window = self._window(rows, thresholds)
                few = window.n_waiting < foreseen
                decided = window.run(wanted, rejections, self._queries_at_once, foreseen)
                self._chosen.add(decided[2])
                if self._screen is not None:
                    self._screen.repel(decided[2])
            if few:
                size = max(size, min(4 * size, most))
            used, accepted, found = decided
            numbers = numbers[used:]
            self.n_proposals += used
            self.n_drawn += len(accepted)
            rejected += used - len(accepted)
            yield Accepted(rows[accepted], found)

    def _window(self, rows: np.ndarray, thresholds: np.ndarray) -> "_Window":
        """Proposals to decide: all of them, or those that a screen does not reject."""
        passed = np.arange(len(rows))
        if self._screen is not None:
            passed = np.flatnonzero(self._screen.passes(rows, thresholds))
            # As many as can be foreseen: the others' numbers serve the next window.
            most = self._most_foreseen
            rows = rows[: passed[most]] if len(passed) > most else rows
            passed = passed[:most]
        return _Window(self._store, self._chosen, self._m, rows, thresholds, passed)

    def _weighted_proposals(self) -> Proposals:
        """Proposals in proportion to the current weights."""
        if self._weights is None:
            self._weights = self._store.weights(self._log_repulsion)
        if self._racer is None:
            self._weights.repel(self._chosen.since_last_asked())
        proposals = self._weights.proposals()
        if proposals is None:
            raise ParameterValueError(
                "n_landmarks",
                self.n_landmarks,
                "{parameter=} is too large: after {n_drawn} landmarks every one of the {n} points "
                "coincides with one or has no weight left",
                ("choose {parameter} <= {n_drawn}", "remove duplicated points"),
                n_drawn=self.n_drawn,
                n=self._store.n_points,
            )
        return proposals


class UniformProposals:
    """Every point equally likely: weights as they were before the first landmark."""

    def __init__(self, n: int) -> None:
        self._n = n

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Rows for uniform random numbers."""
        return (numbers * self._n).astype(np.int64)

    def log_weights(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the weights with which rows are proposed."""
        return np.zeros(len(rows))


class _Chosen:
    """Landmarks drawn so far, and the weights of proposals given them."""

    def __init__(self, store: Store, k: int, log_repulsion: LogRepulsion, n_threads: int) -> None:
        self._points = np.empty((k, store.n_features), dtype=store.dtype)
        self._squared_radii = np.empty(k)
        self._last_rows = np.empty(k, dtype=np.int64)
        self._count = 0
        # Those since weights were last asked for, with their neighbors as long as these are few.
        self._new: list[Neighborhoods] = []
        self._n_new = 0
        self._keeps_neighbors = True
        self.log_repulsion = log_repulsion
        self._n_threads = n_threads
        # A tree over the first landmarks, and how far those in its nodes repel.
        self._tree: tuple[Any, np.ndarray] | None = None
        self._in_tree = 0

    def add(self, found: Neighborhoods) -> None:
        """Add landmarks and how far they repel."""
        part = slice(self._count, self._count + len(found))
        self._points[part] = found.points
        self._squared_radii[part] = found.squared_radii
        self._last_rows[part] = found.last_rows
        self._count = part.stop
        self._n_new += len(found)
        if self._keeps_neighbors and self._n_new * found.size > NEIGHBORS_KEPT:
            self._keeps_neighbors = False
            self._new = [replace(some, members=None) for some in self._new]
        members = found.members if self._keeps_neighbors else None
        self._new.append(replace(found, members=members, bounds=None))

    def since_last_asked(self) -> Neighborhoods:
        """Those taken in since this was last called, with their neighbors unless there are many."""
        found = Neighborhoods.joined(self._new)
        self._new, self._n_new = [], 0
        return found

    def log_weights(
        self, points: np.ndarray, rows: np.ndarray, thresholds: np.ndarray
    ) -> np.ndarray:
        """Logarithms of the weights of proposals: sums in the order of the landmarks.

        Sums that fall below their threshold may be incomplete: weights only shrink.
        """
        if not self._count or not len(points):
            return np.zeros(len(points))
        in_low_dimension = points.shape[1] <= TREE_MAX_DIMENSION
        if in_low_dimension:
            self._grow_tree()
        blocks = row_blocks(len(points), _COMPARED if in_low_dimension else _FORESEEN)

        def compare(part: slice) -> np.ndarray:
            if in_low_dimension:
                return self._compare_in_tree(points[part], rows[part])
            return self._compare(points[part], rows[part], thresholds[part])

        # Products keep to the thread that asks for them.
        with one_blas_thread():
            return np.concatenate(list(thread_map(compare, blocks, self._n_threads)))

    def _log_factors(self, squares: np.ndarray) -> np.ndarray:
        logs = self.log_repulsion(squares)
        logs[squares == 0] = -np.inf
        return logs

    def _grow_tree(self) -> None:
        """Rebuild the tree when a fair share of the landmarks is not in it."""
        from trigpoint._numerics.compiled.repulsion import largest_radii
        from trigpoint._numerics.tree_building import build_tree

        if self._tree is None or self._count > 64 + 1.0625 * self._in_tree:
            tree = build_tree(self._points[: self._count], _LANDMARKS_IN_BUCKET)
            self._tree = tree, largest_radii(tree, self._squared_radii)
            self._in_tree = self._count

    def _compare_in_tree(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Weights from the landmarks around each point."""
        from trigpoint._numerics.compiled.repulsion import add_in_order, repelling_in_tree

        assert self._tree is not None
        squares, starts = repelling_in_tree(points, rows, *self._tree, *self._part(0, self._count))
        sums = np.zeros(len(points))
        add_in_order(sums, np.arange(len(points)), self._log_factors(squares), starts)
        return sums

    def _compare(self, points: np.ndarray, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Weights from one group of landmarks after another, while acceptance is possible."""
        from trigpoint._numerics.compiled.repulsion import add_in_order, repelling

        sums = np.zeros(len(points))
        waiting = np.arange(len(points))
        start, stop = 0, _FIRST_COMPARED
        while len(waiting) and start < self._count:
            part = self._part(start, stop)
            bounds = _lower_bounds(points[waiting], part[0])
            squares, starts = repelling(points[waiting], rows[waiting], *part, bounds)
            add_in_order(sums, waiting, self._log_factors(squares), starts)
            waiting = waiting[sums[waiting] >= thresholds[waiting]]
            start, stop = stop, 2 * stop
        return sums

    def _part(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, squared radii and last rows of some landmarks."""
        part = slice(start, min(stop, self._count))
        return self._points[part], self._squared_radii[part], self._last_rows[part]


def _lower_bounds(points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Lower bounds of squared distances, from a product around the first landmark."""
    left, right = points - landmarks[0], landmarks - landmarks[0]
    norms = np.add.outer(np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right))
    error = 2 * (points.shape[1] + 8) * np.finfo(points.dtype).eps
    return (1 - error) * norms - 2 * (left @ right.T)


class _Window:
    """Proposals from one set of weights, decided one by one.

    Several neighborhoods are searched at once. If the store can guess their radii, only proposals
    that will probably be accepted are searched: with a twelfth of all points around each landmark,
    half of all searches would otherwise be wasted. A wrong guess costs time but changes nothing.
    """

    def __init__(
        self,
        store: Store,
        chosen: _Chosen,
        m: int,
        rows: np.ndarray,
        thresholds: np.ndarray,
        passed: np.ndarray,
    ) -> None:
        self._store, self._m = store, m
        self._log_repulsion = chosen.log_repulsion
        self._size = len(rows)
        # Proposals that may still be accepted, in order: their places in the window, and their
        # data.
        self._places = passed
        self._rows, self._thresholds = rows[passed], thresholds[passed]
        self._points = store.take(self._rows)
        self._log_weights = chosen.log_weights(self._points, self._rows, self._thresholds)
        self._among_first = np.arange(len(passed))
        self._keep_waiting()
        # In high dimension most distances between proposals are spared by lower bounds, which are
        # those of the first that wait. Where among these is each that still does?
        self._bounds: np.ndarray | None = None
        if store.n_features > TREE_MAX_DIMENSION and self.n_waiting:
            self._bounds = _lower_bounds(self._points, self._points)
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
            # Each acceptance puts off the end by one.
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
        from trigpoint._numerics.compiled.distance import squares_to

        near = np.arange(self.n_waiting)
        if self._bounds is not None:
            bounds = self._bounds[self._among_first[i], self._among_first]
            near = np.flatnonzero(bounds <= found.squared_radii[q])
        squares = squares_to(self._points, near, self._points[i])
        inside = found.holds(q, squares, self._rows[near])
        self._log_weights[near[inside]] += self._log_repulsion(squares[inside])
        self._log_weights[near[squares == 0]] = -np.inf

    def _look_around(self, wanted: int, end: int, foreseen: int) -> None:
        """Search the neighborhoods of up to `wanted` proposals that come before the `end`."""
        likely = self._likely(foreseen)
        likely = likely[self._places[likely] < end + np.arange(len(likely))]
        asked = [i for i in likely.tolist() if self._places[i] not in self._known][:wanted]
        if not asked:
            return
        found = self._store.search(self._points[asked], self._m)
        self._known.update((int(self._places[i]), (found, q)) for q, i in enumerate(asked))

    def _likely(self, foreseen: int) -> np.ndarray:
        """The first proposals that will probably be accepted."""
        first = np.arange(min(foreseen, self.n_waiting))
        places, points = self._places[first].tolist(), self._points[first]
        new = [i for i, place in enumerate(places) if place not in self._guesses]
        guessed = self._store.guess(points[new], self._m)
        if guessed is None:
            return first
        self._guesses.update(zip([places[i] for i in new], guessed.tolist(), strict=True))
        log_weights = self._log_weights[first]
        # Where there are lower bounds, they are close enough.
        bounds, among_first = self._bounds, self._among_first[first]
        if bounds is None:
            bounds, among_first = squared_distances(points, points), first
        likely = []
        for i, place in enumerate(places):
            if self._thresholds[i] <= log_weights[i]:
                likely.append(i)
                squares = bounds[among_first[i], among_first]
                near = np.flatnonzero(squares <= self._guesses[place] ** 2)
                log_weights[near] += self._log_repulsion(np.maximum(squares[near], 0))
        return np.array(likely, dtype=np.int64)
