"""Whole rows of a table: all columns, in the order asked for, in files that appear whole."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from trigpoint._files import open_writer, read_points
from trigpoint._files.rows import can_copy_rows, copy_rows

ROWS = [4, 0, 3]


@pytest.fixture
def frame() -> pd.DataFrame:
    """A table of numbers among text, dates and categories."""
    return pd.DataFrame(
        {
            "id": ["007", "b, c", 'say "d"', "ü", "e#"],
            "x": [0.1, 2.0, 3e-20, 4.0, 5.0],
            "when": pd.to_datetime(["2020-01-01", "2021-05-06", None, "2022-01-01", "2023-01-01"]),
            "kind": pd.Categorical(["oak", "elm", "oak", None, "ash"]),
            "n": [1, 2, 3, 4, 5],
        }
    )


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.csv.gz"])
def test_lines_are_copied_as_they_are(tmp_path, name):
    lines = ["id;x;note", '1;0.50;"a;b"', "02;1e3;", "3;7;x", "4;8;y"]
    text = "\n".join(["# by hand", lines[0], "", *lines[1:]]).replace(";", "\t")
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt") as file:
        file.write(text)
    source = read_points(tmp_path / name, columns="x")
    assert copy_rows(source, [3, 0], tmp_path / f"out-{name}") == 3
    with opener(tmp_path / f"out-{name}", "rt") as file:
        expected = "\n".join([lines[0], lines[4], lines[1]]) + "\n"
        assert file.read() == expected.replace(";", "\t")
    assert sorted(os.listdir(tmp_path)) == sorted([name, f"out-{name}"])


def test_quoted_line_breaks_are_copied(tmp_path):
    lines = ["x,note\n", '1,"a\nb"\n', "2,c\n", '3,"say ""d"""\n']
    (tmp_path / "a.csv").write_text("".join(lines))
    copy_rows(read_points(tmp_path / "a.csv", columns="x"), [2, 0], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "".join([lines[0], lines[3], lines[1]])


def test_a_file_without_names_gets_none(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\r\n3,4\r\n5,6")
    copy_rows(read_points(tmp_path / "a.csv"), [2, 1], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == b"5,6\n3,4\n"


def test_text_in_the_layout_of_another_suffix(tmp_path, frame):
    frame.to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    copy_rows(read_points(tmp_path / "a.tsv", columns=["x"]), ROWS, tmp_path / "b.csv")
    found = pd.read_csv(tmp_path / "b.csv", dtype={"id": str})
    expected = pd.read_csv(tmp_path / "a.tsv", sep="\t", dtype={"id": str}).iloc[ROWS]
    pd.testing.assert_frame_equal(found, expected.reset_index(drop=True))


@pytest.mark.parametrize("index", [False, True])
def test_parquet(tmp_path, frame, index):
    if index:
        frame = frame.set_index("id")
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    source = read_points(tmp_path / "a.parquet", columns=["n", "x"])
    assert copy_rows(source, ROWS, tmp_path / "b.parquet") == 5
    found = pd.read_parquet(tmp_path / "b.parquet")
    expected = frame.iloc[ROWS] if index else frame.iloc[ROWS].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, check_categorical=False)


def test_a_folder_whose_files_differ_in_order_and_width(tmp_path, frame):
    (tmp_path / "parts").mkdir()
    frame.iloc[:2].to_parquet(tmp_path / "parts" / "1.parquet")
    rest = frame.iloc[2:, ::-1].astype({"n": np.int32})
    rest.to_parquet(tmp_path / "parts" / "2.parquet")
    source = read_points(tmp_path / "parts", columns="x")
    copy_rows(source, ROWS, tmp_path / "b.parquet")
    found = pq.read_table(tmp_path / "b.parquet").to_pydict()
    assert found["id"] == ["e#", "007", "ü"]
    assert found["n"] == [5, 1, 4]
    assert found["kind"] == ["ash", "oak", None]


def test_parquet_to_text(tmp_path, frame):
    frame.to_parquet(tmp_path / "a.parquet")
    copy_rows(read_points(tmp_path / "a.parquet", columns="x"), ROWS, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines() == [
        "id,x,when,kind,n",
        "e#,5.0,2023-01-01 00:00:00,ash,5",
        "007,0.1,2020-01-01 00:00:00,oak,1",
        "ü,4.0,2022-01-01 00:00:00,,4",
    ]


def test_what_cannot_be_copied(tmp_path, points):
    np.save(tmp_path / "a.npy", points)
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    assert not can_copy_rows(read_points(tmp_path / "a.npy"), tmp_path / "b.npy")
    assert not can_copy_rows(read_points(tmp_path / "a.csv"), tmp_path / "b.parquet")
    assert can_copy_rows(read_points(tmp_path / "a.csv"), tmp_path / "b.tsv")


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("old")
    monkeypatch.setattr("trigpoint._files.rows.open_to_write", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        copy_rows(read_points(tmp_path / "a.csv"), [0], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


@pytest.mark.parametrize("columns", [None, [3, 1]])
def test_rows_of_points(points, columns):
    """In any order, and with values that are missing."""
    points[7, 3] = np.nan
    source = read_points(points, columns=columns)
    rows = np.array([100, 7, 0, 64])
    expected = points[rows] if columns is None else points[rows][:, columns]
    np.testing.assert_array_equal(source.take(rows), expected)


@pytest.mark.parametrize("name", ["b.csv", "b.tsv", "b.csv.gz"])
def test_formulas_are_disarmed(tmp_path, name):
    """Those of Parquet; numbers that are text, and what is text already, stay as they are."""
    links = ["=HYPERLINK(1)", "+1+1", "-2", "@sum", "\tx", "a=b", None, "+1.5", "-", ""]
    frame = pd.DataFrame({"=cmd": links, "x": -np.arange(10.0)})
    frame.to_parquet(tmp_path / "a.parquet")
    source = read_points(tmp_path / "a.parquet", columns="x")
    with pytest.warns(UserWarning, match="^6 cells of text that looked like formulas got an apos"):
        copy_rows(source, range(10), tmp_path / name)
    found = pd.read_csv(tmp_path / name, sep="\t" if "tsv" in name else ",", dtype=str)
    assert list(found) == ["'=cmd", "x"]
    expected = ["'=HYPERLINK(1)", "'+1+1", "-2", "'@sum", "'\tx", "a=b", None, "+1.5", "'-", None]
    assert found["'=cmd"].astype(object).where(found["'=cmd"].notna(), None).tolist() == expected
    assert found["x"].astype(float).tolist() == frame["x"].tolist()
    # Within a format that has types, and from text to text, nothing is changed.
    copy_rows(source, range(10), tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet").column("=cmd").to_pylist() == links
    (tmp_path / "d.csv").write_text("=cmd,x\n=1+1,3\n")
    copy_rows(read_points(tmp_path / "d.csv", columns="x"), [0], tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text() == "=cmd,x\n=1+1,3\n"


def test_formulas_in_names_of_columns(tmp_path):
    with (
        pytest.warns(UserWarning, match="1 cell of text"),
        open_writer(tmp_path / "y.csv", 1, 2, names=["=a", "b"]) as writer,
    ):
        writer.write(np.zeros((1, 2)))
    assert (tmp_path / "y.csv").read_text() == "'=a,b\n0.0,0.0\n"
