"""Interpolation of points in a map of the landmarks."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trigpoint._common.records import Projection
from trigpoint._extension.weighted import FAR_BANDWIDTHS
from trigpoint._neighbors.cells import CellSearch, neighbors_of_all
from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import ProductSearch, TreeSearch, landmark_search, nearest
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import (
    block_rows,
    one_blas_thread,
    row_blocks,
    thread_count,
    thread_map,
)
from trigpoint._numerics.projection import projected

# Number of landmarks that a point is interpolated between.
AROUND = 8

# Number of neighbors to fit the slope at a landmark to, and ridge of the fit in units of their mean
# squared distance.
_FITTED = 20
_RIDGE = 1.5

# The spacing at a landmark is the distance to this neighbor in the map. Landmarks within this many
# spacings belong to the same group.
_SPACING_NEIGHBOR = 6
REACH = 3.0

# In high dimension, cells speed up the search for neighbors among more landmarks than this.
FEW = 15_000

# Number of points per block, which limits memory and does not depend on the number of threads.
TOGETHER = 8192


@dataclass(frozen=True, eq=False)
class MapExtension:
    """Interpolation of points between their nearest landmarks, for a map.

    Each of the nearest landmarks has the weight ``(1 - (distance / r)^2)^2``, where r is the
    distance to the next landmark beyond them. If the map separates these landmarks, the point
    follows the group with the largest total weight, because a mean of all would fall between
    clusters. Each landmark of the group predicts the position by a local linear fit to nearby
    landmarks that are also near in the map, and the point gets the mean of the predictions; a
    weighted mean of landmarks would draw all points inward. The other landmarks pull the point
    slightly, so that points whose group is a single landmark do not coincide with it. If the point
    then lies much closer to another landmark than distances in the data suggest, it is moved toward
    the nearest landmark of its group. Landmarks keep their positions, and points much closer to one
    landmark than to any other share its offset.

    Distances and sums are computed point by point, from differences in a fixed order, so that a
    point has the same position in every block.

    Quantities that depend on all landmarks are computed on the first call, since many maps are
    never extended.
    """

    landmarks: np.ndarray  # Projected (k, c), in the precision that projections are rounded to.
    positions: np.ndarray  # Float64 (k, l).
    projection: Projection | None = None  # Principal components in which distances are measured.
    residual: float = 0.0  # Largest distance of a fitted row from its projection.
    n_threads: int | None = None  # Threads for the first call; None for all cores.

    @cached_property
    def planes(self) -> "Planes":
        """The local linear fits at the landmarks."""
        return Planes.of(self.landmarks, self.positions, thread_count(self.n_threads))

    def __getstate__(self) -> dict[str, Any]:
        # Compute the planes before copies are sent to workers.
        return {**self.__dict__, "planes": self.planes}

    @property
    def n_components(self) -> int:
        return self.positions.shape[1]

    @property
    def row_bytes(self) -> int:
        """Maximum number of bytes per point of a block."""
        n_columns = 0 if self.projection is None else len(self.projection.center)
        return 32 * (AROUND + 1) + self.planes.search.row_bytes + 8 * n_columns

    def __call__(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (b, l) of a block, and which points (b,) are far from landmarks."""
        from trigpoint._kernels.map_placing import place

        inside, residuals = projected(self.projection, X)
        if self.projection is not None:
            # Round as the landmarks were rounded, so that a landmark is at distance 0 from itself.
            inside = inside.astype(self.landmarks.dtype).astype(np.float64)
        planes = self.planes
        found, squares = planes.search.nearest(inside, min(AROUND + 1, len(self.positions)))
        placed = np.empty((len(inside), self.n_components))
        count = min(AROUND, found.shape[1])
        fitted = self.positions, planes.spacings, REACH, planes.slopes, planes.offsets
        place(inside, planes.landmarks, found, squares, count, *fitted, placed)
        outside = np.maximum(residuals - self.residual, 0.0)
        far = np.sqrt(squares[:, 0]) + outside > FAR_BANDWIDTHS * planes.bandwidths[found[:, 0]]
        return placed, far


