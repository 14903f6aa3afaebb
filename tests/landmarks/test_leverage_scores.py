"""Ridge leverage scores: against the dense definition, and the draw by them."""

from itertools import permutations

import numpy as np
import pytest
from subset_statistics import N_DRAWS, SIGNIFICANCE, p_value
from threadpoolctl import threadpool_limits

from trigpoint._landmarks import leverage
from trigpoint._landmarks.leverage import Dictionary, LeverageScores
from trigpoint._numerics.kernels import gaussian_kernel


def exact_scores(X, bandwidth, ridge):
    """Scores from the definition."""
    K = gaussian_kernel(X, bandwidth)
    return np.linalg.solve(K + ridge * np.eye(len(K)), K).diagonal()


def uneven_points(n, seed=0):
    """Nine points in ten in a dense cloud, the others far apart."""
    rng = np.random.default_rng(seed)
    n_dense = 9 * n // 10
    dense, sparse = rng.normal(size=(n_dense, 3)) / 2, rng.normal(size=(n - n_dense, 3)) * 3
    return np.concatenate([dense, sparse + 10])[rng.permutation(n)]


# --- the scores --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [2, 40])
@pytest.mark.parametrize(("n", "k"), [(60, 5), (200, 100), (150, 150)])
def test_scores_of_few_points_are_exact(n, k, columns):
    X = np.random.default_rng(0).normal(size=(n, columns))
    sampler = LeverageScores(k, bandwidth=columns**0.5, ridge=0.3, random_state=0).fit(X)
    assert sampler.ridge_ == 0.3
    exact = exact_scores(X, sampler.bandwidth_, 0.3)
    np.testing.assert_allclose(sampler.scores_, exact, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 5, 30, 55])
def test_ridge_makes_the_exact_scores_of_few_points_add_up_to_the_landmarks(k):
    X = np.random.default_rng(0).normal(size=(60, 2))
    sampler = LeverageScores(k, bandwidth=0.5, random_state=0).fit(X)
    assert sampler.scores_.sum() == pytest.approx(k, rel=0.06)
    exact = exact_scores(X, 0.5, sampler.ridge_)
    np.testing.assert_allclose(sampler.scores_, exact, rtol=1e-6)


@pytest.fixture
def dictionaries(monkeypatch):
    """Sizes of the dictionaries of a fit, and of the sets that they score."""
    sizes = []
    plain = Dictionary.scores

    def noted(self, rows, ridge):
        sizes.append((len(self._rows), len(rows)))
        return plain(self, rows, ridge)

    monkeypatch.setattr(Dictionary, "scores", noted)
    return sizes


@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_near_the_exact_scores(seed, dictionaries):
    """Where the highest exact score is twenty times the lowest."""
    X = uneven_points(1500)
    sampler = LeverageScores(60, random_state=seed).fit(X)
    # The recursion is at work: no dictionary has more than a small part of the points.
    assert max(dictionaries)[0] < 180
    assert dictionaries[-1][1] == 1500
    exact = exact_scores(X, sampler.bandwidth_, sampler.ridge_)
    assert exact.max() / exact.min() > 20
    ratio = sampler.scores_ / exact
    assert ratio.min() > 0.5
    assert ratio.max() < 5
    assert 1 < np.median(ratio) < 2
    # The same score for all points would not pass.
    assert exact.mean() / exact.max() < 0.5
    # The ridge makes the estimates add up to the landmarks, and the exact scores to somewhat less.
    assert sampler.scores_.sum() == pytest.approx(60, rel=0.15)
    assert 30 < exact.sum() < 60


def test_a_smaller_dictionary_is_further_off(monkeypatch):
    """What the test of the estimates would not let pass."""
    monkeypatch.setattr(leverage, "_DICTIONARY", 1)
    monkeypatch.setattr(leverage, "_LEAST_DICTIONARY", 10)
    X = uneven_points(1500)
    sampler = LeverageScores(30, ridge=0.05, bandwidth=1.0, random_state=0).fit(X)
    assert (sampler.scores_ / exact_scores(X, 1.0, 0.05)).max() > 5


def test_a_given_ridge_is_used_all_the_way():
    X = uneven_points(1500)
    sampler = LeverageScores(100, bandwidth=1.0, ridge=5.0, random_state=0).fit(X)
    assert sampler.ridge_ == 5.0
    ratio = sampler.scores_ / exact_scores(X, 1.0, 5.0)
    assert ratio.min() > 0.5
    assert ratio.max() < 2.5


