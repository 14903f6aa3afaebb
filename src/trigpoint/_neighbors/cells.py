"""Approximate nearest neighbors among many points in high dimension, for maps.

Points are grouped by the nearest of some centers, and neighbors are found among the points of a few
nearby groups. The results are the same for any number of threads.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import one_blas_thread, row_blocks, thread_map

# Number of cells, relative to the square root of the number of points.
_CELLS = 1.3
# Fraction of the cells to search for the neighbors of a point, limited to about this many
# candidates, but to no fewer than this many cells.
_SHARE = 0.15
_CANDIDATES = 8000
_FEWEST = 12

# Number of cells to search for the neighbors of a new point.
_PROBED = 6

# Number of points from which the center is estimated.
_SAMPLE = 1000

# Number of points to assign to cells at once, and to multiply with their candidates at once.
_ROWS = 8192
_QUERIES = 1024

# Up to this many points or columns, neighbors are exact. With nine columns, a tree would take eight
# times as long as cells.
EXACT_ROWS = 1500
_EXACT_COLUMNS = 8

# Largest scaled coordinate, since squares of larger ones would overflow.
_FARTHEST = 1e15

# Products distinguish centers unless more than the fraction `_FEW` are closer to another center
# than `_DISTINCT`, a squared distance relative to the squared norm.
_DISTINCT = 8 * float(np.finfo(np.float32).eps)
_FEW = 0.01


def cell_count(n: int) -> int:
    """Return the number of cells for n points."""
    return max(1, int(_CELLS * np.sqrt(n)))


def cells_to_search(n: int, n_cells: int) -> int:
    """Return the number of cells in which the neighbors of one of n points are searched."""
    return max(int(min(_SHARE, _CANDIDATES / n) * n_cells), _FEWEST)


class Singles(NamedTuple):
    """Affine map to coordinates near 1, so that float32 loses little precision."""

    center: np.ndarray
    scale: float

    @classmethod
    def of(cls, points: np.ndarray) -> "Singles":
        """Choose center and scale for points (n, d)."""
        # Use medians, since a single distant point could shift the mean away from all others.
        sample = points[:: max(1, len(points) // _SAMPLE)]
        center = np.median(sample, axis=0).astype(np.float64)
        lengths = np.abs(sample - center).max(axis=1)
        unit = float(np.median(lengths) or lengths.max())
        return cls(center, 1 / unit if unit > 0 else 1.0)

    def exactly(self, X: np.ndarray) -> np.ndarray:
        """Return float64 points (b, d), before they are rounded."""
        return self.bounded((X - self.center) * self.scale)

    @staticmethod
    def bounded(points: Any) -> Any:
        """Limit the coordinates of an array or tensor, so that their squares are finite."""
        return points.clip(-_FARTHEST, _FARTHEST)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return float32 points (n, d)."""
        singles: np.ndarray = np.empty(X.shape, dtype=np.float32)
        for part in row_blocks(len(X), _ROWS):
            singles[part] = self.exactly(X[part])
        return singles


@dataclass(frozen=True, eq=False)
class Cells:
    """Points (n, d) grouped by the nearest of m centers."""

    centers: np.ndarray  # Float32 (m, d).
    order: np.ndarray  # Rows (n,) of the points, by cell.
    starts: np.ndarray  # Ranges (m + 1,) of the cells in that order.

    @classmethod
    def of(cls, points: np.ndarray, rng: np.random.Generator, n_threads: int) -> "Cells":
        """Group float32 points by centers drawn from them, after one step of k-means."""
        n_cells = cell_count(len(points))
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
        gaps = np.stack([np.square(self.centers - center).sum(axis=1) for center in self.centers])
        np.fill_diagonal(gaps, -1)
        return np.argsort(gaps, axis=1, kind="stable")

    def relative(self, singles: Singles, points: np.ndarray) -> np.ndarray:
        """Return float32 points (n, d) by cell, relative to the center of their cell.

        If a cell is small and far from the origin, its points share many leading digits.
        """
        cells = np.repeat(np.arange(len(self.centers)), np.diff(self.starts))
        result: np.ndarray = np.empty(points.shape, dtype=np.float32)
        for part in row_blocks(len(points), _ROWS):
            result[part] = singles.exactly(points[self.order[part]]) - self.centers[cells[part]]
        return result


