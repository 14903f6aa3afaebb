"""Approximate nearest neighbors among many points in high dimension, for maps.

Points are grouped by the nearest of some centers, and neighbors are found among the points of a few
nearby groups. The results are the same for any number of threads.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points, pair_squares, take_rows
from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks, thread_map

# Number of cells, relative to the square root of the number of points.
_CELLS = 1.3
# The search for the neighbors of all points uses this many times as many cells. It reads as many
# cells per point as contain most neighbors of a sample, but at most about this many points.
_FINER = 2
_MOST_CANDIDATES = 10_000

# The number of cells and candidates to search is chosen such that they contain this fraction of the
# neighbors of a sample of this size; and maximum number of candidates per neighbor.
_FOUND = 0.98
_COMPARED = 50
_MOST_PER_NEIGHBOR = 8

# Number of cells to search for the neighbors of a new point.
_PROBED = 6

# Number of points from which the center is estimated.
_SAMPLE = 1000

# Number of points to assign to cells at once, and to multiply with their candidates at once.
_ROWS = 8192
_QUERIES = 1024

# Number of points to compute distances to candidates for at once.
_TOGETHER = 512

# Up to this many points or columns, neighbors are exact. In nine columns a tree takes eight times
# as long as cells.
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
    def of(
        cls, points: np.ndarray, rng: np.random.Generator, n_threads: int, n_cells: int = 0
    ) -> "Cells":
        """Group float32 points by centers drawn from them, after one step of k-means."""
        n_cells = n_cells or cell_count(len(points))
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

    def needed(
        self,
        nearby: np.ndarray,
        points: np.ndarray,
        m: int,
        rng: np.random.Generator,
        n_threads: int,
    ) -> int:
        """Return how many nearby cells contain most of the m nearest points of a sample."""
        n, n_cells = len(points), len(self.centers)
        cells = np.empty(n, dtype=np.int64)
        cells[self.order] = np.repeat(np.arange(n_cells), np.diff(self.starts))
        some = compared(n, rng)
        places = np.argsort(nearby[cells[some]], axis=1)
        found = _nearest_to_some(points, some, m, n_threads)
        wanted = most_of(np.take_along_axis(places, cells[found], axis=1))
        return min(wanted, max(1, n_cells * _MOST_CANDIDATES // n))

    def relative(self, singles: Singles, points: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Return float32 points (n, d) by cell, relative to the center of their cell.

        If a cell is small and far from the origin, its points share many leading digits.
        """
        cells = np.repeat(np.arange(len(self.centers)), np.diff(self.starts))
        result: np.ndarray = np.empty(points.shape, dtype=np.float32)

        def fill(part: slice) -> None:
            result[part] = singles.exactly(points[self.order[part]]) - self.centers[cells[part]]

        for _ in thread_map(fill, row_blocks(len(points), _ROWS), n_threads):
            pass
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


def candidates_per_row(
    points: Points, inside: np.ndarray, m: int, rng: np.random.Generator, n_threads: int = 1
) -> int:
    """Return how many neighbors in fewer columns contain most of the m nearest in all columns.

    `inside` (n, c) are projections of the points (n, d) to fewer columns. Both are compared for a
    sample of points.
    """
    n = len(inside)
    some = compared(n, rng)
    squares = _squares_to_some(inside, some, n_threads)
    nearest_rows = _nearest_to_some(points, some, m, n_threads)
    limits = np.take_along_axis(squares, nearest_rows, axis=1)
    nearer = [np.searchsorted(np.sort(row), of) for row, of in zip(squares, limits, strict=True)]
    return min(max(most_of(np.stack(nearer)), m), _MOST_PER_NEIGHBOR * m, n - 1)


def compared(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows whose neighbors decide how many candidates are searched."""
    return np.sort(rng.choice(n, min(_COMPARED, n), replace=False))


def most_of(places: np.ndarray) -> int:
    """Return the number of places, from the first on, that include most of the given ones."""
    return int(np.quantile(places, _FOUND, method="higher")) + 1


def _nearest_to_some(points: Any, some: np.ndarray, m: int, n_threads: int) -> np.ndarray:
    """Return the m other points (q, m) nearest to some of the points."""
    return np.argpartition(_squares_to_some(points, some, n_threads), m - 1, axis=1)[:, :m]


def _squares_to_some(points: Any, some: np.ndarray, n_threads: int) -> np.ndarray:
    """Return approximate squared distances (q, n) from some of the points to all others."""
    squares: np.ndarray = np.empty((len(some), points.shape[0]), dtype=np.float32)
    if isinstance(points, csr_array):
        queries = take_rows(points, some)
        inner = np.asarray(points.multiply(points).sum(axis=1))
        squares[:] = inner[some, None] + inner - 2 * (points @ queries.T).T
    else:
        singles = Singles.of(points)
        queries = singles(points[some])
        norms = np.einsum("ij,ij->i", queries, queries)[:, None]

        def fill(part: slice) -> None:
            block = singles(points[part])
            squares[:, part] = norms + np.einsum("ij,ij->i", block, block) - 2 * queries @ block.T

        with one_blas_thread():
            for _ in thread_map(fill, row_blocks(len(points), _TOGETHER), n_threads):
                pass
    squares[np.arange(len(some)), some] = np.inf
    return squares


def nearest_of(
    points: Any, candidates: np.ndarray, m: int, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the m nearest (n, m) of the candidates (n, c) of each point, and squared distances.

    Distances are sums of squared differences in all columns.
    """
    found: np.ndarray = np.empty((len(candidates), m), dtype=candidates.dtype)
    squares = np.empty(found.shape)

    def fill(part: slice) -> None:
        distances = pair_squares(points, candidates, part)
        if candidates.shape[1] == m:
            found[part], squares[part] = candidates[part], distances
            return
        chosen = np.argpartition(distances, m - 1, axis=1)[:, :m]
        found[part] = np.take_along_axis(candidates[part], chosen, axis=1)
        squares[part] = np.take_along_axis(distances, chosen, axis=1)

    rows = _TOGETHER
    if not isinstance(points, np.ndarray | csr_array):
        # Rows that are computed when they are read take memory.
        rows = min(rows, block_rows(8 * points.shape[1] * (candidates.shape[1] + 1)))
    for _ in thread_map(fill, row_blocks(len(candidates), rows), n_threads):
        pass
    return found, squares


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
    cells = Cells.of(singles(points), rng, n_threads, _FINER * cell_count(n))
    order, starts, centers = cells.order, cells.starts, cells.centers
    grouped = cells.relative(singles, points, n_threads)
    nearby = cells.nearby()
    sizes = np.diff(starts)
    wanted = cells.needed(nearby, points, m, rng, n_threads)
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
