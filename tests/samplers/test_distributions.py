"""Landmarks from `fit` have the documented distribution; a 10 % wrong bandwidth is detected.

Only samplers come from the library: kernels and probabilities are computed by their definitions.
Each test uses the log-likelihood ratio of a distribution to that with a 10 % larger bandwidth,
whose mean and variance are known, so that its power can be computed: at least 0.9 at a level of
0.001.
"""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2, norm, ttest_1samp
from subset_statistics import (
    N_DRAWS,
    SIGNIFICANCE,
    algorithm_2,
    algorithm_2_probabilities,
    determinant,
    p_value,
    ratio,
    repulsions,
    subsets,
    welsch,
)

import trigpoint as tp
from trigpoint._geometry import neighborhood_size
from trigpoint._neighbors.tree import TreeIndex
from trigpoint._numerics.gaussian import REPULSIONS
from trigpoint._samplers import EfficientDPP
from trigpoint._samplers.drawing import LandmarkDraw, Race, Repulsion

LEVEL, POWER = 0.001, 0.9
SIGMA, WRONG = 1.0, 1.1

# Points for which a wrong bandwidth is clearly visible.
REPELLING = np.random.default_rng(171).normal(size=(6, 2))
SPANNING = 0.8 * np.random.default_rng(3).normal(size=(7, 2))
M = 4


def kernel(X, sigma):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))


def ordered_draws(sigma):
    """Return the probability of every ordered outcome of Algorithm 2."""
    return algorithm_2_probabilities(repulsions(REPELLING, M, welsch, sigma), 3)


def k_dpp(sigma):
    """Return the probability of every subset of one size, proportional to its determinant."""
    L = kernel(SPANNING, sigma)
    found = {J: determinant(L, J) for J in subsets(len(SPANNING), [4])}
    total = sum(found.values())
    return {J: weight / total for J, weight in found.items()}


def efficient(sigma, rng):
    sampler = tp.EfficientDPP(3, n_neighbors=M, bandwidth=sigma, pool=None, random_state=rng)
    return lambda: tuple(map(int, sampler.fit(REPELLING).indices_))


def exact(sigma, rng):
    sampler = tp.ExactDPP(4, bandwidth=sigma, random_state=rng)
    return lambda: tuple(sorted(map(int, sampler.fit(SPANNING).indices_)))


@pytest.mark.parametrize(("probabilities", "sampler"), [(ordered_draws, efficient), (k_dpp, exact)])
def test_fit_draws_from_the_distribution_of_its_bandwidth(probabilities, sampler):
    runs = 2500
    values, moments = ratio(probabilities(SIGMA), probabilities(WRONG))
    (mean, variance), (shifted, spread) = moments
    limit = norm.isf(LEVEL / 2) * np.sqrt(variance / runs)
    assert norm.sf((mean + limit - shifted) / np.sqrt(spread / runs)) >= POWER

    def deviation(sigma, seed):
        draw = sampler(sigma, np.random.default_rng(seed))
        return abs(np.mean([values[draw()] for _ in range(runs)]) - mean)

    assert deviation(SIGMA, seed=1) < limit
    assert deviation(WRONG, seed=2) > limit
    assert deviation(1 / WRONG, seed=3) > limit


# Points in ten cells, for large counts and pair counts.
CLOUD = np.random.default_rng(2).uniform(size=(300, 2)) * [10, 1]
CELLS = CLOUD[:, 0].astype(int)


@pytest.fixture(scope="module")
def clouds():
    """Return subsets drawn by `ExactDPP.fit`, with the right bandwidth and with a wrong one."""
    found = {}
    for sigma in (0.5, 0.55):
        sampler = tp.ExactDPP(bandwidth=sigma, random_state=np.random.default_rng(4))
        found[sigma] = [sampler.fit(CLOUD).indices_ for _ in range(250)]
    return found


