"""Kernels, bandwidth rules, repulsion functions."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist

from trigpoint._numerics.kernels import (
    _radius,
    gaussian_kernel,
    landmark_spacing,
    median_bandwidth,
    resolve_bandwidth,
    resolve_repulsion,
    sin2,
    squared_distances,
    welsch,
)


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_squared_distances_keep_their_digits_far_from_the_origin(offset, rng):
    a, b = rng.normal(size=(30, 5)) + offset, rng.normal(size=(20, 5)) + offset
    np.testing.assert_allclose(
        squared_distances(a, b), cdist(a, b, "sqeuclidean"), rtol=1e-8, atol=1e-12
    )


def test_squared_distances_are_never_negative(rng):
    x = rng.normal(size=(50, 10)).astype(np.float32)
    squares = squared_distances(x, x)
    assert (squares >= 0).all()
    assert squares.dtype == np.float32


def test_gaussian_kernel_by_hand():
    kernel = gaussian_kernel(np.array([[0.0], [2.0]]), bandwidth=2.0)
    np.testing.assert_allclose(kernel, [[1, np.exp(-0.5)], [np.exp(-0.5), 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_radius_is_the_largest_distance_from_the_mean(dtype, rng):
    X = (rng.poisson(0.5, size=(300, 20)) + 3 * rng.random(20)).astype(dtype)
    expected = np.linalg.norm(X - X.mean(axis=0, dtype=np.float64), axis=1).max()
    assert _radius(X) == pytest.approx(expected, rel=1e-5)
    assert _radius(csr_array(X)) == pytest.approx(expected, rel=1e-5)


def test_median_bandwidth_by_hand(rng):
    assert median_bandwidth(np.array([[0.0], [1.0], [3.0]]), rng) == 2.0


def test_median_bandwidth_of_many_points_is_near_the_median_of_all(rng):
    x = rng.normal(size=(4000, 2))
    exact = np.median(pdist(x))
    assert abs(median_bandwidth(x, rng) / exact - 1) < 0.05


def test_spacing_is_the_radius_of_a_landmarks_share_of_the_points(rng):
    """On a line, a ball around a point holds as many on either side."""
    X = np.arange(1000.0)[:, None]
    assert 9 < landmark_spacing(X, 50, rng) < 12


def test_spacing_among_copies_is_that_of_the_next_points(rng):
    X = np.repeat(np.arange(10.0), 30)[:, None]
    assert landmark_spacing(X, 100, rng) == 1
    with pytest.raises(ValueError, match="width=None needs distinct points"):
        landmark_spacing(np.ones((50, 2)), 5, rng, "width")


def test_bandwidth_of_identical_points_is_refused(rng):
    with pytest.raises(ValueError, match=r"bandwidth=None.*distinct"):
        resolve_bandwidth(None, np.ones((5, 2)), rng)


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, np.nan])
def test_bandwidth_out_of_range(bad, rng):
    with pytest.raises(ValueError, match=r"bandwidth=.*out of range"):
        resolve_bandwidth(bad, np.ones((5, 2)), rng)


def test_welsch_by_hand():
    np.testing.assert_allclose(welsch(np.array([0.0, 2.0]), 1.0), [0, 1 - np.exp(-2)])


def test_sin2_agrees_with_welsch_near_zero_and_stays_at_one_beyond_the_quarter_period():
    near = np.array([1e-3, 1e-2])
    np.testing.assert_allclose(sin2(near, 0.7), welsch(near, 0.7), rtol=1e-3)
    quarter = np.sqrt(2) * 0.7 * np.pi / 2
    np.testing.assert_allclose(sin2(quarter * np.array([1, 1.5, 2, 10]), 0.7), 1)
    grid = sin2(np.linspace(0, quarter, 100), 0.7)
    assert (np.diff(grid) > 0).all()


def test_repulsion_by_name_or_function():
    assert resolve_repulsion("sin2") is sin2
    own = lambda distance, bandwidth: distance * 0  # noqa: E731  a user's one-liner
    assert resolve_repulsion(own) is own
    with pytest.raises(ValueError, match=r"repulsion='cosine'.*'welsch', 'sin2'"):
        resolve_repulsion("cosine")
