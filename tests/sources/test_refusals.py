"""Invalid input is refused by name; damaged files never cause a traceback."""

import gzip
import zipfile
from types import SimpleNamespace

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from formats import save_h5ad_sparse, save_hdf5, save_npz
from formats import table as arrow_table
from scipy import sparse

from trigpoint._common.errors import ParameterError
from trigpoint._sources import DamagedFileError, open_source
from trigpoint._sources.tables import read_values

NAMED = (DamagedFileError, ParameterError, OSError)


def test_unknown_things(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing\.npy"):
        open_source(tmp_path / "missing.npy")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing\.h5ad"):
        open_source(f"{tmp_path}/missing.h5ad::X")
    (tmp_path / "a.odd").touch()
    with pytest.raises(ValueError, match=r"a\.odd has an unknown suffix.* \.npy, \.npz, \.parq"):
        open_source(tmp_path / "a.odd")
    (tmp_path / "a.xlsx").touch()
    with pytest.raises(ValueError, match="unknown suffix: save the table as CSV"):
        open_source(tmp_path / "a.xlsx")
    with pytest.raises(ValueError, match="is a folder that is neither a Zarr array or group"):
        open_source(tmp_path)
    with pytest.raises(TypeError, match="X is of type SimpleNamespace, not points: pass an array"):
        open_source(SimpleNamespace(X=1))
    with pytest.raises(ValueError, match="the path of the points is empty"):
        open_source("")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4,), r"has shape \(4,\)\. Expected 2D array, got 1D array instead: .*Reshape your data"),
        ((2, 3, 4), r"has shape \(2, 3, 4\)"),
        ((0, 3), r"has 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        ((3, 0), r"has 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
    ],
)
def test_shapes(tmp_path, shape, message):
    X = np.zeros(shape)
    np.savez(tmp_path / "a.npz", X)
    zarr.create_array(
        store=str(tmp_path / "a.zarr"), shape=shape, chunks=(1,) * len(shape), dtype=float
    )
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"] = X
    with pytest.raises(ValueError, match=f"^X {message}"):
        open_source(X)
    for name in ("a.npz", "a.zarr", "a.h5"):
        with pytest.raises(ValueError, match=rf"{name}\S* {message}"):
            open_source(tmp_path / name)


def test_empty_tables(tmp_path):
    empty = pa.table({"a": pa.array([], pa.float64())})
    pq.write_table(empty, tmp_path / "a.parquet")
    for thing in (empty, tmp_path / "a.parquet", pd.DataFrame({"a": []})):
        with pytest.raises(ValueError, match="0 sample"):
            open_source(thing)
    index = pd.DataFrame(index=pd.Index([1.0, 3.0], name="only"))
    with pytest.raises(ValueError, match="0 feature"):
        open_source(pa.Table.from_pandas(index))


@pytest.mark.parametrize("dtype", [complex, "U3", object, "M8[s]", np.longdouble, [("a", float)]])
def test_types_of_arrays(tmp_path, dtype):
    X = np.zeros((2, 2), dtype=dtype)
    X[0, 0] = "a" if X.dtype.kind in "UO" else X[0, 0]
    with pytest.raises((ValueError, TypeError), match=r"^X (holds|has|is)"):
        open_source(X)
    if dtype is not object:
        np.save(tmp_path / "a.npy", X)
        with pytest.raises((ValueError, TypeError), match=r"a\.npy"):
            open_source(tmp_path / "a.npy")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"]),
        pa.array([[1.0], [2.0]]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([1, 2], pa.decimal128(5)),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.nulls(2),
        *(
            pd.Series([1, 2]).astype(dtype)
            for dtype in ("category", "datetime64[ns]", "string", "complex128")
        ),
    ],
    ids=lambda column: str(column.dtype if isinstance(column, pd.Series) else column.type),
)
def test_types_of_columns(column):
    columns = {"x": [1.0, 2.0], "odd": column, "odder": column}
    bad = pd.DataFrame(columns) if isinstance(column, pd.Series) else pa.table(columns)
    message = r"'odd' .*'odder' of type .* of (Table|DataFrame) do not hold numbers: choose metric="
    with pytest.raises(ValueError, match=message):
        open_source(bad)
    assert open_source(bad, columns="x").shape == (2, 1)


def test_missing_values(tmp_path):
    holes = pa.table({"x": [1.0, 2.0, 3.0], "y": [1, 2, None]})
    pq.write_table(holes, tmp_path / "a.parquet")
    for thing in (
        holes,
        tmp_path / "a.parquet",
        pl.DataFrame({"x": [1.0, 2, 3], "y": [1, 2, None]}),
    ):
        message = r"column 'y' of .* has missing values, the first in row 2"
        with pytest.raises(ValueError, match=message):
            open_source(thing).take(None)
        with pytest.raises(ValueError, match=message):
            open_source(thing).take(np.array([0, 2]))
        assert open_source(thing).take(np.array([0, 1])).tolist() == [[1, 1], [2, 2]]
    with pytest.raises(ValueError, match=r"contains NaN in row 2, column 'x'"):
        open_source(pd.DataFrame({"x": pd.array([1, 2, None], dtype="Int64")})).take(None)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(tmp_path, points, value):
    """Rows that are not read are not checked."""
    points[71, 3] = value
    save_npz(tmp_path / "a.npz", points)
    source = open_source(tmp_path / "a.npz")
    message = r"a\.npz::X contains (NaN|infinity \(inf\)) in row 71, column 3: fill in these values"
    for read in (lambda: source.take(None), lambda: list(source.blocks())):
        with pytest.raises(ValueError, match=message):
            read()
    with pytest.raises(ValueError, match=message):
        source.take(np.array([5, 71, 80]))
    assert source.take(np.array([5, 80])).shape == (2, 5)
    with pytest.raises(ValueError, match="in row 71, column 'c3'"):
        open_source(arrow_table(points)).take(None)
    wide = sparse.csr_array((np.array([value]), ([7], [3])), shape=(20, 90))
    with pytest.raises(ValueError, match="in row 7, column 3"):
        open_source(wide).take(np.array([2, 7, 9]))