def test_inclusion_probabilities_of_hundreds_of_points(clouds):
    """Means and covariances of the counts in ten cells follow from the marginal kernel."""
    L = kernel(CLOUD, 0.5)
    marginal = L @ np.linalg.inv(L + np.eye(len(L)))
    inside = (CELLS[:, None] == np.arange(10)).astype(float)
    expected = inside.T @ np.diag(marginal)
    covariance = np.diag(expected) - inside.T @ marginal**2 @ inside

    def p_value(draws):
        counts = np.array([np.bincount(CELLS[draw], minlength=10) for draw in draws])
        away = counts.mean(axis=0) - expected
        return chi2.sf(len(draws) * away @ np.linalg.solve(covariance, away), 10)

    assert p_value(clouds[0.5]) > LEVEL
    # This statistic almost surely detects a bandwidth that is wrong by 10 %.
    assert p_value(clouds[0.55]) < 1e-12


def test_pair_probabilities_of_hundreds_of_points(clouds):
    """The statistic is the number of pairs that are close to each other."""
    L = kernel(CLOUD, 0.5)
    marginal = L @ np.linalg.inv(L + np.eye(len(L)))
    diagonal, close = np.diag(marginal), np.triu(cdist(CLOUD, CLOUD) < 0.7, k=1)
    expected = (np.outer(diagonal, diagonal) - marginal**2)[close].sum()
    pairs = [close[np.ix_(draw, draw)].sum() for draw in map(np.sort, clouds[0.5])]
    assert ttest_1samp(pairs, expected).pvalue > LEVEL
    # Without repulsion there would be many more.
    assert ttest_1samp(pairs, np.outer(diagonal, diagonal)[close].sum()).pvalue < 1e-12


@pytest.mark.slow
def test_efficient_draws_of_hundreds_of_points_are_those_of_the_loop():
    """Counts in ten cells and of close pairs are compared with the loop of Algorithm 2."""
    k, m, sigma, runs = 80, 40, 0.3, 600
    factors, close = repulsions(CLOUD, m, welsch, sigma), cdist(CLOUD, CLOUD) < 0.5

    def statistics(draws):
        counts = [np.bincount(CELLS[draw], minlength=10) for draw in draws]
        pairs = [(close[np.ix_(draw, draw)].sum() - k) / 2 for draw in draws]
        # Nine cells, since the tenth count follows from the others.
        return np.c_[np.array(counts)[:, :-1], pairs]

    def p_value(first, second):
        a, b = statistics(first), statistics(second)
        away = a.mean(axis=0) - b.mean(axis=0)
        covariance = np.cov(a.T) / len(a) + np.cov(b.T) / len(b)
        return chi2.sf(away @ np.linalg.solve(covariance, away), len(away))

    def fitted(sigma, seed):
        sampler = tp.EfficientDPP(
            k, n_neighbors=m, bandwidth=sigma, pool=None, random_state=np.random.default_rng(seed)
        )
        return [sampler.fit(CLOUD).indices_ for _ in range(runs)]

    rng = np.random.default_rng(5)
    expected = [algorithm_2(factors, k, rng) for _ in range(runs)]
    assert p_value(expected, fitted(sigma, seed=6)) > LEVEL
    assert p_value(expected, fitted(WRONG * sigma, seed=7)) < LEVEL


def test_expected_error_of_a_k_dpp():
    """The error is (k + 1) e_{k+1} / e_k, at most k + 1 times the lowest trace-norm error.

    The bound printed in the paper has the squared Frobenius norm instead, and does not hold.
    """
    sigma, k, runs = 1.0, 20, 400
    X = tp.datasets.make_swiss_roll(60, random_state=1)[0] * 0.115
    eigenvalues = np.linalg.eigvalsh(kernel(X, sigma))[::-1]
    # Coefficients of the product of (1 + lambda t), the elementary symmetric polynomials.
    polynomials = np.array([1.0])
    for value in eigenvalues:
        polynomials = np.convolve(polynomials, [1.0, value])[: k + 2]
    expected = (k + 1) * polynomials[k + 1] / polynomials[k]
    sampler = tp.ExactDPP(k, bandwidth=sigma, random_state=np.random.default_rng(1))
    errors = [tp.metrics.nystrom_error(X, sampler.fit(X).indices_, sigma) for _ in range(runs)]
    assert ttest_1samp(errors, expected).pvalue > LEVEL
    assert ttest_1samp(errors, 1.05 * expected).pvalue < LEVEL
    lost = eigenvalues[k:]
    assert (k + 1) * (lost**2).sum() < expected <= (k + 1) * lost.sum()


