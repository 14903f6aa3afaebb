"""The synthetic surfaces have the geometry that their docstrings describe."""

import numpy as np
import pytest
from scipy import integrate, stats

from trigpoint.datasets import _synthetic as synthetic
from trigpoint.datasets import make_fish_bowl, make_swiss_roll

MAKERS = [make_swiss_roll, make_fish_bowl]


def curve_length(first, last):
    """Return the length of the spiral between two angles, by numerical integration."""
    return integrate.quad(lambda t: np.hypot(1.0, t), first, last)[0]


def test_points_lie_on_the_roll():
    X, intrinsic = make_swiss_roll(2000, scale=0.5, random_state=0)
    t = np.hypot(X[:, 0], X[:, 2]) / 0.5
    assert 1.5 * np.pi <= t.min() < t.max() <= 4.5 * np.pi
    np.testing.assert_allclose(X[:, 0], 0.5 * t * np.cos(t), atol=1e-12)
    np.testing.assert_allclose(X[:, 2], 0.5 * t * np.sin(t), atol=1e-12)
    np.testing.assert_array_equal(X[:, 1], intrinsic[:, 1])
    assert 10.4 < X[:, 1].max() <= 10.5


@pytest.mark.parametrize("sampling", ["arc-length", "angle"])
def test_intrinsic_is_the_integrated_length_of_the_curve(sampling):
    X, intrinsic = make_swiss_roll(40, sampling=sampling, scale=3.0, random_state=1)
    t = np.hypot(X[:, 0], X[:, 2]) / 3.0
    expected = [3.0 * curve_length(1.5 * np.pi, angle) for angle in t]
    np.testing.assert_allclose(intrinsic[:, 0], expected, rtol=1e-9, atol=1e-10)


def test_angle_inverts_arc_length_to_rounding():
    t = np.concatenate([[0.0], np.geomspace(1e-8, 1e6, 500)])
    np.testing.assert_allclose(synthetic._angle(synthetic._arc_length(t)), t, rtol=4e-15, atol=0)


def test_points_are_uniform_on_the_surface_or_in_the_angle():
    """One sampling is uniform along the curve, the other in the angle."""
    length = curve_length(1.5 * np.pi, 4.5 * np.pi)
    for sampling in ("arc-length", "angle"):
        X, intrinsic = make_swiss_roll(5000, sampling=sampling, random_state=3)
        angles = np.hypot(X[:, 0], X[:, 2]) / np.pi
        by_length = stats.kstest(intrinsic[:, 0] / length, "uniform").pvalue
        by_angle = stats.kstest((angles - 1.5) / 3.0, "uniform").pvalue
        right, wrong = by_length, by_angle
        if sampling == "angle":
            right, wrong = wrong, right
        assert wrong < 1e-10
        assert right > 0.01
        assert stats.kstest(intrinsic[:, 1] / 21.0, "uniform").pvalue > 0.01
        assert abs(stats.spearmanr(intrinsic).statistic) < 0.05


def test_fish_bowl_is_a_sphere_with_a_hole_that_projects_to_its_disc():
    X, disc = make_fish_bowl(5000, scale=1.45, disc_radius=3.0, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.45)
    assert np.linalg.norm(disc, axis=1).max() <= 3.0
    rim = 1.45 * (3.0**2 - 1.0) / (3.0**2 + 1.0)
    assert rim - 0.01 < X[:, 2].max() <= rim
    # The ray from the north pole through the point meets the plane z = 0.
    unit = X / 1.45
    np.testing.assert_allclose(unit[:, :2] / (1.0 - unit[:, 2:]), disc)


