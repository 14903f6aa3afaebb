"""Values in two bytes: what is lost, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from trigpoint.report.columns import (
    MISSING,
    MOST_COLORS,
    MOST_LABELS,
    color_column,
    label_column,
    named_colors,
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


def test_rare_ones_of_many_labels_become_one():
    values = np.repeat([f"kind {j}" for j in range(30)], np.arange(30, 0, -1))
    column = label_column("x", values)
    assert len(column.labels) == MOST_LABELS
    assert column.labels[0] == "kind 0"
    assert column.labels[-1] == "17 others"
    assert (column.codes == MOST_LABELS - 1).sum() == np.arange(1, 18).sum()


def test_whole_numbers_are_labels_when_few():
    assert color_column("x", np.array([10, 2, 2])).labels == ("2", "10")
    assert color_column("x", np.arange(50)).labels is None
    assert color_column("x", np.array([True, False])).labels == ("False", "True")


def test_colours_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Categorical(["u", "v"])})
    assert list(named_colors(frame, 2)) == ["a", "b"]
    assert list(named_colors(frame["a"], 2)) == ["a"]
    assert list(named_colors([1, 2], 2)) == ["colour"]
    assert color_column("b", named_colors(frame, 2)["b"]).labels == ("u", "v")
    assert named_colors(None, 2) == {}


def test_numbers_with_gaps_stay_numbers():
    column = color_column("x", np.asarray(pd.Series([1, None, 3], dtype="Int64")))
    assert column.labels is None
    assert column.codes.tolist() == [0, MISSING, 65534]
    assert color_column("x", np.array([True, None, "a"], dtype=object)).labels == ("True", "a")


def test_colours_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"color 'a' has shape \(3,\) and X has 2 rows"):
        named_colors({"a": [1, 2, 3]}, 2)
    with pytest.raises(TypeError, match="datetime64"):
        named_colors({"a": np.array(["2015-01-01", "2015-01-02"], dtype="datetime64[D]")}, 2)
    with pytest.raises(ValueError, match=f"at most {MOST_COLORS}"):
        named_colors({str(j): [1, 2] for j in range(MOST_COLORS + 1)}, 2)


def test_masked_values_are_missing():
    masked = np.ma.masked_array([1.0, 2.0, 3.5], [False, True, False])
    column = color_column("x", named_colors(masked, 3)["colour"])
    assert (column.codes == MISSING).tolist() == [False, True, False]


def test_columns_of_the_same_name_are_refused():
    frame = pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="columns of the same name among a, a: rename them"):
        named_colors(frame, 3)
