"""Values, images and text for the page: what is read, what is lost, and what is refused."""

import io
from datetime import UTC, date, datetime

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

import trigpoint as tp
from trigpoint._report.columns import date_column, label_column, number_column, rounded_column
from trigpoint._report.given import MOST_COLORS, color_column, named_colors
from trigpoint._report.things import Things, make_tiles, read_things, row_names

MISSING = -1


def decoded(column):
    """Return the numbers of a column as the page computes them."""
    return np.where(column.is_missing, np.nan, column.codes / column.divisor)


def column_of(color):
    """The one column that a color becomes."""
    ((name, given),) = named_colors(color, len(color)).items()
    return color_column(name, given)


def exact_numbers(rng):
    """Yield numbers that must not lose a digit."""
    yield rng.normal(size=500)
    yield rng.normal(size=500).astype(np.float32)
    yield np.array([0.1, 0.25, 1e-7, 3.0, -2.675])
    yield np.array([0.1, 0.7, 1e6], dtype=np.float32)
    yield np.append(rng.integers(0, 9, size=500) / 10, 1e5)
    yield np.array([-1.7e308, 5e-324, 1.7e308])
    yield np.array([2**31 - 1, -(2**31) + 1, 2**31, 2**53], dtype=np.int64)
    yield np.full(5, 7.5)
    yield rng.integers(0, 2, size=50).astype(bool)


def test_numbers_are_exact(rng):
    for values in exact_numbers(rng):
        column = number_column("x", values)
        as_given = values if values.dtype.kind == "f" else values.astype(np.float64)
        np.testing.assert_array_equal(decoded(column).astype(as_given.dtype), as_given)
        assert column.low <= column.color_low <= column.color_high <= column.high


def test_decimals_take_four_bytes(rng):
    for values in (rng.integers(0, 10**6, size=500) / 1000, np.arange(9.0, dtype=np.float32) / 10):
        assert number_column("x", values).codes.dtype == np.int32


def test_coordinates_have_six_digits(rng):
    for scale in (1e-9, 1.0, 30.0, 1e7, 1e300):
        values = scale * rng.normal(size=1000)
        largest = np.abs(values).max()
        np.testing.assert_allclose(
            decoded(rounded_column("x", values)), values, rtol=0, atol=5.1e-6 * largest
        )
    assert rounded_column("x", np.zeros(3)).codes.tolist() == [0, 0, 0]


def test_values_that_are_not_finite_are_missing():
    for values in ([1.0, np.nan, 3.0, np.inf], [1 / 3, np.nan, 3.0, -np.inf]):
        column = number_column("x", np.array(values))
        assert column.is_missing.tolist() == [False, True, False, True]
        assert (column.low, column.high) == (values[0], 3)
    assert number_column("x", np.full(3, np.nan)).is_missing.all()


def test_color_scales_of_huge_ranges_do_not_overflow():
    few = number_column("x", np.array([-1.7e308, 1.7e308]))
    assert few.color_low < -1e308 < 1e308 < few.color_high < np.inf


def test_labels_come_as_people_count():
    values = np.array(["kind 10", "11", "kind 2", "2", "10.5", "Kind 3", "-1"])
    natural = ("-1", "2", "10.5", "11", "kind 2", "Kind 3", "kind 10")
    assert label_column("x", values).labels == natural
    digits = ["9" * 5000, "8" * 5000 + "a", "7a", "nan"]
    assert label_column("x", np.array(digits)).labels == ("7a", digits[1], digits[0], "nan")


def test_forty_labels_have_colors_and_of_more_labels_the_most_frequent():
    values = np.array([str(j) for j in range(45)] * 2 + ["44", "44", "7"])
    column = label_column("x", values)
    assert column.labels == (*map(str, range(39)), "44", *map(str, range(39, 44)))
    assert column.n_colored == 40
    assert [column.labels[code] for code in column.codes] == values.tolist()
    assert label_column("x", values[:40]).n_colored == 40


def test_many_labels(rng):
    values = np.array([f"word {j}" for j in rng.integers(0, 70_000, size=100_000)])
    column = label_column("x", values)
    assert [column.labels[code] for code in column.codes] == values.tolist()


def test_empty_and_missing_labels():
    column = label_column("x", np.array(["b", "", None, np.nan, " "], dtype=object))
    assert column.labels == ("(empty)", "(empty)", "b")
    assert column.codes[[0, 1, 4]].tolist() == [2, 0, 1]
    assert column.is_missing.tolist() == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("dates", "unit"),
    [
        (["2015-01-01", "2015-03-01"], "day"),
        (["2015-01-01T03:00", "2017-03-01T10:30"], "minute"),
        (["2015-01-01T03:00:00", "2015-01-01T04:00:05"], "second"),
        (["2015-01-01T03:00:00.000", "2015-01-01T03:00:05.125"], "millisecond"),
        (["0001-01-01", "2015-01-01"], "day"),
        (["NaT", "NaT"], "day"),
    ],
)
def test_dates_are_shown_as_precisely_as_they_are_known(dates, unit):
    assert date_column("x", np.array(dates, dtype="datetime64")).unit == unit


