"""What users pass to color by: what is read, and what is refused."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest

from trigpoint._report.columns import MISSING
from trigpoint._report.given import MOST_COLORS, Given, color_column, named_colors


def column_of(color):
    """The one column that a color becomes."""
    ((name, given),) = named_colors(color, len(color)).items()
    return color_column(name, given)


def test_whole_numbers_are_labels_when_few():
    assert column_of(np.array([10, 2, 2])).labels == ("2", "10")
    assert column_of(np.arange(50)).labels is None
    assert column_of(np.array([True, False])).labels == ("False", "True")


def test_colours_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Categorical(["u", "v"])})
    assert list(named_colors(frame, 2)) == ["a", "b"]
    assert list(named_colors(frame["a"], 2)) == ["a"]
    assert list(named_colors([1, 2], 2)) == ["color"]
    assert color_column("b", named_colors(frame, 2)["b"]).labels == ("u", "v")
    assert named_colors(None, 2) == {}


def test_numbers_with_gaps_stay_numbers():
    column = column_of(pd.Series([1, None, *range(2, 50)], dtype="Int64"))
    assert column.labels is None
    assert column.codes[:3].tolist() == [0, MISSING, round(65534 / 48)]
    assert column_of(np.array([1.5, None, 2.0], dtype=object)).labels is None
    assert column_of(np.array([1.0, np.nan, np.inf])).labels is None
    assert column_of(np.array([1.0, 2.0])).labels is None
    assert column_of(np.full(3, np.nan)).labels is None
    assert column_of(np.array([True, None, "a"], dtype=object)).labels == ("a", "True")


@pytest.mark.parametrize(
    "color",
    [
        [10, None, 2],
        pd.Series([10, None, 2]),
        pd.Series([10, None, 2], dtype="Int64"),
        np.ma.masked_array([10, 5, 2], [False, True, False]),
        np.array([np.int64(10), np.nan, 2], dtype=object),
        np.array([10.0, None, 2], dtype=object),
    ],
    ids=["list", "float", "Int64", "masked", "mixed", "objects"],
)
def test_few_whole_numbers_with_gaps_are_labels_as_without(color):
    column = column_of(color)
    assert column.labels == ("2", "10")
    assert column.codes.tolist() == [1, MISSING, 0]


def test_large_whole_numbers_with_gaps_keep_all_digits():
    assert column_of([2**60 + 1, None]).labels == (str(2**60 + 1),)


@pytest.mark.parametrize(
    "color",
    [
        np.array([b"b", b"a\xc3\xa4"]),
        np.array([b"b", b"a\xc3\xa4"], dtype=object),
        pd.Categorical([b"b", b"a\xc3\xa4"]),
    ],
    ids=["bytes", "objects", "categories"],
)
def test_bytes_are_text(color):
    assert column_of(color).labels == ("aä", "b")
    assert column_of(np.array([b"\xff"])).labels == ("\N{REPLACEMENT CHARACTER}",)


def test_masked_values_are_missing():
    column = column_of(np.ma.masked_array([1.0, 2.0, 3.5], [False, True, False]))
    assert (column.codes == MISSING).tolist() == [False, True, False]


def test_categories_keep_their_order():
    sizes = pd.Categorical(["large", "small", None], categories=["small", "medium", "large"])
    for color in (sizes, pd.Series(sizes), pd.DataFrame({"size": sizes})):
        column = column_of(color)
        assert column.labels == ("small", "large")
        assert column.codes.tolist() == [1, 0, MISSING]
    assert column_of(pd.Categorical([2.0, 10.0, None])).labels == ("2.0", "10.0")


def test_categories_that_nobody_put_in_order_come_as_people_count():
    assert column_of(pd.Series(["2", "10"]).astype("category")).labels == ("2", "10")
    ordered = pd.Categorical(["2", "10"], categories=["10", "2"], ordered=True)
    assert column_of(ordered).labels == ("10", "2")


DAYS = np.array(["2015-01-01", "2015-01-02", "NaT", "2015-01-05"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    "color",
    [
        DAYS,
        DAYS.astype("datetime64[ns]"),
        pd.Series(DAYS),
        pd.Series(DAYS).dt.tz_localize("Europe/Berlin"),
        pd.DatetimeIndex(DAYS).tz_localize("Asia/Tokyo"),
        pd.Series(DAYS).dt.tz_localize("UTC").astype(object),
        np.array([date(2015, 1, 1), datetime(2015, 1, 2, tzinfo=UTC), None, DAYS[3]], dtype=object),
    ],
    ids=["days", "ns", "series", "zone", "index", "timestamps", "objects"],
)
def test_dates_are_numbers_that_are_shown_as_dates(color):
    column = column_of(color)
    assert (column.labels, column.unit) == (None, "day")
    assert column.codes.tolist() == [0, round(65534 / 4), MISSING, 65534]
    assert (column.low, column.high) == tuple(
        DAYS[[0, 3]].astype("datetime64[ms]").astype(np.int64)
    )


@pytest.mark.parametrize(
    "color", [np.ones((3, 1)), [[1.0], [1.0], [1.0]], pd.DataFrame({"a": np.ones(3)})]
)
def test_a_table_of_one_column_is_a_column(color):
    (given,) = named_colors(color, 3).values()
    assert given.values.tolist() == [1.0, 1.0, 1.0]
    (given,) = named_colors({"a": color}, 3).values()
    assert given.values.shape == (3,)


def test_some_of_the_values_are_taken_with_their_order():
    given = Given(np.array(["a", "b", "c"]), ("c", "b", "a")).take(np.array([0, 2]))
    assert given.values.tolist() == ["a", "c"]
    assert given.order == ("c", "b", "a")


def test_colours_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"color 'a' has shape \(3,\) and X has 2 rows"):
        named_colors({"a": [1, 2, 3]}, 2)
    with pytest.raises(ValueError, match="one value per row and several columns by name"):
        named_colors(np.ones((2, 3)), 2)
    with pytest.raises(TypeError, match=r"timedelta64.* such as seconds for durations"):
        named_colors({"a": np.array([1, 2], dtype="timedelta64[s]")}, 2)
    with pytest.raises(ValueError, match=f"at most {MOST_COLORS}"):
        named_colors({str(j): [1, 2] for j in range(MOST_COLORS + 1)}, 2)


def test_columns_of_the_same_name_are_refused():
    frame = pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="columns of the same name among a, a: rename them"):
        named_colors(frame, 3)


def test_masked_dates_are_dates():
    days = np.ma.array(
        np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[ns]"),
        mask=[False, True, False],
    )
    column = color_column("day", named_colors(days, 3)["color"])
    assert column.unit == "day"
    assert (column.codes == MISSING).tolist() == [False, True, False]
