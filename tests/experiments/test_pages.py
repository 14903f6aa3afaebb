"""Statistics in the pages of experiments."""

import numpy as np
import pytest
from scipy import stats

from experiments.pages import Comparison, column, compare, holm


@pytest.fixture
def methods(rng):
    """Return runs of two methods with correlated errors."""
    shared = rng.normal(size=12)
    return tuple(
        [{"seed": seed, "error": float(value)} for seed, value in enumerate(values)]
        for values in (shared + rng.normal(0.5, 0.3, 12), shared + rng.normal(0, 0.3, 12))
    )


def test_comparison_is_the_paired_t_test_of_runs_with_the_same_seed(methods):
    first, second = methods
    # Seeds 3 to 9 in another order, and all seeds.
    for low, high in ((3, 10), (0, 12)):
        found = compare(first[low:], second[:high][::-1], "error")
        a, b = column(first[low:high], "error"), column(second[low:high], "error")
        assert found.n_pairs == high - low
        assert found.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
        assert found.difference == pytest.approx(a.mean() - b.mean())


def test_overlapping_splits_are_less_significant():
    """The expected value is the formula of Nadeau and Bengio, by hand for four differences."""
    one = [{"seed": seed, "x": x} for seed, x in enumerate([1.0, 2.0, 3.0, 4.0])]
    other = [{"seed": seed, "x": 0.0} for seed in range(4)]
    expected = 2 * stats.t.sf(2.5 / np.sqrt((5 / 3) * (1 / 4 + 0.5)), 3)
    found = compare(one, other, "x", 0.5)
    assert found.resampled == pytest.approx(expected)
    assert found.p_value == compare(one, other, "x").p_value < expected
    assert compare(one, other, "x").resampled is None


def test_holm_corrects_for_the_number_of_comparisons():
    found = [Comparison(5, 0.1, p, p) for p in (0.04, 0.01, np.nan, 0.011, 0.9)]
    corrected = [one.p_value for one in holm(found)]
    np.testing.assert_array_equal(corrected, [one.resampled for one in holm(found)])
    # By hand, for four comparisons: 4 x 0.01, then 3 x 0.011 may not be less, then 2 x 0.04, then
    # 0.9.
    np.testing.assert_allclose(corrected, [0.08, 0.04, np.nan, 0.04, 0.9])
    assert [one.difference for one in holm(found)] == [0.1] * 5
    assert holm([]) == []
