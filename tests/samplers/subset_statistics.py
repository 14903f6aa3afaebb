"""Whether drawn subsets have the distribution they should: shared by the determinantal samplers."""

from collections import Counter
from itertools import combinations

import numpy as np
from scipy.stats import chisquare

from trigpoint._samplers.ensemble import kernel_matrix, make_ensemble

# Seeds are fixed: a right sampler fails with this probability once, when a seed is chosen.
SIGNIFICANCE = 1e-4

N_DRAWS = 4000

# Seven points bent around, so that paths and lines of sight differ.
POINTS = np.array(
    [[0.0, 0.0], [0.9, 0.2], [1.7, 0.9], [1.8, 2.0], [1.0, 2.7], [0.1, 2.6], [0.2, 1.3]]
)


def subsets(n, sizes):
    return [subset for size in sizes for subset in combinations(range(n), size)]


def determinant(L, subset):
    return float(np.linalg.det(L[np.ix_(subset, subset)])) if subset else 1.0


def p_value(draws, weights):
    """P-value of the observed counts of subsets, given weights proportional to probabilities.

    Subsets expected fewer than five times are pooled; one that cannot occur must not.
    """
    counts = Counter(tuple(sorted(map(int, draw))) for draw in draws)
    total = sum(weights.values())
    expected = {subset: len(draws) * weight / total for subset, weight in weights.items()}
    possible = {subset for subset, count in expected.items() if count > 1e-9 * len(draws)}
    assert set(counts) <= possible, "a subset of probability zero was drawn"
    rare = {subset for subset, count in expected.items() if count < 5}
    observed = [counts[subset] for subset in expected if subset not in rare]
    wanted = [count for subset, count in expected.items() if subset not in rare]
    pooled = sum(expected[subset] for subset in rare)
    if pooled >= 5:
        observed.append(sum(counts[subset] for subset in rare))
        wanted.append(pooled)
    else:
        # Too little to stand alone: with the smallest of the others.
        smallest = int(np.argmin(wanted))
        observed[smallest] += sum(counts[subset] for subset in rare)
        wanted[smallest] += pooled
    return chisquare(observed, wanted).pvalue


def ensemble_and_matrix(kernel):
    """An ensemble as the sampler makes it, and its L from the definition."""
    if kernel == "linear":
        X = np.random.default_rng(3).normal(size=(7, 3))
        L = X @ X.T
    else:
        X = POINTS
        L = kernel_matrix(X, kernel=kernel, bandwidth=1.0, n_neighbors=2, rng=None)
        values, vectors = np.linalg.eigh(L)
        L = (vectors * np.maximum(values, 0)) @ vectors.T
    ensemble = make_ensemble(X, kernel=kernel, bandwidth=1.0, n_neighbors=2, rng=None)
    return ensemble, L
