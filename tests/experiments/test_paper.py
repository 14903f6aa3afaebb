"""The paper's synthetic experiments: definitions, and claims in the quick form."""

from functools import cache

import numpy as np
import pytest
from reproducing import OneRun, reproduce
from scipy.stats import binomtest
from tests.samplers.subset_statistics import (
    SIGNIFICANCE,
    algorithm_2_probabilities,
    p_value,
    repulsions,
    welsch,
)

from experiments.pages import column
from experiments.paper import kmeanspp, neighbors, repulsion, runtime, sampling, table1
from experiments.runner import Settings

WIDE = (1.0, 2.0, 4.0)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Return rows of the quick form of an experiment with given values; all tests share its run."""

    @cache
    def reproduced(name):
        settings = OneRun(quick=True) if name == "neighbors" else Settings(quick=True)
        return reproduce(name, tmp_path_factory.mktemp(name), settings).rows

    def rows(name, **chosen):
        found = [row for row in reproduced(name) if chosen.items() <= row.items()]
        assert found
        return found

    return rows


# Figure 1: sampling ---------------------------------------------------------------------------


def test_inner_part_is_the_first_half_turn():
    def arc_length(t):
        return 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))

    _, plane, inner = sampling.points(2000, seed=0)
    border = sampling.SCALE * (arc_length(2.5 * np.pi) - arc_length(1.5 * np.pi))
    np.testing.assert_array_equal(inner, plane[:, 0] <= border)


def test_coverage_by_hand():
    plane = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    inner = np.array([True, True, True, False])
    assert sampling.coverage(plane, inner, np.array([1]), reach=1.0) == {
        "inner_landmarks": 1,
        "radius": round(np.sqrt(20), 4),
        "inner_radius": 2.0,
        "inner_reached": round(2 / 3, 4),
    }
    none = sampling.coverage(plane, inner, np.array([], dtype=int), reach=1.0)
    assert (none["inner_reached"], none["radius"]) == (0, None)


@pytest.mark.parametrize("method", [sampling.GEODESIC, sampling.EFFICIENT])
def test_with_wide_bandwidths_the_inner_part_is_reached_better(quick, method):
    reached = {
        name: np.array(
            [
                column(
                    quick(
                        "sampling", method=name, bandwidth=sigma, n_landmarks=sampling.COUNTS[sigma]
                    ),
                    "inner_reached",
                ).mean()
                for sigma in WIDE
            ]
        )
        for name in (method, sampling.STANDARD)
    }
    gains = reached[method] - reached[sampling.STANDARD]
    assert gains.min() > 0
    assert gains.mean() > 0.1


# Figure 2: repulsion --------------------------------------------------------------------------


def test_functions_differ_most_where_their_slopes_agree():
    place, gap = repulsion.largest_gap()
    assert np.sin(2 * place) == pytest.approx(2 * place * np.exp(-(place**2)), abs=1e-4)
    assert gap == pytest.approx(np.sin(place) ** 2 - 1 + np.exp(-(place**2)), abs=1e-12)


@pytest.mark.parametrize("data", ["roll", "bowl"])
def test_both_functions_repel_and_it_hardly_matters_which(quick, data):
    m = table1.SURFACES[data].n_neighbors
    plain, sine = (
        table1.errors_of(quick("repulsion", data=data, m=m, repulsion=name))
        for name in ("welsch", "sin2")
    )
    assert (plain != sine).any()
    assert abs(np.log(sine.mean(axis=0) / plain.mean(axis=0)).mean()) < 0.2
    # Without repulsion, landmarks would be a uniform sample, with the errors of one.
    case = {"data": data, "n": 400, "scale": table1.SURFACES[data].scale, "method": table1.UNIFORM}
    uniform = table1.errors_of([table1.run({**case, "seed": s}, Settings()) for s in range(6)])
    for errors in (plain, sine):
        assert (errors.mean(axis=0)[1:] < 0.5 * uniform.mean(axis=0)[1:]).all()


# Figure 3: k-means++ --------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", kmeanspp.BANDWIDTHS)
def test_probabilities_by_hand(sigma):
    # Squared distances from the black landmark: 2.6^2 + 0.6^2 and 1 + 0.6^2.
    green, red = (1 - np.exp(-square / (2 * sigma**2)) for square in (7.12, 1.36))
    found = kmeanspp.probability_of_green(kmeanspp.EFFICIENT, sigma)
    assert found == pytest.approx(green / (green + red), rel=1e-12)

    def volume(to_black):
        a, b, c = np.exp(-np.array([1.8**2, 1.0, to_black]) / (2 * sigma**2))
        return 1 + 2 * a * b * c - a**2 - b**2 - c**2

    green, red = volume(7.12), volume(1.36)
    found = kmeanspp.probability_of_green(kmeanspp.EXACT, sigma)
    assert found == pytest.approx(green / (green + red), rel=1e-9)
    assert kmeanspp.probability_of_green(kmeanspp.SEEDING, None) == 0.5


def test_draws_follow_the_definitions(quick):
    methods = [(kmeanspp.SEEDING, None)]
    methods += [(m, s) for m in (kmeanspp.EFFICIENT, kmeanspp.EXACT) for s in kmeanspp.BANDWIDTHS]
    drawn = {}
    for method, sigma in methods:
        rows = quick("kmeanspp", method=method, bandwidth=sigma)
        drawn[method, sigma] = (sum(row[name] for row in rows) for name in ("green", "held_both"))
        green, total = drawn[method, sigma] = tuple(drawn[method, sigma])
        assert total >= 80
        chance = kmeanspp.probability_of_green(method, sigma)
        assert binomtest(green, total, chance).pvalue > 1e-3, (method, sigma)
    # They are not those of an indifferent method either.
    assert binomtest(*drawn[kmeanspp.EFFICIENT, 2.0], 0.5).pvalue < 1e-4


# Table 1 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["roll", "bowl"])
def test_errors_of_table_1(quick, data):
    scale = table1.SURFACES[data].scale
    errors = {
        name: table1.errors_of(quick("table1", data=data, scale=scale, method=name))
        for name in (*table1.SAMPLERS, table1.OPTIMUM)
    }
    for found in errors.values():
        # Both are accurate to about six digits, and stored with five.
        assert (found > 0.9999 * errors[table1.OPTIMUM][: len(found)]).all()
    means = {name: found.mean(axis=0) for name, found in errors.items()}
    for name in (table1.SEEDING, table1.EFFICIENT):
        assert (np.diff(means[name]) < 0).all()
    # Claims of the paper that hold: with many landmarks, the efficient DPP is best.
    assert (means[table1.SEEDING] < means[table1.UNIFORM])[1:].all()
    assert (means[table1.KMEANS] < means[table1.UNIFORM])[:-1].all()
    assert (means[table1.KMEANS_PP] < means[table1.SEEDING])[:2].all()
    assert all(means[table1.EFFICIENT][-1] < means[name][-1] for name in table1.THE_FIVE[:-1])
    assert (errors[table1.REFINED][0] < 0.8 * errors[table1.AUTOMATIC][0]).all()


# Ten million points, at a hundredth of its size -----------------------------------------------


def test_bhattacharyya_graphs_are_more_robust(quick):
    """The paper claims that shortcuts appear later, and that the order is preserved for longer."""
    m = 4 * neighbors.QUICK_POINTS // neighbors.QUICK_LANDMARKS
    shortcuts = {}
    for linking in (neighbors.PLAIN, neighbors.AGREED):
        euclidean, ours = (
            quick("neighbors", linking=linking, metric=metric, m=m) for metric in neighbors.METRICS
        )
        shortcuts[linking] = column(euclidean, "shortcuts"), column(ours, "shortcuts")
        assert (shortcuts[linking][1][1:] < 0.6 * shortcuts[linking][0][1:]).all()
        assert shortcuts[linking][0][2] > 0.2
        assert shortcuts[linking][1][:2].max() < 0.005
        assert column(ours, "order")[:2].min() > 0.99
        assert column(euclidean, "order")[2:].max() < 0.7
    for agreed, plain in zip(shortcuts[neighbors.AGREED], shortcuts[neighbors.PLAIN], strict=True):
        assert (agreed <= plain).all()


# Runtime: the paper's loop --------------------------------------------------------------------


@pytest.mark.parametrize(("m", "bandwidth", "right"), [(4, 0.8, 1), (2, 0.8, 0), (4, 1.6, 0)])
def test_the_loop_has_the_probabilities_of_the_definition(rng, m, bandwidth, right):
    X, draws = rng.normal(size=(5, 2)), np.random.default_rng(0)
    drawn = [runtime.literal_algorithm_2(X, 3, m, bandwidth, draws) for _ in range(5000)]
    expected = algorithm_2_probabilities(repulsions(X, 4, welsch, 0.8), 3)
    # A wrong neighborhood or bandwidth would be noticed.
    assert (p_value(drawn, expected, ordered=True) > SIGNIFICANCE) == bool(right)