def test_dates_that_browsers_do_not_know_are_refused():
    far = np.array([0, 10**6], dtype="datetime64[Y]")
    with pytest.raises(ValueError, match="more than 200,000 years from 1970: pass years as"):
        date_column("x", far)


SIZES = pd.Categorical(["large", "small", None], categories=["small", "medium", "large"])


@pytest.mark.parametrize(
    ("color", "labels", "codes"),
    [
        # Few whole numbers, with gaps as without.
        (np.array([10, 2, 2]), ("2", "10"), [1, 0, 0]),
        ([10, None, 2], ("2", "10"), [1, MISSING, 0]),
        (pd.Series([10, None, 2]), ("2", "10"), [1, MISSING, 0]),
        (pd.Series([10, None, 2], dtype="Int64"), ("2", "10"), [1, MISSING, 0]),
        (np.ma.masked_array([10, 5, 2], [False, True, False]), ("2", "10"), [1, MISSING, 0]),
        (np.array([np.int64(10), np.nan, 2], dtype=object), ("2", "10"), [1, MISSING, 0]),
        ([2**60 + 1, None], (str(2**60 + 1),), [0, MISSING]),
        (np.array([True, None, "a"], dtype=object), ("a", "True"), [1, MISSING, 0]),
        (np.array([b"b", b"a\xc3\xa4", b"\xff"]), ("aä", "b", "\ufffd"), [1, 0, 2]),
        (pd.Categorical([b"b", b"a\xc3\xa4"]), ("aä", "b"), [1, 0]),
        # Categories keep their order, unless nobody ordered them.
        (SIZES, ("small", "large"), [1, 0, MISSING]),
        (pd.Series(SIZES), ("small", "large"), [1, 0, MISSING]),
        (pd.DataFrame({"size": SIZES}), ("small", "large"), [1, 0, MISSING]),
        (pl.DataFrame({"kind": ["oak", "elm", "oak"]}), ("elm", "oak"), [1, 0, 1]),
        (pd.Series(["2", "10"]).astype("category"), ("2", "10"), [0, 1]),
        (pd.Categorical(["2", "10"], categories=["10", "2"], ordered=True), ("10", "2"), [1, 0]),
    ],
)
def test_labels_of_any_container(color, labels, codes):
    column = column_of(color)
    assert column.labels == labels
    assert np.where(column.is_missing, MISSING, column.codes.astype(int)).tolist() == codes


DAYS = np.array(["2015-01-01", "2015-01-02", "NaT", "2015-01-05"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    "color",
    [
        DAYS,
        pd.Series(DAYS).dt.tz_localize("Europe/Berlin"),
        pd.DatetimeIndex(DAYS).tz_localize("Asia/Tokyo"),
        pd.Series(DAYS).dt.tz_localize("UTC").astype(object),
        np.array([date(2015, 1, 1), datetime(2015, 1, 2, tzinfo=UTC), None, DAYS[3]], dtype=object),
        np.ma.array(DAYS.astype("datetime64[ns]"), mask=[False, False, True, False]),
    ],
    ids=["days", "zone", "index", "timestamps", "objects", "masked"],
)
def test_dates_are_numbers_that_are_shown_as_dates(color):
    column = column_of(color)
    assert (column.labels, column.unit) == (None, "day")
    milliseconds = DAYS.astype("datetime64[ms]").astype(float)
    np.testing.assert_allclose(decoded(column)[[0, 1, 3]], milliseconds[[0, 1, 3]], atol=1)
    assert column.is_missing.tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("color", "name"),
    [
        (np.ones((3, 1)), "color"),
        ([[1.0], [1.0], [1.0]], "color"),
        (pd.DataFrame({"a": np.ones(3)}), "a"),
        (pl.DataFrame({"a": np.ones(3)}), "a"),
        (pd.Series(np.ones(3), name="a"), "a"),
    ],
)
def test_a_table_of_one_column_is_a_column(color, name):
    assert list(named_colors(color, 3)) == [name]
    for given in (color, {"a": color}):
        (found,) = named_colors(given, 3).values()
        assert found.values.tolist() == [1.0, 1.0, 1.0]
    assert named_colors(None, 3) == {}


TWICE = pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"])


@pytest.mark.parametrize(
    ("color", "message"),
    [
        ({"a": [1, 2, 3]}, r"color 'a' has shape \(3,\) and X has 2 rows"),
        (np.ones((2, 3)), "one value per row"),
        ({"a": np.array([1, 2], dtype="m8[s]")}, r"timedelta64.* such as seconds for durations"),
        ({str(j): [1, 2] for j in range(MOST_COLORS + 1)}, f"at most {MOST_COLORS}"),
        (TWICE, "duplicate column names: a, a; rename them"),
    ],
)
def test_colors_that_do_not_fit_are_refused(color, message):
    with pytest.raises((ValueError, TypeError), match=message):
        named_colors(color, 2)


NOBODY = np.arange(0)


