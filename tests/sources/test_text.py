"""Text files: layout, missing values, text among numbers, and whole rows."""

import gzip

import numpy as np
import pandas as pd
import pytest

from trigpoint._common.errors import ParameterError
from trigpoint._sources import DamagedFileError, open_source
from trigpoint._sources.tables import TableColumn, read_values, table_columns


def rows_of(path, **choice):
    return open_source(path, **choice).take(None).tolist()


@pytest.mark.parametrize(
    ("name", "content", "names", "rows"),
    [
        ("a.csv", "1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("a.csv", "x,y\n1,2\n3,4\n", ("x", "y"), [[1, 2], [3, 4]]),
        ("a.csv", "x;y\n1;2\n", ("x", "y"), [[1, 2]]),
        ("a.csv", "x|y\n1.5|2\n", ("x", "y"), [[1.5, 2]]),
        ("a.csv", '"a,b";c\n1;2\n', ("a,b", "c"), [[1, 2]]),
        ("a.csv", "a;b,c\n1,2\n", ("a;b", "c"), [[1, 2]]),
        ("a.txt", "a;b,c\n1,2\n", ("a;b", "c"), [[1, 2]]),
        ("a.csv", "x\ty\n1\t2\n", ("x", "y"), [[1, 2]]),
        ("a.tsv", "x\ty\n1\t2", ("x", "y"), [[1, 2]]),
        ("a.txt", "1 2\n3 4\n", None, [[1, 2], [3, 4]]),
        ("a.txt", "  1   2  \r\n 3\t4\r\n", None, [[1, 2], [3, 4]]),
        ("a.txt", "x y\n  1    2.5\n-3    4", ("x", "y"), [[1, 2.5], [-3, 4]]),
        ("a.txt", "1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("a.csv", "x\n1\n2\n", ("x",), [[1], [2]]),
        ("a.csv", "4.5\n1\n", None, [[4.5], [1]]),
        ("a.csv", "# by hand\n\nsep=,\nx,y\n1,2\n3,4\n\n", ("x", "y"), [[1, 2], [3, 4]]),
        ("a.txt", "# x y\n1.5 2\n", None, [[1.5, 2]]),
        ("a.txt", "-1.250000000000000069e-01 2e+00\n", None, [[-0.12500000000000001, 2]]),
        ("a.csv", "x,y\n\n1,2\n\n\n3,4\n5,6\n", ("x", "y"), [[1, 2], [3, 4], [5, 6]]),
        ("a.csv", "x,y\r\n\r\n1,2\r\n\r\n\r\n3,4\r\n", ("x", "y"), [[1, 2], [3, 4]]),
        ("a.csv", "x,1990\n.5,.6\n", ("x", "1990"), [[0.5, 0.6]]),
        ("a.csv", ",0,1\n0,.5,.6\n1,.7,.8\n", ("0", "1"), [[0.5, 0.6], [0.7, 0.8]]),
        ("a.csv", "\ufeffx,y\n1,2\n", ("x", "y"), [[1, 2]]),
        ("a.csv", '"x","y"\n"1", 2 \n', ("x", "y"), [[1, 2]]),
        ("a.csv", "x,flag\n1,true\n2,False\n", ("x", "flag"), [[1, 1], [2, 0]]),
        ("a.csv", "4,909;3,2\n1;2,5\n", None, [[4.909, 3.2], [1, 2.5]]),
        ("a.tsv", "x\ty\n1,5\t-2,25\n", ("x", "y"), [[1.5, -2.25]]),
        ("a.csv", "x\n9007199254740993\n1e-300\n", ("x",), [[9007199254740993.0], [1e-300]]),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_layouts(tmp_path, name, content, names, rows, compressed):
    path = tmp_path / (name + ".gz" * compressed)
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    source = open_source(path)
    assert source.columns.names == names
    assert source.dtype == np.float64
    assert source.take(None).tolist() == rows
    assert source.n == open_source(path).n == len(rows)


def test_a_first_line_that_counts_is_a_point_with_a_warning(tmp_path):
    (tmp_path / "a.csv").write_text("0,1\n.5,.6\n.7,.8\n")
    with pytest.warns(UserWarning, match="numbers its columns and is read as a point"):
        assert rows_of(tmp_path / "a.csv")[0] == [0, 1]


def test_quotes_and_line_breaks_in_columns_that_are_not_read(tmp_path):
    """No row is skipped, whatever it begins with."""
    path = tmp_path / "a.csv"
    path.write_text('x,"no\nte",y\r\n1,"one, ""two""\nthree",2\n3,"\n\n", 4 \n"5","#",6\n')
    source = open_source(path, columns=["y", "x"])
    assert source.take(None).tolist() == [[2, 1], [4, 3], [6, 5]]
    assert source.take(np.array([0, 2])).tolist() == [[2, 1], [6, 5]]
    assert source.n == 3
    assert table_columns(path)[1] == TableColumn("no\nte", "text")
    path.write_text("id,x\n#1,1\n#2,2\n")
    assert rows_of(path, columns="x") == [[1], [2]]
    path.write_text(f"x,note\n1,{'a' * 200_000}\n2,c\n")
    assert rows_of(path, columns="x") == [[1], [2]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no data lines"),
        ("# nothing\n\n", "has no data lines"),
        ("x,y\n", "has a header but no rows to read below it"),
        ("1.0,,3.0\n4.0,5.0,6.0\n", "column '1' of .* has missing values, the first in row 0"),
        ("1.0,NA\n4.0,5.0\n", "column '1' of .* has missing values, the first in row 0"),
        ("cell,1,2\ncell,3,4\n", r"column '0' of type string .*leave it out with"),
        ("a,1.5\n2,3\n4,5\n", "not a number, 'a' in column '0', row 0"),
        ("a,b\n1,2,3\n", "cannot be read as text: CSV parse error: .*Expected 2 columns, got 3"),
        ("a,b\n1,2\n3\n", "cannot be read as text: CSV parse error: .*Expected 2 columns, got 1"),
        ("a,b\n1,oak\n2,elm\n", r"'b' of type string of .* leave it out with .*columns=\['a'\]"),
        ("a,day\n1,2020-01-01\n", r"column 'day' of type date32\[day\] of .*not hold numbers"),
        ("1,2\n3,4\n5,6\n7,x\n", "value that is not a number, 'x' in column '1', row 3"),
        ("x,y\n1,2\n3,1_000\n", "value that is not a number, '1_000' in column 'y', row 1"),
        ("x,y,z\n1,2,3\n3,NA,4\n5,6,7\n", "column 'y' of .* missing values, the first in row 1"),
        ("1,2\n3,4\n5,\n", "column '1' of .* has missing values, the first in row 2"),
        ("x\n1\n\n2\n", "column 'x' of .* has missing values, the first in row 1"),
        ("x,y\n1,inf\n", r"contains infinity \(inf\) in row 0, column 'y'"),
        ('x,note\n1,a\n2,"b\n3,c\n4,d\n', r"a quote in row 1 that is not closed"),
        ("1,2\n3\0,4\n", "has a NUL byte"),
    ],
)
def test_refused(tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_text(content)
    columns = "x" if "note" in content else None
    with pytest.raises((DamagedFileError, ParameterError), match=message) as refused:
        open_source(path, columns=columns).take(None)
    assert "a.csv" in str(refused.value)


def test_rows_are_counted_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("trigpoint._sources.text._BLOCK_BYTES", 1000)
    monkeypatch.setattr("trigpoint._sources.arrow.BATCH_ROWS", 7)
    X = np.arange(3000.0).reshape(1000, 3)
    path = tmp_path / "a.csv"
    np.savetxt(path, X, delimiter=",")
    source = open_source(path)
    rows = np.array([0, 13, 500, 999])
    np.testing.assert_array_equal(source.take(rows), X[rows])
    assert source.n == 1000
    assert max(len(block) for _, block in source.blocks()) == 7
    lines = path.read_text().splitlines()
    for bad, message in (("", "missing values, the first in row 700"), ("x", "row 700: correct")):
        path.write_text("\n".join([*lines[:700], f"1,{bad},2", *lines[701:]]))
        assert open_source(path).take(np.array([3])).tolist() == [[9, 10, 11]] if not bad else True
        with pytest.raises(ParameterError, match=message):
            open_source(path).take(None)


def test_kinds_of_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        ",x,flag,day,when,kind,Tree_ID,no\n"
        "a,1.5,True,2020-01-01,2020-01-01T10:00:00,oak,1,7\n"
        "b,2,False,2020-01-02,2020-01-02T11:00:00,elm,2,7\n"
    )
    kinds = [column.kind for column in table_columns(path)]
    assert kinds == [
        *("row label", "number", "boolean", "date", "date", "text", "row label", "number")
    ]
    pd.read_csv(path, index_col=0, parse_dates=["day", "when"]).to_parquet(tmp_path / "a.parquet")
    found = {column.name: column.kind for column in table_columns(tmp_path / "a.parquet")}
    assert list(found.values()) == [*kinds[1:], "row label"]


def test_single_values_of_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,class,height,when,day,kind,kind\n"
        "007,1,0.5,2020-01-01 10:00:00,2020-01-01,oak,1\n"
        "008,2,,2021-01-01 00:00:00,,\n".replace(",,\n", ",,,2\n")
        + "010,1,1e3,2022-01-01 00:00:00.5,2020-03-01,NA,3\n"
    )
    assert read_values(f"{path}::id").tolist() == ["007", "008", "010"]
    classes = read_values(f"{path}::class")
    assert (classes.dtype.kind, classes.tolist()) == ("i", [1, 2, 1])
    np.testing.assert_array_equal(read_values(f"{path}::height"), [0.5, np.nan, 1000])
    when, day = read_values(f"{path}::when"), read_values(f"{path}::day")
    assert when.dtype.kind == day.dtype.kind == "M"
    assert when[0] == np.datetime64("2020-01-01T10")
    assert np.isnat(day).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="has 2 columns named 'kind'"):
        read_values(f"{path}::kind")
