"""All formats as files and as objects: the data read is the data written."""

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from formats import (
    NAMED,
    OBJECTS,
    PATHS,
    TEXTS,
    annotated,
    held,
    names,
    save_h5ad,
    save_h5ad_sparse,
    save_hdf5,
    save_npz,
    save_zarr_zip,
)
from scipy import sparse

import trigpoint as tp
from trigpoint._sources import Source, open_source
from trigpoint._sources.problems import ParameterValueError

ROWS = np.array([0, 1, 17, 18, 60, 102])


def check_source(source: Source, X: np.ndarray) -> None:
    assert source.shape == X.shape
    assert source.dtype == X.dtype
    whole, some = source.take(None), source.take(ROWS)
    np.testing.assert_array_equal(whole, X, strict=True)
    np.testing.assert_array_equal(some, X[ROWS], strict=True)
    starts, blocks = zip(*source.blocks(), strict=True)
    assert list(starts) == np.cumsum([0, *map(len, blocks)])[:-1].tolist()
    np.testing.assert_array_equal(np.concatenate(blocks), X, strict=True)
    assert all(part.flags.c_contiguous for part in (whole, some, *blocks))


def check_columns(thing, X: np.ndarray, named: bool) -> None:
    """Choose columns by number, and by name if they have names."""
    assert open_source(thing).columns.names == (tuple(names(X)) if named else None)
    source = open_source(thing, columns=np.array([3, 0]))
    check_source(source, X[:, [3, 0]])
    check_source(open_source(thing, columns=4), X[:, [4]])
    if named:
        by_name = open_source(thing, columns=["c3", "c0"])
        assert by_name.columns.names == source.columns.names == ("c3", "c0")
        check_source(by_name, X[:, [3, 0]])
        check_source(open_source(thing, columns="c2"), X[:, [2]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PATHS | TEXTS | OBJECTS)
def test_what_is_read_is_what_was_written(tmp_path, points, name, dtype):
    X = points.astype(dtype)
    with held(name, tmp_path, X) as thing:
        source = open_source(thing if name in OBJECTS else str(thing))
        X = X.astype(np.float64) if name in TEXTS else X
        check_source(source, X)
        check_columns(thing, X, name in NAMED)
        assert open_source(source) is source
        if name not in OBJECTS:
            assert source.path == thing
            assert name in source.name
            assert name in repr(source)


FILES = ["points.npy", "points.npz", "points.parquet", "points.zarr"]


@pytest.mark.parametrize(
    ("stored", "read", "names"),
    [
        (np.float16, np.float32, FILES),
        (np.uint8, np.float64, FILES),
        (np.bool_, np.float64, FILES),
        (np.int64, np.float64, FILES),
        (np.int16, np.float64, ["ndarray", "h5py", "table", "pandas", "polars", "anndata"]),
    ],
)
def test_conversion(tmp_path, points, stored, read, names):
    X = (10 * (np.abs(points) if stored == np.uint8 else points)).astype(stored)
    for name in names:
        with held(name, tmp_path, X) as thing:
            check_source(open_source(thing), X.astype(read))


def test_lists_and_other_arrays(points):
    check_source(open_source(points.tolist()), points)
    check_source(open_source(points.astype(object)), points)
    check_source(open_source(np.ma.masked_invalid(points)), points)
    strict = pytest.importorskip("array_api_strict")
    check_source(open_source(strict.asarray(points)), points)


def test_columns_of_several_types():
    mixed = pa.table({"a": pa.array([1, 2], pa.float32()), "b": np.array([3, 4], np.float16)})
    assert open_source(mixed).dtype == np.float32
    source = open_source(mixed.append_column("c", pa.array([5, 6], pa.int8())))
    assert source.dtype == np.float64
    np.testing.assert_array_equal(source.take(None), [[1, 3, 5], [2, 4, 6]])
    assert open_source(mixed.to_pandas()).dtype == np.float32


def test_array_without_reading(tmp_path, points):
    """An array is returned only if nothing has to be read or converted."""
    assert open_source(points).array() is points
    assert open_source(points).take(None) is points
    np.save(tmp_path / "a.npy", points)
    mapped = open_source(tmp_path / "a.npy").array()
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    for other in (
        np.asfortranarray(points),
        points.astype(int),
        points.astype(points.dtype.newbyteorder()),
        points[:, ::2],
    ):
        assert open_source(other).array() is None
    assert open_source(points, columns=[0, 1]).array() is None
    np.save(tmp_path / "f.npy", np.asfortranarray(points))
    assert open_source(tmp_path / "f.npy").array() is None


def test_pandas_index_is_no_coordinate(tmp_path, points):
    index = pd.Index([f"cell{number}" for number in range(len(points))], name="cell")
    frame = pd.DataFrame(points, columns=names(points), index=index)
    frame.to_parquet(tmp_path / "a.parquet")
    assert "cell" in pq.read_schema(tmp_path / "a.parquet").names
    check_source(open_source(tmp_path / "a.parquet"), points)
    check_source(open_source(frame), points)


def test_chunks_are_decoded_once(tmp_path, points, monkeypatch):
    monkeypatch.setattr("trigpoint._sources.chunked.block_rows", lambda *_: 90)
    array = zarr.create_array(store=str(tmp_path / "a.zarr"), data=points, chunks=(40, 5))
    assert [len(block) for _, block in open_source(array).blocks()] == [80, 23]
    monkeypatch.setattr("trigpoint._sources.chunked.block_rows", lambda *_: 30)
    assert [len(block) for _, block in open_source(array).blocks()] == [40, 40, 23]


def test_parts_without_wanted_rows_are_not_read(tmp_path, points, calls):
    pq.write_table(pa.table({"x": points[:, 0]}), tmp_path / "a.parquet", row_group_size=10)
    batches = calls(pq.ParquetFile, "iter_batches")
    rows = np.array([3, 55, 58, 102])
    found = open_source(tmp_path / "a.parquet").take(rows)
    np.testing.assert_array_equal(found[:, 0], points[rows, 0])
    assert [options["row_groups"] for _, options in batches] == [[0], [5], [10]]


def test_annotated_object_with_a_sparse_matrix(points):
    data = annotated(points)
    data.X = sparse.csr_matrix(points)
    check_source(open_source(data), points)
    assert open_source(data, columns="c3").shape == (103, 1)
    data.X = data.X.tocsc()
    check_source(open_source(data), points)


def wide(rng) -> sparse.csr_array:
    return sparse.random_array((103, 40), density=0.05, format="csr", rng=rng)


@pytest.mark.parametrize("form", ["object", "a.npz", "a.h5ad"])
def test_sparse_points_stay_sparse(tmp_path, rng, form):
    X = wide(rng)
    thing = X if form == "object" else tmp_path / form
    if form == "a.npz":
        sparse.save_npz(thing, X)
    if form == "a.h5ad":
        save_h5ad_sparse(thing, X.toarray())
    source = open_source(thing)
    assert source.columns.sparse
    assert isinstance(source.take(None), sparse.csr_array)
    np.testing.assert_array_equal(source.take(None).toarray(), X.toarray())
    np.testing.assert_array_equal(source.take(ROWS).toarray(), X.toarray()[ROWS])
    np.testing.assert_array_equal(
        np.vstack([block.toarray() for _, block in source.blocks()]), X.toarray()
    )


def test_the_fit_decides_whether_points_are_sparse_and_how_precise(rng):
    """The batch does not: a single row may be full."""
    X = wide(rng)
    fitted = open_source(X).columns
    matched = open_source(X.toarray()).matching(fitted)
    for batch in (matched.take(None), *(block for _, block in matched.blocks())):
        assert isinstance(batch, sparse.csr_array)
        np.testing.assert_array_equal(batch.toarray(), X.toarray())
    dense = open_source(X.toarray().astype(np.float32)).columns
    for other in (X, X.toarray()):
        found = open_source(other).matching(dense)
        assert found.take(None).dtype == np.float32
        np.testing.assert_array_equal(found.take(ROWS), X.toarray()[ROWS].astype(np.float32))
        ((first, block),) = found.blocks()
        assert (first, type(block)) == (0, np.ndarray)


def test_stored_zeros_and_repeated_columns_do_not_matter(rng):
    X = wide(rng)
    odd = sparse.csr_array(
        (
            np.r_[X.data / 2, X.data / 2, 0.0],
            (np.r_[X.tocoo().row, X.tocoo().row, 3], np.r_[X.tocoo().col, X.tocoo().col, 5]),
        ),
        shape=X.shape,
    )
    plain, found = open_source(X).take(None), open_source(odd).take(None)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(plain, part))


def test_sparse_by_columns(tmp_path, points):
    save_h5ad_sparse(tmp_path / "a.h5ad", points, "csc")
    with pytest.raises(ValueError, match=r"in CSC format, .* convert it with \.tocsr\(\)"):
        open_source(tmp_path / "a.h5ad")


@pytest.mark.parametrize("what", ["file", "dataset"])
def test_a_closed_file_is_called_that(tmp_path, points, what):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("X", data=points)
    with pytest.raises(ParameterValueError, match="file that is closed: open it again or pass"):
        open_source(file if what == "file" else dataset)


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
    with pytest.raises(ValueError, match="has several columns named 'a': rename them"):
        tp.Uniform(5).fit(frame)
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
        for key in ("obsm/X_few", "X_few"):
            np.testing.assert_array_equal(whole(open_source(thing, key=key)), points[:, :2])
        np.testing.assert_array_equal(whole(open_source(thing, key="X")), points)
        with pytest.raises(ValueError, match=r"has no 'umap': choose from X, obsm/X_few"):
            open_source(thing, key="umap")
    np.testing.assert_array_equal(whole(open_source(f"{path}::obsm/X_few")), points[:, :2])
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
