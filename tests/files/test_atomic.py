"""Files that are there as a whole or not at all, whatever happens to the run or to the folder."""

import errno
import os
import resource
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import zarr

from trigpoint._files import atomic, open_writer, read_points
from trigpoint._files.atomic import atomic_write, check_place
from trigpoint._files.rows import copy_rows
from trigpoint._files.tensors import read_tensors, write_tensors

# From Python 3.12 on, in a process that has threads; those here are not needed by the children.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

NAMES = ["y.npy", "y.csv", "y.zarr", "y.parquet", "y.trig", "y.tsv"]
X = np.arange(3000.0).reshape(1000, 3)


def write(path, points=X, during=lambda: None, replace=True):
    """Write in any format; in the middle, something happens."""
    if path.suffix == ".trig":
        with after_beginning(during):
            write_tensors(path, {"points": points}, {}, replace=replace)
    elif path.suffix == ".tsv":
        source = path.parent.parent / "source.csv"
        lines = (",".join(map(str, row)) for row in points)
        source.write_text("\n".join(["a,b,c", *lines, ""]))
        with after_beginning(during):
            copy_rows(read_points(source), range(len(points)), path, replace=replace)
    else:
        with open_writer(path, *points.shape, replace=replace) as writer:
            writer.write(points[:500])
            during()
            writer.write(points[500:])


@contextmanager
def after_beginning(something):
    enter = atomic.Staging.__enter__

    def then_something(staging):
        atomic.Staging.__enter__ = enter
        enter(staging)
        something()
        return staging

    atomic.Staging.__enter__ = then_something
    yield
    atomic.Staging.__enter__ = enter


def read(path):
    if path.suffix == ".trig":
        return read_tensors(path)[0]["points"]
    return np.concatenate(list(read_points(path).blocks(1300)))


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "out"
    place.mkdir()
    return place


