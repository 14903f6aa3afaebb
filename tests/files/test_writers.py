"""Writing in blocks: complete files or none, and nothing left behind."""

import os
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr

from trigpoint._files import open_writer, read_points, refuse_same_file

NAMES = ["y.npy", "y.csv", "y.zarr", "y.parquet", "y.pq"]


def write(path, X, rows=10, names=None, n_rows=None):
    n_rows = len(X) if n_rows is None else n_rows
    with open_writer(path, n_rows, X.shape[1], X.dtype, names) as writer:
        for start in range(0, len(X), rows):
            writer.write(X[start : start + rows])


def read(path):
    return np.concatenate(list(read_points(path).blocks(1300)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 10, 103, 500])
@pytest.mark.parametrize("name", NAMES)
def test_read_back(tmp_path, points, name, rows, dtype):
    X = points.astype(dtype)
    write(tmp_path / name, X, rows)
    assert os.listdir(tmp_path) == [name]
    found = read(tmp_path / name)
    # Text has no types: it is read as float64, and has the digits to become float32 again.
    assert found.dtype == (np.float64 if name.endswith(".csv") else dtype)
    np.testing.assert_array_equal(found.astype(dtype), X, strict=True)


def test_read_by_others(tmp_path, points):
    """The libraries of the formats read them as well."""
    for name in NAMES:
        write(tmp_path / name, points, names=list("abcde"))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), points, strict=True)
    np.testing.assert_array_equal(zarr.open(tmp_path / "y.zarr", mode="r")[:], points)
    table = pq.read_table(tmp_path / "y.parquet")
    assert table.column_names == list("abcde")
    np.testing.assert_array_equal(table.to_pandas().to_numpy(), points)
    assert pq.ParquetFile(tmp_path / "y.parquet").num_row_groups == 1


@pytest.mark.parametrize("name", NAMES[1:])
def test_names(tmp_path, points, name):
    write(tmp_path / name, points, names=list("abcde"))
    assert read_points(tmp_path / name).feature_names == list("abcde")
    write(tmp_path / name, points)
    assert read_points(tmp_path / name).feature_names == ["x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize("name", NAMES)
def test_bytes_do_not_depend_on_blocks(tmp_path, points, name, monkeypatch):
    monkeypatch.setattr("trigpoint._files.sinks._CHUNK_BYTES", 1000)
    monkeypatch.setattr("trigpoint._files.sinks._ROW_GROUP_BYTES", 1000)
    for folder, rows in (("one", 1), ("all", 103)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / name, points, rows)
        np.testing.assert_array_equal(read(tmp_path / folder / name), points)
    one, other = ({p.name: p for p in (tmp_path / f).rglob("*")} for f in ("one", "all"))
    assert set(one) == set(other)
    assert all(one[n].read_bytes() == other[n].read_bytes() for n in one if one[n].is_file())


def test_chunks_and_row_groups(tmp_path):
    X = np.random.default_rng(0).random((300_000, 10))
    write(tmp_path / "y.zarr", X, 70_000)
    write(tmp_path / "y.parquet", X, 70_000)
    chunk_rows = zarr.open(tmp_path / "y.zarr", mode="r").chunks[0]
    assert 4e6 < chunk_rows * 80 < 16e6
    assert pq.ParquetFile(tmp_path / "y.parquet").num_row_groups == 2
    np.testing.assert_array_equal(read(tmp_path / "y.zarr"), X)


def test_conversion_of_blocks(tmp_path):
    with open_writer(tmp_path / "y.npy", 2, 2, np.float32) as writer:
        writer.write(np.asfortranarray([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(
        np.load(tmp_path / "y.npy"), np.array([[1, 2], [3, 4]], dtype=np.float32), strict=True
    )


@pytest.mark.parametrize("name", NAMES)
def test_overwriting(tmp_path, points, name):
    write(tmp_path / name, points + 1)
    write(tmp_path / name, points[:50])
    np.testing.assert_array_equal(read(tmp_path / name), points[:50])
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_interrupted(tmp_path, points, name, old, error):
    if old:
        write(tmp_path / name, points + 1)

    def begin_and_stop():
        with open_writer(tmp_path / name, 103, 5) as writer:
            writer.write(points[:50])
            partial = set(os.listdir(tmp_path)) - {name}
            assert len(partial) == 1
            assert partial.pop().startswith(f".{name}.partial-")
            raise error("stop")

    with pytest.raises(error, match="stop"):
        begin_and_stop()
    assert os.listdir(tmp_path) == [name] * old
    if old:
        np.testing.assert_array_equal(read(tmp_path / name), points + 1)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "y.zarr"])
def test_failure_while_moving(tmp_path, points, name, monkeypatch):
    """The old points stay when the new ones cannot take their place."""
    write(tmp_path / name, points + 1)
    replace = os.replace

    def failing(source, target):
        if ".partial-" in str(source):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="no"):
        write(tmp_path / name, points)
    assert os.listdir(tmp_path) == [name]
    np.testing.assert_array_equal(read(tmp_path / name), points + 1)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_rows(tmp_path, points, name):
    with pytest.raises(
        ValueError, match=r"103 rows were written .* opened for 104: nothing is kept"
    ):
        write(tmp_path / name, points, n_rows=104)
    with pytest.raises(ValueError, match=r"103 rows were written .* opened for 102"):
        write(tmp_path / name, points, n_rows=102)
    assert os.listdir(tmp_path) == []


def test_wrong_blocks(tmp_path):
    writer = open_writer(tmp_path / "y.npy", 3, 2)
    with pytest.raises(RuntimeError, match="inside the writer's with statement"):
        writer.write(np.zeros((3, 2)))
    with (
        pytest.raises(ValueError, match=r"shape \(3, 3\) was written .* give rows of 2 columns"),
        writer,
    ):
        writer.write(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"shape \(2,\) was written"), writer:
        writer.write(np.zeros(2))
    with writer:
        writer.write(np.zeros((0, 2)))
        writer.write(np.zeros((3, 2)))
        with pytest.raises(RuntimeError, match="is already being written: open another"):
            writer.__enter__()
    assert os.listdir(tmp_path) == ["y.npy"]


def test_refused_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(
        ValueError, match=r"y\.xlsx has an unknown suffix.* written to \.npy, \.csv, \.zarr, \.p"
    ):
        open_writer(tmp_path / "y.xlsx", 3, 2)
    with pytest.raises(
        FileNotFoundError, match=r"y\.npy cannot be written: there is no folder .*a"
    ):
        open_writer(tmp_path / "a" / "y.npy", 3, 2)
    with pytest.raises(
        ValueError, match="dtype='int64' cannot be written: choose float32 or float64"
    ):
        open_writer(tmp_path / "y.npy", 3, 2, np.int64)
    with pytest.raises(ValueError, match="n_rows=0 is too small"):
        open_writer(tmp_path / "y.npy", 0, 2)
    for names in (["a"], ["a", "a"]):
        with pytest.raises(ValueError, match=r"names=\[.*\] is not 2 different names"):
            open_writer(tmp_path / "y.parquet", 3, 2, names=names)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match=r"y\.npy cannot be written: no permission to write"):
        open_writer(tmp_path / "y.npy", 3, 2)
    assert os.listdir(tmp_path) == []


