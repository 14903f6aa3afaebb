"""One pass over the points that counts all of them and keeps some."""

import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from trigpoint._extension.extensions import extend, warn_of_far
from trigpoint._files import PointSource
from trigpoint._numerics.nearest import nearest
from trigpoint._points.inputs import checked_blocks
from trigpoint._report.density import DensityImage, GrowingGrid, grid_size
from trigpoint._report.subject import Subject

# Coordinates kept for the sample, and those whose pairs get a density of all points.
MOST_COORDINATES = 6
_DENSITY_COORDINATES = 3

# Whole rows are kept only for part of the sample, up to this many bytes.
_ROW_BYTES = 2**26
_MOST_ROWS = 20_000


@dataclass(frozen=True)
class Streamed:
    """The information kept about the points.

    Attributes
    ----------
    rows : int64 ndarray of shape (s,)
        Sampled rows, ascending.
    coordinates : float64 ndarray of shape (s, c)
        Their first few coordinates in the embedding.
    columns : float64 ndarray of shape (s, q)
        Their values in the chosen columns.
    cells : int64 ndarray of shape (s,)
        Their nearest landmarks.
    whole : int64 ndarray of shape (p,)
        Positions in the sample of those whose whole rows are kept.
    points : ndarray of shape (p, d)
        Their whole rows.
    images : list of DensityImage
        Densities of all points; empty if all of them are in the sample.
    covering_radius : float
        Largest distance from any point to its nearest landmark.
    cell_sizes : int64 ndarray of shape (k,)
        Points nearest to each landmark.
    transform_seconds : float
        Time taken by the transform, without compiling.
    """

    rows: np.ndarray
    coordinates: np.ndarray
    columns: np.ndarray
    cells: np.ndarray
    whole: np.ndarray
    points: np.ndarray
    images: list[DensityImage]
    covering_radius: float
    cell_sizes: np.ndarray
    transform_seconds: float


def stream(subject: Subject, source: PointSource, columns: np.ndarray, sample: int) -> Streamed:
    """Transform all points block by block and keep what the page shows.

    Parameters
    ----------
    subject : Subject
    source : PointSource
    columns : int64 ndarray of shape (q,)
        Columns to keep for the sampled points.
    sample : int
        Size of the sample.
    """
    n = source.shape[0]
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(n, min(n, sample), replace=False)).astype(np.int64)
    whole = _whole_rows(len(rows), source, rng)
    kept = _Kept(rows, whole)
    grids = _grids(subject.fitted.landmark_coordinates, n) if n > len(rows) else {}
    landmarks, extension = subject.fitted.landmarks.points, subject.fitted.extension
    radius, cell_sizes = 0.0, np.zeros(len(landmarks), dtype=np.int64)
    seconds, n_far = 0.0, 0
    for block in checked_blocks(source, subject.progress, "report"):
        start = time.perf_counter()
        coordinates, count = extend(extension, block, subject.n_threads)
        n_far += int(np.sum(count))
        seconds += time.perf_counter() - start
        coordinates = coordinates[:, :MOST_COORDINATES].astype(np.float64)
        distances, cells = (part[:, 0] for part in nearest(landmarks, block, 1))
        radius = max(radius, float(distances.max()))
        cell_sizes += np.bincount(cells, minlength=len(landmarks))
        for axes, grid in grids.items():
            grid.add(coordinates[:, axes])
        kept.take(block, coordinates, columns, cells)
        # Deleted at once; otherwise two blocks would be in memory while the next is read.
        del block, coordinates, distances, cells
    warn_of_far(n_far, n)
    images = [grid.image(axes) for axes, grid in grids.items()]
    coordinates, values, cells, points = kept.joined()
    return Streamed(
        rows, coordinates, values, cells, whole, points, images, radius, cell_sizes, seconds
    )


def _whole_rows(n_sampled: int, source: PointSource, rng: np.random.Generator) -> np.ndarray:
    """Positions in the sample of the points whose whole rows are kept."""
    affordable = _ROW_BYTES // (source.shape[1] * source.dtype.itemsize)
    count = max(2, min(_MOST_ROWS, affordable))
    if n_sampled <= count:
        return np.arange(n_sampled)
    return np.sort(rng.choice(n_sampled, count, replace=False))


def _grids(embedding: np.ndarray, n: int) -> dict[tuple[int, int], GrowingGrid]:
    """Grids of pairs of coordinates; the first pair is shown first."""
    size = grid_size(n)
    grids = {}
    for axes in combinations(range(min(embedding.shape[1], _DENSITY_COORDINATES)), 2):
        grids[axes] = GrowingGrid(embedding[:, axes], size if axes == (0, 1) else size // 2)
    return grids


class _Kept:
    """Collects the sampled rows from the blocks."""

    def __init__(self, rows: np.ndarray, whole: np.ndarray) -> None:
        self._rows = rows
        self._is_whole = np.zeros(len(rows), dtype=bool)
        self._is_whole[whole] = True
        self._done = 0
        self._parts: list[tuple[np.ndarray, ...]] = []

    def take(
        self, block: np.ndarray, coordinates: np.ndarray, columns: np.ndarray, cells: np.ndarray
    ) -> None:
        first, last = np.searchsorted(self._rows, [self._done, self._done + len(block)])
        rows = self._rows[first:last] - self._done
        whole = rows[self._is_whole[first:last]]
        values = block[rows][:, columns].astype(np.float64)
        self._parts.append((coordinates[rows], values, cells[rows], block[whole]))
        self._done += len(block)

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        coordinates, columns, cells, points = map(np.concatenate, zip(*self._parts, strict=True))
        return coordinates, columns, cells, points