def in_child(work):
    """Run in a process of its own, and return how it ended."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("name", NAMES)
def test_what_appears_during_the_run_is_kept(folder, name):
    path = folder / name

    def appear():
        if not path.exists():
            write(path, X + 1)

    with pytest.raises(FileExistsError, match=rf"{name} appeared during the run, and is kept"):
        write(path, X, appear, replace=False)
    np.testing.assert_array_equal(read(path), X + 1)
    assert os.listdir(folder) == [name]


@pytest.mark.parametrize("name", ["y.npy", "y.zarr"])
def test_it_is_kept_where_only_plain_renames_are(folder, name, monkeypatch):
    monkeypatch.setattr(atomic, "_RENAME", None)
    test_what_appears_during_the_run_is_kept(folder, name)
    # And what does not exist is written.
    shutil.rmtree(folder)
    folder.mkdir()
    write(folder / name, X, replace=False)
    np.testing.assert_array_equal(read(folder / name), X)
    assert os.listdir(folder) == [name]


def test_another_folder_that_appears_is_kept(folder):
    """Even if it may be replaced: what was meant is an array of an earlier run."""

    def appear():
        (folder / "y.zarr").mkdir()
        (folder / "y.zarr" / "thesis.tex").touch()

    with pytest.raises(FileExistsError, match=r"exists and is not a Zarr array"):
        write(folder / "y.zarr", X, appear)
    assert os.listdir(folder / "y.zarr") == ["thesis.tex"]


def test_a_folder_is_not_replaced_by_a_file(folder):
    def write_page():
        with atomic_write(folder / "y.html") as partial:
            partial.write_text("page")
            (folder / "y.html").mkdir()

    with pytest.raises(IsADirectoryError, match=r"y\.html has become a folder, and is kept"):
        write_page()
    assert os.listdir(folder) == ["y.html"]


def test_what_is_not_a_file_is_not_replaced(folder):
    os.mkfifo(folder / "y.npy")
    with pytest.raises(FileExistsError, match=r"y\.npy cannot be written: it is not a file"):
        write(folder / "y.npy")
    assert (folder / "y.npy").is_fifo()


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_leftovers_of_a_killed_run(folder, name, old):
    path = folder / name
    if old:
        write(path, X + 1)
    assert in_child(lambda: write(path, X, die)) == -signal.SIGKILL
    (left,) = set(os.listdir(folder)) - {name}
    assert left.startswith(f".{name}.partial-")
    if old:
        np.testing.assert_array_equal(read(path), X + 1)
    with pytest.warns(UserWarning, match=rf"in .*{left} were removed: they are what another run"):
        write(path, X)
    assert os.listdir(folder) == [name]
    np.testing.assert_array_equal(read(path), X)


def test_what_a_living_run_writes_is_left_alone(folder):
    path = folder / "y.npy"
    with open_writer(path, *X.shape) as writer:
        write(path, X + 1)
        writer.write(X)
    np.testing.assert_array_equal(np.load(path), X)
    assert os.listdir(folder) == ["y.npy"]


def test_others_with_similar_names_are_left_alone(folder):
    for name in ("y.npy.partial-12345678", ".y.npy.partial-1234567", ".y.npy.partial-123456789"):
        (folder / name).mkdir()
    (folder / ".y.npy.partial-12345678").touch()
    write(folder / "y.npy")
    assert len(os.listdir(folder)) == 5


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_replaced_in_one_step_or_put_back(folder, monkeypatch, exchange):
    path = folder / "y.zarr"
    write(path, X + 1)
    if not exchange:
        monkeypatch.setattr(atomic, "_RENAME", None)
    rename = os.rename

    def dying(source, target):
        rename(source, target)
        if Path(source) == path:
            die()

    def replace():
        os.rename = dying
        write(path, X)

    if exchange:
        # Nothing is ever moved away.
        assert in_child(replace) == 0
        np.testing.assert_array_equal(read(path), X)
        return
    assert in_child(replace) == -signal.SIGKILL
    assert not path.exists()
    with (
        pytest.warns(UserWarning, match=r"y\.zarr was put back: a run was killed while"),
        pytest.warns(UserWarning, match="were removed"),
        pytest.raises(KeyboardInterrupt),
    ):
        write(path, X, lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    np.testing.assert_array_equal(read(path), X + 1)
    assert os.listdir(folder) == ["y.zarr"]


def test_an_old_folder_comes_back_if_the_new_one_cannot_be_moved(folder, monkeypatch):
    path = folder / "y.zarr"
    write(path, X + 1)
    monkeypatch.setattr(atomic, "_RENAME", None)
    rename = os.rename

    def failing(source, target):
        if Path(source).name == "new.zarr":
            raise OSError(errno.EIO, "no")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match=r"Input/output error.*y\.zarr"):
        write(path, X)
    np.testing.assert_array_equal(read(path), X + 1)
    assert os.listdir(folder) == ["y.zarr"]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_is_removed_during_the_run(folder, name):
    def remove():
        shutil.rmtree(folder)

    message = rf"{name} (could not be written: its folder .* was|cannot be written: there is no fo)"
    with pytest.raises(FileNotFoundError, match=message):
        write(folder / name, X, remove)


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_on_the_disk_before_and_after_the_rename(folder, name, monkeypatch):
    """In this order: all files and folders of the new version, the rename, the folder around."""
    steps, fsync, commit = [], os.fsync, atomic.Staging.commit

    def noting(descriptor):
        fsync(descriptor)
        steps.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))

    def noting_commit(staging):
        steps.clear()
        new = [staging.new, *staging.new.rglob("*")]
        commit(staging)
        assert sorted(steps[:-1]) == sorted(new)
        assert steps[-1] == folder

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(atomic.Staging, "commit", noting_commit)
    write(folder / name)
    assert steps


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_system_name_the_file(folder, name):
    """As on a full disk."""
    points = np.random.default_rng(0).random((1000, 3))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))

    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write(folder / name, points, limit)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(folder / name)
    assert caught.value.errno == errno.EFBIG
    assert os.listdir(folder) == []


def test_zarr_without_a_chunk_is_still_read(folder):
    """Chunks of zeros are not stored, and nothing takes them for lost."""
    write(folder / "y.zarr", np.zeros((1000, 3)))
    assert not zarr.open(folder / "y.zarr", mode="r")[:].any()


def test_a_name_that_is_too_long_is_refused_before_any_work(folder):
    name = "a" * 250 + ".npy"
    with pytest.raises(OSError, match=r"^a+\.npy cannot be written: its name is longer than 237"):
        check_place(Path(name), name)


def test_an_error_names_the_file_and_not_the_hidden_folder(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", ".y.npy.partial-00000000")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="No space") as refused, atomic_write("y.npy"):
        pass
    assert refused.value.filename == "y.npy"