def test_what_is_not_overwritten(tmp_path, points):
    (tmp_path / "y.zarr").mkdir()
    write(tmp_path / "y.zarr", points)
    (tmp_path / "z.zarr").mkdir()
    (tmp_path / "z.zarr" / "thesis.tex").touch()
    zarr.create_group(store=str(tmp_path / "g.zarr"))
    (tmp_path / "f.zarr").touch()
    for name in ("z.zarr", "g.zarr", "f.zarr"):
        with pytest.raises(FileExistsError, match=rf"{name} exists and is not a Zarr array"):
            open_writer(tmp_path / name, 3, 2)
    (tmp_path / "y.npy").mkdir()
    with pytest.raises(IsADirectoryError, match=r"y\.npy is a folder"):
        open_writer(tmp_path / "y.npy", 3, 2)


def test_older_zarr_is_overwritten(tmp_path, points):
    zarr.create_array(store=str(tmp_path / "y.zarr"), data=points + 1, zarr_format=2)
    np.testing.assert_array_equal(read(tmp_path / "y.zarr"), points + 1)
    write(tmp_path / "y.zarr", points)
    np.testing.assert_array_equal(read(tmp_path / "y.zarr"), points)


def test_links_stay_links(tmp_path, points):
    (tmp_path / "there").mkdir()
    write(tmp_path / "there" / "y.npy", points + 1)
    (tmp_path / "y.npy").symlink_to(tmp_path / "there" / "y.npy")
    write(tmp_path / "y.npy", points)
    assert (tmp_path / "y.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "there" / "y.npy"), points)


@pytest.mark.parametrize(("name", "package"), [("y.parquet", "pyarrow"), ("y.zarr", "zarr")])
def test_missing_library(tmp_path, monkeypatch, name, package):
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    message = rf"^writing {name} needs {package}: pip install {package}$"
    with pytest.raises(ImportError, match=message):
        open_writer(name, 3, 2)


def test_file_that_is_read(tmp_path, points):
    write(tmp_path / "x.npy", points)
    (tmp_path / "link.npy").symlink_to(tmp_path / "x.npy")
    source = read_points(tmp_path / "x.npy")
    for path in (tmp_path / "x.npy", tmp_path / "link.npy"):
        with pytest.raises(ValueError, match="is being read: write to a file other than"):
            refuse_same_file(source, path)
    refuse_same_file(source, tmp_path / "y.npy")
    refuse_same_file(read_points(points), tmp_path / "x.npy")
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "a.parquet", points)
    with pytest.raises(ValueError, match="is being read"):
        refuse_same_file(read_points(tmp_path / "parts"), tmp_path / "parts" / "b.parquet")
