"""Compiled loops called by themselves: rounding at its worst, which the library seldom meets."""

import numpy as np
import pytest

from trigpoint._kernels.landmark_sums import _exponentiate
from trigpoint._neighbors.products import settle


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.02, 0.2])
@pytest.mark.parametrize("m", [1, 2, 13, 30, 39])
def test_rounding_within_its_bound_changes_no_neighbor(share, m, rng):
    """Squared distances off by anything up to the bound, on a grid with many ties."""
    for _ in range(20):
        points = rng.integers(3, size=(40, 3)) / 2
        query = points[0].copy()
        norms, query_norm = (points**2).sum(axis=1), float(query @ query)
        exact = ((points - query) ** 2).sum(axis=1)
        off = share * (query_norm + norms) * rng.uniform(-1, 1, size=40)
        squares, places = exact + off, np.arange(40)
        reached = settle(
            exact.take,
            norms,
            query_norm,
            share,
            np.inf,
            squares,
            places,
            m,
        )
        nearest = np.lexsort((np.arange(40), exact))[:m]
        assert sorted(places[:m]) == sorted(nearest)
        assert reached == (exact[nearest[-1]], nearest[-1])


def test_neighbors_that_may_be_missing_are_reported(rng):
    points = rng.normal(size=(30, 3))
    norms, query_norm = (points**2).sum(axis=1), float(points[0] @ points[0])
    exact = ((points - points[0]) ** 2).sum(axis=1)
    bound = exact + 0.1 * (query_norm + norms)
    cut = np.sort(bound)[9]
    for m, missing in ((10, False), (11, True)):
        squares, places = exact.copy(), np.arange(30)
        found = settle(exact.take, norms, query_norm, 0.1, cut, squares, places, m)
        assert (found == (-1, -1)) == missing


def test_exponentials_are_right_to_the_last_digits():
    x = -np.concatenate([np.linspace(0, 2, 1001), np.linspace(2, 700, 4000)])
    bits = np.zeros(len(x) + 1, dtype=np.int64)
    result = np.full(len(x) + 1, 5.0)
    _exponentiate(x, result, len(x), bits, bits.view(np.float64))
    np.testing.assert_allclose(result[:-1], np.exp(x), rtol=1e-13)
    np.testing.assert_allclose(result[:-1][x > -20], np.exp(x[x > -20]), rtol=1e-15)
    assert result[-1] == 5
    # Below, weights are as small as they get.
    _exponentiate(np.array([-1e6]), result, 1, bits, bits.view(np.float64))
    np.testing.assert_allclose(result[0], np.exp(-700), rtol=1e-13)
