"""Counting points in a plane whose extent is not known beforehand."""

import numpy as np
import pytest

from trigpoint._report.density import GrowingGrid, grid_size

CORNERS = np.array([[0.0, 0.0], [1.0, 2.0]])


def test_counts_are_those_of_a_histogram(rng):
    points = rng.uniform(size=(5000, 2)) * [1, 2]
    grid = GrowingGrid(CORNERS, 64)
    for block in np.array_split(points, 7):
        grid.add(block)
    image = grid.image((0, 1))
    edges = [np.linspace(grid.low[axis], grid.high[axis], 65) for axis in (0, 1)]
    expected = np.histogram2d(points[:, 1], points[:, 0], bins=[edges[1], edges[0]])[0]
    rows, columns = np.flatnonzero(expected.any(axis=1)), np.flatnonzero(expected.any(axis=0))
    cropped = expected[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    np.testing.assert_array_equal(image.counts, cropped)
    assert image.counts.sum() == 5000
    assert image.outside == 0


@pytest.mark.parametrize("direction", [[1, 0], [-1, 0], [0, 1], [0, -1], [-1, 1]])
def test_a_grid_that_grew_counts_as_if_it_had_been_so_wide(direction, rng):
    """Points before and after the growth, against a histogram over the extent it came to."""
    points = rng.uniform(size=(400, 2)) * [1, 2]
    far = points[:100] + np.multiply(direction, [1.0, 2.0])
    grid = GrowingGrid(CORNERS, 32)
    grid.add(points)
    grid.add(far)
    image = grid.image((0, 1))
    everything = np.concatenate([points, far])
    assert image.counts.sum() == len(everything)
    size = image.counts.shape[::-1]
    edges = [np.linspace(image.low[a], image.high[a], size[a] + 1) for a in (0, 1)]
    expected = np.histogram2d(everything[:, 1], everything[:, 0], bins=[edges[1], edges[0]])[0]
    np.testing.assert_array_equal(image.counts, expected)


def test_points_too_far_away_are_counted_apart(rng):
    points = rng.uniform(size=(100, 2))
    points[:3] = 1e6
    grid = GrowingGrid(CORNERS, 32)
    grid.add(points)
    assert grid.outside == 3
    assert grid.image((0, 1)).counts.sum() == 97


def test_landmarks_on_a_line_have_an_extent():
    grid = GrowingGrid(np.array([[1.0, 5.0], [2.0, 5.0]]), 16)
    grid.add(np.array([[1.5, 5.0]]))
    assert grid.image((0, 1)).counts.sum() == 1


@pytest.mark.parametrize(("n", "size"), [(100, 128), (10**6, 512), (10**7, 1024), (10**9, 1024)])
def test_more_points_get_a_finer_grid(n, size):
    assert grid_size(n) == size
