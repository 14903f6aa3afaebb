"""Files that are there as a whole or not at all; nothing that is found in the folder is trusted."""

import errno
import os
import signal
import stat
from pathlib import Path

import numpy as np
import pytest

from trigpoint._sources import Output, atomic, open_output, open_source
from trigpoint._sources.atomic import atomic_write, check_target

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

NAMES = ["y.npy", "y.csv", "y.parquet"]
X = np.arange(3000.0).reshape(1000, 3)


def write(path, points=X, during=lambda: None, replace=True):
    """Write in any format; in the middle, something happens."""
    with open_output(Output(path, replace), points.shape, float) as writer:
        writer.write(points[:500])
        during()
        writer.write(points[500:])


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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("old", [False, True])
def test_a_killed_run_leaves_the_old_file(tmp_path, name, old):
    """And what it left behind is neither used nor removed by the next one."""
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


def test_planted_files_are_not_used(tmp_path, monkeypatch):
    """Whoever can create files in the folder cannot predict the name."""
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


def test_a_link_of_another_user_in_a_shared_folder_is_not_followed(tmp_path, monkeypatch):
    """It could lead to any file that we can write; links of our own are followed."""
    elsewhere = tmp_path / "elsewhere.npy"
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "y.npy").symlink_to(elsewhere)
    shared.chmod(0o1777)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    for replace in (True, False):
        with pytest.raises(PermissionError, match=r"y\.npy is a link of another user"):
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


def test_what_is_not_a_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "y.npy")
    with pytest.raises(FileExistsError, match="is a pipe or a device"):
        check_target(tmp_path / "y.npy")
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass
