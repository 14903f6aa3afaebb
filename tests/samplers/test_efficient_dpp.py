"""Algorithm 2: the fast draw has the distribution of the paper's loop, and keeps its promises."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare, fisher_exact

from trigpoint._geometry import neighborhood_size
from trigpoint._neighbors.products import ProductIndex
from trigpoint._neighbors.tree import TreeIndex
from trigpoint._numerics.gaussian import REPULSIONS, welsch
from trigpoint._samplers import EfficientDPP, drawing
from trigpoint._samplers.drawing import LandmarkDraw, Repulsion
from trigpoint.datasets import make_fish_bowl

# Fixed seeds make these tests repeatable; a right sampler fails one with this probability at most.
SIGNIFICANCE = 1e-4

# Points among which wrong samplers show clearly, and draws that are compared with the definition:
# enough for those samplers to be rejected, below.
POINTS = np.random.default_rng(17).normal(size=(5, 2))
SETTING = {"X": POINTS, "k": 3, "m": 3, "repulsion": welsch, "bandwidth": 1.0}
RUNS = 4000


def literal_draw(X, k, m, repulsion, bandwidth, rng):
    """Algorithm 2, line by line."""
    n = len(X)
    D = np.ones(n)
    J = []
    for _ in range(k):
        i = rng.choice(n, p=D / D.sum())
        J.append(int(i))
        delta = np.linalg.norm(X - X[i], axis=1)
        neighborhood = np.argsort(delta, kind="stable")[:m]
        D[neighborhood] *= repulsion(delta[neighborhood], bandwidth)
    return tuple(J)


def exact_probabilities(X, k, m, repulsion, bandwidth):
    """Probability of every ordered outcome of Algorithm 2, from its definition."""
    probabilities = {}
    for outcome in permutations(range(len(X)), k):
        D, probability = np.ones(len(X)), 1.0
        for i in outcome:
            probability *= D[i] / D.sum()
            delta = np.linalg.norm(X - X[i], axis=1)
            neighborhood = np.argsort(delta, kind="stable")[:m]
            D[neighborhood] *= repulsion(delta[neighborhood], bandwidth)
        probabilities[outcome] = probability
    return probabilities


def fast_draws(X, k, m, repulsion, bandwidth, rng, runs):
    """Rows of several draws from one index; a callable repulsion goes through the loop."""
    index, repulsion = TreeIndex(X), Repulsion(repulsion, bandwidth)
    return [rows_of(LandmarkDraw(index, k, m, repulsion, rng)) for _ in range(runs)]


def rows_of(draw):
    return tuple(int(row) for accepted in draw for row in accepted)


def fit_to(expected, draws):
    """P-value of the observed counts of ordered outcomes, rare outcomes pooled."""
    counts = Counter(draws)
    assert set(counts) <= {outcome for outcome, p in expected.items() if p > 0}
    observed = np.array([counts[outcome] for outcome in expected])
    wanted = np.array(list(expected.values())) * len(draws)
    rare = wanted < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        wanted = np.append(wanted[~rare], wanted[rare].sum())
        observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    return chisquare(observed, wanted).pvalue


@pytest.mark.slow
def test_fast_draw_has_the_distribution_of_the_definition():
    draws = fast_draws(**SETTING, rng=np.random.default_rng(1), runs=RUNS)
    assert fit_to(exact_probabilities(**SETTING), draws) > SIGNIFICANCE


@pytest.mark.slow
def test_fast_draw_from_refreshed_weights_has_the_same_distribution():
    """A bandwidth so large that nearly every uniform proposal is rejected."""
    setting = SETTING | {"X": POINTS[:4], "m": 4, "bandwidth": 30.0}
    draws = fast_draws(**setting, rng=np.random.default_rng(2), runs=RUNS)
    assert fit_to(exact_probabilities(**setting), draws) > SIGNIFICANCE


@pytest.mark.slow
def test_literal_loop_has_the_distribution_of_the_definition():
    rng = np.random.default_rng(3)
    draws = [literal_draw(**SETTING, rng=rng) for _ in range(RUNS)]
    assert fit_to(exact_probabilities(**SETTING), draws) > SIGNIFICANCE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "runs"),
    # The two repulsions are nearly the same.
    [
        ({"m": 2}, RUNS),
        ({"bandwidth": 1.25}, RUNS),
        ({"repulsion": "sin2"}, 4 * RUNS),
    ],
)
def test_the_same_test_rejects_a_wrong_sampler(wrong, runs):
    # Compiled, because that is faster.
    setting = SETTING | {"repulsion": "welsch"} | wrong
    draws = fast_draws(**setting, rng=np.random.default_rng(4), runs=runs)
    counts_possible = {
        outcome: max(p, 1e-12) for outcome, p in exact_probabilities(**SETTING).items()
    }
    total = sum(counts_possible.values())
    expected = {outcome: p / total for outcome, p in counts_possible.items()}
    assert fit_to(expected, draws) < SIGNIFICANCE


@pytest.mark.parametrize("bandwidth", [0.3, 5.0])
@pytest.mark.parametrize("index", [TreeIndex, ProductIndex])
def test_batches_change_nothing(bandwidth, index, rng):
    searched = index(rng.normal(size=(400, 3)))
    draws = [
        LandmarkDraw(
            searched,
            60,
            40,
            Repulsion(welsch, bandwidth),
            np.random.default_rng(7),
            queries_at_once=queries,
        )
        for queries in (1, 2, 13, 500)
    ]
    assert len({rows_of(draw) for draw in draws}) == 1
    assert len({draw.n_proposals for draw in draws}) == 1


def test_landmarks_are_diverse(rng):
    """Repelled landmarks are further from their nearest fellow than uniform ones."""
    X = rng.uniform(size=(5000, 2))

    def closest_pair(landmarks):
        return TreeIndex(landmarks).query(landmarks, 2)[0][:, 1].min()

    dpp = [closest_pair(EfficientDPP(100, random_state=s).fit(X).landmarks_) for s in range(10)]
    uniform = [closest_pair(X[np.random.default_rng(s).choice(5000, 100)]) for s in range(10)]
    assert np.mean(dpp) > 5 * np.mean(uniform)


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


def test_fewer_distinct_points_than_landmarks():
    X = np.repeat(np.arange(12.0)[:, None], 50, axis=0)
    with pytest.raises(ValueError, match=r"n_landmarks=13.*after 12 landmarks.*n_landmarks <= 12"):
        EfficientDPP(13, n_neighbors=100, random_state=0).fit(X)


def test_bandwidth_looks_beyond_copies_of_a_point():
    X = np.repeat(np.arange(12.0)[:, None], 50, axis=0)
    sampler = EfficientDPP(12, n_neighbors=5, random_state=0).fit(X)
    assert sampler.bandwidth_ == 1.0
    assert sorted(sampler.landmarks_.ravel()) == list(range(12))


def test_identical_points_are_refused():
    with pytest.raises(ValueError, match="all 50 points coincide"):
        EfficientDPP(2).fit(np.ones((50, 2)))


@pytest.mark.parametrize("wrong", [lambda d, b: 2 + d, lambda d, b: d - 1e9])
def test_repulsion_outside_its_range_is_refused(wrong, rng):
    with pytest.raises(ValueError, match="values outside 0 to 1"):
        EfficientDPP(5, repulsion=wrong).fit(rng.normal(size=(30, 2)))


def test_weights_that_would_underflow(rng):
    """Two hundred landmarks each repel all points by a factor of about 1e-8."""
    X = rng.normal(size=(300, 3))
    sampler = EfficientDPP(200, n_neighbors=300, bandwidth=1e4, random_state=0).fit(X)
    assert len(set(sampler.indices_)) == 200


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_landmarks": 0}, ValueError, "n_landmarks=0 is too small"),
        ({"n_landmarks": 31}, ValueError, "n_landmarks=31 is too large.*30 points"),
        ({"n_landmarks": 2.5}, TypeError, "n_landmarks must be a whole number"),
        ({"n_neighbors": 31}, ValueError, "n_neighbors=31 is too large.*30 points"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 is too small"),
        ({"bandwidth": 0.0}, ValueError, "bandwidth=0.0 is out of range"),
        ({"bandwidth": "wide"}, TypeError, "bandwidth must be a number"),
        ({"repulsion": "cosine"}, ValueError, "repulsion='cosine' is not known"),
        ({"pool": "half"}, TypeError, "pool='half' is not known"),
        ({"pool": 1}, ValueError, "pool=1 is too small"),
        ({"random_state": "seed"}, TypeError, "random_state must be"),
        ({"random_state": -1}, ValueError, "random_state=-1 is negative"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message, rng):
    with pytest.raises(error, match=message):
        EfficientDPP(**({"n_landmarks": 5} | parameters)).fit(rng.normal(size=(30, 2)))


@pytest.mark.parametrize("name", REPULSIONS)
def test_compiled_draw_has_the_distribution_of_the_definition(name):
    """The one loop of small data, as the loop over an index above."""
    draw = LandmarkDraw(TreeIndex(POINTS), 3, 5, Repulsion(name, 0.8), np.random.default_rng(0))
    assert draw._races
    draws = fast_draws(**(SETTING | {"repulsion": name}), rng=np.random.default_rng(5), runs=RUNS)
    expected = exact_probabilities(**(SETTING | {"repulsion": REPULSIONS[name]}))
    assert fit_to(expected, draws) > SIGNIFICANCE


@pytest.mark.parametrize("name", REPULSIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_and_threaded_draws_agree(name, dtype, monkeypatch):
    X, _ = make_fish_bowl(3000, dtype=dtype, random_state=0)
    X = np.concatenate([X, X[:300]])
    sampler = EfficientDPP(150, repulsion=name, random_state=3)
    compiled = sampler.fit(X)
    rows, radii, searches = compiled.indices_, compiled.radii_, compiled.n_distance_rows_
    monkeypatch.setattr(drawing, "RACE_UP_TO", 0)
    threaded = sampler.fit(X)
    # The compiled loop searches for accepted proposals alone.
    assert searches < threaded.n_distance_rows_
    np.testing.assert_array_equal(threaded.indices_, rows)
    np.testing.assert_array_equal(threaded.radii_, radii)