def tile(tiles, place):
    """Pixels (height, width, channels) of one image, from 0 to 1."""
    image = np.atleast_3d(plt.imread(io.BytesIO(tiles.png)))
    down, across = divmod(place, tiles.across)
    rows = slice(down * tiles.height, (down + 1) * tiles.height)
    return image[rows, across * tiles.width : (across + 1) * tiles.width]


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (3, 5, 7), (5, 7, 1)])
@pytest.mark.parametrize("scale", [1, 255])
def test_tiles_are_the_pictures(rng, shape, scale):
    X = rng.uniform(0, scale, size=(100, np.prod(shape)))
    X[0, 0] = scale
    tiles = make_tiles(X, np.arange(0, 200, 2), shape, NOBODY)
    assert tiles.points.tolist() == list(range(0, 200, 2))
    assert (tiles.height, tiles.width) == (5, 7)
    for place, row in ((0, X[0]), (77, X[77])):
        wanted = row.reshape(shape) / scale
        if len(shape) == 2:
            wanted = wanted[..., None]
        elif shape[0] == 3:
            wanted = np.moveaxis(wanted, 0, 2)
        np.testing.assert_allclose(tile(tiles, place), wanted, atol=0.51 / 31 + 0.002)


@pytest.mark.parametrize("levels", [None, 17])
def test_values_that_are_no_pixels_are_shown_from_the_least_to_the_most(levels, rng):
    """Digits of scikit-learn have gray levels from 0 to 16."""
    X = rng.normal(size=(10, 12)) if levels is None else rng.integers(0, levels, size=(10, 12))
    tiles = make_tiles(X, np.arange(10), (3, 4), NOBODY)
    wanted = (X[4].reshape(3, 4, 1) - X.min()) / np.ptp(X)
    np.testing.assert_allclose(tile(tiles, 4), wanted, atol=0.02)


def test_large_pictures_are_reduced():
    X = np.kron(np.eye(2), np.ones((50, 60))).reshape(1, -1)
    tiles = make_tiles(X, np.zeros(1, dtype=int), (100, 120), NOBODY)
    assert (tiles.height, tiles.width) == (33, 40)
    found = tile(tiles, 0)[..., 0]
    assert found[0, 0] == found[-1, -1] == 1
    assert found[0, -1] == found[-1, 0] == 0


def test_there_are_as_many_pictures_as_there_is_room_for(rng):
    """Noise does not compress: of 4,000 pictures of 1,024 bytes about a third fit."""
    X = rng.uniform(size=(4000, 32 * 32)).astype(np.float32)
    landmarks = np.arange(1900, 2000)
    tiles = make_tiles(X, np.arange(4000), (32, 32), landmarks)
    assert 1000 < len(tiles.points) < 3600
    assert set(landmarks) <= set(tiles.points)
    assert 1.6 * 2**20 < len(tiles.png) < 2.2 * 2**20


@pytest.mark.parametrize(
    ("images", "text", "n_rows", "message"),
    [
        ((28, 28), None, 10, r"images=\(28, 28\) does not match the 8 values of a row"),
        ((3,), None, 10, r"images=\(3,\) does not match the 8 values"),
        (["a.png"] * 9, None, 10, r"images 'images' has shape \(9,\) and X has 10 rows"),
        ((2, 2, 2), None, 10, "does not have 1, 3 or 4 channels"),
        (None, "a", 10, "text='a' is a single string: pass one value per row"),
        (None, ["a"], None, "text belongs to the rows of X, but X was not passed"),
    ],
)
def test_what_does_not_fit_is_refused(images, text, n_rows, message):
    with pytest.raises(tp.ParameterError, match=message):
        read_things(images, text, n_rows, 8)


def test_texts_are_cut_only_if_they_are_long_or_the_page_would_be_too_large():
    few = np.array(["x" * 1000, None, "y"], dtype=object)
    (texts,) = Things(texts={"a": few}).shown_texts(np.arange(3))
    assert (texts.name, texts.values, texts.cut) == ("a", ["x" * 399 + "…", "", "y"], 400)
    assert Things(addresses=few).shown_addresses(np.arange(3)) == ["x" * 1000, "", "y"]
    words = np.array(["a word of twenty l."] * 50_000, dtype=object)
    assert Things(texts={"a": words}).shown_texts(np.arange(50_000))[0].cut == 0
    many = np.array(["z" * 390] * 200_000, dtype=object)
    (texts,) = Things(texts={"a": many}).shown_texts(np.arange(200_000))
    assert 75 < texts.cut < 125
    assert {len(text) for text in texts.values} == {texts.cut}


def test_rows_are_named_by_an_index_that_names_them():
    table = pd.DataFrame({"a": [1.0, 2.0]})
    assert row_names(table) is None
    assert row_names(table.to_numpy()) is row_names([1, 2]) is row_names(None) is None
    ((name, ids),) = row_names(table.set_axis(["P1", "P2"])).items()
    assert (name, ids.tolist()) == ("id", ["P1", "P2"])
    assert list(row_names(table.set_axis(pd.Index([7, 9], name="patient")))) == ["patient"]
