"""Greedy landmarks for the Nystrom approximation, against the dense residual kernel."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chisquare
from threadpoolctl import threadpool_limits

from trigpoint._samplers import greedy
from trigpoint._samplers.greedy import GreedyNystrom
from trigpoint._samplers.uniform import Uniform
from trigpoint.metrics import nystrom_error


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(400, 3))


def choose_densely(X, k, bandwidth):
    """Rows of the landmarks, with all points as candidates."""
    X = X.astype(np.float64)
    E = np.exp(-cdist(X, X, "sqeuclidean") / (2 * bandwidth**2))
    rows = []
    for _ in range(k):
        variances = E.diagonal().copy()
        variances[rows] = 0
        usable = variances > 1e-10
        gains = np.where(usable, np.square(E).sum(axis=0) / np.where(usable, variances, 1), 0)
        row = int(gains.argmax())
        rows.append(row)
        E -= np.outer(E[row], E[row]) / E[row, row]
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "bandwidth"), [(2, 0.5), (40, 6.0)])
def test_agrees_with_the_dense_residual(dtype, d, bandwidth, rng):
    X = rng.normal(size=(150, d)).astype(dtype)
    before = X.copy()
    sampler = GreedyNystrom(40, bandwidth=bandwidth, n_candidates=150, random_state=3)
    fitted = sampler.fit(X)
    rows = choose_densely(X, 40, bandwidth)
    np.testing.assert_array_equal(fitted.indices_, rows)
    assert fitted.indices_.dtype == np.int64
    assert fitted.landmarks_.dtype == dtype
    np.testing.assert_array_equal(fitted.landmarks_, X[rows])
    np.testing.assert_array_equal(X, before)
    error = nystrom_error(X, rows, bandwidth, relative=True)
    assert fitted.residual_trace_ == pytest.approx(error, rel=1e-6)
    assert fitted.bandwidth_ == bandwidth


def test_residual_of_random_candidates_and_of_a_pool(roll):
    X, _ = roll
    sampler = GreedyNystrom(50, random_state=0).fit(X)
    np.testing.assert_array_equal(sampler.pool_, np.arange(len(X)))
    error = nystrom_error(X, sampler.indices_, sampler.bandwidth_, relative=True)
    assert sampler.residual_trace_ == pytest.approx(error, rel=1e-6)

    few = sampler.set_params(pool_size=400).fit(X)
    assert len(few.pool_) == 400
    assert (np.diff(few.pool_) > 0).all()
    assert np.isin(few.indices_, few.pool_).all()
    error = nystrom_error(X[few.pool_], few.landmarks_, few.bandwidth_, relative=True)
    assert few.residual_trace_ == pytest.approx(error, rel=1e-6)


def test_the_default_pool_grows_with_the_landmarks():
    X = np.random.default_rng(0).normal(size=(13_000, 2))
    for k, size in ((10, 10_000), (600, 12_000)):
        fitted = GreedyNystrom(k, bandwidth=0.2, random_state=0).fit(X)
        assert len(fitted.pool_) == size


def test_leaves_less_than_other_landmarks(roll):
    X = roll[0][:1500]

    def error(sampler):
        return nystrom_error(X, sampler.fit(X).indices_, 3.0, relative=True)

    best = error(GreedyNystrom(100, bandwidth=3.0, n_candidates=len(X), random_state=0))
    some = error(GreedyNystrom(100, bandwidth=3.0, random_state=0))
    one = error(GreedyNystrom(100, bandwidth=3.0, n_candidates=1, random_state=0))
    assert best < 1.2 * some
    assert 1.3 * some < one
    assert 1.3 * one < error(Uniform(100, random_state=0))


def test_candidates_are_drawn_by_their_variance():
    variances = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    rng = np.random.default_rng(0)
    ones = np.zeros(5)
    pairs = np.zeros((5, 5))
    for _ in range(4000):
        ones[greedy._draw_places(variances, 1, rng)] += 1
        pairs[tuple(greedy._draw_places(variances, 2, rng))] += 1
    assert ones[0] == pairs[0].sum() == 0
    assert chisquare(ones[1:], 4000 * variances[1:]).pvalue > 1e-3
    # One after the other: first i and then j, or the other way round.
    i, j = np.triu_indices(4, 1)
    p = variances[1:]
    expected = p[i] * p[j] * (1 / (1 - p[i]) + 1 / (1 - p[j]))
    assert chisquare(pairs[1 + i, 1 + j], 4000 * expected).pvalue > 1e-3
    np.testing.assert_array_equal(greedy._draw_places(variances, 4, rng), [1, 2, 3, 4])
    np.testing.assert_array_equal(greedy._draw_places(variances, 9, rng), [1, 2, 3, 4])


def test_the_bandwidth_changes_nothing_else(X):
    free = GreedyNystrom(20, random_state=0).fit(X)
    given = GreedyNystrom(20, bandwidth=free.bandwidth_, random_state=0).fit(X)
    np.testing.assert_array_equal(free.indices_, given.indices_)


@pytest.mark.parametrize("d", [3, 40])
def test_same_landmarks_with_any_number_of_threads(d, monkeypatch):
    # So little work would not be shared otherwise.
    monkeypatch.setattr(greedy, "_SHARED", 1)
    X = np.random.default_rng(1).normal(size=(5000, d)).astype(np.float32)
    found = []
    for threads, jobs in ((1, 1), (2, 1), (1, 2), (2, 3)):
        with threadpool_limits(threads):
            sampler = GreedyNystrom(60, random_state=0, n_jobs=jobs)
            found.append(sampler.fit(X))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].indices_, other.indices_)
        assert found[0].residual_trace_ == other.residual_trace_


@pytest.mark.parametrize("n_candidates", [None, 10, 70])
def test_all_points_can_be_landmarks(n_candidates, rng):
    X = rng.normal(size=(70, 5))
    fitted = GreedyNystrom(70, bandwidth=0.5, n_candidates=n_candidates).fit(X)
    assert sorted(fitted.indices_.tolist()) == list(range(70))
    assert fitted.residual_trace_ == 0


@pytest.mark.parametrize("d", [4, 60])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_are_never_taken(d, dtype, rng):
    distinct = (rng.normal(size=(12, d)) + 1e4).astype(dtype)
    X = np.repeat(distinct, 30, axis=0)[rng.permutation(360)]
    for seed in range(5):
        sampler = GreedyNystrom(12, bandwidth=1.5, random_state=seed)
        assert len(np.unique(sampler.fit(X).landmarks_, axis=0)) == 12
        assert sampler.residual_trace_ == 0
    with pytest.raises(ValueError, match=r"n_landmarks=13 is too large .* n_landmarks <= 12"):
        sampler.set_params(n_landmarks=13).fit(X)


def test_a_bandwidth_too_large_for_so_many_landmarks(X):
    sampler = GreedyNystrom(300, bandwidth=10.0, random_state=0)
    message = r"n_landmarks=300 is too large for a bandwidth of 10: (\d+) .*<= \1 or a smaller"
    with pytest.raises(ValueError, match=message) as raised:
        sampler.fit(X)
    most = int(str(raised.value).split("bandwidth of 10: ")[1].split()[0])
    fitted = sampler.set_params(n_landmarks=most).fit(X)
    assert 10 < len(fitted.indices_) == most < 300
    with pytest.raises(ValueError, match=r"a larger pool_size than 350 or a smaller bandwidth"):
        sampler.set_params(n_landmarks=300, pool_size=350).fit(X)


def test_few_entries_of_the_kernel_are_computed(X, monkeypatch):
    n_entries = 0
    original = greedy.gaussian_of

    def counting(bandwidth):
        kernel = original(bandwidth)

        def count(A, B):
            nonlocal n_entries
            n_entries += len(A) * len(B)
            return kernel(A, B)

        return count

    monkeypatch.setattr(greedy, "gaussian_of", counting)
    GreedyNystrom(50, n_candidates=16, random_state=0).fit(X)
    assert n_entries == 50 // 2 * 16 * len(X)


def test_refuses_what_does_not_fit_in_memory(X, monkeypatch):
    monkeypatch.setattr(greedy, "physical_memory", lambda: 1e5)
    with pytest.raises(ValueError, match="smaller n_landmarks, pool_size or n_candidates"):
        GreedyNystrom(20).fit(X)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"bandwidth": -1.0}, ValueError, "bandwidth=-1.0 is out of range"),
        ({"n_candidates": 0}, ValueError, "n_candidates=0 is too small"),
        ({"pool_size": 4}, ValueError, "pool_size=4 is too small: .*>= 5"),
    ],
)
def test_bad_parameters(params, error, message, X):
    with pytest.raises(error, match=message):
        GreedyNystrom(**({"n_landmarks": 5} | params)).fit(X)
