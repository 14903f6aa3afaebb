"""Algorithm 1 and k-DPPs: every subset is drawn in proportion to its determinant."""

import math
from itertools import product

import numpy as np
import pytest
from subset_statistics import N_DRAWS, POINTS, SIGNIFICANCE, determinant, p_value, subsets
from threadpoolctl import threadpool_limits

from trigpoint._common import memory
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._numerics.geodesic import geodesic_kernel
from trigpoint._samplers.ensemble import (
    cholesky_factor,
    decompose,
    decompose_dual,
    make_ensemble,
)
from trigpoint._samplers.exact import (
    ExactDPP,
    choose_eigenvectors,
    draw_dpp,
    draw_kdpp,
    log_polynomials,
)

KERNELS = ["gaussian", "geodesic", "linear"]


def points_and_matrix(kernel, shape):
    """Return a few points and their L, computed by the definition."""
    if shape:
        X = np.random.default_rng(3).normal(size=shape)
        return X, X @ X.T
    made = {"gaussian": gaussian_kernel(POINTS, 1.0), "geodesic": geodesic_kernel(POINTS, 1.0, 2)}
    L = made[kernel]
    values, vectors = np.linalg.eigh(L)
    return POINTS, (vectors * np.maximum(values, 0)) @ vectors.T


def drawn(X, k, kernel):
    """Return sets of k points, or of any number."""
    rng = np.random.default_rng(1)
    ensemble = make_ensemble(X, kernel=kernel, bandwidth=1.0, n_neighbors=2, rng=None)
    if k is None:
        return [draw_dpp(ensemble, rng) for _ in range(N_DRAWS)]
    table = log_polynomials(ensemble.eigenvalues, k)
    return [draw_kdpp(ensemble, table, rng) for _ in range(N_DRAWS)]


def determinants(L):
    """Return the weights of all subsets, whose sum is known."""
    weights = {subset: determinant(L, subset) for subset in subsets(len(L), range(len(L) + 1))}
    np.testing.assert_allclose(sum(weights.values()), np.linalg.det(L + np.eye(len(L))))
    return weights


# A linear kernel with more points than columns, and with fewer.
@pytest.mark.parametrize(
    ("kernel", "shape", "k"),
    [
        *((kernel, None, k) for kernel, k in product(["gaussian", "geodesic"], [None, 3, 4])),
        *(("linear", shape, k) for shape, k in product([(7, 3), (5, 40)], [None, 2])),
    ],
)
def test_subsets_come_up_by_their_determinants(kernel, shape, k):
    """Subsets of any size, and of one size."""
    X, L = points_and_matrix(kernel, shape)
    weights = determinants(L)
    wanted = {subset: weight for subset, weight in weights.items() if k in (None, len(subset))}
    assert p_value(drawn(X, k, kernel), wanted) > SIGNIFICANCE


@pytest.mark.parametrize("bandwidth", [0.05, 1.0, 5.0])
def test_spectrum_by_the_factor_is_that_of_the_kernel(bandwidth):
    X = np.random.default_rng(9).normal(size=(200, 2))
    K = gaussian_kernel(X, bandwidth)
    values, vectors = np.linalg.eigh(K)
    factor = cholesky_factor(K.copy())
    np.testing.assert_allclose(factor @ factor.T, K, atol=1e-11)
    ensemble = decompose_dual(factor)
    rank = len(ensemble.eigenvalues)
    np.testing.assert_allclose(ensemble.eigenvalues, values[-rank:], atol=1e-12 * values[-1])
    # The leading space is the same; single vectors are determined only up to sign.
    V = ensemble.eigenvectors(np.arange(rank - 3, rank))
    np.testing.assert_allclose(V @ V.T, vectors[:, -3:] @ vectors[:, -3:].T, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
def test_eigenvalues_lost_in_rounding_are_those_of_the_scale(scale):
    factor = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1e-2, 1e-4, 1e-6]
    assert len(decompose(scale * factor @ factor.T).eigenvalues) == 4


def test_linear_kernel_handles_many_points_without_their_matrix(monkeypatch):
    monkeypatch.setattr(memory, "physical_memory", lambda: 1e8)
    X = np.random.default_rng(10).normal(size=(100_000, 20))
    sampler = ExactDPP(kernel="linear", random_state=0).fit(X)
    assert 1 <= len(sampler.indices_) <= 20
    np.testing.assert_array_equal(sampler.landmarks_, X[sampler.indices_])


