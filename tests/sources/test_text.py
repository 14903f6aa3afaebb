"""Text files, single columns and whole rows of any file."""

import gzip
import os

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from formats import save_h5ad, save_hdf5, save_npz, save_zarr_zip

from trigpoint._common.errors import ParameterError
from trigpoint._sources import DamagedFileError, open_source
from trigpoint._sources.anndata import likely_points
from trigpoint._sources.opening import stored_arrays
from trigpoint._sources.tables import TableColumn, copy_rows, read_values, table_columns


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
        ("a,b\n1,2\n3\n", "CSV parse error: .*Expected 2 columns, got 1: 3; give every line as"),
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


ROWS = [4, 0, 3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder for files."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numpy_files(folder):
    np.save("a.npy", np.array([[3], [1], [2]]))
    np.testing.assert_array_equal(read_values("a.npy"), [3, 1, 2])
    np.savez("a.npz", X=np.eye(3), y=np.array(["a", "b", "a"]))
    np.testing.assert_array_equal(read_values("a.npz::y"), ["a", "b", "a"])
    np.savez("one.npz", y=np.arange(3))
    np.testing.assert_array_equal(read_values("one.npz"), [0, 1, 2])
    with pytest.raises(ValueError, match=r"a\.npz has 2 arrays: choose from X, y, as in a\.npz::X"):
        read_values("a.npz")
    with pytest.raises(ValueError, match=r"a\.npz::X has shape \(3, 3\)"):
        read_values("a.npz::X")


def test_columns_of_parquet(folder):
    table = {
        "n": pa.array([1, None, 3]),
        "text": ["a", None, "c"],
        "kind": pa.array(["oak", None, "oak"]).dictionary_encode(),
        "when": pa.array([0, 1, None], pa.timestamp("s", tz="UTC")),
        "day": pa.array([0, 1, 2], pa.date32()),
        "price": pa.array([1, 2, None], pa.decimal128(5)),
        "list": [[1], [2], [3]],
    }
    pq.write_table(pa.table(table), "t.parquet")
    np.testing.assert_array_equal(read_values("t.parquet::n"), [1, np.nan, 3])
    assert read_values("t.parquet::text").tolist() == ["a", None, "c"]
    assert read_values("t.parquet::kind").tolist() == ["oak", None, "oak"]
    for name in ("when", "day"):
        assert read_values(f"t.parquet::{name}").dtype.kind == "M"
    np.testing.assert_array_equal(read_values("t.parquet::price"), [1, 2, np.nan])
    with pytest.raises(ValueError, match=r"column 'list' of t\.parquet has type list.*single"):
        read_values("t.parquet::list")
    (folder / "parts").mkdir()
    for part, kinds in (("1", ["oak", "elm"]), ("2", ["ash"])):
        frame = pd.DataFrame({"kind": pd.Categorical(kinds)})
        frame.to_parquet(f"parts/{part}.parquet")
    assert read_values("parts::kind").tolist() == ["oak", "elm", "ash"]


def test_what_is_noted_of_cells(folder):
    with h5py.File("new.h5ad", "w") as file:
        obs = file.create_group("obs")
        obs["depth"] = np.array([1.5, 2.5, 3.5])
        obs["barcode"] = ["AA", "AC", "AG"]
        louvain = obs.create_group("louvain")
        louvain["codes"] = np.array([1, -1, 0], dtype=np.int8)
        louvain["categories"] = ["B cell", "T cell"]
        counts = obs.create_group("counts")
        counts["values"], counts["mask"] = [7, 8, 9], [False, True, False]
        obs.create_group("odd")
    np.testing.assert_array_equal(read_values("new.h5ad::obs/depth"), [1.5, 2.5, 3.5])
    assert read_values("new.h5ad::barcode").tolist() == ["AA", "AC", "AG"]
    assert read_values("new.h5ad::obs/louvain").tolist() == ["T cell", None, "B cell"]
    assert read_values("new.h5ad::obs/counts").tolist() == [7, None, 9]
    with pytest.raises(ValueError, match="obs/odd is not a column"):
        read_values("new.h5ad::obs/odd")
    message = r"new\.h5ad has no column 'leiden': choose from .*louvain.*, as in new\.h5ad::obs/"
    with pytest.raises(ValueError, match=message):
        read_values("new.h5ad::obs/leiden")
    with h5py.File("none.h5ad", "w") as file:
        file["X"] = np.eye(2)
    with pytest.raises(ValueError, match=r"none\.h5ad has no obs"):
        read_values("none.h5ad::obs/a")


def test_refused_in_our_own_words(folder):
    (folder / "t.csv").write_text("x,kind\n1,a\n")
    with pytest.raises(ValueError, match=r"t\.csv has no column 'y': choose from x, kind, as in"):
        read_values("t.csv::y")
    np.save("objects.npy", np.array([{}, 1], dtype=object))
    (folder / "nonsense.npy").write_bytes(b"nonsense" * 9)
    (folder / "empty.npz").write_bytes(b"")
    for name in ("objects.npy", "nonsense.npy", "empty.npz"):
        with pytest.raises(
            ValueError, match="cannot be read as an array of numbers, text or dates"
        ) as refused:
            read_values(name)
        assert "pickle" not in str(refused.value)


@pytest.fixture
def frame() -> pd.DataFrame:
    """Return a table of numbers with text, dates and categories."""
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
    text = "\n".join(["# by hand", lines[0], "", *lines[1:]])
    text = text.replace(";", "\t") if name != "a.csv" else text
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt") as file:
        file.write(text)
    assert copy_rows(tmp_path / name, [3, 1, 0], tmp_path / f"out-{name}") == 3
    with opener(tmp_path / f"out-{name}", "rt") as file:
        found = file.read().splitlines()
    separator = "\t" if name in ("a.tsv", "a.txt") else ","
    expected = [line.replace(";", separator) for line in (lines[0], lines[4], lines[2])]
    assert found[:3] == expected
    assert sorted(os.listdir(tmp_path)) == sorted([name, f"out-{name}"])


def test_quotes_are_copied_and_a_file_without_names_gets_none(tmp_path):
    lines = ["x,note\n", '1,"a\nb"\n', "2,c\n", '3,"say ""d"""\n']
    (tmp_path / "a.csv").write_text("".join(lines))
    copy_rows(tmp_path / "a.csv", [2, 0], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "".join([lines[0], lines[3], lines[1]])
    (tmp_path / "a.csv").write_text("1,2\r\n3,4\r\n5,6")
    copy_rows(tmp_path / "a.csv", [2, 1], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == b"5,6\n3,4\n"


def test_rows_of_a_folder_whose_files_differ_in_order_and_width(tmp_path, frame):
    (tmp_path / "parts").mkdir()
    frame.iloc[:2].to_parquet(tmp_path / "parts" / "1.parquet")
    rest = frame.iloc[2:, ::-1].astype({"n": np.int32})
    rest.to_parquet(tmp_path / "parts" / "2.parquet")
    copy_rows(tmp_path / "parts", ROWS, tmp_path / "b.parquet")
    found = pq.read_table(tmp_path / "b.parquet").to_pydict()
    assert found["id"] == ["e#", "007", "ü"]
    assert found["n"] == [5, 1, 4]
    assert found["kind"] == ["ash", "oak", None]


def test_from_parquet_to_text_and_back(tmp_path, frame):
    frame.to_parquet(tmp_path / "a.parquet")
    copy_rows(tmp_path / "a.parquet", ROWS, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines() == [
        "id,x,when,kind,n",
        "e#,5.0,2023-01-01 00:00:00,ash,5",
        "007,0.1,2020-01-01 00:00:00,oak,1",
        "ü,4.0,2022-01-01 00:00:00,,4",
    ]
    copy_rows(tmp_path / "b.csv", [1, 2], tmp_path / "c.parquet")
    found = pq.read_table(tmp_path / "c.parquet")
    assert found.column("id").to_pylist() == ["007", "ü"]
    assert found.column("x").to_pylist() == [0.1, 4.0]
    assert pa.types.is_timestamp(found.schema.field("when").type)


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("old")
    monkeypatch.setattr("trigpoint._sources.tables._write_text", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        copy_rows(tmp_path / "a.csv", [0], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


def test_arrays_in_a_file(tmp_path, points):
    saves = {"a.npz": save_npz, "a.h5": save_hdf5, "a.zarr.zip": save_zarr_zip, "a.h5ad": save_h5ad}
    for name, save in saves.items():
        save(tmp_path / name, points)
        found = stored_arrays(tmp_path / name)
        assert points.shape in {tuple(shape) for shape, _ in found.values()}
        assert found[likely_points(found)][0] == points.shape
    assert stored_arrays(tmp_path / "a.csv") == {}
    wide = {"X": ((9, 300), np.dtype(float)), "obsm/X_pca": ((9, 50), np.dtype(float))}
    assert likely_points(wide) == "obsm/X_pca"
