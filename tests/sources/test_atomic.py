"""Application of models to all rows; output files are complete or absent."""

import errno
import os
import signal
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from formats import PATHS, Model

import trigpoint as tp
from trigpoint._sources import Output, atomic, open_output, open_source, writers
from trigpoint._sources.atomic import atomic_write, check_target

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

NAMES = ["y.npy", "y.csv", "y.parquet", "y.pq"]
X = np.arange(3000.0).reshape(1000, 3)


def write(path, points=X, during=lambda: None, *, replace=True, names=None, n_rows=None, rows=500):
    """Write in any format, in blocks; call `during` after the first."""
    shape = (len(points) if n_rows is None else n_rows, points.shape[1])
    with open_output(Output(path, replace, names), shape, points.dtype) as writer:
        writer.write(points[:rows])
        during()
        for start in range(rows, len(points), rows):
            writer.write(points[start : start + rows])


def read(path):
    return open_source(path).take(None)


@pytest.mark.parametrize("name", NAMES)
def test_what_appears_during_the_run_is_kept(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(FileExistsError, match=name):
        write(path, X, lambda: write(path, X + 1), replace=False)
    np.testing.assert_array_equal(read(path), X + 1)
    assert os.listdir(tmp_path) == [name]


def test_file_systems_without_hard_links(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", link)
    write(tmp_path / "y.npy", replace=False)
    np.testing.assert_array_equal(read(tmp_path / "y.npy"), X)
    with pytest.raises(FileExistsError), atomic_write(tmp_path / "y.npy", replace=False):
        pass
    assert os.listdir(tmp_path) == ["y.npy"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("old", [False, True])
def test_a_killed_run_leaves_the_old_file(tmp_path, name, old):
    """The next run neither uses nor removes the temporary file."""
    if old:
        write(tmp_path / name, X + 1)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        write(tmp_path / name, X, lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    left = [place for place in tmp_path.iterdir() if place.name != name]
    assert len(left) == 1
    assert left[0].name.startswith(".trigpoint-")
    if old:
        np.testing.assert_array_equal(read(tmp_path / name), X + 1)
    else:
        assert not (tmp_path / name).exists()
    write(tmp_path / name, X)
    np.testing.assert_array_equal(read(tmp_path / name), X)
    assert left[0].exists()


@pytest.mark.skipif(os.name != "posix", reason="links need privileges on Windows")
def test_planted_files_are_not_used(tmp_path, monkeypatch):
    """Others who can create files in the folder cannot predict the name."""
    elsewhere = tmp_path / "elsewhere"
    names = iter(["guessed", "free"])
    monkeypatch.setattr("tempfile._get_candidate_names", lambda: names)
    folder = tmp_path / "out"
    folder.mkdir()
    planted = folder / ".trigpoint-guessed.npy"
    planted.symlink_to(elsewhere)
    write(folder / "y.npy")
    np.testing.assert_array_equal(read(folder / "y.npy"), X)
    assert not elsewhere.exists()
    assert planted.is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has sticky folders")
def test_a_link_of_another_user_in_a_shared_folder_is_not_followed(tmp_path, monkeypatch):
    """Such a link could lead to any file that we can write; our own links are followed."""
    elsewhere = tmp_path / "elsewhere.npy"
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "y.npy").symlink_to(elsewhere)
    shared.chmod(0o1777)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    for replace in (True, False):
        with pytest.raises(PermissionError, match=r"y\.npy is a link created by another user"):
            write(shared / "y.npy", replace=replace)
        with pytest.raises(PermissionError), atomic_write(shared / "y.npy", replace=replace):
            pass
    assert not elsewhere.exists()
    monkeypatch.undo()
    write(shared / "y.npy")
    np.testing.assert_array_equal(read(elsewhere), X)
    assert (shared / "y.npy").is_symlink()


def test_permissions_are_private_first_and_those_of_the_umask_then(tmp_path):
    seen = []

    def look():
        (partial,) = tmp_path.iterdir()
        seen.append(stat.S_IMODE(partial.stat().st_mode) & 0o077)

    before = os.umask(0o027)
    try:
        write(tmp_path / "y.npy", X, look)
    finally:
        os.umask(before)
    assert seen == [0]
    assert stat.S_IMODE((tmp_path / "y.npy").stat().st_mode) == 0o640


def test_everything_is_on_the_disk_before_and_after_the_move(tmp_path, monkeypatch):
    done, move = [], atomic._move

    def sync(descriptor):
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(atomic, "_move", lambda *a: (done.append("move"), move(*a))[1])
    write(tmp_path / "y.npy")
    before, after = done[: done.index("move")], done[done.index("move") + 1 :]
    assert before[-1].startswith(".trigpoint-")
    assert after == [tmp_path.name]


def test_errors_of_the_system_name_the_file(tmp_path, monkeypatch):
    with (
        pytest.raises(OSError, match=r"No space left.*y\.npy") as refused,
        atomic_write(tmp_path / "y.npy"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert ".trigpoint-" not in str(refused.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_not_a_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "y.npy")
    with pytest.raises(FileExistsError, match="is a pipe or a device"):
        check_target(tmp_path / "y.npy")
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_read_back_whatever_the_blocks(tmp_path, points, name, dtype, monkeypatch):
    monkeypatch.setattr(writers, "_TOGETHER_BYTES", 1000)
    Y, first = points.astype(dtype), None
    for rows in (1, 10, 103, 500):
        write(tmp_path / name, Y, rows=rows)
        assert os.listdir(tmp_path) == [name]
        found = read(tmp_path / name)
        # Text is read as float64, with enough digits to become float32 again.
        assert found.dtype == (np.float64 if name.endswith(".csv") else dtype)
        np.testing.assert_array_equal(found.astype(dtype), Y, strict=True)
        first = (tmp_path / name).read_bytes() if first is None else first
        assert (tmp_path / name).read_bytes() == first


def test_read_by_others_with_the_names_of_columns(tmp_path, points):
    columns = ["a, b", *"cde", 'say "f"']
    for name in NAMES:
        write(tmp_path / name, points, names=columns)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), points, strict=True)
    assert pq.ParquetFile(tmp_path / "y.parquet").num_row_groups == 1
    for name, read in zip(NAMES[1:], (pd.read_csv, *[pd.read_parquet] * 2), strict=True):
        frame = read(tmp_path / name)
        assert frame.columns.tolist() == columns
        np.testing.assert_array_equal(frame.to_numpy(), points)
        write(tmp_path / name, points)
        assert open_source(tmp_path / name).columns.names == ("x0", "x1", "x2", "x3", "x4")


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_run_leaves_the_old_file(tmp_path, name, old, error):
    def stop():
        raise error("stop")

    if old:
        write(tmp_path / name, X + 1)
    with pytest.raises(error, match="stop"):
        write(tmp_path / name, X, stop)
    assert os.listdir(tmp_path) == [name] * old
    if old:
        np.testing.assert_array_equal(read(tmp_path / name), X + 1)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_rows(tmp_path, name):
    with pytest.raises(ValueError, match=r"1,?000 rows .*opened for 1,?001: the file was"):
        write(tmp_path / name, n_rows=1001)
    with pytest.raises(ValueError, match=r"were written to .*opened for 999"):
        write(tmp_path / name, n_rows=999)
    with (
        pytest.raises(ValueError, match=r"a block of shape \(1000,\) was written"),
        open_output(Output(tmp_path / name), X.shape, float) as writer,
    ):
        writer.write(X[:, 0])
    assert os.listdir(tmp_path) == []


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


@pytest.fixture
def columns(points):
    return open_source(points).columns


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_blocks_of_a_fixed_size(points, columns, n_threads, step, tmp_path):
    model = Model(columns, step)
    result, n_far = open_source(points).map(model, n_threads=n_threads)
    np.testing.assert_array_equal(result, points[:, :2] ** 2, strict=True)
    assert n_far == (points[:, 0] > 2).sum() > 0
    assert sorted(model.blocks) == [(s, min(step, 103 - s)) for s in range(0, 103, step)]
    path, n_far = open_source(points).map(model, out=tmp_path / "y.npy", n_threads=n_threads)
    assert (path, n_far) == (tmp_path / "y.npy", (points[:, 0] > 2).sum())
    np.testing.assert_array_equal(np.load(path), result)
    with pytest.raises(FileExistsError, match=r"y\.npy exists: write to another name"):
        open_source(points).map(model, out=Output(path, replace=False))


def test_every_row_is_checked_and_no_partial_output_left(tmp_path, points, columns):
    points[77, 1] = np.nan
    for out in (None, tmp_path / "y.npy", tmp_path / "y.csv"):
        for n_threads in (1, 2):
            with pytest.raises(ValueError, match="X contains NaN in row 77, column 1"):
                open_source(points).map(Model(columns, 10), out=out, n_threads=n_threads)
    assert os.listdir(tmp_path) == []


def test_coordinates_that_are_not_finite(points, columns):
    class Broken(Model):
        def __call__(self, block, first_row=0):
            found, far = super().__call__(block, first_row)
            found[block[:, 0] == points[42, 0]] = np.inf
            return found, far

    with pytest.raises(ValueError, match="coordinates of row 42 are not finite"):
        open_source(points).map(Broken(columns, 10))


def test_progress(points, columns):
    told = []
    open_source(points).map(Model(columns, 40), report=lambda *message: told.append(message))
    assert told == [("points", done, 103) for done in (40, 80, 103)]


def test_nothing_is_written_over_what_is_read(tmp_path, points, columns):
    for name in ("points.npy", "points.zarr", "folder"):
        PATHS[name](tmp_path / name, points)
    emb = tp.KernelPCA()
    refused = {"none/Y.npy": OSError, "Y.xlsx": ValueError, "points.npy": ValueError}
    for out, error in refused.items():
        with pytest.raises(error, match=out):
            emb.fit_transform(tmp_path / "points.npy", out=tmp_path / out)
    with pytest.raises(TypeError, match="out must be a path, got ndarray"):
        emb.fit_transform(tmp_path / "points.npy", out=points)
    # The output is refused before the fit.
    assert not hasattr(emb, "landmark_embedding_")
    np.testing.assert_array_equal(np.load(tmp_path / "points.npy"), points)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    for thing, out in (
        (tmp_path / "points.npy", "points.npy"),
        (mapped, "points.npy"),
        (tmp_path / "points.zarr", "points.zarr/y.npy"),
        (tmp_path / "folder", "folder/b.parquet"),
    ):
        with pytest.raises(ValueError, match="is being read: write to another"):
            open_source(thing).map(Model(columns), out=tmp_path / out)
