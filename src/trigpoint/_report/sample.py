"""Sample of points that a page shows individually, and the density of all points."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._report.density import Grid, grid_size
from trigpoint._report.subject import Subject
from trigpoint._sources import Source, open_source

# Maximum number of coordinates shown, and of coordinates whose pairs get a density plot.
MOST_COORDINATES = 6
_DENSITY_COORDINATES = 3

# Maximum bytes of the sampled rows, which limits the sample if there are many columns.
_SAMPLE_BYTES = 2**29


@dataclass(frozen=True)
class Sample:
    """A uniform random sample of points, and the density of all points."""

    n: int  # Total number of points.
    rows: np.ndarray  # Row numbers (s,) of the sampled points, ascending.
    points: Points  # Sampled points (s, d) in Euclidean coordinates.
    coordinates: np.ndarray  # Sampled points (s, l) in the embedding, float64.
    cells: np.ndarray  # Nearest landmark (s,) of each sampled point.
    cell_sizes: np.ndarray  # Points nearest to each landmark (k,), extrapolated to all points.
    covering_radius: float  # Largest distance from a sampled point to its nearest landmark.
    images: list[Grid]  # Densities of all points; empty if the sample includes all points.

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return some columns of the sampled points as a float64 array (s, q)."""
        return dense(self.points[:, chosen]).astype(np.float64)


def draw_sample(subject: Subject, source: Source, size: int, coordinates: Any = None) -> Sample:
    """Draw a sample of `size` points, and compute the density of all points.

    `coordinates` are those of all points, or a file of them, if already computed.
    """
    n, columns = source.n, source.columns
    given = None if coordinates is None else _given(coordinates, n)
    row_bytes = columns.count * (1 if columns.sparse else columns.dtype.itemsize)
    size = min(n, size, max(1, _SAMPLE_BYTES // row_bytes))
    rows = np.sort(source.draw(size, np.random.default_rng(0))).astype(np.int64)
    points = subject.points(source, rows)
    landmarks = subject.fitted.landmarks.points
    distances, cells = _nearest_landmark(landmarks, points, subject.n_threads)
    counts = np.bincount(cells, minlength=len(landmarks))
    own = subject.coordinates(points)
    grids: list[Grid] = []
    if n > size:
        grids = _grids(subject.fitted.landmark_coordinates, own, n)
        for first, block in _embedded(subject, source) if given is None else given.blocks():
            for grid in grids:
                grid.add(dense(block))
            subject.progress("density", first + len(block), n)
    return Sample(
        n,
        rows,
        points,
        own,
        cells,
        np.rint(counts * (n / size)).astype(np.int64),
        float(distances.max()),
        grids,
    )


def _given(coordinates: Any, n: int) -> Source:
    given = open_source(coordinates)
    if given.n != n:
        raise ParameterValueError(
            f"coordinates has {given.n:,} rows, and X has {n:,}: pass what `transform` returned "
            "for X",
            "coordinates",
        )
    return given


def _embedded(subject: Subject, source: Source) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the coordinates of all points, block by block."""
    for first, block in source.matching(subject.model.columns).blocks():
        yield first, subject.coordinates(subject.model.space(block, first))


def _nearest_landmark(
    landmarks: np.ndarray, points: Points, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances (s,) to the nearest landmarks, and their numbers (s,)."""
    parts = row_blocks(points.shape[0], block_rows(8 * points.shape[1]))
    found = [nearest(landmarks, dense(points[part]), 1, n_threads) for part in parts]
    distances, cells = (np.concatenate(values)[:, 0] for values in zip(*found, strict=True))
    return distances, cells


def _grids(landmarks: np.ndarray, sample: np.ndarray, n: int) -> list[Grid]:
    """Create a grid for each pair of coordinates, in display order."""
    pairs = combinations(range(min(sample.shape[1], _DENSITY_COORDINATES)), 2)
    sizes = grid_size(n), grid_size(n) // 2
    return [Grid(axes, landmarks, sample, sizes[axes != (0, 1)]) for axes in pairs]


def dense(points: Any) -> np.ndarray:
    """Return points as a dense array."""
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points)
