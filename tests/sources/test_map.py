"""Applying a model to all rows: the same bits from every storage and number of threads."""

import os

import numpy as np
import pytest
from formats import PATHS
from stand_in import Model

import trigpoint as tp
from trigpoint._sources import Output, open_source


@pytest.fixture
def columns(points):
    return open_source(points).columns


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_blocks_of_a_fixed_size(points, columns, n_threads, step):
    model = Model(columns, step)
    result, n_far = open_source(points).map(model, n_threads=n_threads)
    np.testing.assert_array_equal(result, points[:, :2] ** 2, strict=True)
    assert n_far == (points[:, 0] > 2).sum() > 0
    assert sorted(model.blocks) == [(s, min(step, 103 - s)) for s in range(0, 103, step)]


@pytest.mark.parametrize("name", ["y.npy", "y.csv", "y.parquet"])
def test_to_a_file(tmp_path, points, columns, name):
    path, n_far = open_source(points).map(Model(columns, 10), out=tmp_path / name)
    assert (path, n_far) == (tmp_path / name, (points[:, 0] > 2).sum())
    np.testing.assert_array_equal(open_source(path).take(None), points[:, :2] ** 2)
    with pytest.raises(FileExistsError, match=rf"{name} exists: write to another name"):
        open_source(points).map(Model(columns), out=Output(path, replace=False))


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


def test_progress_and_interruption(tmp_path, points, columns):
    told = []
    open_source(points).map(Model(columns, 40), report=lambda *message: told.append(message))
    assert told == [("points", done, 103) for done in (40, 80, 103)]

    def stop(stage, done, total):
        if done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_source(points).map(Model(columns, 40), out=tmp_path / "y.npy", report=stop)
    assert os.listdir(tmp_path) == []


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
    # It is refused before the fit.
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
