"""Figure 3: probabilities by formula, and as the samplers draw."""

import numpy as np
import pytest
from reproducing import reproduce
from scipy.stats import binomtest

from experiments.framework.experiment import Settings
from experiments.paper.kmeanspp import (
    BANDWIDTHS,
    BLACK,
    BLUE,
    EFFICIENT,
    EXACT,
    GREEN,
    POINTS,
    RED,
    SEEDING,
    probability_of_green,
    third_landmark,
)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """One quick run of the experiment."""
    return reproduce("kmeanspp", tmp_path_factory.mktemp("kmeanspp"), Settings(quick=True))


def drawn(result, method, bandwidth):
    """Green thirds, and sets that held both landmarks, of a method."""
    rows = result.rows
    rows = [row for row in rows if (row["method"], row["bandwidth"]) == (method, bandwidth)]
    return sum(row["green"] for row in rows), sum(row["held_both"] for row in rows)


def test_both_candidates_are_as_far_from_their_nearest_landmark():
    distances = np.linalg.norm(POINTS[:, None] - POINTS[None], axis=2)
    assert distances[BLUE, GREEN] == distances[BLUE, RED] == 1
    assert distances[BLACK, GREEN] > distances[BLACK, RED] > 1


def test_seeding_is_indifferent():
    assert probability_of_green(SEEDING, None) == 0.5


@pytest.mark.parametrize("sigma", BANDWIDTHS)
def test_probability_under_algorithm_2(sigma):
    # Squared distances from the black landmark: 2.6^2 + 0.6^2 and 1 + 0.6^2.
    green = 1 - np.exp(-7.12 / (2 * sigma**2))
    red = 1 - np.exp(-1.36 / (2 * sigma**2))
    assert probability_of_green(EFFICIENT, sigma) == pytest.approx(green / (green + red), rel=1e-12)
    assert probability_of_green(EFFICIENT, sigma) > 0.5


@pytest.mark.parametrize("sigma", BANDWIDTHS)
def test_probability_under_an_exact_dpp(sigma):
    def volume(to_black):
        a, b, c = np.exp(-np.array([1.8**2, 1.0, to_black]) / (2 * sigma**2))
        return 1 + 2 * a * b * c - a**2 - b**2 - c**2

    green, red = volume(7.12), volume(1.36)
    assert probability_of_green(EXACT, sigma) == pytest.approx(green / (green + red), rel=1e-9)


def test_third_landmark_is_told_by_order_except_of_a_dpp():
    assert third_landmark(np.array([BLACK, BLUE, RED]), SEEDING) == RED
    assert third_landmark(np.array([BLACK, RED, BLUE]), SEEDING) is None
    assert third_landmark(np.array([BLACK, RED, BLUE]), EXACT) == RED
    assert third_landmark(np.array([GREEN, RED, BLUE]), EXACT) is None


def test_draws_follow_the_definitions(result):
    methods = [(SEEDING, None)]
    methods += [(method, sigma) for method in (EFFICIENT, EXACT) for sigma in BANDWIDTHS]
    for method, sigma in methods:
        green, total = drawn(result, method, sigma)
        assert total >= 80
        chance = probability_of_green(method, sigma)
        assert binomtest(green, total, chance).pvalue > 1e-3, (method, sigma)


def test_draws_of_algorithm_2_are_not_indifferent(result):
    for sigma in (1.0, 2.0):
        assert binomtest(*drawn(result, EFFICIENT, sigma), 0.5).pvalue < 1e-4
        # Nor would they pass for those of an exact DPP.
    chance = probability_of_green(EXACT, 2.0)
    assert binomtest(*drawn(result, EFFICIENT, 2.0), chance).pvalue < 1e-3
