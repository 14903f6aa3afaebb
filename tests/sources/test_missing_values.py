"""Missing values are refused with the rows they are in."""

import numpy as np
import pytest

from trigpoint._common.checks import refuse_non_finite


def test_rows_are_named():
    X = np.zeros((100, 3))
    X[[7, 30, 31], [2, 0, 1]] = np.nan
    with pytest.raises(
        ValueError, match=r"X contains NaN in row 7, column 2; also in rows 30, 31:"
    ):
        refuse_non_finite(X, "X")
    message = r"column 'up'; also in rows 1030, 1031:"
    with pytest.raises(ValueError, match=message):
        refuse_non_finite(X, "X", ["east", "north", "up"], 1000)


def test_a_few_of_many_rows():
    X = np.full((100, 2), np.inf)
    with pytest.raises(ValueError, match=r"rows 1, 2, 3, 4, 5 and 94 more"):
        refuse_non_finite(X, "X")


def test_values_whose_sum_overflows_are_finite():
    refuse_non_finite(np.full((4, 4), 1e308), "X")
