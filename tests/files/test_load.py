"""All points as one array: where they are, in memory, or on the disk."""

import errno
import logging
import os
import resource
import shutil
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest
from formats import PATHS, TEXTS

import trigpoint as tp
from trigpoint._files import PointSource, load, read_points

EVERYTHING = {**PATHS, **TEXTS}


@pytest.mark.parametrize("name", EVERYTHING)
def test_same_for_every_limit(tmp_path, points, name):
    EVERYTHING[name](tmp_path / name, points)
    for limit in (0, None, float("inf")):
        X = load(read_points(tmp_path / name), memory_limit=limit)
        np.testing.assert_array_equal(X, points)
        assert X.flags.c_contiguous
        assert X.dtype == points.dtype
        on_disk = limit == 0 or name == "points.npy"
        assert isinstance(X, np.memmap) == on_disk, limit
        assert X.flags.writeable != on_disk, limit


def test_array_is_not_copied(points):
    assert load(read_points(points), memory_limit=0) is points


def test_limit_in_bytes(points):
    source = read_points(np.asfortranarray(points))
    assert not isinstance(load(source, memory_limit=points.nbytes), np.memmap)
    assert isinstance(load(source, memory_limit=points.nbytes - 1), np.memmap)


@pytest.mark.parametrize("limit", [-1, "1GB", float("nan")])
def test_limit_refused(points, limit):
    with pytest.raises((ValueError, TypeError), match="memory_limit"):
        load(read_points(points), memory_limit=limit)


def test_default_is_a_quarter_of_memory(points, monkeypatch):
    source = read_points(np.asfortranarray(points))
    monkeypatch.setattr("trigpoint._files.loading.physical_memory", lambda: 4.0 * points.nbytes)
    assert not isinstance(load(source), np.memmap)
    monkeypatch.setattr("trigpoint._files.loading.physical_memory", lambda: 4.0 * points.nbytes - 4)
    assert isinstance(load(source), np.memmap)


def test_temporary_file_leaves_nothing(tmp_path, points, monkeypatch):
    """It is in TMPDIR, has no name there, and lives as long as the array."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    asked = []
    monkeypatch.setattr(
        shutil, "disk_usage", lambda folder: asked.append(folder) or SimpleNamespace(free=1e9)
    )
    source = read_points(np.asfortranarray(points))
    X = load(source, memory_limit=0)
    assert asked == [str(tmp_path)]
    assert os.listdir(tmp_path) == []
    np.testing.assert_array_equal(X, points)
    points[0, 0] = np.nan
    with pytest.raises(ValueError, match="row 0, column 0"):
        load(read_points(np.asfortranarray(points)), memory_limit=0)
    assert os.listdir(tmp_path) == []


def test_full_disk(points, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(OSError, match=r"X needs 4\.12e-06 GB.*set TMPDIR.*or read fewer columns"):
        load(read_points(np.asfortranarray(points)), memory_limit=0)


@pytest.mark.parametrize(
    ("order", "limit", "message"),
    [
        ("C", None, "X: 4120 bytes used in place"),
        ("F", None, "X: 4120 bytes read into memory"),
        ("F", 8, "X: 4120 bytes, more than 8, read into a temporary file in "),
    ],
)
def test_log(points, caplog, order, limit, message):
    with caplog.at_level(logging.INFO, logger="trigpoint"):
        load(read_points(np.asarray(points, order=order)), memory_limit=limit)
    assert [record.getMessage().startswith(message) for record in caplog.records] == [True]


class Counted(PointSource):
    """Rows made as they are asked for, with a count of walks and of rows asked at once."""

    def __init__(self) -> None:
        super().__init__("counted", (10_000, 700), np.dtype(np.float64))
        self.walks, self.asked = 0, 0

    def _pieces(self, rows):
        self.walks, self.asked = self.walks + 1, rows
        for start in range(0, self.shape[0], rows):
            count = min(rows, self.shape[0] - start)
            yield np.broadcast_to(np.arange(start, start + count)[:, None], (count, 700))


@pytest.mark.parametrize("limit", [0, None])
def test_read_once_in_blocks_with_progress(limit):
    source, calls = Counted(), []
    X = load(source, memory_limit=limit, progress=lambda done, total: calls.append((done, total)))
    np.testing.assert_array_equal(X[:, 5], np.arange(10_000))
    assert source.walks == 1
    assert source.asked * 700 * 8 <= 16 * 2**20
    assert [done for done, _ in calls] == [2995, 5990, 8985, 10_000]
    assert {total for _, total in calls} == {10_000}


def test_a_full_disk_names_the_folder(points, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    points = np.ones((10_000, 3))
    source = read_points(points.astype(int))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="too large: set TMPDIR to a folder with room") as caught:
            load(source, memory_limit=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(tmp_path)


@pytest.mark.parametrize("columns", [None, [0, 2]])
def test_a_map_of_a_file_that_is_cut(tmp_path, columns):
    """Before every block: reading what is gone would end the process."""
    np.save(tmp_path / "x.npy", np.ones((100_000, 3)))
    source = read_points(tmp_path / "x.npy", columns=columns)
    blocks = source.blocks(10_000)
    next(blocks)
    os.truncate(tmp_path / "x.npy", 300_000)
    with pytest.raises(ValueError, match=r"x\.npy has become shorter since it was opened"):
        next(blocks)


def test_a_file_that_is_replaced_stays_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1000, 3)))
    source = read_points(tmp_path / "x.npy")
    np.save(tmp_path / "other.npy", np.ones((10, 3)))
    os.replace(tmp_path / "other.npy", tmp_path / "x.npy")
    assert sum(len(block) for block in source.blocks(100)) == 1000


@pytest.mark.parametrize(
    ("read", "within"),
    [(read_points, "trigpoint._files.read.read_npy"), (tp.load, "pathlib.Path.read_bytes")],
    ids=["points", "model"],
)
def test_a_failing_disk_names_the_file(tmp_path, read, within, monkeypatch):
    """Errors of reads, unlike those of opening a file, name none by themselves."""

    def fail(*arguments, **options):
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "x.npy"
    path.touch()
    monkeypatch.setattr(within, fail)
    monkeypatch.setattr("trigpoint._files.read._READERS", {(".npy",): fail})
    with pytest.raises(OSError, match="Input/output error") as caught:
        read(path)
    assert caught.value.filename == str(path)
