"""Number of landmarks for a tolerance."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._pool import Pool
from trigpoint._samplers import count
from trigpoint.metrics import nystrom_error


@pytest.fixture(name="roll", scope="module")
def swiss_roll():
    return tp.datasets.make_swiss_roll(3000, random_state=0)[0]


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
    # If every point is a landmark, any tolerance is met.
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


def test_a_tolerance_that_is_just_met_is_met():
    X = Pool(np.random.default_rng(0).normal(size=(100, 2)))
    sampler = tp.EfficientDPP()
    measure = count.ErrorEstimate(X, sampler, 3.0, np.random.default_rng(0))
    for met in (1, 2, 5):
        found, _ = count.count_landmarks(X, sampler, 3.0, measure(met), np.random.default_rng(0))
        assert found == met


def test_auto_of_few_distinct_points():
    X = np.repeat(np.arange(10.0)[:, None], 100, axis=0)
    sampler = tp.EfficientDPP("auto", kernel_bandwidth=0.1, random_state=0).fit(X)
    assert sampler.n_landmarks_ == 10


def test_auto_from_a_sample_keeps_the_radius_of_neighborhoods(monkeypatch):
    X, _ = tp.datasets.make_swiss_roll(20_000, random_state=0)
    monkeypatch.setattr(count, "_DRAWN_FROM", 2000)
    sampler = tp.EfficientDPP(
        "auto", n_neighbors=5000, kernel_bandwidth=5.0, tolerance=0.1, random_state=0
    ).fit(X)
    error = nystrom_error(X[::5], X[sampler.indices_], 5.0, relative=True)
    assert 0.05 < error < 0.15
