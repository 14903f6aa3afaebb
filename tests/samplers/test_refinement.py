"""Refinement: the exchanges, and landmarks off the points."""

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp
from trigpoint._kernels.pivoting import descend
from trigpoint._numerics.gaussian import gaussian_kernel, gaussian_of
from trigpoint._numerics.residual.exchange import ExchangeableInverse
from trigpoint._samplers.refinement import patches, search
from trigpoint.metrics import nystrom_error, optimal_error


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(300, 3))


def brute_force_descent(K, J, T, b):
    """Exchange the best pair until none improves the error, which is computed from scratch."""

    def error(rows):
        return len(K) - np.trace(np.linalg.solve(K[np.ix_(rows, rows)], K[rows] @ K[:, rows]))

    J, free = list(J), list(T[b:])
    while True:
        now = error(J)
        trials = {
            (slot, at): error([*J[:slot], candidate, *J[slot + 1 :]])
            for slot in range(b)
            for at, candidate in enumerate(free)
        }
        slot, at = min(trials, key=trials.__getitem__)
        if trials[slot, at] > now - 1e-6:
            return sorted(J)
        J[slot], free[at] = free[at], J[slot]


def test_descent_takes_the_best_pair_each_time(X):
    X = X[:80]
    K = gaussian_kernel(X, 1.0)
    rng = np.random.default_rng(2)
    T = rng.permutation(80)[:32]
    J, b = T[:8], 6
    inverse = ExchangeableInverse(X, X[J], gaussian_of(1.0), 1)
    slots = np.arange(b)
    tables = inverse.tables(slots, X[T[8:]])
    chosen, free = np.arange(b), np.arange(b, b + 24)
    places = np.concatenate([T[:b], T[8:]])
    n_exchanges = descend(tables.A, tables.H, chosen, free, 1e-6, 1e-12, 1000)
    assert n_exchanges > 3
    refined = sorted([*places[chosen], *T[b:8]])
    expected = brute_force_descent(K, np.concatenate([T[:b], T[b:8]]), places, b)
    assert refined == expected


@pytest.mark.parametrize("make", [tp.datasets.make_swiss_roll, tp.datasets.make_fish_bowl])
def test_refined_landmarks_come_near_the_optimum(make):
    """At most twice the optimum with 50 landmarks; the draw is at three times or more."""
    scale = {"scale": 0.115} if make is tp.datasets.make_swiss_roll else {"scale": 1.8}
    ratios = []
    for seed in range(3):
        X, _ = make(600, random_state=seed, **scale)
        sampler = tp.EfficientDPP(50, refine=True, kernel_bandwidth=1.0, random_state=seed)
        best = optimal_error(X, 1.0, 50)
        ratios.append(nystrom_error(X, sampler.fit(X).indices_, 1.0) / best)
        drawn = clone(sampler).set_params(refine=False).fit(X).indices_
        assert nystrom_error(X, drawn, 1.0) > 2.5 * best
    assert np.mean(ratios) < 2.1


def test_too_many_landmarks_for_the_points_that_can_be_held(X, monkeypatch):
    monkeypatch.setattr(search, "_NUMBERS_HELD", 40 * patches.ENOUGH_CANDIDATES)
    with pytest.raises(ValueError, match="20 landmarks are too many to refine together"):
        tp.Refinement().refine(X, np.arange(20), bandwidth=1.0, random_state=0)


def test_all_points_are_landmarks_and_some_redundant(X):
    with pytest.raises(ValueError, match="numerically singular for a kernel of bandwidth 100"):
        tp.Refinement().refine(X[:20], np.arange(20), bandwidth=100.0, random_state=0)


def test_sweeps_end_when_they_gain_little(X):
    refined = tp.Refinement().refine(X, np.arange(0, 300, 10), bandwidth=1.0, random_state=0)
    errors = np.array(refined.errors)
    for error, rows in ((errors[0], np.arange(0, 300, 10)), (errors[-1], refined.indices)):
        assert error == pytest.approx(nystrom_error(X, rows, 1.0, relative=True), rel=1e-6)
    n_sweeps = len(errors) - 1
    assert 2 < n_sweeps < 20
    # All sweeps but the last lowered the error enough to continue.
    gains = 1 - errors[2:n_sweeps] / errors[: n_sweeps - 2]
    assert (gains[:-1] >= search._CONVERGED_OF_FEW).all()
    assert gains[-1] < search._CONVERGED_OF_FEW
    patient = tp.Refinement(12).refine(X, np.arange(0, 300, 10), bandwidth=1.0, random_state=0)
    assert len(patient.errors) == 13


def test_local_and_global_work_come_to_the_same_quality(monkeypatch):
    X, _ = tp.datasets.make_swiss_roll(4000, random_state=0)
    start = tp.EfficientDPP(240, random_state=0).fit(X).indices_
    errors = {}
    for name, share in (("local", 3), ("global", 10**9)):
        monkeypatch.setattr(search, "_LOCAL_FROM", share)
        refined = tp.Refinement(2).refine(X, start, bandwidth=2.0, random_state=0, n_jobs=2)
        assert refined.is_local == (name == "local")
        errors[name] = nystrom_error(X[::8], X[refined.indices], refined.bandwidth)
        # The reduction predicted by the local inverses.
        measured = nystrom_error(X, refined.indices, refined.bandwidth, relative=True)
        np.testing.assert_allclose(refined.errors[-1], measured, rtol=0.1)
    drawn = nystrom_error(X[::8], X[start], refined.bandwidth)
    assert max(errors.values()) < 0.7 * drawn
    assert errors["local"] < 1.1 * errors["global"]