def test_fish_bowl_is_a_uniform_disc_denser_at_the_top():
    X, disc = make_fish_bowl(5000, random_state=2)
    radius = np.linalg.norm(disc, axis=1)
    assert stats.kstest((radius / 5.0) ** 2, "uniform").pvalue > 0.01
    angle = np.arctan2(disc[:, 1], disc[:, 0])
    assert stats.kstest(angle / (2.0 * np.pi) + 0.5, "uniform").pvalue > 0.01
    # Slices of equal height have equal area on a sphere.
    bottom = np.mean(X[:, 2] < -0.8)
    top = np.mean((X[:, 2] > 0.7) & (X[:, 2] < 0.9))
    assert top > 20 * bottom > 0


@pytest.mark.parametrize("make", MAKERS)
def test_points_follow_from_the_seed_alone(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002  the global state is the point
    first, second, other = make(random_state=7), make(random_state=7), make(random_state=8)
    np.testing.assert_array_equal(np.hstack(first), np.hstack(second))
    assert not np.array_equal(first[0], other[0])
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002  as above
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(random_state=rng)[0], make(random_state=rng)[0])


@pytest.mark.parametrize("make", MAKERS)
def test_blocks_leave_no_trace(make, monkeypatch):
    whole = make(1000, noise=0.1, random_state=9)
    monkeypatch.setattr(synthetic, "block_rows", lambda _: 7)
    blocks = make(1000, noise=0.1, random_state=9)
    np.testing.assert_array_equal(whole[0], blocks[0])
    np.testing.assert_array_equal(whole[1], blocks[1])
    np.testing.assert_array_equal(make(20, noise=0.1, random_state=9)[0], whole[0][:20])


@pytest.mark.parametrize("make", MAKERS)
def test_noise_has_the_given_deviation_and_leaves_the_positions_alone(make):
    clean, where = make(20_000, scale=3.0, random_state=10)
    noisy, still = make(20_000, scale=3.0, noise=0.25, random_state=10)
    np.testing.assert_array_equal(where, still)
    noise = noisy - clean
    np.testing.assert_allclose(noise.std(axis=0), 0.25, rtol=0.03)
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.01)
    assert stats.kstest(noise.ravel() / 0.25, "norm").pvalue > 0.01
    np.testing.assert_allclose(np.corrcoef(noise.T), np.eye(3), atol=0.03)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, "float32"])
def test_dtype(make, dtype):
    X, intrinsic = make(300, noise=0.1, dtype=dtype, random_state=11)
    exact, exact_intrinsic = make(300, noise=0.1, random_state=11)
    assert X.dtype == intrinsic.dtype == np.dtype(dtype)
    np.testing.assert_allclose(X, exact, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(intrinsic, exact_intrinsic, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("make", MAKERS)
def test_memory_beyond_the_result_is_bounded(make, peak_memory):
    (X, intrinsic), peak = peak_memory(make, 2_000_000, dtype=np.float32, random_state=12)
    # A single float64 column of all points would take 16 MB.
    assert peak - X.nbytes - intrinsic.nbytes < 24e6


@pytest.mark.parametrize(
    ("make", "arguments", "error", "message"),
    [
        *(
            (make, *wrong)
            for make in MAKERS
            for wrong in (
                ({"n_samples": 0}, ValueError, "n_samples=0 .* choose n_samples >= 1"),
                ({"n_samples": 10.5}, TypeError, "n_samples must be a whole number"),
                ({"noise": -0.1}, ValueError, "noise=-0.1"),
                ({"scale": 0}, ValueError, "scale=0.0"),
                ({"dtype": np.int64}, ValueError, "dtype=int64 .* choose np.float32"),
                ({"dtype": "color"}, TypeError, "dtype='color'"),
                ({"random_state": -1}, ValueError, "random_state=-1"),
            )
        ),
        (make_swiss_roll, {"sampling": "even"}, ValueError, "'even' .* 'arc-length', 'angle'"),
        (make_fish_bowl, {"disc_radius": -5.0}, ValueError, r"disc_radius=-5.0"),
    ],
)
def test_wrong_parameters_are_named(make, arguments, error, message):
    with pytest.raises(error, match=message):
        make(**arguments)
