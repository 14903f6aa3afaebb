"""Density of all points on a plane of the embedding."""

import numpy as np

# Maximum distance of the grid's edge from the landmarks, as a share of their extent. Points farther
# away are only counted, so that a few outliers do not reduce the resolution.
_REACH = 1.5

# Relative margin around the points that determine the extent.
_MARGIN = 0.06


class Grid:
    """Two-dimensional histogram of points in the plane of the two coordinates `axes`.

    Landmarks (k, l) and a sample (s, l) of the points determine its extent, from `low` (2,) to
    `high` (2,). `counts` (size, size) holds the number of points in each cell, with the smallest
    second coordinate in the first row, and `outside` the number of points outside the grid.
    """

    def __init__(
        self, axes: tuple[int, int], landmarks: np.ndarray, sample: np.ndarray, size: int
    ) -> None:
        ends = landmarks[:, axes].min(axis=0), landmarks[:, axes].max(axis=0)
        extent = np.where(ends[1] > ends[0], ends[1] - ends[0], 1.0)
        here = np.concatenate([landmarks[:, axes], sample[:, axes]])
        low = np.maximum(here.min(axis=0), ends[0] - _REACH * extent)
        high = np.minimum(here.max(axis=0), ends[1] + _REACH * extent)
        self.axes, self.outside = axes, 0
        self.low, self.high = low - _MARGIN * extent, high + _MARGIN * extent
        self.counts = np.zeros((size, size), dtype=np.int64)

    def add(self, coordinates: np.ndarray) -> None:
        """Count a block of points, given all their coordinates (b, l)."""
        size = len(self.counts)
        points = coordinates[:, self.axes].astype(np.float64)
        share = (points - self.low) / (self.high - self.low)
        inside = ((share >= 0) & (share < 1)).all(axis=1)
        self.outside += int(len(points) - inside.sum())
        cells = (share[inside] * size).astype(np.int64)
        np.add.at(self.counts.reshape(-1), cells @ [1, size], 1)


def grid_size(n_points: int) -> int:
    """Return the number of cells per side, a power of 2 from 128 to 1,024."""
    return int(np.clip(2 ** np.round(np.log2(max(n_points, 1)) / 2 - 1), 128, 1024))