def _nearest_centers(points: np.ndarray, centers: np.ndarray, n_threads: int) -> np.ndarray:
    from trigpoint._kernels.cell_search import nearest_columns

    norms = np.einsum("ij,ij->i", centers, centers)
    columns = np.ascontiguousarray(centers.T)
    are_distinct = _are_distinct(centers, norms, n_threads)

    def find(part: slice) -> np.ndarray:
        if are_distinct:
            return np.argmin(norms - 2 * points[part] @ centers.T, axis=1)
        found = np.empty(part.stop - part.start, dtype=np.int64)
        nearest_columns(points[part], columns, found)
        return found

    with one_blas_thread():
        parts = thread_map(find, row_blocks(len(points), _ROWS), n_threads)
        return np.concatenate(list(parts))


def _are_distinct(centers: np.ndarray, norms: np.ndarray, n_threads: int) -> bool:
    """Return whether products distinguish the centers, which fails if groups are very far apart."""
    if len(centers) == 1:
        return True
    distances, _ = nearest(centers, centers, 2, n_threads)
    return bool(np.mean(distances[:, 1] ** 2 < _DISTINCT * norms) < _FEW)


def neighbors_of_all(
    points: np.ndarray, m: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    """Return rows (n, m) of the other points that are nearest to each, in no particular order.

    Up to 8 columns or 1,500 points, neighbors are exact. Otherwise, they are searched in nearby
    cells, with one matrix product per cell. `rng` draws the centers of the cells.
    """
    n = len(points)
    if points.shape[1] <= _EXACT_COLUMNS or n <= EXACT_ROWS:
        _, rows = nearest(points, points, m + 1, n_threads)
        # Each point is its own neighbor, but may come after points that coincide with it.
        own = rows == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        return rows[~own].reshape(n, m)
    from trigpoint._kernels.cell_search import nearest_of_products

    singles = Singles.of(points)
    cells = Cells.of(singles(points), rng, n_threads)
    order, starts, centers = cells.order, cells.starts, cells.centers
    grouped = cells.relative(singles, points)
    nearby = cells.nearby()
    sizes = np.diff(starts)
    wanted = cells_to_search(n, len(sizes))
    found: np.ndarray = np.empty((n, m), dtype=np.int64)

    def search(cell: int) -> None:
        # The point's own cell comes first, and there are enough cells for m other points.
        enough = int(np.searchsorted(np.cumsum(sizes[nearby[cell]]), m + 1)) + 1
        chosen = nearby[cell, : max(wanted, enough)]
        ranges = [slice(starts[c], starts[c + 1]) for c in chosen]
        rows = np.concatenate([order[of_cell] for of_cell in ranges])
        near = np.concatenate([grouped[of_cell] for of_cell in ranges])
        near += np.repeat(centers[chosen] - centers[cell], sizes[chosen], axis=0)
        near_norms = np.einsum("ij,ij->i", near, near)
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
    """Search for a few nearest of many landmarks; results do not depend on the block of a query."""

    landmarks: np.ndarray  # (k, d).
    singles: Singles
    cells: Cells
    # Float32 centers (d, m), and landmarks (d, k) by cell, relative to its center; coordinates of
    # one column are contiguous.
    centers: np.ndarray
    grouped: np.ndarray

    # Bytes per query.
    row_bytes = 0

    @classmethod
    def of(cls, landmarks: np.ndarray) -> "CellSearch":
        """Group landmarks (k, d); every call uses the same centers."""
        singles = Singles.of(landmarks)
        cells = Cells.of(singles(landmarks), np.random.default_rng(0), 1)
        relative = cells.relative(singles, landmarks)
        columns = (np.ascontiguousarray(rows.T) for rows in (cells.centers, relative))
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
        search_cells(X, self.singles.exactly(X), self.landmarks, *grouping, probed, found, squares)
        return found, squares