# Local work and work on all landmarks, each with several parts of the measured points.
@pytest.mark.parametrize(("n", "k", "is_local"), [(20_000, 400, True), (4000, 200, False)])
def test_same_landmarks_with_any_number_of_threads(n, k, is_local):
    X, _ = tp.datasets.make_swiss_roll(n, random_state=0)
    one, three = (
        tp.EfficientDPP(k, refine=1, random_state=5, n_jobs=n_jobs).fit(X) for n_jobs in (1, 3)
    )
    assert one.refinement_.is_local == is_local
    np.testing.assert_array_equal(one.indices_, three.indices_)


@pytest.mark.parametrize(("d", "offset"), [(2, 0.0), (20, 0.0), (20, 1e5), (40, 1e5)])
def test_copies_never_become_landmarks_twice(d, offset):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, d)), 20, axis=0)
    X[::2] += offset
    sampler = tp.EfficientDPP(40, refine=3, kernel_bandwidth=1.0, random_state=0).fit(X)
    assert len(np.unique(sampler.landmarks_, axis=0)) == 40


@pytest.mark.parametrize("d", [2, 20])
def test_local_work_with_copies_and_outliers(d):
    """Some patches have no landmarks, no candidates, or nothing but duplicates."""
    rng = np.random.default_rng(0)
    # The points are on a curved strip, so that in every dimension the kernel reaches few landmarks.
    s, h = rng.uniform(0, 30, size=4000), rng.uniform(0, 1, size=4000)
    X = np.zeros((4000, d))
    X[:, 0], X[:, 1] = s, h + np.sin(s)
    X[:1000] = X[0]
    X[-20:] += 500 * rng.standard_t(1, size=(20, d))
    refined = tp.Refinement(2).refine(
        X, rng.permutation(np.arange(1000, 3900))[:200], bandwidth=0.3, random_state=0
    )
    assert refined.is_local
    assert len(np.unique(X[refined.indices], axis=0)) == 200
    measured = nystrom_error(X, refined.indices, 0.3, relative=True)
    np.testing.assert_allclose(refined.errors[-1], measured, rtol=0.2)


def test_landmarks_that_others_explain_are_exchanged_first():
    """A uniform draw from a dense rim, for which no table could be built."""
    X, _ = tp.datasets.make_fish_bowl(1000, random_state=0)
    start = tp.Uniform(50, random_state=0).fit(X).indices_
    refined = tp.Refinement().refine(X, start, bandwidth=0.7, random_state=0)
    drawn = tp.EfficientDPP(50, random_state=0).fit(X).indices_
    assert nystrom_error(X, refined.indices, 0.7) < nystrom_error(X, drawn, 0.7) / 2


def test_nearly_singular_kernel_is_refused():
    """The Cholesky factorization still succeeds, but its results would be noise."""
    X, _ = tp.datasets.make_swiss_roll(1500, scale=0.115, random_state=0)
    with pytest.raises(ValueError, match="numerically singular"):
        tp.EfficientDPP(200, refine=True, kernel_bandwidth=1.5, random_state=0).fit(X)


def test_work_of_a_sweep_grows_with_the_landmarks(monkeypatch):
    """The number of predicted values in a sweep, per landmark."""
    X, _ = tp.datasets.make_swiss_roll(40_000, random_state=0)
    per_landmark = []
    for k in (450, 1350):
        sizes = []

        class Counted(ExchangeableInverse):
            def __init__(self, points, landmarks, *rest, sizes=sizes):
                sizes.append(len(points) * len(landmarks))
                super().__init__(points, landmarks, *rest)

        monkeypatch.setattr(search, "ExchangeableInverse", Counted)
        start = tp.EfficientDPP(k, random_state=0).fit(X).indices_
        assert tp.Refinement(1).refine(X, start, random_state=0).is_local
        per_landmark.append(sum(sizes) / k)
    assert per_landmark[1] < 1.5 * per_landmark[0]


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0, 1, 300], "rows from 0 to 300: choose rows from 0 to 299"),
        ([-1, 4], "rows from -1 to 4"),
        ([0.5, 1.0], "pass the row numbers"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([], "pass the row numbers"),
        ([3, 3], "coincide"),
    ],
)
def test_bad_rows(X, indices, message):
    with pytest.raises(ValueError, match=message):
        tp.Refinement().refine(X, indices)


def test_progress_is_told(X):
    told = []
    tp.Refinement(3).refine(X, np.arange(20), random_state=0, verbose=lambda *t: told.append(t))
    assert told == [("refinement", done, 3) for done in (1, 2, 3)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moved_landmarks_are_better_still(dtype):
    """In high dimension, the error is lower than that of points and of k-means centers."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(12, 40))
    X = (centers[rng.integers(12, size=600)] + 0.3 * rng.normal(size=(600, 40))).astype(dtype)
    sampler = tp.EfficientDPP(
        30, refine=tp.Refinement(snap=False), kernel_bandwidth=3.0, random_state=0
    ).fit(X)
    assert sampler.landmarks_.dtype == dtype
    assert sampler.indices_ is None
    snapped = clone(sampler).set_params(refine=True).fit(X)
    np.testing.assert_array_equal(snapped.indices_, sampler.refinement_.indices)
    means = tp.KMeansLandmarks(30, init="k-means++", snap=False, random_state=0).fit(X).landmarks_
    moved, points, centers = (
        nystrom_error(X, landmarks, 3.0)
        for landmarks in (sampler.landmarks_, snapped.landmarks_, means)
    )
    assert moved < 0.98 * centers
    assert moved < 0.9 * points
    np.testing.assert_allclose(sampler.refinement_.errors[-1], moved / 600, rtol=1e-3)
