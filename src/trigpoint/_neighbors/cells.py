"""Approximate nearest neighbors among many points of many columns, for maps.

Points are grouped by the nearest of some centers, and neighbors are found among the points of a few
nearby groups. The results are the same for any number of threads.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import one_blas_thread, row_blocks, thread_map

# Cells per root of the number of points. Neighbors of a point are searched in this share of the
# cells, but in about this many points at the most, and in this many cells at least.
_CELLS = 1.3
_SHARE = 0.15
_CANDIDATES = 8000
_FEWEST = 12

# Cells searched for the neighbors of a new point.
_PROBED = 6

# Number of points from which the center is estimated.
_SAMPLE = 1000

# Points assigned to cells, or multiplied with their candidates, at once.
_ROWS = 8192
_QUERIES = 1024

# Up to this many points, all others are candidates.
_ALL = 1500


class Singles(NamedTuple):
    """A map to float32 that loses as few digits as possible: shifted, and scaled to at most 1."""

    center: np.ndarray
    scale: float

    @classmethod
    def of(cls, points: np.ndarray) -> "Singles":
        """Choose center and scale for points (n, d)."""
        # The median, since a single far point may move the mean.
        center = np.median(points[:: max(1, len(points) // _SAMPLE)], axis=0).astype(np.float64)
        largest = max(np.abs(end(points, axis=0) - center).max() for end in (np.min, np.max))
        return cls(center, 1 / float(largest) if largest > 0 else 1.0)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return float32 points (n, d)."""
        singles: np.ndarray = np.empty(X.shape, dtype=np.float32)
        for part in row_blocks(len(X), _ROWS):
            singles[part] = (X[part] - self.center) * self.scale
        return singles


@dataclass(frozen=True, eq=False)
class Cells:
    """Points (n, d) grouped by the nearest of m centers.

    Attributes
    ----------
    centers : float32 ndarray of shape (m, d)
    order : int64 ndarray of shape (n,)
        Rows of the points, by cell.
    starts : int64 ndarray of shape (m + 1,)
        Ranges of the cells in that order.
    """

    centers: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, rng: np.random.Generator, n_threads: int) -> "Cells":
        """Group float32 points by centers drawn from them, after one step of k-means."""
        n_cells = 1 if len(points) <= _ALL else int(_CELLS * np.sqrt(len(points)))
        centers = points[rng.choice(len(points), n_cells, replace=False)]
        cells = _nearest_centers(points, centers, n_threads)
        counts = np.bincount(cells, minlength=n_cells)[:, None]
        columns = range(points.shape[1])
        sums = [np.bincount(cells, weights=points[:, c], minlength=n_cells) for c in columns]
        means = np.stack(sums, axis=1) / np.maximum(counts, 1)
        centers = np.where(counts > 0, means, centers).astype(np.float32)
        cells = _nearest_centers(points, centers, n_threads)
        order = np.argsort(cells, kind="stable")
        return cls(centers, order, np.searchsorted(cells[order], np.arange(n_cells + 1)))

    def nearby(self) -> np.ndarray:
        """Return all cells (m, m) by the distance of their centers from each center."""
        norms = np.einsum("ij,ij->i", self.centers, self.centers)
        gaps = norms - 2 * self.centers @ self.centers.T
        np.fill_diagonal(gaps, -np.inf)
        return np.argsort(gaps, axis=1, kind="stable")


def _nearest_centers(points: np.ndarray, centers: np.ndarray, n_threads: int) -> np.ndarray:
    norms = np.einsum("ij,ij->i", centers, centers)

    def find(part: slice) -> np.ndarray:
        return np.argmin(norms - 2 * points[part] @ centers.T, axis=1)

    with one_blas_thread():
        parts = thread_map(find, row_blocks(len(points), _ROWS), n_threads)
        return np.concatenate(list(parts))


def neighbors_of_all(
    points: np.ndarray, m: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    """Return rows (n, m) of the other points that are nearest to each, in no particular order.

    Up to 15 columns, neighbors are exact. Above, they are searched in nearby cells, by one matrix
    product per cell.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    m : int
        Number of neighbors, less than n.
    rng : Generator
        Draws the centers.
    n_threads : int
    """
    n = len(points)
    if points.shape[1] <= TREE_MAX_DIMENSION:
        _, rows = nearest(points, points, m + 1, n_threads)
        # Each point is its own neighbor, at any position among ties.
        own = rows == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        return rows[~own].reshape(n, m)
    from trigpoint._kernels.cell_search import nearest_of_products

    points = Singles.of(points)(points)
    cells = Cells.of(points, rng, n_threads)
    order, starts = cells.order, cells.starts
    grouped = points[order]
    norms = np.einsum("ij,ij->i", grouped, grouped)
    nearby = cells.nearby()
    sizes = np.diff(starts)
    most = min(_SHARE, _CANDIDATES / n) * len(sizes)
    wanted = max(int(most), _FEWEST)
    found: np.ndarray = np.empty((n, m), dtype=np.int64)

    def search(cell: int) -> None:
        # The own cell comes first, and there are enough cells for m others.
        enough = int(np.searchsorted(np.cumsum(sizes[nearby[cell]]), m + 1)) + 1
        chosen = nearby[cell, : max(wanted, enough)]
        candidates = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in chosen])
        near, near_norms, rows = grouped[candidates], norms[candidates], order[candidates]
        for part in row_blocks(sizes[cell], _QUERIES):
            result = np.empty((part.stop - part.start, m), dtype=np.int64)
            products = near[part] @ near.T
            nearest_of_products(products, near_norms, rows, part.start, result)
            found[rows[part]] = result

    with one_blas_thread():
        for _ in thread_map(search, np.flatnonzero(sizes).tolist(), n_threads):
            pass
    return found


@dataclass(frozen=True, eq=False)
class CellSearch:
    """Search for few nearest of many landmarks, with the same result for a query in any block.

    Attributes
    ----------
    landmarks : ndarray of shape (k, d)
    singles : Singles
    cells : Cells
    centers, grouped : float32 ndarrays of shape (d, m) and (d, k)
        The centers, and the landmarks by cell; coordinates of one column are contiguous.
    """

    landmarks: np.ndarray
    singles: Singles
    cells: Cells
    centers: np.ndarray
    grouped: np.ndarray

    # Bytes per query.
    row_bytes = 0

    @classmethod
    def of(cls, landmarks: np.ndarray) -> "CellSearch":
        """Group landmarks (k, d), by the same centers at each call."""
        singles = Singles.of(landmarks)
        points = singles(landmarks)
        cells = Cells.of(points, np.random.default_rng(0), 1)
        columns = (np.ascontiguousarray(rows.T) for rows in (cells.centers, points[cells.order]))
        return cls(landmarks, singles, cells, *columns)

    def nearest(self, X: Points, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return landmarks and their squared distances, each of shape (b, count), nearest first.

        Distances are exact; a few of the nearest landmarks may be missed.
        """
        from trigpoint._kernels.cell_search import search_cells

        assert isinstance(X, np.ndarray), "maps have few columns"
        found = np.empty((len(X), count), dtype=np.int64)
        squares = np.empty(found.shape)
        X = np.ascontiguousarray(X, dtype=np.float64)
        grouping = self.centers, self.cells.starts, self.cells.order, self.grouped
        probed = min(_PROBED, self.centers.shape[1])
        search_cells(X, self.singles(X), self.landmarks, *grouping, probed, found, squares)
        return found, squares