def test_empty_draw():
    """Points near the origin have a linear kernel of nearly zero, so nothing is drawn."""
    X = 1e-6 * np.random.default_rng(12).normal(size=(30, 2)).astype(np.float32)
    sampler = ExactDPP(kernel="linear", random_state=0).fit(X)
    assert sampler.indices_.dtype == np.int64
    assert sampler.indices_.shape == (0,)
    assert sampler.landmarks_.shape == (0, 2)
    assert sampler.landmarks_.dtype == np.float32


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_points_zero_or_identical(kernel):
    X = np.zeros((6, 2))
    sampler = ExactDPP(kernel=kernel, bandwidth=1.0, n_neighbors=2, random_state=1).fit(X)
    assert len(sampler.indices_) <= (0 if kernel == "linear" else 1)


@pytest.mark.parametrize("sampler", [ExactDPP(), ExactDPP(12)], ids=["random", "given"])
def test_same_draw_with_any_number_of_threads(sampler):
    """On a grid, eigenvalues are equal, and eigenvectors depend on rounding."""
    X = np.stack(np.meshgrid(np.arange(18.0), np.arange(18.0)), axis=-1).reshape(-1, 2)
    sampler.set_params(bandwidth=3.0, random_state=0)
    draws = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            draws.append(sampler.fit(X).indices_)
    np.testing.assert_array_equal(*draws)


def test_refuses_what_does_not_fit_in_memory(monkeypatch):
    monkeypatch.setattr(memory, "physical_memory", lambda: 1e6)
    X = np.random.default_rng(0).normal(size=(1000, 2))
    with pytest.raises(ValueError, match=r"GB.*EfficientDPP"):
        ExactDPP().fit(X)


# Subsets of one size -----------------------------------------------------------------------


def test_polynomials_of_thousands_of_values_against_whole_numbers():
    """5,000 values with condition number 1e12; Python's integers are exact."""
    rng = np.random.default_rng(3)
    values = [1, 10**12, *(int(10**x) for x in rng.uniform(0, 12, 4998))]
    exact = [1] + [0] * 200
    for value in values:
        exact = [1] + [exact[d] + value * exact[d - 1] for d in range(1, 201)]
    computed = log_polynomials(np.array(values, dtype=float), 200)[-1]
    np.testing.assert_allclose(computed, [math.log(number) for number in exact], rtol=1e-12)
    # Far beyond the range of floating-point numbers.
    assert computed[-1] > math.log(1e308)


def test_eigenvectors_are_chosen_by_their_product():
    """Sets of eigenvectors reveal a wrong sampler that sets of points hardly do."""
    values = np.array([0.01, 0.5, 1.0, 3.0, 40.0])
    table = log_polynomials(values, 3)
    rng = np.random.default_rng(4)
    draws = [choose_eigenvectors(values, table, rng) for _ in range(N_DRAWS)]
    weights = {subset: float(np.prod(values[list(subset)])) for subset in subsets(5, [3])}
    assert p_value(draws, weights) > SIGNIFICANCE
    # Wrong: one by one, each in proportion to its eigenvalue among the remaining ones.
    p = values / values.sum()
    wrong = [rng.choice(5, 3, replace=False, p=p) for _ in range(N_DRAWS)]
    assert p_value(wrong, weights) < SIGNIFICANCE


def test_large_and_ill_conditioned():
    """2,000 points, 200 landmarks, and a kernel that is numerically singular."""
    X = np.random.default_rng(5).normal(size=(2000, 3))
    sampler = ExactDPP(200, random_state=0).fit(X)
    assert len(np.unique(sampler.indices_)) == 200
    # Spread far better than 200 random points.
    apart, by_chance = (nearest(Z, Z, 2)[0][:, 1] for Z in (sampler.landmarks_, X[:200]))
    assert np.median(apart) > 1.3 * np.median(by_chance)


@pytest.mark.parametrize("kernel", KERNELS)
def test_more_landmarks_than_the_rank_are_refused(kernel):
    """Of five distinct points with four copies each in 3-D, the linear kernel has rank 3."""
    X = np.repeat(np.random.default_rng(6).normal(size=(5, 3)), 4, axis=0)
    rank = 3 if kernel == "linear" else 5
    sampler = ExactDPP(rank + 1, kernel=kernel, bandwidth=0.3, n_neighbors=4, random_state=0)
    with pytest.raises(ValueError, match=rf"n_landmarks={rank + 1} .* rank {rank} .*<= {rank}"):
        sampler.fit(X)
    indices = sampler.set_params(n_landmarks=rank).fit(X).indices_
    # At most one copy of each point: two copies have determinant zero.
    assert len(np.unique(X[indices], axis=0)) == rank
