"""Chains of annealed sampling and of refinement: distribution, linear algebra and cost."""

import numpy as np
import pytest
from scipy.stats import norm
from subset_statistics import POINTS, SIGNIFICANCE, determinant, p_value, subsets

from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._samplers import chain as chain_module
from trigpoint._samplers.annealed import AnnealedDPP
from trigpoint._samplers.chain import (
    DeterminantChain,
    PointKernel,
    pivoted_start,
)
from trigpoint._samplers.ensemble import kernel_matrix
from trigpoint._samplers.exact import ExactDPP
from trigpoint._samplers.refinement import patches, search
from trigpoint._samplers.refinement.search import ExchangeSearch

POINTS = POINTS[:6]
BANDWIDTH = 1.6
K = gaussian_kernel(POINTS, BANDWIDTH)


def weights(exponent, matrix=K, k=3):
    return {subset: determinant(matrix, subset) ** exponent for subset in subsets(len(matrix), [k])}


def fits(X, sampler, n_draws=300):
    sampler.set_params(random_state=np.random.default_rng(2))
    return [sampler.fit(X).indices_ for _ in range(n_draws)]


@pytest.mark.parametrize("exponent", [0.0, 2.0])
def test_independent_fits_have_the_distribution(exponent):
    """Start and chain together, by way of `fit`."""
    sampler = AnnealedDPP(3, exponent=exponent, bandwidth=BANDWIDTH, n_sweeps=8)
    draws = fits(POINTS, sampler)
    assert p_value(draws, weights(exponent)) > SIGNIFICANCE
    # Few as they are, draws of another power would be found out.
    assert p_value(draws, weights(1.0)) < SIGNIFICANCE


def test_geodesic_kernel_is_made_positive_semidefinite():
    """A ring: geodesic distances around it make the Gaussian indefinite."""
    angles = np.arange(6) * np.pi / 3
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    G = kernel_matrix(X, kernel="geodesic", bandwidth=3.0, n_neighbors=2, rng=None)
    values, vectors = np.linalg.eigh(G)
    assert values[0] < -1e-3
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    sampler = AnnealedDPP(3, kernel="geodesic", bandwidth=3.0, n_neighbors=2, n_sweeps=8)
    draws = fits(X, sampler)
    assert p_value(draws, weights(1.0, clipped)) > SIGNIFICANCE
    assert p_value(draws, weights(0.0, clipped)) < SIGNIFICANCE


def sweep_by_determinants(matrix, indices, rng):
    """One sweep for power 1, every decision by determinants computed afresh."""
    k = len(indices)
    slots, candidates = rng.integers(k, size=k), rng.integers(len(matrix), size=k)
    log_thresholds = -rng.standard_exponential(k)
    volume = log_determinant(matrix, indices)
    for slot, candidate, log_threshold in zip(slots, candidates, log_thresholds, strict=True):
        after = indices.copy()
        after[slot] = candidate
        new = log_determinant(matrix, after)
        if candidate not in indices and new - volume > log_threshold:
            indices, volume = after, new
    return indices


@pytest.mark.parametrize(("k", "together", "sweeps"), [(20, 64, 40), (20, 3, 40), (80, 64, 5)])
def test_every_decision_is_that_of_the_determinants(k, together, sweeps, monkeypatch):
    """Few points, so that landmarks come back in the same sweep, in other places too."""
    monkeypatch.setattr(chain_module, "_TOGETHER", together)
    X = np.random.default_rng(4).normal(size=(k + 15, 3))
    matrix = gaussian_kernel(X, 0.6)
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    expected = np.arange(k)
    chain = DeterminantChain(PointKernel.gaussian(X, 0.6), expected, 1.0)
    n_accepted = 0
    for _ in range(sweeps):
        n_accepted += chain.sweep(ours)
        expected = sweep_by_determinants(matrix, expected, theirs)
        np.testing.assert_array_equal(chain.indices, expected)
    assert n_accepted > 30
    assert chain.n_refused == 0


def test_parts_too_small_to_rely_on_are_those_of_a_points_own_variance():
    """Given one, 2e-12 of the other's variance is left: little, though more than 1e-11."""
    K = np.diag([1.0, 1e6, 1e6])
    K[1, 2] = K[2, 1] = 1e6 * (1 - 1e-12)
    chain = DeterminantChain(PointKernel.precomputed(K), np.array([0, 1]), 0.05)
    rng = np.random.default_rng(0)
    for _ in range(100):
        chain.sweep(rng)
    assert chain.n_refused > 0
    assert 0 in chain.indices


def log_determinant(matrix, J):
    return np.linalg.slogdet(matrix[np.ix_(J, J)])[1]


