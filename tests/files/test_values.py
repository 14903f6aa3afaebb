"""One column of a file, whatever it holds."""

import gzip

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trigpoint._files.values import read_values


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to name files in."""
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


def test_columns_of_text(folder):
    (folder / "t.csv").write_text(
        "id,class,height,when,day,kind\n"
        "007,1,0.5,2020-01-01 10:00:00,2020-01-01,oak\n"
        "008,2,,2021-01-01 00:00:00,,\n"
        "010,1,1e3,2022-01-01 00:00:00.5,2020-03-01,NA\n"
    )
    assert read_values("t.csv::id").tolist() == ["007", "008", "010"]
    classes = read_values("t.csv::class")
    assert (classes.dtype.kind, classes.tolist()) == ("i", [1, 2, 1])
    np.testing.assert_array_equal(read_values("t.csv::height"), [0.5, np.nan, 1000])
    when, day = read_values("t.csv::when"), read_values("t.csv::day")
    assert when.dtype.kind == day.dtype.kind == "M"
    assert when[0] == np.datetime64("2020-01-01T10")
    assert np.isnat(day).tolist() == [False, True, False]
    assert read_values("t.csv::kind").tolist() == ["oak", None, "NA"]


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
    with pytest.raises(ValueError, match=r"column 'list' of t\.parquet, of type list.*single"):
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


def test_no_notes_of_cells(folder):
    with h5py.File("none.h5ad", "w") as file:
        file["X"] = np.eye(2)
    with pytest.raises(ValueError, match=r"none\.h5ad has no obs"):
        read_values("none.h5ad::obs/a")


def test_refused_in_our_own_words(folder):
    (folder / "t.csv").write_text("x,kind\n1,a\n")
    with pytest.raises(
        ValueError, match=r"t\.csv has 2 columns: choose from x, kind, as in t\.csv"
    ):
        read_values("t.csv")
    with pytest.raises(ValueError, match=r"t\.csv has no column 'y': choose from x, kind, as in"):
        read_values("t.csv::y")
    with pytest.raises(FileNotFoundError, match=r"there is no file none\.csv"):
        read_values("none.csv::y")
    (folder / "a.xlsx").touch()
    with pytest.raises(
        ValueError, match=r"a\.xlsx holds no readable column: give \.npy, \.npz::KEY, \.csv"
    ):
        read_values("a.xlsx::y")
    np.save("objects.npy", np.array([{}, 1], dtype=object))
    (folder / "nonsense.npy").write_bytes(b"nonsense" * 9)
    (folder / "empty.npz").write_bytes(b"")
    for name in ("objects.npy", "nonsense.npy", "empty.npz"):
        with pytest.raises(ValueError, match="holds no array of numbers, text or dates") as refused:
            read_values(name)
        assert "pickle" not in str(refused.value)


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,kind,kind\n1,a,b\n2,c,d\n")
    with pytest.raises(ValueError, match="'kind'"):
        read_values(f"{path}::kind")


def test_damaged_compression_is_no_traceback(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("x,kind\n" + "1,a\n" * 5000)
    data = bytearray(path.read_bytes())
    data[20:30] = b"\xff" * 10
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="cannot be read as text"):
        read_values(f"{path}::kind")
