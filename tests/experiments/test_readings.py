"""Readings of table 1: errors that are simulated, and what the printed ones say about them."""

import numpy as np
import pytest
from reproducing import reproduce
from scipy.stats import norm
from sklearn.cluster import KMeans

from experiments.framework.experiment import Settings
from experiments.paper import likelihood
from experiments.paper.likelihood import MISFITS, QUESTIONS, Evidence, Posterior, only
from experiments.paper.simulated import (
    ASSUMED_SHAPES,
    FACTORS,
    cases,
    lloyd,
    start_rows,
    trace_errors,
)
from experiments.paper.table1 import COUNTS, PRINTED, THE_FIVE
from trigpoint.metrics import nystrom_error

QUICK = Settings(quick=True)


def test_errors_are_those_of_the_first_landmarks(rng):
    X = rng.normal(size=(200, 3))
    found = trace_errors(X, X[:20], [0.5, 2.0])
    for errors, scale in zip(found, (0.5, 2.0), strict=True):
        for k in (1, 7, 20):
            assert errors[k - 1] == pytest.approx(nystrom_error(X, X[:k], 1 / scale), abs=1e-8)


@pytest.mark.parametrize("power", [1, 2])
def test_seeding_follows_a_power_of_the_distance(power, rng):
    X = np.array([[0.0], [1.0], [3.0]])
    second = [
        rows[1] for rows in (start_rows(X, 2, power, rng) for _ in range(6000)) if not rows[0]
    ]
    share = 3**power / (1 + 3**power)
    assert np.mean(np.array(second) == 2) == pytest.approx(share, abs=0.05)


def test_k_means_is_that_of_others(rng):
    X = rng.normal(size=(300, 2))
    centers, squares = lloyd(X, X[:9], 300, snap=False)
    others = KMeans(9, init=X[:9], n_init=1, max_iter=300, tol=0, algorithm="lloyd").fit(X)
    np.testing.assert_allclose(centers, others.cluster_centers_, atol=1e-10)
    assert squares == pytest.approx(others.inertia_)
    points, _ = lloyd(X, X[:9], 300, snap=True)
    assert {tuple(point) for point in points} <= {tuple(point) for point in X}


@pytest.fixture
def rows(rng):
    """Errors of no sampler, with the deviations of some."""
    found = []
    for case in cases(QUICK):
        row = dict(case)
        for k in COUNTS:
            log = rng.normal(-k / 20, 1.0)
            for factor in FACTORS:
                row[f"log_{factor:g}_{k}"] = log + 8 * np.log(factor)
                row[f"sd_{factor:g}_{k}"] = 0.3
        found.append(row)
    return found


def test_likelihood_is_a_product_over_all_numbers(rows, rng):
    evidence = Evidence(rows, "bowl")
    logs = evidence.logs(0.1)
    for _ in range(20):
        shape, scale, *reading = (int(rng.integers(size)) for size in logs.shape)
        expected = 0.0
        for row in THE_FIVE:
            means, variances = evidence.cells(evidence.shapes[shape], row, reading)
            printed = np.array(PRINTED["bowl"][row])
            chance = 0.3**2 * (1 / 50 + 1 / rows[0]["runs"])
            rounding = (0.001 / printed) ** 2 / 12
            np.testing.assert_allclose(variances[scale], chance + rounding)
            spread = np.sqrt(chance + rounding + 0.1**2)
            expected += norm.logpdf(np.log(printed), means[scale], spread).sum()
        assert logs[(shape, scale, *reading)] == pytest.approx(expected)


def test_the_reading_that_a_table_was_made_with_is_found(rows, monkeypatch):
    planted, scale = (1, 0, 1, 2, 3), 9
    halves = {name: Evidence(rows, name) for name in PRINTED}
    made = {
        name: {
            row: tuple(np.exp(half.cells(ASSUMED_SHAPES[name], row, planted)[0][scale]))
            for row in THE_FIVE
        }
        for name, half in halves.items()
    }
    monkeypatch.setattr(likelihood, "PRINTED", made)
    posterior = Posterior.of(halves)
    (best,) = posterior.best(posterior.joint())
    assert best.options == planted
    assert best.weight > 0.99
    assert all(chosen == (0, scale) for chosen in best.chosen.values())
    assert best.misses("roll") == pytest.approx(0)
    assert posterior.weights(0).argmax() == 0
    for axis, options in enumerate(QUESTIONS.values(), start=1):
        weights = posterior.weights(axis)
        assert len(weights) == len(options)
        assert weights.sum() == pytest.approx(1)
    assert posterior.shape_weights("roll", 2).argmax() == scale
    assert len(posterior.weights(0)) == len(MISFITS)
    (other,) = posterior.best(only(posterior.joint(), 2 + 3, [0, 4]))
    assert other.options[3] in (0, 4)
    assert other.weight < 0.01


def test_quick_run_shows_the_best_reading(tmp_path):
    result = reproduce("readings", tmp_path, QUICK)
    assert result.n_new == len(list(cases(QUICK)))
    assert "comes nearest to all printed rows" in result.text
    assert "m: the other way round" in result.text
