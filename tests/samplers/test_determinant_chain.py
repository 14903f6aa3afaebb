"""The Markov chain of a refinement by determinants has its distribution."""

import numpy as np
import pytest
from subset_statistics import SIGNIFICANCE, determinant, p_value, subsets

from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._samplers.chain import walk
from trigpoint._samplers.refinement import patches, search
from trigpoint._samplers.refinement.search import ExchangeSearch


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(300, 3))


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
    K = gaussian_kernel(X, 1.0)
    return {J: determinant(K, J) ** exponent for J in subsets(len(X), [k])}


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
def test_a_patch_sees_the_exchanges_of_those_before_it(exponent, X, small_patches, monkeypatch):
    """As if the inverse were computed anew for each."""
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


def test_the_test_rejects_a_chain_that_cannot_go_back(monkeypatch):
    """As if a landmark that has left a table could not be proposed again."""

    def one_way(A, chosen, slots, places, *others):
        return walk(A, chosen, slots, np.maximum(places, len(chosen)), *others)

    monkeypatch.setattr(search, "walk", one_way)
    states = chain_states(SIX, 3, 1.0, 1200, 2)
    assert p_value(states, determinant_weights(SIX, 3, 1.0)) < SIGNIFICANCE
