"""Values in a few bytes: what is lost, and in which order labels come."""

import numpy as np
import pytest

from trigpoint._common.labels import MOST_CLASSES
from trigpoint._report.columns import (
    MISSING,
    date_column,
    label_column,
    number_column,
)


def decoded(column):
    values = column.low + column.codes / 65534 * (column.high - column.low)
    return np.where(column.codes == MISSING, np.nan, values)


def test_numbers_come_back_to_a_step(rng):
    values = rng.normal(size=1000)
    column = number_column("x", values)
    np.testing.assert_allclose(decoded(column), values, atol=np.ptp(values) / 65534)
    assert column.low <= column.color_low < column.color_high <= column.high


def test_what_is_not_finite_is_missing():
    column = number_column("x", np.array([1.0, np.nan, 3.0, np.inf]))
    assert (column.codes == MISSING).tolist() == [False, True, False, True]
    assert (column.low, column.high) == (1, 3)
    assert (number_column("x", np.full(3, np.nan)).codes == MISSING).all()


def test_constant_and_huge_columns_do_not_overflow():
    assert (number_column("x", np.full(5, 7.0)).codes == 0).all()
    huge = number_column("x", np.array([-1.5e308, 0.0, 1.5e308]))
    assert huge.codes.tolist() == [0, 32767, 65534]


def test_few_labels_are_sorted_and_missing_ones_told_apart():
    column = label_column("x", np.array(["b", "a", None, "b", np.nan], dtype=object))
    assert column.labels == ("a", "b")
    assert column.codes.tolist() == [1, 0, MISSING, 1, MISSING]


def test_rare_ones_of_many_labels_have_no_color_of_their_own_and_keep_their_names():
    values = np.repeat([f"kind {j}" for j in range(30)], np.arange(30, 0, -1))
    column = label_column("x", values)
    assert column.n_colored == MOST_CLASSES - 1
    assert column.labels == tuple(f"kind {j}" for j in range(30))
    assert [column.labels[code] for code in column.codes] == values.tolist()


def test_outliers_leave_the_others_their_digits(rng):
    values = rng.normal(size=1000)
    values[7] = 1e5
    column = number_column("x", values)
    found = column.low + column.codes.astype(float) / (2**32 - 2) * (column.high - column.low)
    np.testing.assert_allclose(found, values, atol=1e-4)
    assert not column.is_missing.any()
    values[8] = np.nan
    assert np.flatnonzero(number_column("x", values).is_missing).tolist() == [8]


def test_labels_come_as_people_count():
    values = np.array(["kind 10", "11", "kind 2", "2", "10.5", "Kind 3", "-1"])
    natural = ("-1", "2", "10.5", "11", "kind 2", "Kind 3", "kind 10")
    assert label_column("x", values).labels == natural
    digits = ["9" * 5000, "8" * 5000 + "a", "7a", "nan"]
    assert label_column("x", np.array(digits)).labels == ("7a", digits[1], digits[0], "nan")


def test_labels_keep_an_order_that_is_given():
    values = np.array(["large", "small", "medium", "small"])
    column = label_column("x", values, ("small", "medium", "unused", "large"))
    assert column.labels == ("small", "medium", "large")
    assert column.codes.tolist() == [2, 0, 1, 0]


def test_frequent_ones_of_many_labels_keep_their_order():
    values = np.array([str(j) for j in range(30)] * 2 + ["29", "29", "7"])
    column = label_column("x", values)
    assert column.labels == (*map(str, range(12)), "29", *map(str, range(12, 29)))
    assert column.n_colored == 13
    assert column.codes[-3:].tolist() == [12, 12, 7]
    assert label_column("x", values[:14]).n_colored == 14


def test_empty_labels_have_a_name():
    column = label_column("x", np.array(["b", "", None, " "], dtype=object))
    assert column.labels == ("(empty)", "(empty)", "b")
    assert column.codes.tolist() == [2, 0, MISSING, 1]


def test_colours_of_extreme_numbers_have_ends():
    few = number_column("x", np.array([-1.7e308, 1.7e308]))
    assert few.codes.tolist() == [0, 65534]
    assert np.isfinite([few.color_low, few.color_high]).all()
    assert few.color_low < -1e308 < 1e308 < few.color_high


@pytest.mark.parametrize(
    ("dates", "unit"),
    [
        (["2015-01-01", "2015-03-01"], "day"),
        (["2015-01-01T03:00", "2017-03-01T10:30"], "day"),
        (["2015-01-01T03:00", "2015-01-09T10:30"], "minute"),
        (["2015-01-01T03:00", "2015-01-09T10:30:12"], "minute"),
        (["2015-01-01T03:00:00", "2015-01-01T04:00:05"], "second"),
        (["2015-01-01T03:00:00.000", "2015-01-01T03:00:05.125"], "millisecond"),
        (["0001-01-01", "2015-01-01"], "year"),
        (["NaT", "NaT"], "day"),
    ],
)
def test_dates_are_shown_to_what_is_known_of_them(dates, unit):
    assert date_column("x", np.array(dates, dtype="datetime64")).unit == unit


def test_dates_come_back_to_a_step():
    days = np.array(["2015-01-01", "NaT", "2015-02-01", "2016-01-01"], dtype="datetime64[D]")
    column = date_column("x", days)
    assert (column.codes == MISSING).tolist() == [False, True, False, False]
    milliseconds = days[[0, 2, 3]].astype("datetime64[ms]").astype(np.int64)
    np.testing.assert_allclose(decoded(column)[[0, 2, 3]], milliseconds, atol=365 * 86.4e6 / 65534)
    far = np.array([0, 10**6], dtype="datetime64[Y]")
    with pytest.raises(ValueError, match="more than 200,000 years from 1970: pass years as"):
        date_column("x", far)