def test_weights_of_the_dictionary_are_those_of_the_paper():
    """The form that is computed, and the one with sampling weights as in the paper."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2))
    K = gaussian_kernel(X, 1.0)
    rows, p = rng.choice(50, 12, replace=False), rng.uniform(0.2, 1, size=12)
    S = np.zeros((50, 12))
    S[rows, np.arange(12)] = 1 / np.sqrt(p)
    inner = np.linalg.inv(S.T @ K @ S + 0.7 * np.eye(12))
    paper = (K - K @ S @ inner @ S.T @ K).diagonal() / 0.7
    kernel = leverage.gaussian_of(X, 1.0)
    scores = Dictionary(X, kernel, rows, p, 1).scores(np.arange(50), 0.7)
    np.testing.assert_allclose(scores, np.minimum(paper, 1), rtol=1e-10)


def test_probabilities_of_a_dictionary():
    scores = np.array([0.9, 0.5, 0.1, 0.01, 0.02, 0.03])
    shares = leverage._inclusion(scores, 3)
    assert shares.sum() == pytest.approx(3)
    # Two are certain; the others share the third place by their scores.
    np.testing.assert_allclose(shares, [1, 1, *(scores[2:] / 0.16)])


def test_a_kernel_of_fewer_dimensions_than_landmarks():
    """No ridge makes the scores add up to so many: the smallest is taken."""
    X = np.repeat(np.eye(4), 50, axis=0)
    sampler = LeverageScores(20, bandwidth=1.0, random_state=0).fit(X)
    assert sampler.ridge_ == pytest.approx(1e-8)
    assert (sampler.scores_ > 1 / 50).all()
    assert (sampler.scores_ < 4 / 50).all()
    assert len(set(sampler.indices_.tolist())) == 20


# --- the draw ----------------------------------------------------------------------------------


def ordered_pairs(scores):
    p = scores / scores.sum()
    return {(10 * i + j,): p[i] * p[j] / (1 - p[i]) for i, j in permutations(range(len(scores)), 2)}


def test_rows_are_drawn_by_their_scores_without_replacement():
    scores = np.array([0.9, 0.5, 0.4, 0.1, 0.05])
    rng = np.random.default_rng(2)
    drawn = [leverage._draw_rows(scores, 2, rng) for _ in range(N_DRAWS)]
    codes = [(10 * int(i) + int(j),) for i, j in drawn]
    assert p_value(codes, ordered_pairs(scores)) > SIGNIFICANCE
    # The test can tell the scores from their roots, and one order from the other.
    assert p_value(codes, ordered_pairs(np.sqrt(scores))) < SIGNIFICANCE
    swapped = [(10 * int(j) + int(i),) for i, j in drawn]
    assert p_value(swapped, ordered_pairs(scores)) < SIGNIFICANCE


def test_fits_draw_by_the_scores():
    X = np.array([[0.0], [0.1], [0.3], [2.0], [2.1], [9.0]])
    rng = np.random.default_rng(3)
    sampler = LeverageScores(2, bandwidth=1.0, ridge=0.5, n_jobs=1, random_state=rng)
    drawn = [sampler.fit(X).indices_ for _ in range(1000)]
    codes = [(10 * int(i) + int(j),) for i, j in drawn]
    assert p_value(codes, ordered_pairs(exact_scores(X, 1.0, 0.5))) > SIGNIFICANCE


def test_copies_share_the_score_of_one_point():
    X = np.concatenate([np.zeros((9, 2)), [[100.0, 0]], [[0, 100.0]]])
    sampler = LeverageScores(3, bandwidth=1.0, ridge=0.1, random_state=0).fit(X)
    np.testing.assert_allclose(sampler.scores_, [*[1 / 9.1] * 9, 1 / 1.1, 1 / 1.1], rtol=1e-12)


def test_rows_that_coincide_are_different_rows():
    X = np.zeros((300, 2))
    X[:3] = [[1, 0], [0, 1], [1, 1]]
    for k in (10, 300):
        rows = LeverageScores(k, bandwidth=1.0, random_state=0).fit(X).indices_
        assert len(set(rows.tolist())) == k


# --- the contract ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 20, 400])
def test_contract(dtype, k):
    X = np.random.default_rng(4).normal(size=(400, 3)).astype(dtype)
    before = X.copy()
    first, second = (LeverageScores(k, random_state=3).fit(X) for _ in range(2))
    assert first.indices_.dtype == np.int64
    assert len(set(first.indices_.tolist())) == k
    assert first.landmarks_.dtype == dtype
    np.testing.assert_array_equal(first.landmarks_, X[first.indices_])
    np.testing.assert_array_equal(first.indices_, second.indices_)
    assert first.scores_.shape == (400,)
    assert (first.scores_ > 0).all()
    assert (first.scores_ <= 1).all()
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("columns", [3, 40])
def test_same_landmarks_with_any_number_of_threads(columns):
    X = np.random.default_rng(5).normal(size=(3000, columns))
    found = []
    for n_jobs, blas_threads in ((1, 1), (2, 1), (1, 2), (3, 2)):
        with threadpool_limits(blas_threads):
            found.append(LeverageScores(100, n_jobs=n_jobs, random_state=0).fit(X))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].indices_, other.indices_)
        np.testing.assert_array_equal(found[0].scores_, other.scores_)
        assert found[0].ridge_ == other.ridge_


def test_memory_is_a_few_numbers_a_point():
    import tracemalloc

    X = np.random.default_rng(6).normal(size=(100_000, 3)).astype(np.float32)
    sampler = LeverageScores(50, random_state=0, n_jobs=2)
    sampler.fit(X[:1000])
    tracemalloc.start()
    sampler.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The kernel of all points and a dictionary would take 80 MB.
    assert peak < 40e6


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_landmarks": 11}, ValueError, "n_landmarks=11 is too large"),
        ({"bandwidth": 0.0}, ValueError, "bandwidth=0"),
        ({"ridge": 0.0}, ValueError, "ridge=0"),
        ({"ridge": -1.0}, ValueError, "ridge=-1"),
        ({"ridge": 1e-12}, ValueError, "ridge=1e-12 is too small.*ridge >= 1e-08"),
        ({"ridge": "small"}, TypeError, "ridge must be a number"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    X = np.random.default_rng(7).normal(size=(10, 2))
    with pytest.raises(error, match=message):
        LeverageScores(**{"n_landmarks": 2, **parameters}).fit(X)
