"""Annealed sampling: the chain's distribution, its linear algebra and its cost."""

import numpy as np
import pytest
from scipy.stats import norm
from subset_statistics import POINTS, SIGNIFICANCE, determinant, p_value, subsets

from trigpoint._landmarks.annealed import AnnealedDPP
from trigpoint._landmarks.chain import KernelEntries, SwapChain, pivoted_start
from trigpoint._landmarks.ensemble import kernel_matrix
from trigpoint._landmarks.kdpp import KDPP
from trigpoint._numerics.kernels import gaussian_kernel

POINTS = POINTS[:6]
BANDWIDTH = 1.6
K = gaussian_kernel(POINTS, BANDWIDTH)


def weights(exponent, matrix=K, k=3):
    return {subset: determinant(matrix, subset) ** exponent for subset in subsets(len(matrix), [k])}


def chain_draws(exponent, n_draws=4000, thinning=6):
    """States of one chain, far enough apart to count as independent."""
    rng = np.random.default_rng(1)
    chain = SwapChain(KernelEntries.gaussian(POINTS, BANDWIDTH), np.array([0, 2, 4]), exponent)
    draws = []
    for _ in range(n_draws):
        for _ in range(thinning):
            chain.sweep(rng)
        draws.append(chain.indices.copy())
    return draws


@pytest.fixture(scope="module")
def draws_of_power_1():
    return chain_draws(1.0)


@pytest.mark.parametrize("exponent", [0.5, 3.0])
def test_chain_visits_subsets_by_the_power_of_their_determinant(exponent):
    assert p_value(chain_draws(exponent), weights(exponent)) > SIGNIFICANCE


def test_chain_of_power_1_is_a_k_dpp(draws_of_power_1):
    assert p_value(draws_of_power_1, weights(1.0)) > SIGNIFICANCE


@pytest.mark.parametrize("wrong", [0.0, 0.8, 1.25])
def test_the_test_rejects_a_wrong_exponent(draws_of_power_1, wrong):
    assert p_value(draws_of_power_1, weights(wrong)) < SIGNIFICANCE


@pytest.mark.parametrize("exponent", [0.0, 1.0, 3.0])
def test_independent_fits_have_the_distribution(exponent):
    """Start and chain together, by way of `fit`."""
    sampler = AnnealedDPP(3, exponent=exponent, bandwidth=BANDWIDTH, n_sweeps=10)
    sampler.set_params(random_state=np.random.default_rng(2))
    draws = [sampler.fit(POINTS).indices_ for _ in range(600)]
    assert p_value(draws, weights(exponent)) > SIGNIFICANCE


def test_geodesic_kernel_is_made_positive_semidefinite():
    """A ring: geodesic distances around it make the Gaussian indefinite."""
    angles = np.arange(6) * np.pi / 3
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    G = kernel_matrix(X, kernel="geodesic", bandwidth=3.0, n_neighbors=2, rng=None)
    values, vectors = np.linalg.eigh(G)
    assert values[0] < -1e-3
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    sampler = AnnealedDPP(3, kernel="geodesic", bandwidth=3.0, n_neighbors=2, n_sweeps=10)
    sampler.set_params(random_state=np.random.default_rng(3))
    draws = [sampler.fit(X).indices_ for _ in range(600)]
    assert p_value(draws, weights(1.0, clipped)) > SIGNIFICANCE


