"""Choosing an array of a file by its key, and columns by name or number."""

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from formats import annotated, held, save_h5ad, save_hdf5, save_npz, save_zarr_zip

from trigpoint._sources import Source, open_source


def whole(source: Source) -> np.ndarray:
    return np.asarray(source)


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (5, ValueError, r"X has no column 5: choose numbers from 0 to 4"),
        (-1, ValueError, r"X has no column -1"),
        ("c9", ValueError, r"columns of X have no names, so there is no column 'c9'"),
        ([], ValueError, r"columns=\[\] chooses no columns of X"),
        ([1, 1], ValueError, r"columns=\[1, 1\] chooses a column of X twice"),
        ([1.5], TypeError, r"columns must be names or whole numbers, got 1.5"),
        ([True], TypeError, r"columns must be names or whole numbers, got True"),
    ],
)
def test_columns_refused(points, columns, error, message):
    with pytest.raises(error, match=message):
        open_source(points, columns=columns)


def test_names_refused(points):
    frame = pd.DataFrame(points, columns=["a", "b", "a", "c", "d"])
    assert open_source(frame, columns=[0, 1]).shape == (103, 2)
    with pytest.raises(ValueError, match="has several columns named 'a'"):
        open_source(frame)
    with pytest.raises(ValueError, match="has 2 columns named 'a': choose by number, 0, 2"):
        open_source(frame, columns="a")
    with pytest.raises(ValueError, match="has no column 'z': choose from a, b, a, c, d"):
        open_source(frame, columns="z")


def test_key_in_npz(tmp_path, points):
    path = tmp_path / "a.npz"
    np.savez(path, first=points, second=points + 1, y=np.arange(3), word=np.array([["a"]]))
    np.testing.assert_array_equal(whole(open_source(path, key="second")), points + 1)
    np.testing.assert_array_equal(whole(open_source(f"{path}::second")), points + 1)
    with np.load(path) as npz:
        np.testing.assert_array_equal(whole(open_source(npz, key="first")), points)
    listing = r"holds 4 arrays, 2 of them tables .* first \(103, 5\) float64, second"
    with pytest.raises(ValueError, match=listing):
        open_source(path)
    with pytest.raises(ValueError, match="has no array 'third': choose from first, second, y, wo"):
        open_source(path, key="third")
    with pytest.raises(ValueError, match=r"a\.npz::word has 'a' instead of a number in row 0"):
        open_source(path, key="word")
    with pytest.raises(ValueError, match=r"a\.npz::y has shape \(3,\)"):
        open_source(path, key="y")


def test_key_in_groups(tmp_path, points):
    save_hdf5(tmp_path / "a.h5", points)
    save_zarr_zip(tmp_path / "a.zarr.zip", points)
    for path in (tmp_path / "a.h5", tmp_path / "a.zarr.zip"):
        for key in ("deep/X", "/deep/X", None):
            np.testing.assert_array_equal(whole(open_source(path, key=key)), points)
        with pytest.raises(ValueError, match="has no array 'deep': choose from"):
            open_source(path, key="deep")
        with pytest.raises(ValueError, match=r"::labels has shape \(103,\)"):
            open_source(path, key="labels")
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(whole(open_source(file, key="deep/X")), points)
        np.testing.assert_array_equal(whole(open_source(file["deep"])), points)
    group = zarr.group()
    zarr.create_array(store=group.store, name="a/b", data=points)
    np.testing.assert_array_equal(whole(open_source(group, key="a/b")), points)
    np.testing.assert_array_equal(whole(open_source(group)), points)


def test_key_in_annotated_data(tmp_path, points):
    path = tmp_path / "cells.h5ad"
    save_h5ad(path, points)
    for thing in (path, annotated(points)):
        for key in ("obsm/X_pca", "X_pca"):
            np.testing.assert_array_equal(whole(open_source(thing, key=key)), points[:, :2])
        np.testing.assert_array_equal(whole(open_source(thing, key="X")), points)
        with pytest.raises(ValueError, match=r"has no 'umap': choose from X, obsm/X_pca"):
            open_source(thing, key="umap")
    np.testing.assert_array_equal(whole(open_source(f"{path}::obsm/X_pca")), points[:, :2])
    with pytest.raises(ValueError, match=r"cells\.h5ad::var is a group, not a matrix"):
        open_source(path, key="var")
    frame = open_source(annotated(points), key="frame")
    assert frame.columns.names == ("a", "b")
    np.testing.assert_array_equal(whole(frame), points[:, :2])
    np.testing.assert_array_equal(
        whole(open_source(annotated(points), key="layers/counts")), points
    )


def test_carried_keys(tmp_path, points, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_npz(tmp_path / "a::b.npz", points)
    assert open_source("a::b.npz").shape == points.shape
    with pytest.raises(ValueError, match="already includes a key, so key='b' is ambiguous"):
        open_source("c.npz::a", key="b")
    for text in ("c.npz::", "::a"):
        with pytest.raises(ValueError, match="lacks a file or a key"):
            open_source(text)
    with pytest.raises(TypeError, match="key must be a name, got 3"):
        open_source("c.npz", key=3)
    with pytest.raises(ValueError, match="X is already open: choose columns when opening"):
        open_source(open_source(points), columns=[0])


@pytest.mark.parametrize(
    "name",
    [
        *("points.npy", "points.parquet", "points.zarr"),
        *("ndarray", "h5py", "zarr", "table", "pandas", "csr"),
    ],
)
def test_key_without_choice(tmp_path, points, name):
    with (
        held(name, tmp_path, points) as thing,
        pytest.raises(ValueError, match=r"key='a' has no effect"),
    ):
        open_source(thing, key="a")
