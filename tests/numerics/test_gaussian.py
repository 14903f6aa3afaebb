"""Kernels, bandwidth rules, repulsion functions, and residuals."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from trigpoint._numerics.gaussian import (
    REPULSIONS,
    gaussian_of,
    landmark_spacing,
    median_bandwidth,
    resolve_bandwidth,
    sin2,
    squared_distances,
    welsch,
)
from trigpoint._numerics.residual.exchange import trace_error
from trigpoint._samplers.drawing import Repulsion
from trigpoint.metrics import nystrom_error


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_squared_distances_keep_their_digits_far_from_the_origin(offset, rng):
    a, b = rng.normal(size=(30, 5)) + offset, rng.normal(size=(20, 5)) + offset
    np.testing.assert_allclose(
        squared_distances(a, b), cdist(a, b, "sqeuclidean"), rtol=1e-8, atol=1e-12
    )
    a = a.astype(np.float32)
    squares = squared_distances(a, a)
    assert (squares >= 0).all()
    assert squares.dtype == np.float32


@pytest.mark.parametrize("d", [5, 40])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_kernel_of_points_near_and_far_is_accurate(far, d, rng):
    """A distant point makes products inaccurate, as its duplicates show."""
    A = rng.normal(size=(30, d)) / np.sqrt(d)
    A[7] += far
    B = np.concatenate([A[5:9], rng.normal(size=(10, d))])
    for left, right in ((A, B), (B, A), (A[7:8], B)):
        exact = np.exp(-cdist(left, right, "sqeuclidean") / (2 * 0.7**2))
        np.testing.assert_allclose(gaussian_of(0.7)(left, right), exact, rtol=0, atol=1e-13)


def test_median_bandwidth_of_many_points_is_near_the_median_of_all(rng):
    x = rng.normal(size=(4000, 2))
    assert median_bandwidth(x, rng) == pytest.approx(np.median(pdist(x)), rel=0.05)


def test_spacing_is_the_radius_of_a_landmarks_share_of_the_points(rng):
    """On a line, a ball around a point holds equally many points on either side."""
    X = np.arange(1000.0)[:, None]
    assert 9 < landmark_spacing(X, 50, rng) < 12


def test_spacing_of_duplicates_is_that_of_the_next_points(rng):
    X = np.repeat(np.arange(10.0), 30)[:, None]
    assert landmark_spacing(X, 100, rng) == 1
    with pytest.raises(ValueError, match="width=None needs distinct points"):
        landmark_spacing(np.ones((50, 2)), 5, rng, "width")


def test_bandwidth_of_identical_points_is_refused(rng):
    with pytest.raises(ValueError, match=r"bandwidth=None.*distinct"):
        resolve_bandwidth(None, np.ones((5, 2)), rng)


def test_sin2_agrees_with_welsch_near_zero_and_stays_at_one_beyond_the_quarter_period():
    near = np.array([1e-3, 1e-2])
    np.testing.assert_allclose(sin2(near, 0.7), welsch(near, 0.7), rtol=1e-3)
    quarter = np.sqrt(2) * 0.7 * np.pi / 2
    np.testing.assert_allclose(sin2(quarter * np.array([1, 1.5, 2, 10]), 0.7), 1)
    grid = sin2(np.linspace(0, quarter, 100), 0.7)
    assert (np.diff(grid) > 0).all()


def test_repulsion_by_name_or_function():
    # The last distance is beyond the first maximum of the sine.
    squares = np.array([0.5, 2.0, 9.0])
    half = Repulsion(lambda distance, bandwidth: distance * 0 + 0.5, 0.7)
    np.testing.assert_allclose(np.exp(half(squares)), 0.5)
    for name, function in REPULSIONS.items():
        expected = function(np.sqrt(squares), 0.7)
        np.testing.assert_allclose(np.exp(Repulsion(name, 0.7)(squares)), expected)


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(300, 3))


# --- exchange of landmarks ---------------------------------------------------------------------


def test_gradient_of_the_trace_error(X):
    rng = np.random.default_rng(4)
    Z = X[:20] + 0.1 * rng.normal(size=(20, 3))
    kernel = gaussian_of(0.9)
    error, gradient = trace_error(X, Z, kernel, 0.9, 2)
    np.testing.assert_allclose(error, nystrom_error(X, Z, 0.9), rtol=1e-9)
    for _ in range(3):
        step = 1e-5 * rng.normal(size=Z.shape)
        there, back = (trace_error(X, Z + sign * step, kernel, 0.9, 1)[0] for sign in (1, -1))
        np.testing.assert_allclose((there - back) / 2, (gradient * step).sum(), rtol=1e-5)
