"""Density of points that are streamed through an embedding."""

from dataclasses import dataclass

import numpy as np

# How often a grid may double its width. Points still outside are only counted, so that a few
# distant ones do not cost the others resolution.
_DOUBLINGS = 2

# Margin around the landmarks, as a share of their extent: points extend slightly beyond.
_MARGIN = 0.06


@dataclass(frozen=True)
class DensityImage:
    """Number of points in each cell of a plane.

    Attributes
    ----------
    axes : (int, int)
        The coordinates that span the plane.
    low, high : ndarray of shape (2,)
        Extent of the image along each.
    counts : int64 ndarray of shape (height, width)
        Points in each cell; the first row has the smallest second coordinate.
    outside : int
        Points too far away to be in the image.
    """

    axes: tuple[int, int]
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    outside: int


class GrowingGrid:
    """Counts points in the cells of a plane whose extent is not known in advance.

    The grid starts around the landmarks. If points lie outside, it doubles its width and merges
    pairs of cells, so that no count is lost and the points are read once.

    Parameters
    ----------
    landmarks : ndarray of shape (k, 2)
        Where points are expected.
    size : int
        Cells per side, an even number.
    """

    def __init__(self, landmarks: np.ndarray, size: int) -> None:
        low = landmarks.min(axis=0).astype(np.float64)
        high = landmarks.max(axis=0).astype(np.float64)
        extent = np.where(high > low, high - low, 1.0)
        self.low = low - _MARGIN * extent
        self.high = high + _MARGIN * extent
        self.outside = 0
        self._counts = np.zeros((size, size), dtype=np.int64)
        self._doublings = [0, 0]

    def add(self, points: np.ndarray) -> None:
        """Count points, shape (b, 2)."""
        for axis in range(2):
            self._reach(axis, float(points[:, axis].min()), float(points[:, axis].max()))
        size = len(self._counts)
        cells = np.floor((points - self.low) * (size / (self.high - self.low))).astype(np.int64)
        inside = ((cells >= 0) & (cells < size)).all(axis=1)
        self.outside += int(len(points) - inside.sum())
        np.add.at(self._counts.reshape(-1), cells[inside] @ [1, size], 1)

    def image(self, axes: tuple[int, int]) -> DensityImage:
        """Return the part of the grid that contains points."""
        rows, columns = (np.flatnonzero(self._counts.any(axis=axis)) for axis in (1, 0))
        if not len(rows):
            return DensityImage(axes, self.low, self.high, self._counts[:1, :1], self.outside)
        first = np.array([columns[0], rows[0]])
        last = np.array([columns[-1], rows[-1]]) + 1
        cell = (self.high - self.low) / len(self._counts)
        counts = self._counts[first[1] : last[1], first[0] : last[0]]
        low, high = self.low + first * cell, self.low + last * cell
        return DensityImage(axes, low, high, counts, self.outside)

    def _reach(self, axis: int, least: float, most: float) -> None:
        """Widen the grid along an axis to cover `least` to `most`, as far as allowed."""
        while self._doublings[axis] < _DOUBLINGS:
            width = self.high[axis] - self.low[axis]
            if least < self.low[axis]:
                self._double(axis, upwards=False)
                self.low[axis] -= width
            elif most >= self.high[axis]:
                self._double(axis, upwards=True)
                self.high[axis] += width
            else:
                return
            self._doublings[axis] += 1

    def _double(self, axis: int, *, upwards: bool) -> None:
        counts = self._counts if axis == 1 else self._counts.T
        half = len(counts) // 2
        merged = counts[0::2] + counts[1::2]
        counts[:] = 0
        counts[slice(0, half) if upwards else slice(half, None)] = merged


def grid_size(n_points: int) -> int:
    """Cells per side for this many points: a power of 2, from 128 to 1,024."""
    return int(np.clip(2 ** np.round(np.log2(max(n_points, 1)) / 2 - 1), 128, 1024))
