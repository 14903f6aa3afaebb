"""The graph of a picture: a few are tried, and the one that keeps most neighbors is taken.

How many neighbors suit some points, and whether the surface that they lie on can be unrolled at
all, no rule could tell well from their dimension and number. A picture of some of them can.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.errors import ParameterError
from trigpoint._common.records import EmbeddedLandmarks, Extension
from trigpoint._common.warn import warn_user
from trigpoint._estimators.defaults import ROOMY_NEIGHBORS
from trigpoint._numerics.blocks import sample_points
from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._numerics.nearest import nearest
from trigpoint._numerics.neighbors import neighbor_index
from trigpoint._numerics.sparse import Points, dense_blocks
from trigpoint.metrics._preserved import shared

logger = logging.getLogger(__name__)

# Nearest neighbors whose graphs are tried for any picture, and the most landmarks and coordinates.
# With more of them, the eigenvectors of all graphs would take longer than all else.
PICTURE_GRAPHS = (
    ("bhattacharyya", 3),
    ("bhattacharyya", 5),
    ("bhattacharyya", 20),
    ("euclidean", 20),
)
MOST_NEIGHBORS = max(count for _, count in PICTURE_GRAPHS)
MOST_LANDMARKS, MOST_COORDINATES = 1000, 64

# Points that are looked at, at most and at least, and numbers that these may have in all. Neighbors
# of each that a picture should keep.
LOOKED_AT, _FEWEST = 2000, 200
_MOST_NUMBERS = 2**23
_NEIGHBORS = 10

# How much more of the neighbors another graph must keep than the one that the rules propose: twice
# what another sample of points makes of the difference. What a smooth picture may keep less, in any
# comparison: one of a surface that keeps a few more neighbors may be uneven, with holes.
_CLEARLY = 0.02
_SMOOTHER = 0.01

# Coordinates that keep so many are good: nothing else is tried.
GOOD_PICTURE, GOOD_FEATURES = 0.65, 0.85

Attempt = tuple[EmbeddedLandmarks, Extension]
Tried = tuple[EmbeddedLandmarks, dict[str, float]]


class Judge:
    """Some of the points, and their nearest among these."""

    def __init__(self, X: Any, n_threads: int) -> None:
        self._n_threads = n_threads
        self._points = sample_points(X, _most_looked_at(X), np.random.default_rng(0))
        self._neighbors = self._nearest(self._points)

    def kept(self, extension: Extension) -> float:
        """Share of the neighbors that are neighbors in a picture, too."""
        coordinates, _ = extension(self._points)
        found = self._nearest(coordinates)
        return float(shared(self._neighbors, found, len(found)).mean())

    def _nearest(self, points: Points) -> np.ndarray:
        rows = _nearest_rows(points, _NEIGHBORS + 1, self._n_threads)
        itself = rows == np.arange(len(rows))[:, None]
        # Among many copies of a point, it may not be found itself.
        itself[~itself.any(axis=1), -1] = True
        return rows[~itself].reshape(len(rows), _NEIGHBORS)


def _nearest_rows(points: Points, m: int, n_threads: int) -> np.ndarray:
    """Rows (n, m) of the points nearest to each."""
    if not isinstance(points, csr_array):
        return nearest(points, points, m, n_threads)[1]
    index = neighbor_index(points, m, points.shape[0], n_threads)
    blocks = dense_blocks(points)
    return np.concatenate([index.query(points[part].toarray(), m)[1] for part in blocks])


def worth_trying(X: Any, k: int) -> bool:
    """Whether there are enough points to look at, and not too much to do."""
    return min(X.shape[0], _most_looked_at(X)) >= _FEWEST and k <= MOST_LANDMARKS


def _most_looked_at(X: Any) -> int:
    return min(LOOKED_AT, _MOST_NUMBERS // X.shape[1])


class Tryout(NamedTuple):
    """A graph to try, and how points are placed with it.

    `by_mass` says that landmarks count by the points that they stand for.
    """

    graph: str
    n_neighbors: int | None
    extensions: list[str]
    by_mass: bool = False


def graphs_to_try(many: bool, by_rule: str) -> Iterator[Tryout]:
    """Graphs to try where points would be placed `by_rule`.

    `many` says that the coordinates are features rather than a picture.
    """
    if many:
        yield Tryout("euclidean", 200, ["all"])
        yield Tryout("euclidean", 20, ["graph"])
    else:
        for metric, count in PICTURE_GRAPHS:
            # Planes through few neighbors are uneven, and may still keep more of the neighbors.
            yield Tryout(metric, count, [by_rule, "graph"][count < ROOMY_NEIGHBORS :])
        if by_rule == "graph":
            # On a surface, the same goes for these, and masses would be noise. But diverse
            # landmarks are as dense at the fringe of a cloud as in its core.
            yield Tryout("euclidean", 5, ["graph"])
            yield Tryout("bhattacharyya", 5, ["graph"], by_mass=True)
    yield Tryout("complete", None, ["all"])


def best_of(
    attempts: Sequence[Callable[[], Iterator[Attempt]]], judge: Judge, good: float
) -> Tried:
    """The best of some embedded landmarks, and what each of them keeps.

    The first is taken if it is good, or unless another is clearly better. Only what the best one
    warns of is said; others may fail. If neighbors link the first in one piece, so they do the
    points, and bridges of a sparser graph are edges like others. If not, others have no bridges.
    """
    made: dict[str, tuple[EmbeddedLandmarks, list[warnings.WarningMessage]]] = {}
    kept: dict[str, float] = {}
    for attempt in attempts:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                for embedded, extension in attempt():
                    name = _described(embedded)
                    if name in made:
                        continue
                    if made and _is_in_pieces(embedded):
                        if not _shows_one_piece(made[next(iter(made))][0]):
                            continue
                        embedded = _in_one_piece(embedded)
                    made[name], kept[name] = (embedded, caught), judge.kept(extension)
                    logger.info("%s keeps %.3f of the neighbors", name, kept[name])
                    if len(kept) == 1 and kept[name] >= good:
                        break
            except ParameterError:
                if not made:
                    raise
        first = next(iter(kept))
        if len(kept) == 1 and kept[first] >= good:
            break

    def rated(name: str) -> float:
        return kept[name] + _SMOOTHER * (made[name][0].extended_by == "smooth")

    best = max(kept, key=rated)
    if rated(best) < rated(first) + _CLEARLY:
        best = first
    embedded, said = made[best]
    for warning in said:
        assert isinstance(warning.message, Warning)
        if isinstance(warning.message, DisconnectedGraphWarning) and not _is_in_pieces(embedded):
            continue
        warn_user(warning.message)
    return embedded, kept


def _is_in_pieces(embedded: EmbeddedLandmarks) -> bool:
    return embedded.graph is not None and len(embedded.graph.bridges) > 0


def _shows_one_piece(embedded: EmbeddedLandmarks) -> bool:
    """Whether neighbors link all landmarks; a graph of all pairs does not tell."""
    return not _is_in_pieces(embedded) and embedded.decided.get("graph") != "complete"


def _in_one_piece(embedded: EmbeddedLandmarks) -> EmbeddedLandmarks:
    assert embedded.graph is not None
    return replace(embedded, graph=replace(embedded.graph, bridges=embedded.graph.bridges[:0]))


def _described(embedded: EmbeddedLandmarks) -> str:
    """A graph and how points are placed, in a few words."""
    graph, count = (embedded.decided.get(name, "") for name in ("graph", "n_neighbors"))
    return f"{graph} {count}".strip() + f", {embedded.extended_by}"
