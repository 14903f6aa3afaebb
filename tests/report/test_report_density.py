"""Counting points in a plane."""

import numpy as np
import pytest

from trigpoint._report.density import Grid, grid_size

CORNERS = np.array([[0.0, 0.0], [1.0, 2.0]])


def test_counts_are_those_of_a_histogram(rng):
    points = rng.uniform(size=(5000, 3)) * [1, 9, 2]
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    grid = Grid((0, 2), corners, points[:100], 64)
    for block in np.array_split(points, 7):
        grid.add(block)
    edges = [np.linspace(grid.low[axis], grid.high[axis], 65) for axis in (0, 1)]
    expected = np.histogram2d(points[:, 2], points[:, 0], bins=[edges[1], edges[0]])[0]
    np.testing.assert_array_equal(grid.counts, expected)
    assert (grid.counts.sum(), grid.outside, grid.axes) == (5000, 0, (0, 2))


def test_the_extent_follows_the_points_within_reach():
    far = np.array([[2.0, 1.0], [1e6, -1e6]])
    grid = Grid((0, 1), CORNERS, far, 32)
    grid.add(far)
    np.testing.assert_allclose(grid.low, [-0.06, -3.12])
    np.testing.assert_allclose(grid.high, [2.56, 2.12])
    assert (grid.counts.sum(), grid.outside) == (1, 1)


def test_landmarks_on_a_line_have_an_extent():
    line = np.array([[1.0, 5.0], [2.0, 5.0]])
    grid = Grid((0, 1), line, line, 16)
    grid.add(np.array([[1.5, 5.0]]))
    assert grid.counts.sum() == 1


@pytest.mark.parametrize(("n", "size"), [(100, 128), (10**6, 512), (10**7, 1024), (10**9, 1024)])
def test_more_points_get_a_finer_grid(n, size):
    assert grid_size(n) == size