# Points for which wrong samplers are clearly visible.
POINTS = np.random.default_rng(17).normal(size=(5, 2))
SETTING = {"X": POINTS, "m": 3, "repulsion": welsch, "bandwidth": 1.0}
K = 3


def fast_draws(X, m, repulsion, bandwidth, rng):
    """Return rows of several draws from one index; a callable repulsion uses the Python loop."""
    index, repulsion = TreeIndex(X), Repulsion(repulsion, bandwidth)
    return [np.concatenate(list(LandmarkDraw(index, K, m, repulsion, rng))) for _ in range(N_DRAWS)]


def fit_to(setting, draws):
    """Return the p-value of ordered draws, given the probabilities of Algorithm 2."""
    return p_value(draws, algorithm_2_probabilities(repulsions(**setting), K), ordered=True)


# Repulsion so strong that nearly every uniform proposal is rejected, and weights are refreshed.
@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"X": POINTS[:4], "m": 4, "bandwidth": 30.0}])
def test_fast_draw_has_the_distribution_of_the_definition(changes):
    setting = SETTING | changes
    draws = fast_draws(**setting, rng=np.random.default_rng(1))
    assert fit_to(setting, draws) > SIGNIFICANCE
    # Draws with other parameters are detected.
    for wrong in ({"m": 2}, {"bandwidth": 1.25}) if not changes else ():
        assert fit_to(SETTING | wrong, draws) < SIGNIFICANCE


@pytest.mark.parametrize("name", REPULSIONS)
def test_compiled_draw_has_the_distribution_of_the_definition(name):
    """The compiled loop for small data and the loop over an index are compared."""
    draw = LandmarkDraw(TreeIndex(POINTS), 3, 5, Repulsion(name, 0.8), np.random.default_rng(0))
    assert isinstance(draw.decider, Race)
    draws = fast_draws(**(SETTING | {"repulsion": name}), rng=np.random.default_rng(5))
    assert fit_to(SETTING | {"repulsion": REPULSIONS[name]}, draws) > SIGNIFICANCE


def test_default_neighborhood_follows_n_over_k():
    assert neighborhood_size(10_000, 100) == 400
    assert neighborhood_size(100, 100) == 10
    assert neighborhood_size(5, 3) == 5


def test_bandwidth_ignores_duplicates_of_a_point():
    X = np.repeat(np.arange(12.0)[:, None], 50, axis=0)
    sampler = EfficientDPP(12, n_neighbors=5, random_state=0).fit(X)
    assert sampler.bandwidth_ == 1.0
    assert sorted(sampler.landmarks_.ravel()) == list(range(12))


@pytest.mark.parametrize("wrong", [lambda d, b: 2 + d, lambda d, b: d - 1e9])
def test_repulsion_outside_its_range_is_refused(wrong, rng):
    with pytest.raises(ValueError, match="values outside 0 to 1"):
        EfficientDPP(5, repulsion=wrong).fit(rng.normal(size=(30, 2)))


def test_weights_that_would_underflow(rng):
    """Two hundred landmarks each repel all points by a factor of about 1e-8."""
    X = rng.normal(size=(300, 3))
    sampler = EfficientDPP(200, n_neighbors=300, bandwidth=1e4, random_state=0).fit(X)
    assert len(set(sampler.indices_)) == 200
