"""Tests of distributions of draws, and Algorithm 2 as the paper states it."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
from scipy.stats import chisquare

# Seeds are fixed. A correct sampler fails with this probability once, when a seed is chosen.
SIGNIFICANCE = 1e-4

N_DRAWS = 4000

# Seven points on a bend, so that paths and straight lines differ.
POINTS = np.array(
    [[0.0, 0.0], [0.9, 0.2], [1.7, 0.9], [1.8, 2.0], [1.0, 2.7], [0.1, 2.6], [0.2, 1.3]]
)


def subsets(n, sizes):
    return [subset for size in sizes for subset in combinations(range(n), size)]


def determinant(L, subset):
    return float(np.linalg.det(L[np.ix_(subset, subset)])) if subset else 1.0


def p_value(draws, weights, *, ordered=False):
    """Return the p-value of counts of draws, given weights proportional to probabilities.

    Draws are subsets, or sequences if their order counts. Draws expected fewer than five times are
    pooled; draws that cannot occur must not occur.
    """
    draws = [tuple(map(int, draw)) for draw in draws]
    counts = Counter(draws if ordered else map(tuple, map(sorted, draws)))
    total = sum(weights.values())
    expected = {outcome: len(draws) * weight / total for outcome, weight in weights.items()}
    possible = {outcome for outcome, count in expected.items() if count > 1e-9 * len(draws)}
    assert set(counts) <= possible, "a draw of probability zero came up"
    rare = {outcome for outcome, count in expected.items() if count < 5}
    observed = [counts[outcome] for outcome in expected if outcome not in rare]
    wanted = [count for outcome, count in expected.items() if outcome not in rare]
    pooled = sum(expected[outcome] for outcome in rare)
    if pooled >= 5:
        observed.append(sum(counts[outcome] for outcome in rare))
        wanted.append(pooled)
    else:
        # Too few to stand alone: pool them with the smallest of the others.
        smallest = int(np.argmin(wanted))
        observed[smallest] += sum(counts[outcome] for outcome in rare)
        wanted[smallest] += pooled
    return chisquare(observed, wanted).pvalue


def repulsions(X, m, repulsion, bandwidth):
    """Return the factors (n, n) by which each landmark multiplies the weights of all points."""
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    factors = np.ones_like(distances)
    for i, near in enumerate(np.argsort(distances, axis=1, kind="stable")[:, :m]):
        factors[i, near] = repulsion(distances[i, near], bandwidth)
    return factors


def welsch(distances, sigma):
    """Evaluate the repulsion function of the paper by its definition."""
    return 1 - np.exp(-(distances**2) / (2 * sigma**2))


def algorithm_2(factors, k, rng):
    """Draw k landmarks once, line by line as in the paper."""
    D, J = np.ones(len(factors)), []
    for _ in range(k):
        J.append(rng.choice(len(D), p=D / D.sum()))
        D *= factors[J[-1]]
    return J


def ordered_probabilities(n, k, weights):
    """Return the probability of every ordered draw of k points, given conditional weights."""
    probabilities = {}
    for outcome in permutations(range(n), k):
        probabilities[outcome] = 1.0
        for step, i in enumerate(outcome):
            given = weights(list(outcome[:step]))
            probabilities[outcome] *= given[i] / given.sum()
    return probabilities


def algorithm_2_probabilities(factors, k):
    """Return the probability of every ordered draw of Algorithm 2."""
    return ordered_probabilities(len(factors), k, lambda J: factors[J].prod(axis=0))


def ratio(right, wrong):
    """Return the log-likelihood ratio of each outcome, with its mean and variance under both."""
    possible = [outcome for outcome, p in right.items() if p > 0]
    values = {outcome: np.log(wrong[outcome] / right[outcome]) for outcome in possible}
    scores = np.array(list(values.values()))
    moments = []
    for probabilities in (right, wrong):
        p = np.array([probabilities[outcome] for outcome in possible])
        mean = p @ scores
        moments.append((mean, p @ scores**2 - mean**2))
    return values, moments