def test_chain_is_right_on_an_ill_conditioned_kernel():
    """Variances down to 1e-9, and still the same volumes as exact draws."""
    X = np.random.default_rng(5).uniform(size=(300, 1))
    matrix = gaussian_kernel(X, 0.5)
    means, errors = [], []
    for sampler in (AnnealedDPP(8, bandwidth=0.5, n_sweeps=50), ExactDPP(8, bandwidth=0.5)):
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
    plain = PointKernel.gaussian(X, 1.0)
    computed = 0

    def counted(A, B):
        nonlocal computed
        computed += len(A) * len(B)
        return plain.matrix(A, B)

    rng = np.random.default_rng(7)
    K = PointKernel(X, counted, plain.diagonal)
    start = pivoted_start(K, k, 1.0, rng)
    assert computed == 10_000 * k
    chain = DeterminantChain(K, start, 1.0)
    computed = 0
    for _ in range(sweeps):
        chain.sweep(rng)
    # The kernel of landmarks, once afresh and once for those that enter; with and of candidates.
    assert 0 < computed <= 4 * sweeps * k * k


def test_a_start_from_all_points_is_not_drawn_again():
    """What they cannot give, a second attempt cannot give either."""
    features = np.random.default_rng(0).normal(size=(30, 3))
    matrix, rows = features @ features.T, []

    def counted(A, B):
        rows.extend(A)
        return matrix[np.ix_(A, B)]

    K = PointKernel(np.arange(30), counted, matrix.diagonal().copy())
    start = pivoted_start(K, 5, 1.0, np.random.default_rng(1))
    assert len(start) == 3
    assert sorted(rows) == sorted(start)


def test_acceptance_rate():
    X = np.random.default_rng(9).normal(size=(40, 2))
    sampler = AnnealedDPP(5, bandwidth=1.0, random_state=0)
    assert 0 < sampler.fit(X).acceptance_rate_ < 1
    assert np.isnan(sampler.set_params(exponent=0).fit(X).acceptance_rate_)


# Chains of a refinement by determinants ----------------------------------------------------------

# Their sets differ so much in their determinants that few states tell one power from another.
SEVEN = np.random.default_rng(29).normal(size=(7, 2))
SIX = SEVEN[:6]


def chain_states(X, k, exponent, n_states, sweeps_between):
    """Sets of landmarks that a chain visits, far enough apart to count as separate draws."""
    search = ExchangeSearch(X, np.arange(k), 1.0, exponent, np.random.default_rng(0), 1)
    states = []
    for _ in range(n_states):
        for _ in range(sweeps_between):
            search.sweep()
        states.append(search.rows.copy())
    return states


def determinant_weights(X, k, exponent):
    return weights(exponent, gaussian_kernel(X, 1.0), k)


@pytest.mark.parametrize(("exponent", "wrong"), [(0.5, 1.0), (1.0, 2.0), (3.0, 1.0)])
def test_determinant_chain_has_its_distribution(exponent, wrong):
    """Every set of three out of six points, with the frequency of its determinant's power."""
    states = chain_states(SIX, 3, exponent, 1200, 2)
    assert p_value(states, determinant_weights(SIX, 3, exponent)) > SIGNIFICANCE
    assert p_value(states, determinant_weights(SIX, 3, wrong)) < SIGNIFICANCE


@pytest.fixture(name="small_patches")
def patches_of_two(monkeypatch):
    """Patches of a few landmarks each, larger ones cut at random, few candidates."""
    for name, value in (("MOST_TOGETHER", 2), ("_TOGETHER", 2), ("_CANDIDATES", 1)):
        monkeypatch.setattr(patches, name, value)


def test_chain_of_many_patches_has_the_same_distribution(small_patches):
    states = chain_states(SEVEN, 4, 1.0, 300, 8)
    assert p_value(states, determinant_weights(SEVEN, 4, 1.0)) > SIGNIFICANCE
    assert p_value(states, determinant_weights(SEVEN, 4, 0.5)) < SIGNIFICANCE


@pytest.mark.parametrize("exponent", [None, 1.0])
def test_a_patch_sees_the_exchanges_of_those_before_it(exponent, small_patches, monkeypatch):
    """As if the inverse were computed anew for each."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    monkeypatch.setattr(search, "_LOCAL_FROM", 10**9)

    def refined(search):
        for _ in range(3):
            search.sweep()
        return search.rows.tolist()

    def refine_anew(search, patch, inverse, slots, *, keep):
        refine(search, patch, search._inverse(search._points, search._landmarks), slots, keep=keep)

    def made():
        return ExchangeSearch(X, np.arange(30), 2.0, exponent, np.random.default_rng(3), 1)

    found, refine = refined(made()), ExchangeSearch._refine
    monkeypatch.setattr(ExchangeSearch, "_refine", refine_anew)
    assert found == refined(made())
    assert found != list(range(30))