def test_ratio_and_inverse_stay_exact_over_many_swaps():
    """Each decision is that of the determinants computed afresh, after thousands of updates."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    entries = KernelEntries.gaussian(X, 0.8)
    chain = SwapChain(entries, pivoted_start(entries, 30, 1.0, rng), 1.0)
    matrix = gaussian_kernel(X, 0.8)
    n_accepted = 0
    for _ in range(3000):
        slot, candidate = rng.integers(30), rng.integers(200)
        threshold = rng.random()
        before = chain.indices.copy()
        after = before.copy()
        after[slot] = candidate
        log_ratio = log_determinant(matrix, after) - log_determinant(matrix, before)
        accepted = chain._try_swap(slot, candidate, threshold)
        assert accepted == (candidate not in before and log_ratio > np.log(threshold))
        np.testing.assert_array_equal(chain.indices, after if accepted else before)
        n_accepted += accepted
    assert n_accepted > 500
    exact = matrix[np.ix_(chain.indices, chain.indices)]
    np.testing.assert_allclose(chain._inverse @ exact, np.eye(30), atol=1e-8)
    # Almost all of them by updates, not by computing the inverse afresh.
    assert chain.n_refreshed < n_accepted / 10


def log_determinant(matrix, J):
    return np.linalg.slogdet(matrix[np.ix_(J, J)])[1]


def test_chain_is_right_on_an_ill_conditioned_kernel():
    """Variances down to 1e-9, and still the same volumes as exact draws."""
    X = np.random.default_rng(5).uniform(size=(300, 1))
    matrix = gaussian_kernel(X, 0.5)
    means, errors = [], []
    for sampler in (AnnealedDPP(8, bandwidth=0.5), KDPP(8, bandwidth=0.5)):
        draws = [sampler.set_params(random_state=seed).fit(X).indices_ for seed in range(40)]
        volumes = [log_determinant(matrix, draw) for draw in draws]
        means.append(np.mean(volumes))
        errors.append(np.var(volumes) / len(volumes))
    assert norm.sf(abs(means[0] - means[1]) / np.sqrt(sum(errors))) > SIGNIFICANCE
    # Uniform sets are not even close.
    uniform = AnnealedDPP(8, exponent=0, random_state=0).fit(X)
    assert log_determinant(matrix, uniform.indices_) < means[0] - 5


@pytest.mark.parametrize(("k", "exponent"), [(10, 1.0), (9, 0.2), (11, 10.0)])
def test_determinants_lost_in_rounding_are_refused(k, exponent):
    """The kernel has rank 12 to rounding, but its sets of that many points are nearly singular."""
    X = np.random.default_rng(5).uniform(size=(300, 1))
    sampler = AnnealedDPP(k, exponent=exponent, bandwidth=0.5, random_state=0)
    with pytest.raises(ValueError, match=rf"n_landmarks={k} .*smaller bandwidth"):
        sampler.fit(X)


def test_only_the_entries_needed_are_computed():
    n, k, sweeps = 50_000, 20, 30
    X = np.random.default_rng(6).normal(size=(n, 3))
    plain = KernelEntries.gaussian(X, 1.0)
    computed = 0

    def counted(rows, columns):
        nonlocal computed
        computed += len(rows) * len(columns)
        return plain.block(rows, columns)

    rng = np.random.default_rng(7)
    K = KernelEntries(plain.diagonal, counted)
    start = pivoted_start(K, k, 1.0, rng)
    assert computed == 10_000 * k
    chain = SwapChain(K, start, 1.0)
    computed = 0
    for _ in range(sweeps):
        chain.sweep(rng)
    assert 0 < computed <= sweeps * k * k


def test_start_finds_rare_points():
    """All but three points coincide: a sample of the points alone would miss the others."""
    X = np.zeros((30_000, 2))
    X[[7, 11_000, 29_000]] = [[1, 0], [0, 1], [3, 3]]
    sampler = AnnealedDPP(4, bandwidth=1.0, n_sweeps=1, random_state=0).fit(X)
    assert {7, 11_000, 29_000} < set(sampler.indices_)
    with pytest.raises(ValueError, match=r"n_landmarks=5 .*rank 4 .*<= 4"):
        sampler.set_params(n_landmarks=5).fit(X)


def test_larger_exponents_give_larger_volumes():
    X = np.random.default_rng(8).normal(size=(300, 2))
    matrix = gaussian_kernel(X, 1.0)
    volumes = []
    for exponent in (0, 0.3, 1, 3, 10):
        sampler = AnnealedDPP(8, exponent=exponent, bandwidth=1.0)
        draws = [sampler.set_params(random_state=seed).fit(X).indices_ for seed in range(10)]
        volumes.append(np.mean([log_determinant(matrix, draw) for draw in draws]))
    assert volumes == sorted(volumes)


def test_acceptance_rate():
    X = np.random.default_rng(9).normal(size=(40, 2))
    sampler = AnnealedDPP(5, bandwidth=1.0, random_state=0)
    assert 0 < sampler.fit(X).acceptance_rate_ < 1
    assert np.isnan(sampler.set_params(exponent=0).fit(X).acceptance_rate_)


def test_all_points_as_landmarks():
    sampler = AnnealedDPP(6, bandwidth=1.0, random_state=0).fit(POINTS)
    np.testing.assert_array_equal(np.sort(sampler.indices_), np.arange(6))


def test_same_seed_same_landmarks():
    X = np.random.default_rng(10).normal(size=(100, 3)).astype(np.float32)
    first, second = (AnnealedDPP(10, n_sweeps=5, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.indices_, second.indices_)
    assert first.indices_.dtype == np.int64
    np.testing.assert_array_equal(first.landmarks_, X[first.indices_])
    assert first.landmarks_.dtype == np.float32


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"exponent": -1}, "exponent=-1"),
        ({"kernel": "linear"}, "kernel='linear'"),
        ({"n_sweeps": 0}, "n_sweeps=0"),
        ({"bandwidth": -1.0}, "bandwidth"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        AnnealedDPP(2, **parameters).fit(POINTS)
