"""k-DPPs: subsets of one size by their determinants, and polynomials of any magnitude."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from subset_statistics import (
    N_DRAWS,
    SIGNIFICANCE,
    determinant,
    ensemble_and_matrix,
    p_value,
    subsets,
)

from trigpoint._samplers.exact import ExactDPP, choose_eigenvectors, draw_kdpp, log_polynomials


def kdpp_weights(L, k):
    return {subset: determinant(L, subset) for subset in subsets(len(L), [k])}


@pytest.mark.parametrize(("kernel", "k"), [("gaussian", 3), ("geodesic", 4), ("linear", 2)])
def test_subsets_come_up_by_their_determinants(kernel, k):
    ensemble, L = ensemble_and_matrix(kernel)
    table = log_polynomials(ensemble.eigenvalues, k)
    weights = kdpp_weights(L, k)
    np.testing.assert_allclose(sum(weights.values()), np.exp(table[-1, -1]))
    rng = np.random.default_rng(1)
    draws = [draw_kdpp(ensemble, table, rng) for _ in range(N_DRAWS)]
    assert p_value(draws, weights) > SIGNIFICANCE


def test_polynomials_by_their_definition():
    values = [Fraction(1, 3), Fraction(5, 7), Fraction(2), Fraction(11), Fraction(1, 1000)]
    table = log_polynomials(np.array([float(value) for value in values]), 5)
    for i in range(6):
        for degree in range(6):
            exact = sum(math.prod(subset) for subset in combinations(values[:i], degree))
            expected = math.log(exact) if exact else -math.inf
            assert table[i, degree] == pytest.approx(expected, abs=1e-13)


def test_polynomials_of_thousands_of_values_against_whole_numbers():
    """5,000 values with condition number 1e12: Python's integers are exact, however large."""
    rng = np.random.default_rng(3)
    values = [1, 10**12, *(int(10**x) for x in rng.uniform(0, 12, 4998))]
    exact = [1] + [0] * 200
    for value in values:
        exact = [1] + [exact[d] + value * exact[d - 1] for d in range(1, 201)]
    computed = log_polynomials(np.array(values, dtype=float), 200)[-1]
    np.testing.assert_allclose(computed, [math.log(number) for number in exact], rtol=1e-12)
    # Far beyond what the numbers themselves could hold.
    assert computed[-1] > math.log(1e308)


def test_eigenvectors_are_chosen_by_their_product():
    """Where one sampler of eigenvectors differs from another: their sets hardly show it."""
    values = np.array([0.01, 0.5, 1.0, 3.0, 40.0])
    table = log_polynomials(values, 3)
    rng = np.random.default_rng(4)
    draws = [choose_eigenvectors(values, table, rng) for _ in range(N_DRAWS)]
    weights = {subset: float(np.prod(values[list(subset)])) for subset in subsets(5, [3])}
    assert p_value(draws, weights) > SIGNIFICANCE
    # Wrong: one after the other, each in proportion to its eigenvalue among those left.
    p = values / values.sum()
    wrong = [rng.choice(5, 3, replace=False, p=p) for _ in range(N_DRAWS)]
    assert p_value(wrong, weights) < SIGNIFICANCE


def test_choosing_all_eigenvectors_takes_each():
    values = np.logspace(-12, 0, 50)
    chosen = choose_eigenvectors(values, log_polynomials(values, 50), np.random.default_rng(0))
    np.testing.assert_array_equal(chosen, np.arange(50))


def test_large_and_ill_conditioned():
    """2,000 points, 200 landmarks, and a kernel that is singular to rounding."""
    X = np.random.default_rng(5).normal(size=(2000, 3))
    sampler = ExactDPP(200, random_state=0).fit(X)
    assert len(np.unique(sampler.indices_)) == 200
    # Spread far better than uniformly: nearest landmarks further apart than 200 random points'.
    apart = nearest_other(sampler.landmarks_)
    assert np.median(apart) > 1.3 * np.median(nearest_other(X[:200]))


def nearest_other(points):
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances.min(axis=1)


@pytest.mark.parametrize("kernel", ["gaussian", "geodesic", "linear"])
def test_more_landmarks_than_the_rank_are_refused(kernel):
    """Five places, four copies each; in three dimensions the linear kernel has rank 3."""
    X = np.repeat(np.random.default_rng(6).normal(size=(5, 3)), 4, axis=0)
    rank = 3 if kernel == "linear" else 5
    sampler = ExactDPP(rank + 1, kernel=kernel, bandwidth=0.3, n_neighbors=4, random_state=0)
    with pytest.raises(ValueError, match=rf"n_landmarks={rank + 1} .* rank {rank} .*<= {rank}"):
        sampler.fit(X)
    indices = sampler.set_params(n_landmarks=rank).fit(X).indices_
    # Of each place at most one copy: two copies have determinant zero.
    assert len(np.unique(X[indices], axis=0)) == rank


def test_linear_kernel_on_many_points():
    X = np.random.default_rng(7).normal(size=(100_000, 20))
    assert len(np.unique(ExactDPP(20, kernel="linear", random_state=0).fit(X).indices_)) == 20


def test_same_seed_same_landmarks():
    X = np.random.default_rng(8).normal(size=(60, 3)).astype(np.float32)
    first, second = (ExactDPP(10, bandwidth=1.0, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.indices_, second.indices_)
    assert first.indices_.dtype == np.int64
    np.testing.assert_array_equal(first.landmarks_, X[first.indices_])
    assert first.landmarks_.dtype == np.float32