def test_rows_are_named():
    X = np.zeros((100, 3))
    X[[7, 30, 31], [2, 0, 1]] = np.nan
    message = r"X contains NaN in row 7, column 2; also in rows 30, 31:"
    with pytest.raises(ValueError, match=message):
        open_source(X).take(None)
    with pytest.raises(ValueError, match=r"rows 1, 2, 3, 4, 5 and 94 more"):
        open_source(np.full((100, 2), np.inf)).take(None)
    # These values are finite, but their sum is not.
    with pytest.raises(ValueError, match=r"X has values up to 1e\+308"):
        open_source(np.full((4, 4), 1e308)).take(None)


def test_files_that_are_not_what_they_say(tmp_path):
    for name, message in (
        ("a.npy", "cannot be read as an array of numbers"),
        ("a.npz", "cannot be read as arrays of numbers"),
        ("a.parquet", "cannot be read as Parquet"),
        ("a.zarr.zip", "cannot be read as Zarr"),
        ("a.zarr", "cannot be read as Zarr"),
        ("a.h5", "cannot be read as HDF5"),
        ("a.h5ad", "cannot be read as HDF5"),
        ("a.csv.gz", "cannot be read as text"),
        ("a.csv", "is not text in UTF-8 .*: if it is text, save it as UTF-8"),
    ):
        (tmp_path / name).write_bytes(b"\xff\xfe\xfd nonsense" * 9)
        with pytest.raises(DamagedFileError, match=rf"{name} {message}"):
            open_source(tmp_path / name)


def test_files_that_change(tmp_path, points):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n5,6\n")
    source = open_source(tmp_path / "a.csv")
    assert source.n == 3
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(DamagedFileError, match="yielded 1 rows but had 3 when it was opened"):
        list(source.blocks())
    with pytest.raises(DamagedFileError, match="has only 1 of 2 requested rows"):
        source.take(np.array([0, 2]))
    save_hdf5(tmp_path / "a.h5", points)
    source = open_source(tmp_path / "a.h5")
    (tmp_path / "a.h5").unlink()
    with pytest.raises(OSError, match=r"a\.h5"):
        list(source.blocks())
    np.save(tmp_path / "a.npy", np.zeros((10_000, 5)))
    source = open_source(tmp_path / "a.npy")
    with open(tmp_path / "a.npy", "r+b") as file:
        file.truncate(2000)
    for read in (lambda: source.take(np.array([0])), lambda: list(source.blocks())):
        with pytest.raises(DamagedFileError, match="was truncated after it was opened"):
            read()


def test_folders_of_parquet_that_do_not_match(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [4.0], "a": [3.0]}), tmp_path / "2.parquet")
    assert open_source(tmp_path).take(None).tolist() == [[1, 2], [3, 4]]
    pq.write_table(pa.table({"a": [1.0], "c": [2.0]}), tmp_path / "3.parquet")
    with pytest.raises(DamagedFileError, match="differ in columns b, c: files in a folder must"):
        open_source(tmp_path)


def test_forged_headers(tmp_path):
    """The headers must not lead to more memory than the size of the file."""
    for shape in ("(9999999999999, 3)", "(4000000000000, 3000000000)", "(-4, -3)", "'x'"):
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(96)
        (tmp_path / "a.npy").write_bytes(raw)
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("X.npy", raw)
        for name in ("a.npy", "a.npz"):
            with pytest.raises(NAMED, match=name.replace(".", r"\.")):
                open_source(tmp_path / name).take(None)


def test_sparse_arrays_that_point_outside(tmp_path, points):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.eye(4)))
    with np.load(tmp_path / "a.npz") as parts:
        changed = dict(parts) | {"indices": np.array([0, 1, 2, 4_000_000], dtype=np.int32)}
    np.savez(tmp_path / "a.npz", **changed)
    with pytest.raises(DamagedFileError, match=r"a\.npz cannot be read"):
        open_source(tmp_path / "a.npz")
    save_h5ad_sparse(tmp_path / "a.h5ad", points)
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["X/indptr"][0] = 2**18
    with pytest.raises(DamagedFileError, match=r"a\.h5ad.*rows run backward"):
        open_source(tmp_path / "a.h5ad").take(None)
    save_h5ad_sparse(tmp_path / "a.h5ad", points)
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["X/indices"][3] = 1000
    with pytest.raises(DamagedFileError, match=r"a\.h5ad::X is damaged"):
        open_source(tmp_path / "a.h5ad").take(None)


def test_compressed_bytes_that_are_damaged(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 9000)[:-20])
    with pytest.raises(DamagedFileError, match=r"a\.csv\.gz"):
        open_source(tmp_path / "a.csv.gz").take(None)
    np.savez_compressed(tmp_path / "a.npz", X=np.arange(3000.0).reshape(-1, 3))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[60:70] = b"\xff" * 10
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(NAMED, match=r"a\.npz"):
        open_source(tmp_path / "a.npz").take(None)
    with pytest.raises(DamagedFileError, match=r"a\.npz"):
        read_values(f"{tmp_path}/a.npz::X")
