"""Runtimes: the paper's loop draws what it should, and the quick form says what it measured."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from reproducing import reproduce
from scipy.stats import chisquare

from experiments.framework.experiment import Settings
from experiments.paper import runtime
from experiments.paper.runtime import literal_algorithm_2
from trigpoint import EfficientDPP

# Seeds are fixed; a right sampler fails with this probability at most.
SIGNIFICANCE = 1e-4


def exact_probabilities(X, k, m, bandwidth):
    """Probability of every ordered outcome, from the algorithm's definition."""
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    probabilities = {}
    for outcome in permutations(range(len(X)), k):
        D, probability = np.ones(len(X)), 1.0
        for i in outcome:
            probability *= D[i] / D.sum()
            nearest = np.argsort(distances[i])[:m]
            D[nearest] *= 1 - np.exp(-(distances[i][nearest] ** 2) / (2 * bandwidth**2))
        probabilities[outcome] = probability
    return probabilities


def p_value(X, expected, k, m, bandwidth, runs=5000):
    rng = np.random.default_rng(0)
    drawn = Counter(
        tuple(literal_algorithm_2(X, k, m, bandwidth, rng).tolist()) for _ in range(runs)
    )
    assert set(drawn) <= set(expected)
    counts = [drawn[outcome] for outcome in expected]
    return chisquare(counts, runs * np.array(list(expected.values()))).pvalue


def test_the_loop_has_the_probabilities_of_the_definition(rng):
    X = rng.normal(size=(5, 2))
    expected = exact_probabilities(X, 3, 4, 0.8)
    assert sum(expected.values()) == pytest.approx(1)
    assert p_value(X, expected, 3, 4, 0.8) > SIGNIFICANCE
    # The test would notice a wrong neighborhood or bandwidth.
    assert p_value(X, expected, 3, 2, 0.8) < SIGNIFICANCE
    assert p_value(X, expected, 3, 4, 1.6) < SIGNIFICANCE


def test_the_loop_spreads_landmarks_as_the_library_does():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 20)).astype(np.float32)

    def spreads(draw):
        rows = (draw(seed) for seed in range(30))
        return np.array([_closest(X[chosen]) for chosen in rows])

    ours = spreads(
        lambda seed: (
            EfficientDPP(40, n_neighbors=60, bandwidth=0.8, random_state=seed).fit(X).indices_
        )
    )
    literal = spreads(lambda seed: literal_algorithm_2(X, 40, 60, 0.8, np.random.default_rng(seed)))
    error = np.hypot(ours.std(), literal.std()) / np.sqrt(30)
    assert abs(ours.mean() - literal.mean()) < 4 * error
    uniform = spreads(lambda seed: np.random.default_rng(seed).choice(600, 40, replace=False))
    assert literal.mean() - uniform.mean() > 4 * error


def _closest(landmarks):
    """Mean distance to the nearest other landmark."""
    distances = np.linalg.norm(landmarks[:, None] - landmarks, axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances.min(axis=1).mean()


def test_quick_form(data_dir, tmp_path):
    settings = Settings(quick=True, runs=1, data=data_dir)
    result = reproduce("runtime", tmp_path, settings)
    rows = result.rows
    assert len(rows) == result.n_new == 2 * 3 * 6
    assert all(0 < row["seconds"] < 60 for row in rows)
    for row in rows:
        assert (row["iterations"] is not None) == row["method"].startswith("k-means")
    text = result.text
    assert text.count("![") == 1
    assert "runs approximately 15% faster" in " ".join(text.split())
    for method in runtime.METHODS.values():
        assert f"| {method.title} |" in text
    assert len(result.picture) > 20_000
