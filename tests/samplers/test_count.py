"""How many landmarks: the curve, and the number that a tolerance asks for."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.cluster import KMeans

import trigpoint as tp
from trigpoint._pool import Pool
from trigpoint._samplers import LandmarkCurve, count, curve
from trigpoint.metrics import nystrom_error


@pytest.fixture(name="roll", scope="module")
def swiss_roll():
    return tp.datasets.make_swiss_roll(3000, random_state=0)[0]


class Remembering(tp.FarthestPoint):
    """Farthest points, with the rows of every draw."""

    drawn: ClassVar[list[np.ndarray]] = []

    def select(self, X):
        """Draw and remember."""
        chosen = super().select(X)
        self.drawn.append(chosen.indices)
        return chosen


def test_curve_is_the_trace_error_of_the_sampler(roll):
    Remembering.drawn.clear()
    curve = tp.landmark_curve(roll, [30, 100], sampler=Remembering(), random_state=0)
    assert curve.n_landmarks.tolist() == [30, 100]
    assert [len(rows) for rows in Remembering.drawn] == [30, 100]
    errors = [
        nystrom_error(roll, rows, curve.bandwidth, relative=True) for rows in Remembering.drawn
    ]
    np.testing.assert_allclose(curve.errors, errors, rtol=1e-9)
    assert (curve.standard_errors == 0).all()
    again = tp.landmark_curve(roll, [100, 30, 30], sampler=tp.FarthestPoint(), random_state=0)
    np.testing.assert_array_equal(again.errors, curve.errors)


@pytest.mark.slow
def test_curve_of_many_points_is_estimated_from_some(monkeypatch):
    X, _ = tp.datasets.make_swiss_roll(30_000, random_state=0)
    exact = tp.landmark_curve(X[:4000], [50, 200], bandwidth=3.0, random_state=0)
    monkeypatch.setattr(count, "_DRAWN_FROM", 10_000)
    curve = tp.landmark_curve(X, [50, 200], bandwidth=3.0, random_state=0)
    assert (curve.standard_errors > 0).all()
    np.testing.assert_allclose(curve.errors, exact.errors, rtol=0.25)


def test_needed_lies_between_its_neighbors():
    curve = LandmarkCurve(np.array([10, 100, 1000]), np.array([0.5, 0.05, 0.005]), np.zeros(3), 1.0)
    assert curve.needed(0.05) == 100
    assert curve.needed(0.9) == 10
    assert curve.needed(0.005) == 1000
    assert curve.needed(0.05 / np.sqrt(10)) == 317
    with pytest.raises(ValueError, match="not reached with 1,000 landmarks"):
        curve.needed(0.001)
    # A fall to nothing says little about where it was.
    steep = LandmarkCurve(np.array([100, 300]), np.array([0.2, 1e-15]), np.zeros(2), 1.0)
    assert 150 < steep.needed(0.01) < 250


@pytest.mark.parametrize("tolerance", [0.1, 0.01])
def test_auto_keeps_the_tolerance_with_few(roll, tolerance):
    sampler = tp.EfficientDPP("auto", tolerance=tolerance, kernel_bandwidth=3.0, random_state=0)
    k = sampler.fit(roll).n_landmarks_
    assert len(sampler.indices_) == k
    error = nystrom_error(roll, sampler.indices_, 3.0, relative=True)
    assert 0.5 * tolerance < error < 1.3 * tolerance
    fewer = tp.EfficientDPP(int(0.8 * k), random_state=0).fit(roll).indices_
    assert nystrom_error(roll, fewer, 3.0, relative=True) > tolerance


@pytest.mark.slow
def test_refined_landmarks_need_to_be_fewer(roll):
    counts = []
    for refine in (False, 2):
        sampler = tp.EfficientDPP(
            "auto", tolerance=0.05, kernel_bandwidth=4.0, refine=refine, random_state=0
        )
        counts.append(sampler.fit(roll[:1500]).n_landmarks_)
        assert sampler.kernel_bandwidth_ == 4.0
    assert counts[1] < 0.95 * counts[0]


def test_auto_in_an_estimator(roll):
    emb = tp.LaplacianEigenmaps(landmarks="auto", graph=tp.KNNGraph(10), random_state=0).fit(roll)
    assert 100 < len(emb.landmarks_) < 1000


@pytest.mark.slow
def test_tolerance_out_of_reach_says_so(monkeypatch):
    X = np.random.default_rng(0).normal(size=(150, 30))
    # With every point a landmark, any tolerance is kept.
    sampler = tp.EfficientDPP("auto", kernel_bandwidth=1.0, random_state=0).fit(X)
    assert sampler.n_landmarks_ > 145
    monkeypatch.setattr(count, "_LAST", 75)
    with pytest.raises(ValueError, match=r"tolerance=0.01 is not reached with 75 landmarks"):
        sampler.fit(X)


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_auto_on_hardly_any_points(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    sampler = tp.EfficientDPP("auto", tolerance=0.9, kernel_bandwidth=5.0, random_state=0).fit(X)
    assert 1 <= sampler.n_landmarks_ <= n


def test_bad_curves(roll):
    with pytest.raises(TypeError, match="does not take a number of landmarks"):
        tp.landmark_curve(roll, sampler=KMeans())
    with pytest.raises(TypeError, match="n_landmarks=50 is not understood: pass a list"):
        tp.landmark_curve(roll, 50)
    with pytest.raises(ValueError, match="n_landmarks is empty"):
        tp.landmark_curve(roll, [])
    with pytest.raises(ValueError, match="n_landmarks=4000 is too large"):
        tp.landmark_curve(roll, [4000])


def test_a_tolerance_that_is_just_met_is_met():
    X = Pool(np.random.default_rng(0).normal(size=(100, 2)))
    sampler = tp.EfficientDPP()
    measure = count.ErrorEstimate(X, sampler, 3.0, np.random.default_rng(0))
    for met in (1, 2, 5):
        found, _ = count.count_landmarks(X, sampler, 3.0, measure(met)[0], np.random.default_rng(0))
        assert found == met


@pytest.mark.parametrize(("n", "last"), [(5, 2), (30, 15), (3000, 1500), (5000, 2000)])
def test_the_curve_goes_up_to_half_the_points(n, last):
    counts = curve._grid(None, np.arange(float(n))[:, None])
    assert counts[-1] == last
    if last > 100:
        np.testing.assert_allclose(counts, 10 * (last / 10) ** (np.arange(8) / 7), atol=0.5)


def test_auto_and_curve_of_few_distinct_points():
    X = np.repeat(np.arange(10.0)[:, None], 100, axis=0)
    sampler = tp.EfficientDPP("auto", kernel_bandwidth=0.1, random_state=0).fit(X)
    assert sampler.n_landmarks_ == 10
    curve = tp.landmark_curve(X, bandwidth=0.1, random_state=0)
    assert curve.n_landmarks[-1] == 10
    assert curve.errors[-1] < 1e-12


def test_auto_from_a_sample_keeps_the_radius_of_neighborhoods(monkeypatch):
    X, _ = tp.datasets.make_swiss_roll(20_000, random_state=0)
    monkeypatch.setattr(count, "_DRAWN_FROM", 2000)
    sampler = tp.EfficientDPP(
        "auto", n_neighbors=5000, kernel_bandwidth=5.0, tolerance=0.1, random_state=0
    ).fit(X)
    error = nystrom_error(X[::5], X[sampler.indices_], 5.0, relative=True)
    assert 0.05 < error < 0.15