@dataclass(frozen=True, eq=False)
class Planes:
    """Local linear fits of a map at its landmarks, in float64."""

    landmarks: np.ndarray  # Projected (k, c).
    search: TreeSearch | ProductSearch | CellSearch  # Among the landmarks.
    spacings: np.ndarray  # Spacing (k,) of the map at each landmark.
    slopes: np.ndarray  # Slopes (k, c, l), in the space where distances are measured.
    offsets: np.ndarray  # Vector (k, l) from the mean prediction for a landmark to its position.
    bandwidths: np.ndarray  # Distance (k,) to the last landmark that the slope is fitted to.

    @classmethod
    def of(cls, landmarks: np.ndarray, positions: np.ndarray, n_threads: int) -> "Planes":
        """Fit planes to projected landmarks (k, c) with positions (k, l)."""
        from trigpoint._kernels.map_placing import place

        landmarks = np.ascontiguousarray(landmarks, dtype=np.float64)
        k = len(landmarks)
        around = nearest(positions, positions, min(_SPACING_NEIGHBOR + 1, k), n_threads)[0][:, -1]
        # Keep spacings positive, so that coincident positions are distinguished from others.
        spacings = np.maximum(around, max(1e-9 * float(np.ptp(positions)), 1e-150))
        search, found, squares = _neighbors(landmarks, min(_FITTED, k - 1), n_threads)
        bandwidths = np.sqrt(squares[:, -1])
        slopes = _slopes(landmarks, positions, spacings, found, n_threads)
        found, squares = (
            np.ascontiguousarray(values[:, : AROUND + 1]) for values in (found, squares)
        )
        means, zeros = np.empty_like(positions), np.zeros_like(positions)
        # Use a negligible distance to get the prediction right next to each landmark.
        squares[:, 0] = np.finfo(np.float64).tiny
        fitted = positions, spacings, REACH, slopes
        place(landmarks, landmarks, found, squares, min(AROUND, k), *fitted, zeros, means)
        return cls(landmarks, search, spacings, slopes, positions - means, bandwidths)


def nearest_landmarks(
    X: np.ndarray, landmarks: np.ndarray, count: int, n_threads: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the nearest landmarks and their squared distances for blocks of points, in order.

    Points and landmarks are given in the space where distances are measured.
    """
    search = landmark_search(landmarks, count)

    def find(part: slice) -> tuple[np.ndarray, np.ndarray]:
        return _nearest(search, np.ascontiguousarray(X[part], dtype=np.float64), count)

    with one_blas_thread():
        yield from thread_map(find, row_blocks(len(X), TOGETHER), n_threads)


def _nearest(
    search: TreeSearch | ProductSearch, X: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Call `search.nearest` in blocks of bounded size."""
    parts = [
        search.nearest(X[part], count)
        for part in row_blocks(len(X), block_rows(search.row_bytes + 32 * count, 2**23))
    ]
    found, squares = (np.concatenate(values) for values in zip(*parts, strict=True))
    return found, squares


def _neighbors(
    landmarks: np.ndarray, m: int, n_threads: int
) -> tuple[TreeSearch | ProductSearch | CellSearch, np.ndarray, np.ndarray]:
    """Return the search among landmarks, and each one's m nearest others with squared distances."""
    from trigpoint._kernels.cell_search import squares_of_pairs

    k = len(landmarks)
    if k <= FEW or landmarks.shape[1] <= TREE_MAX_DIMENSION:
        search = landmark_search(landmarks, AROUND + 1)
        return search, *_nearest(search, landmarks, m + 1)
    others = neighbors_of_all(landmarks, m, np.random.default_rng(0), n_threads)
    squares = np.empty(others.shape)
    squares_of_pairs(landmarks, others, 0, k, squares)
    order = np.argsort(squares, axis=1, kind="stable")
    found = np.column_stack([np.arange(k), np.take_along_axis(others, order, axis=1)])
    squares = np.take_along_axis(squares, order, axis=1)
    return CellSearch.of(landmarks), found, np.column_stack([np.zeros(k), squares])


def _slopes(
    landmarks: np.ndarray,
    positions: np.ndarray,
    spacings: np.ndarray,
    found: np.ndarray,
    n_threads: int,
) -> np.ndarray:
    """Return slopes (k, c, l) of the map at each landmark, by ridge regression on its neighbors.

    Neighbors that are distant in the map have little or no weight, as in the interpolation.
    """
    slopes = np.empty((*landmarks.shape, positions.shape[1]))
    others = found[:, 1:]

    def fill(part: slice) -> None:
        steps = positions[others[part]] - positions[part, None]
        crowds = np.square(steps).sum(axis=2) / np.square(spacings[part, None])
        roots = np.maximum(0.0, 1 - crowds / REACH**2)
        sides = roots[:, :, None] * (landmarks[others[part]] - landmarks[part, None])
        products = sides @ sides.transpose(0, 2, 1)
        traces = np.trace(products, axis1=1, axis2=2)
        weights = np.maximum(np.square(roots).sum(axis=1), 1e-300)
        # If no neighbor is left, or all coincide, slopes are 0.
        ridge = np.where(traces > 0, _RIDGE * traces / weights, 1.0)
        products += ridge[:, None, None] * np.eye(others.shape[1])
        fitted = np.linalg.solve(products, roots[:, :, None] * steps)
        slopes[part] = sides.transpose(0, 2, 1) @ fitted

    parts = row_blocks(len(landmarks), block_rows(16 * others.shape[1] * landmarks.shape[1]))
    with one_blas_thread():
        for _ in thread_map(fill, parts, n_threads):
            pass
    return slopes
