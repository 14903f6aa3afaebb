"""Writing in blocks: complete files or none, and nothing left behind."""

import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from trigpoint._sources import Output, open_output, open_source, writers

NAMES = ["y.npy", "y.csv", "y.parquet", "y.pq"]


def write(path, X, rows=10, names=None, n_rows=None):
    shape = (len(X) if n_rows is None else n_rows, X.shape[1])
    with open_output(Output(path, names=names), shape, X.dtype) as writer:
        for start in range(0, len(X), rows):
            writer.write(X[start : start + rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_read_back_whatever_the_blocks(tmp_path, points, name, dtype, monkeypatch):
    monkeypatch.setattr(writers, "_TOGETHER_BYTES", 1000)
    X, first = points.astype(dtype), None
    for rows in (1, 10, 103, 500):
        write(tmp_path / name, X, rows)
        assert os.listdir(tmp_path) == [name]
        found = open_source(tmp_path / name).take(None)
        # Text has no types: it is read as float64, and has the digits to become float32 again.
        assert found.dtype == (np.float64 if name.endswith(".csv") else dtype)
        np.testing.assert_array_equal(found.astype(dtype), X, strict=True)
        first = (tmp_path / name).read_bytes() if first is None else first
        assert (tmp_path / name).read_bytes() == first


def test_read_by_others(tmp_path, points):
    for name in NAMES:
        write(tmp_path / name, points, names=list("abcde"))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), points, strict=True)
    table = pq.read_table(tmp_path / "y.parquet")
    assert table.column_names == list("abcde")
    np.testing.assert_array_equal(table.to_pandas().to_numpy(), points)
    assert pq.ParquetFile(tmp_path / "y.parquet").num_row_groups == 1


@pytest.mark.parametrize("name", NAMES[1:])
def test_names(tmp_path, points, name):
    write(tmp_path / name, points, names=["a, b", *"cde", 'say "f"'])
    assert open_source(tmp_path / name).columns.names == ("a, b", *"cde", 'say "f"')
    write(tmp_path / name, points)
    assert open_source(tmp_path / name).columns.names == ("x0", "x1", "x2", "x3", "x4")


def stopped(path, points, error):
    with open_output(Output(path), points.shape, float) as writer:
        writer.write(points[:50])
        raise error("stop")


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", NAMES)
def test_interrupted(tmp_path, points, name, old, error):
    if old:
        write(tmp_path / name, points + 1)
    with pytest.raises(error, match="stop"):
        stopped(tmp_path / name, points, error)
    assert os.listdir(tmp_path) == [name] * old
    if old:
        np.testing.assert_array_equal(open_source(tmp_path / name).take(None), points + 1)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_rows(tmp_path, points, name):
    with pytest.raises(ValueError, match=r"103 rows were written to .*opened for 104: nothing is"):
        write(tmp_path / name, points, n_rows=104)
    with pytest.raises(ValueError, match=r"were written to .*opened for 99"):
        write(tmp_path / name, points, n_rows=99)
    with pytest.raises(ValueError, match=r"a block of shape \(103,\) was written"):
        write_flat(tmp_path / name, points)
    assert os.listdir(tmp_path) == []


def write_flat(path, points):
    with open_output(Output(path), points.shape, float) as writer:
        writer.write(points[:, 0])


def test_refused_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.npy").mkdir()
    for out, error, message in (
        ("y.zarr", ValueError, "has an unknown suffix"),
        ("y.xlsx", ValueError, "has an unknown suffix: points can be written to .npy, .csv"),
        ("nowhere/y.npy", FileNotFoundError, "there is no folder"),
        ("file/y.npy", FileNotFoundError, "there is no folder"),
        ("folder.npy", IsADirectoryError, "is a folder: write to another name"),
        ("a\0.npy", ValueError, "NUL character"),
    ):
        with pytest.raises(error, match=message):
            Output(f"{tmp_path}/{out}").check()
    for wrong in (5, "", np.eye(2)):
        with pytest.raises(TypeError, match="out must be a path, got"):
            Output(wrong).check()
    with (
        pytest.raises(ValueError, match="is not 2 different names"),
        open_output(Output(tmp_path / "y.npy", names=["a", "a"]), (3, 2), float),
    ):
        pass


def test_links_stay_links(tmp_path, points):
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / "real.npy", points)
    (tmp_path / "y.npy").symlink_to(tmp_path / "deep" / "real.npy")
    write(tmp_path / "y.npy", points + 1)
    assert (tmp_path / "y.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "deep" / "real.npy"), points + 1)
