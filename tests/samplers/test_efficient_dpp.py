"""Algorithm 2: the fast draw has the distribution of the paper's loop, and keeps its promises."""

import numpy as np
import pytest
from scipy.stats import fisher_exact
from subset_statistics import (
    N_DRAWS,
    SIGNIFICANCE,
    algorithm_2,
    algorithm_2_probabilities,
    p_value,
    repulsions,
)

from trigpoint._geometry import neighborhood_size
from trigpoint._neighbors.tree import TreeIndex
from trigpoint._numerics.gaussian import REPULSIONS, welsch
from trigpoint._samplers import EfficientDPP
from trigpoint._samplers.drawing import LandmarkDraw, Race, Repulsion
from trigpoint.datasets import make_fish_bowl

# Points among which wrong samplers show clearly.
POINTS = np.random.default_rng(17).normal(size=(5, 2))
SETTING = {"X": POINTS, "m": 3, "repulsion": welsch, "bandwidth": 1.0}
K = 3


def fast_draws(X, m, repulsion, bandwidth, rng, runs=N_DRAWS):
    """Rows of several draws from one index; a callable repulsion goes through the loop."""
    index, repulsion = TreeIndex(X), Repulsion(repulsion, bandwidth)
    return [np.concatenate(list(LandmarkDraw(index, K, m, repulsion, rng))) for _ in range(runs)]


def fit_to(setting, draws):
    """P-value of ordered draws, given the probabilities of Algorithm 2."""
    return p_value(draws, algorithm_2_probabilities(repulsions(**setting), K), ordered=True)


# Others are so repelled that nearly every uniform proposal is rejected: weights are refreshed.
@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"X": POINTS[:4], "m": 4, "bandwidth": 30.0}])
def test_fast_draw_has_the_distribution_of_the_definition(changes):
    setting = SETTING | changes
    draws = fast_draws(**setting, rng=np.random.default_rng(1))
    assert fit_to(setting, draws) > SIGNIFICANCE


@pytest.mark.slow
def test_literal_loop_has_the_distribution_of_the_definition():
    rng, factors = np.random.default_rng(3), repulsions(**SETTING)
    draws = [algorithm_2(factors, K, rng) for _ in range(N_DRAWS)]
    assert fit_to(SETTING, draws) > SIGNIFICANCE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "runs"),
    # The two repulsions are nearly the same.
    [({"m": 2}, N_DRAWS), ({"bandwidth": 1.25}, N_DRAWS), ({"repulsion": "sin2"}, 4 * N_DRAWS)],
)
def test_the_same_test_rejects_a_wrong_sampler(wrong, runs):
    # Compiled, because that is faster.
    setting = SETTING | {"repulsion": "welsch"} | wrong
    draws = fast_draws(**setting, rng=np.random.default_rng(4), runs=runs)
    assert fit_to(SETTING, draws) < SIGNIFICANCE


@pytest.mark.parametrize("name", REPULSIONS)
def test_compiled_draw_has_the_distribution_of_the_definition(name):
    """The one loop of small data, as the loop over an index above."""
    draw = LandmarkDraw(TreeIndex(POINTS), 3, 5, Repulsion(name, 0.8), np.random.default_rng(0))
    assert isinstance(draw.decider, Race)
    draws = fast_draws(**(SETTING | {"repulsion": name}), rng=np.random.default_rng(5))
    assert fit_to(SETTING | {"repulsion": REPULSIONS[name]}, draws) > SIGNIFICANCE


def test_fish_bowl_bottom_is_reached_more_often_than_by_uniform_landmarks():
    """The sparse bottom of the bowl: a landmark in the lowest tenth of its height."""
    runs = 100
    reached = {"dpp": 0, "uniform": 0}
    for seed in range(runs):
        X, _ = make_fish_bowl(2000, random_state=seed)
        bottom = X[:, 2] < -0.8
        dpp = EfficientDPP(50, random_state=seed).fit(X).indices_
        uniform = np.random.default_rng(seed).choice(2000, 50, replace=False)
        reached["dpp"] += int(bottom[dpp].any())
        reached["uniform"] += int(bottom[uniform].any())
    table = [[count, runs - count] for count in reached.values()]
    assert fisher_exact(table, alternative="greater").pvalue < SIGNIFICANCE, reached


def test_default_neighborhood_follows_n_over_k():
    assert neighborhood_size(10_000, 100) == 400
    assert neighborhood_size(100, 100) == 10
    assert neighborhood_size(5, 3) == 5


def test_bandwidth_looks_beyond_copies_of_a_point():
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
