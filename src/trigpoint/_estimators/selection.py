"""Model selection: several graphs are fitted, and the one that preserves most neighbors is taken.

No rule predicts well, from the dimension and number of points, how many neighbors suit them or
whether the surface on which they lie can be unrolled. An embedding of some of the points shows it.
The rules in this file decide what is tried first, and what is taken where nothing is tried.

A 2-D embedding and a set of features ask for different things. For a few coordinates, a sparse
graph follows the shape of the data. For many coordinates, what counts is how well they replace the
columns of the data: every landmark is linked to every other by a wide kernel, and supports every
point.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.errors import ParameterError
from trigpoint._common.records import Extension, Fit
from trigpoint._graphs import CompleteGraph, KNNGraph
from trigpoint._neighbors.index import TREE_MAX_DIMENSION, neighbor_index
from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points, dense_blocks
from trigpoint._numerics.blocks import sample_points
from trigpoint._numerics.connectivity import DisconnectedGraphWarning

logger = logging.getLogger(__name__)

# Most coordinates of a visualization, and of those in which redundant eigenvectors are skipped.
MOST_VISUAL = 5
SHOWN = 3

# Neighbors in a sparse graph where there are coordinates for all directions in which points spread.
ROOMY_NEIGHBORS = 10

# Fewest points per landmark for a smooth extension.
_POINTS_PER_LANDMARK = 2

# Nearest neighbors whose graphs are tried for any visualization, and the most landmarks and
# coordinates. With more of them, the eigenvectors of all graphs would take longer than all else.
_TRIED = (("bhattacharyya", 3), ("bhattacharyya", 5), ("bhattacharyya", 20), ("euclidean", 20))
MOST_NEIGHBORS = max(count for _, count in _TRIED)
_MOST_LANDMARKS, _MOST_COORDINATES = 1000, 64

# Points in the comparison, at most and at least, the numbers that these may have in all, and the
# neighbors of each that an embedding should preserve.
_COMPARED, _FEWEST = 2000, 200
_MOST_NUMBERS = 2**23
_NEIGHBORS = 10

# How much more of the neighbors another graph must preserve than the one that the rules propose:
# twice what another sample of points makes of the difference. How much less a smooth extension may
# preserve: one of a surface that preserves a few more neighbors may be uneven, with holes.
_CLEARLY = 0.02
_SMOOTHER = 0.01

# Shares of neighbors preserved at which nothing else is tried.
_GOOD_VISUAL, _GOOD_FEATURES = 0.65, 0.85


class Rules(NamedTuple):
    """What ``"auto"`` stands for.

    Attributes
    ----------
    graph : str
        A key of `NAMED_GRAPHS`.
    n_neighbors : int
        For a graph of nearest neighbors, also one that is given by the name of its metric.
    extension : str
    """

    graph: str
    n_neighbors: int
    extension: str


def interpolation(
    n_components: int, dimension: float, n_columns: int, points_per_landmark: float
) -> str:
    """Return how points get a few coordinates, from their local dimension.

    Planes, unless a point varies in more directions than there are coordinates: a plane takes the
    mean over the others, and mixes classes that a mean of the nearest landmarks keeps apart. With
    hardly more points than landmarks there is little to smooth, and coordinates are eigenvectors.
    """
    fits = n_columns <= TREE_MAX_DIMENSION and dimension < n_components + 0.5
    return "smooth" if fits and points_per_landmark >= _POINTS_PER_LANDMARK else "graph"


def worth_trying(points: Points, k: int, n_components: int, dimension: float) -> bool:
    """Return whether several graphs should be compared, rather than the first taken by rule."""
    if min(points.shape[0], _MOST_NUMBERS // points.shape[1]) < _FEWEST or k > _MOST_LANDMARKS:
        return False
    if n_components <= SHOWN:
        return True
    # Where points spread in more directions than there are features, all pairs preserve most.
    return MOST_VISUAL < n_components <= _MOST_COORDINATES and dimension < n_components + 0.5


def other_candidates(many: bool, by_rule: str) -> Iterator[tuple[Any, list[str]]]:
    """Yield graphs to try besides the proposal of the rules, and the extensions to try with each.

    `many` says that the coordinates are features; `by_rule` is the default extension.
    """
    if many:
        yield KNNGraph(200, metric="euclidean"), ["all"]
        yield KNNGraph(20, metric="euclidean"), ["graph"]
    else:
        for metric, count in _TRIED:
            # Planes through few neighbors are uneven, and may still preserve more neighbors.
            extensions = ["graph"] if count < ROOMY_NEIGHBORS else [by_rule, "graph"]
            yield KNNGraph(count, metric=metric), extensions
        if by_rule == "graph":
            # On a surface, the same goes for these, and masses would be noise. But diverse
            # landmarks are as dense at the fringe of a cloud as in its core.
            yield KNNGraph(5, metric="euclidean"), ["graph"]
            yield KNNGraph(5, by_mass=True), ["graph"]
    yield CompleteGraph(), ["all"]


Fitted = tuple[Fit, Extension]
Attempt = Callable[[], Iterator[Fitted]]


def select(
    attempts: Sequence[Attempt], points: Points, many: bool, n_threads: int
) -> tuple[Fit, Extension, dict[str, float]]:
    """Return the best of several fits with its extension, and the share that each preserves.

    The first is taken if it is good, or unless another is clearly better. Others may fail. If the
    first is connected, then so are the points, and the bridges of a sparser graph are edges like
    others. If not, only graphs without bridges are considered.
    """
    compared = _Comparison(points, n_threads)
    good = _GOOD_FEATURES if many else _GOOD_VISUAL
    made: dict[str, Fitted] = {}
    preserved: dict[str, float] = {}
    first = ""
    for attempt in attempts:
        try:
            for fit, extension in attempt():
                graph, count = fit.decided["graph"], fit.decided.get("n_neighbors", "")
                name = f"{graph} {count}".strip() + f", {fit.extended_by}"
                if name in made:
                    continue
                assert fit.graph is not None
                if first and len(fit.graph.bridges):
                    before = made[first][0]
                    assert before.graph is not None
                    if len(before.graph.bridges) or before.decided["graph"] == "complete":
                        continue
                    fit = _connected(fit)
                first = first or name
                made[name] = fit, extension
                preserved[name] = compared.preserved(extension)
                logger.info("%s preserves %.3f of the neighbors", name, preserved[name])
                if name == first and preserved[name] >= good:
                    return fit, extension, preserved
        except ParameterError:
            if not made:
                raise
    rated = {
        name: share + _SMOOTHER * (made[name][0].extended_by == "smooth")
        for name, share in preserved.items()
    }
    best = max(rated, key=lambda name: rated[name])
    if rated[best] < rated[first] + _CLEARLY:
        best = first
    return *made[best], preserved


class _Comparison:
    """Some of the points, and the neighbors among them that embeddings should preserve."""

    def __init__(self, points: Points, n_threads: int) -> None:
        self._n_threads = n_threads
        most = min(_COMPARED, _MOST_NUMBERS // points.shape[1])
        self._points = sample_points(points, most, np.random.default_rng(0))
        self._neighbors = self._nearest(self._points)

    def preserved(self, extension: Extension) -> float:
        """Return the share of neighbors that are neighbors in the embedding, too."""
        found = self._nearest(extension(self._points)[0])
        return float((found[:, :, None] == self._neighbors[:, None]).any(axis=2).mean())

    def _nearest(self, points: Points) -> np.ndarray:
        m = _NEIGHBORS + 1
        if isinstance(points, csr_array):
            index = neighbor_index(points, m, points.shape[0], self._n_threads)
            parts = [index.query(points[part].toarray(), m)[1] for part in dense_blocks(points)]
            rows = np.concatenate(parts)
        else:
            rows = nearest(points, points, m, self._n_threads)[1]
        itself = rows == np.arange(len(rows))[:, None]
        # Among many duplicates of a point, it may not be found itself.
        itself[~itself.any(axis=1), -1] = True
        return rows[~itself].reshape(len(rows), _NEIGHBORS)


def _connected(fit: Fit) -> Fit:
    """Return a fit whose bridges count as ordinary edges."""
    assert fit.graph is not None
    notes = tuple(n for n in fit.graph.notes if not isinstance(n, DisconnectedGraphWarning))
    return replace(fit, graph=replace(fit.graph, bridges=fit.graph.bridges[:0], notes=notes))
