"""Rows far from all others: what is found, and what is not mistaken for it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint.metrics._outliers import outlying_rows


def slow_rows(X):
    """From all distances; all points are in the sample."""
    third = np.sort(cdist(X, X), axis=1)[:, 3]
    usual = np.sort(third)[int(0.99 * (len(X) - 1))]
    return np.flatnonzero(third > 4 * usual)


@pytest.mark.parametrize("d", [2, 15, 16, 40])
def test_agrees_with_all_distances(d, rng):
    X = rng.normal(size=(250, d))
    X[[3, 77, 200]] += 30 * rng.normal(size=(3, d))
    expected = slow_rows(X)
    assert expected.tolist() == [3, 77, 200]
    np.testing.assert_array_equal(outlying_rows(X), expected)


def test_small_groups_of_outliers_are_outliers(rng):
    X = rng.normal(size=(5000, 3))
    X[10:13] = 100 + 0.01 * rng.normal(size=(3, 3))
    assert outlying_rows(X).tolist() == [10, 11, 12]


def test_varying_density_is_not_an_outlier(bowl, rng):
    assert len(outlying_rows(bowl[0])) == 0
    assert len(outlying_rows(rng.normal(size=(20_000, 3)))) == 0


@pytest.mark.parametrize("d", [2, 16])
def test_rows_that_are_not_among_the_sampled_points_are_found_too(d, rng):
    X = rng.normal(size=(3000, d))
    X[1234] = 1000
    assert outlying_rows(X).tolist() == [1234]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_or_equal_points_have_none(n):
    assert len(outlying_rows(np.arange(2.0 * n).reshape(n, 2))) == 0
    assert len(outlying_rows(np.ones((100 * n, 2)))) == 0
