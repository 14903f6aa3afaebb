"""Quality of an embedding at single points, relative to the landmarks around them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._common.records import Extension, Fit
from trigpoint._extension.extensions import extend
from trigpoint._extension.placing import MapExtension
from trigpoint._neighbors.cells import CellSearch, neighbors_of_all
from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import ProductSearch, TreeSearch, landmark_search
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows
from trigpoint._numerics.projection import projected
from trigpoint.metrics._map_scores import Squares
from trigpoint.metrics._preserved import NEAREST, ROUNDING, far_radii, row_keys

# Maximum number of landmarks to compare, and size of the sample of landmarks from which the radius
# of "far" is estimated.
_MOST, _SAMPLE = 10_000, 400

# Candidates per neighbor. They are the landmarks nearest to the landmark closest to the point.
_LISTED = 2

# In high dimension, cells speed up the search for the nearest of more landmarks than this.
_FEW = 2_000

# A point lies on a tear if at least this fraction of its neighbors is far away.
_TEAR = 0.3

# Squared distances within this factor of each other count as ties.
TOLERANCE = (1 + ROUNDING) ** 2


@dataclass(frozen=True, eq=False)
class PointQuality:
    """Where an embedding can be trusted, as returned by `point_quality` of every estimator.

    Neighbors are the 10 nearest landmarks of a point. Pass an array as the color of a plot to see
    where the embedding is wrong.

    Attributes
    ----------
    preserved : float32 ndarray of shape (n,)
        Share of a point's neighbors in the embedding that are its neighbors in the data.
    torn : float32 ndarray of shape (n,)
        Share of a point's neighbors in the data that the embedding places far away: farther than
        the nearest 5 % of all landmarks. High values mark tears.
    false_neighbors : float32 ndarray of shape (n,)
        Share of a point's neighbors in the embedding that are far away in the data. High values
        mark places where separate parts of the data lie on top of each other.
    """

    preserved: np.ndarray
    torn: np.ndarray
    false_neighbors: np.ndarray


class Recalled:
    """An extension that looks up the rows which are landmarks of a map, and extends to others.

    Landmarks keep their positions in maps, and looking them up is faster than interpolation.
    """

    def __init__(self, extension: Extension) -> None:
        self.extension = extension
        if isinstance(extension, MapExtension):
            keys = row_keys(extension.landmarks)
            self.order = np.argsort(keys, kind="stable")
            self.keys = keys[self.order]

    def __call__(self, points: Points) -> np.ndarray:
        """Return the coordinates (b, l) of points."""
        extension = self.extension
        if not isinstance(extension, MapExtension):
            return extension(points)[0]
        inside = projected(extension.projection, points)[0]
        rounded = inside.astype(extension.landmarks.dtype)
        if extension.projection is not None:
            # Round, as the landmarks were rounded.
            inside = rounded
        places = np.searchsorted(self.keys, row_keys(rounded))
        rows = self.order[np.minimum(places, len(self.order) - 1)]
        coordinates = extension.positions[rows]
        others = np.flatnonzero((extension.landmarks[rows] != inside).any(axis=1))
        if len(others):
            coordinates[others] = extension(points[others])[0]
        return coordinates


class Judge:
    """Compares the neighborhoods of points among the landmarks, in the data and in an embedding."""

    def __init__(self, fitted: Fit, extension: Extension, n_threads: int = 1) -> None:
        points, coordinates = fitted.landmarks.points, fitted.landmark_coordinates
        self.projection = getattr(extension, "projection", None)
        self.dtype = points.dtype
        chosen = np.linspace(0, len(points) - 1, min(len(points), _MOST)).astype(np.int64)
        points, coordinates = points[chosen], coordinates[chosen]
        if not isinstance(extension, MapExtension):
            # The extension may smooth the coordinates and thus move landmarks inward.
            coordinates, _ = extend(extension, points, n_threads)
        self.points, self.positions = (
            np.ascontiguousarray(some, dtype=np.float64) for some in (points, coordinates)
        )
        spaces = (self.points, self.positions)
        k = len(chosen)
        self.m = min(NEAREST, max(1, (k - 1) // 2))
        count = min(_LISTED * self.m, k)
        rng = np.random.default_rng(0)
        others = [neighbors_of_all(some, count - 1, rng, n_threads) for some in spaces]
        self.lists = np.stack([np.column_stack([np.arange(k), found]) for found in others])
        some = rng.permutation(k)[:_SAMPLE]
        squares = (Squares(space)(some, n_threads).T for space in spaces)
        self.far = np.stack([far_radii(one, self.m, k) for one in squares])
        self.searches = [_search(space) for space in spaces]

    def __call__(self, points: Points, coordinates: np.ndarray) -> np.ndarray:
        """Return preserved, torn and false shares (b, 3) of points and their coordinates."""
        inside = projected(self.projection, points)[0]
        if self.projection is not None:
            # Round as the landmarks were rounded, so that a landmark is at distance 0 from itself.
            inside = inside.astype(self.dtype).astype(np.float64)
        both = inside, np.ascontiguousarray(coordinates, dtype=np.float64)
        found = np.stack(
            [
                search.nearest(some, 1)[0][:, 0]
                for search, some in zip(self.searches, both, strict=True)
            ]
        )
        return self._shares(*both, found)

    def _shares(self, X: np.ndarray, Y: np.ndarray, found: np.ndarray) -> np.ndarray:
        from trigpoint._kernels.point_shares import point_shares

        shares = np.empty((len(X), 3))
        spaces = (self.points, self.positions)
        point_shares(X, Y, *spaces, found, self.lists, self.far, self.m, TOLERANCE, shares)
        return shares

    def tears(self) -> float:
        """Return the share of landmarks that a tear separates from many of their neighbors."""
        own = np.arange(len(self.points))
        shares = self._shares(self.points, self.positions, np.stack([own, own]))
        return float(np.mean(shares[:, 1] >= _TEAR))


def _search(points: np.ndarray) -> TreeSearch | ProductSearch | CellSearch:
    """Prepare a search for the nearest one of many points."""
    if len(points) > _FEW and points.shape[1] > TREE_MAX_DIMENSION:
        return CellSearch.of(points)
    return landmark_search(points, 1)


@dataclass(frozen=True, eq=False)
class Judged:
    """A model for `Source.map` that returns the shares of a judge as coordinates."""

    model: Any
    judge: Judge
    recalled: Recalled

    n_components = 3

    @property
    def columns(self) -> Any:
        """Names, number, data type and sparsity of the fitted columns."""
        return self.model.columns

    @property
    def step(self) -> int:
        """Best number of rows to compare at once."""
        return min(self.model.step, block_rows(8 * self.columns.count))

    def __call__(self, block: Points, rows: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return shares (b, 3) of a block of rows, and an empty mask."""
        points = self.model.space(block, rows)
        return self.judge(points, self.recalled(points)), np.zeros(points.shape[0], dtype=bool)
