"""What cannot be read is refused by name, with the remedy."""

import io
import sys
import zipfile
from datetime import date
from types import SimpleNamespace

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from formats import (
    annotated,
    save_h5ad,
    save_h5ad_sparse,
    save_hdf5,
    save_npz,
    save_parquet,
    save_zarr,
    table,
)

import trigpoint as tp
from trigpoint._files import DamagedFileError, load, read_points
from trigpoint._files.values import read_values


def test_unknown_things(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing\.npy"):
        read_points(tmp_path / "missing.npy")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing\.h5ad"):
        read_points(f"{tmp_path}/missing.h5ad::X")
    (tmp_path / "a.odd").touch()
    with pytest.raises(
        ValueError, match=r"a\.odd has an unknown suffix.* \.npy, \.npz, \.parquet, \.pq"
    ):
        read_points(tmp_path / "a.odd")
    with pytest.raises(ValueError, match="is a folder, but not a Zarr array or group, and has no"):
        read_points(tmp_path)
    for thing in ([[1.0, 2.0]], 3, None, pd.Series([1.0]), SimpleNamespace(X=1)):
        with pytest.raises(TypeError, match=r"points cannot be read from \w+: give a path"):
            read_points(thing)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4,), r"has shape \(4,\): points are the rows of an array with 2 dimensions"),
        ((2, 3, 4), r"has shape \(2, 3, 4\): points are the rows"),
        ((0, 3), r"has shape \(0, 3\): there are no rows to read"),
        ((3, 0), r"has shape \(3, 0\): there are no columns to read"),
    ],
)
def test_shapes(tmp_path, shape, message):
    X = np.zeros(shape)
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X)
    zarr.create_array(
        store=str(tmp_path / "a.zarr"), shape=shape, chunks=(1,) * len(shape), dtype=float
    )
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"] = X
    with pytest.raises(ValueError, match=f"^X {message}"):
        read_points(X)
    for name in ("a.npy", "a.npz", "a.zarr", "a.h5"):
        with pytest.raises(ValueError, match=rf"{name}\S* {message}"):
            read_points(tmp_path / name)


def test_empty_tables(tmp_path):
    empty = pa.table({"a": pa.array([], pa.float64())})
    pq.write_table(empty, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a,b\n")
    for thing in (empty, tmp_path / "a.parquet", tmp_path / "a.csv", pd.DataFrame({"a": []})):
        with pytest.raises(ValueError, match="there are no rows to read"):
            read_points(thing)
    (tmp_path / "b.csv").write_text("# nothing\n\n")
    with pytest.raises(ValueError, match=r"b\.csv has no lines of numbers"):
        read_points(tmp_path / "b.csv")
    index = pd.DataFrame(index=pd.Index([1.0, 3.0], name="only"))
    with pytest.raises(ValueError, match="there are no columns to read"):
        read_points(pa.Table.from_pandas(index))


@pytest.mark.parametrize("dtype", [complex, "U3", object, "M8[s]", np.longdouble, [("a", float)]])
def test_types_of_arrays(tmp_path, dtype):
    X = np.zeros((2, 2), dtype=dtype)
    with pytest.raises(ValueError, match=r"^X holds values of type .*, not numbers: convert it"):
        read_points(X)
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match=r"a\.npy holds values of type .*: save it as float32"):
        read_points(tmp_path / "a.npy")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"]),
        pa.array([[1.0], [2.0]]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([1, 2], pa.decimal128(5)),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.nulls(2),
    ],
    ids=lambda column: str(column.type),
)
def test_types_of_columns(tmp_path, column):
    bad = pa.table({"x": [1.0, 2.0], "odd": column})
    with pytest.raises(ValueError, match=r"column 'odd' of Table, of type .*, holds values"):
        read_points(bad)
    assert read_points(bad, columns="x").shape == (2, 1)


@pytest.mark.parametrize("dtype", ["category", "datetime64[ns]", "string", "complex128", object])
def test_types_of_frames(dtype):
    frame = pd.DataFrame({"x": [1.0, 2.0], "odd": pd.Series([1, 2]).astype(dtype)})
    with pytest.raises(ValueError, match=r"column 'odd' of DataFrame, of type .*leave it out"):
        read_points(frame)


@pytest.mark.parametrize("odd", [["a", "b"], [date(2020, 1, 1), None], [[1.0], [2.0]]])
def test_types_of_polars_frames(odd):
    frame = pl.DataFrame({"x": [1.0, 2.0], "odd": odd})
    with pytest.raises(ValueError, match=r"column 'odd' of DataFrame, of type .*leave it out"):
        read_points(frame)
    assert read_points(frame, columns="x").shape == (2, 1)


def test_missing_values(tmp_path):
    holes = pa.table({"x": [1.0, 2.0, 3.0], "y": [1, 2, None]})
    pq.write_table(holes, tmp_path / "a.parquet")
    for thing in (holes, tmp_path / "a.parquet"):
        with pytest.raises(
            ValueError, match=r"column 'y' of .* has missing values, the first in row 2"
        ):
            list(read_points(thing).blocks(2))
    for frame in (
        pd.DataFrame({"x": pd.array([1, 2, None], dtype="Int64")}),
        pl.DataFrame({"x": [1, 2, None]}),
        pl.DataFrame({"x": [True, False, None]}),
    ):
        with pytest.raises(ValueError, match=r"contains NaN in row 2, column 'x'"):
            list(read_points(frame).blocks(2))
    with pytest.raises(ValueError, match="X has masked values"):
        read_points(np.ma.masked_equal(np.eye(3), 0))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(tmp_path, points, value):
    points[71, 3] = value
    save_npz(tmp_path / "a.npz", points)
    source = read_points(tmp_path / "a.npz")
    message = r"a\.npz::X contains (NaN|infinity \(inf\)) in row 71, column 3: fill in these values"
    with pytest.raises(ValueError, match=message):
        list(source.blocks(20))
    with pytest.raises(ValueError, match=message):
        load(source)
    with pytest.raises(ValueError, match="in row 71, column 'c3'"):
        load(read_points(table(points)))


def test_large_values_are_finite():
    """Their sum overflows, they do not."""
    X = np.full((4, 2), np.finfo(np.float32).max)
    assert len(list(read_points(X).blocks(2))) == 2


def test_block_rows():
    source = read_points(np.eye(3))
    with pytest.raises(ValueError, match="rows=0 is too small"):
        source.blocks(0)
    with pytest.raises(TypeError, match="rows must be a whole number"):
        source.blocks(1.5)


def test_sparse_by_columns(tmp_path, points):
    save_h5ad_sparse(tmp_path / "a.h5ad", points, "csc")
    with pytest.raises(ValueError, match=r"in CSC format, .* convert it with \.tocsr\(\)"):
        read_points(tmp_path / "a.h5ad")


def test_files_that_are_not_what_they_say(tmp_path):
    for name, error, message in (
        ("a.npy", DamagedFileError, "cannot be read as a .npy file"),
        ("a.npz", DamagedFileError, "cannot be read as a .npz file"),
        ("a.parquet", DamagedFileError, "cannot be read as Parquet"),
        ("a.zarr.zip", DamagedFileError, "cannot be read as Zarr"),
        ("a.zarr", DamagedFileError, "cannot be read as Zarr"),
        ("a.h5", OSError, "cannot be opened as HDF5"),
        ("a.h5ad", OSError, "cannot be opened as HDF5"),
        ("a.csv.gz", ValueError, "cannot be read as text"),
        ("a.csv", ValueError, r"is not text in UTF-8 .*: if it is text, save it as UTF-8"),
    ):
        (tmp_path / name).write_bytes(b"\xff\xfe\xfd nonsense" * 9)
        with pytest.raises(error, match=rf"{name} {message}"):
            read_points(tmp_path / name)


def test_files_cut_short(tmp_path, points):
    np.save(tmp_path / "a.npy", points)
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"a\.npy is truncated"):
        read_points(tmp_path / "a.npy")
    (tmp_path / "a.npy").write_bytes(whole[:20])
    with pytest.raises(ValueError, match=r"a\.npy cannot be read as a \.npy file"):
        read_points(tmp_path / "a.npy")


def test_versions_of_arrays_in_an_archive(tmp_path, points):
    """The second is for long headers, later ones are for records."""
    for version in ((1, 0), (2, 0), (3, 0)):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("X.npy", "w") as f:
            np.lib.format.write_array(f, points, version=version)
        if version < (3, 0):
            np.testing.assert_array_equal(np.asarray(read_points(tmp_path / "a.npz")), points)
        else:
            with pytest.raises(
                ValueError, match=r"::X cannot be read as a \.npy file: version \(3, 0\)"
            ):
                read_points(tmp_path / "a.npz")


def test_an_archive_whose_array_is_cut_short(tmp_path, points):
    whole = io.BytesIO()
    np.save(whole, points)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", whole.getvalue()[:-4])
    with pytest.raises((ValueError, OSError), match="truncated"):
        list(read_points(tmp_path / "a.npz").blocks(100))


def test_files_that_change(tmp_path, points):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n5,6\n")
    source = read_points(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match="gave 1 rows but had 3 when it was opened"):
        list(source.blocks(2))
    save_hdf5(tmp_path / "a.h5", points)
    source = read_points(tmp_path / "a.h5")
    (tmp_path / "a.h5").unlink()
    with pytest.raises(OSError, match=r"reading .*a\.h5::deep/X failed after row 0"):
        list(source.blocks(2))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1.0,,3.0\n4.0,5.0,6.0\n", r"both text \(''\) and numbers \('1.0'\)"),
        ("1.0,NA\n4.0,5.0\n", r"both text \('NA'\) and numbers \('1.0'\)"),
        ("1,NA\n4,5\n", r"both text \('NA'\) and numbers \('1'\)"),
        ("cell,1,2\ncell,3,4\n", r"both text \('cell'\) and numbers \('1'\)"),
        ("a,b\n1,2,3\n", r"has 2 names in its header and 3 values in its first row"),
        ("a,b\n1,x\n", r"column 'b' of .*a\.csv holds text, 'x', in its first row"),
        ("a,b\n1,\n", r"column 'b' of .*a\.csv is empty in its first row: leave it out"),
        (
            "x;y\n4,909;3,222\n",
            r"column 'x' of .*a\.csv has a decimal comma, '4,909', in its first row: write numbers",
        ),
        ("4,9;3,2\n1.5;2.5\n", r"column 0 of .* has a decimal comma, '4,9', in its first row"),
        ('"1,5","2,5"\n3.5,4.5\n', r"column 0 of .* has a decimal comma, '1,5', in its first row"),
        ("a;b\n1.234,5;2\n", r"column 'a' of .* has a decimal comma, '1.234,5', in its first row"),
        (
            "x,y\n3,5,4,5\n",
            r"4 values in its first row: if these are decimal commas, write numbers",
        ),
        ("x,y\n1,\u0662\n", r"column 'y' of .*a\.csv holds text, .\u0662., in its first row"),
    ],
)
def test_text_refused_at_once(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_points(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1,2\n3,4\n5,6\n7,x\n",
            r"column 1 of .*a\.csv holds text, 'x', in row 3",
        ),
        ("1,2\n3,4\n5,6\n7,\n", r"column 1 of .*a\.csv is empty in row 3: fill it in"),
        (
            "x,y,z\n1,2,3\n3,NA,4\n5,6,\n",
            r"column 'y' of .* has a missing value, 'NA', in row 1: fill it in, remove the row or "
            r"keep to the complete ones with tp.read_points\(X, columns=\['x'\]\)$",
        ),
        ("1,2\n3,4\n5,6\n7\n", r"a\.csv has 2 columns at first but 1 in row 3: give every row"),
        (
            "x;y\n" + "1;2\n" * 200 + "5;6,5\n",
            r"column 'y' of .* has a decimal comma, '6,5', in row 200: write numbers with a point",
        ),
        (
            "x;y\n" + "1;2,5\n" * 200 + "5;6.5\n",
            r"column 'y' of .* has a decimal point, '6.5', in row 200: write all numbers alike",
        ),
        ("1,2\n3,4\n5,6,7\n", r"a\.csv has 2 columns at first but 3 in row 2:"),
        ("x,y\n1,2\n#3,4\n", r"column 'x' of .*a\.csv holds text, '#3', in row 1"),
        ("x\n1\n\n2\n", r"column 'x' of .*a\.csv is empty in row 1: fill it in"),
        ('x\n"1"\n\n2\n', r"column 'x' of .*a\.csv is empty in row 1: fill it in"),
        ('x,y\n\n1,"2"\n3,4\n5,b\n', r"column 'y' of .*a\.csv holds text, 'b', in row 2"),
        ('x,y\n1,"2"\n3,4\n5\n', r"a\.csv has 2 columns at first but 1 in row 2"),
        ('x,y\n1,"2"\n3,1_000\n', r"column 'y' of .*a\.csv holds text, '1_000', in row 1"),
        ('x,note\n1,a\n2,"b\n3,c\n4,d\n', r"a\.csv cannot be read in row 1 .*close"),
        ('x,note\n1,"a\n2,b\n3,"c"\n', r"a\.csv cannot be read in row 0 .*: close every quote"),
    ],
)
def test_text_refused_where_it_occurs(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        list(read_points(tmp_path / "a.csv").blocks(2))


def test_a_blank_line_of_tabs_is_a_row(tmp_path):
    (tmp_path / "a.tsv").write_text("x\ty\n1\t2\n\t\n3\t4\n")
    with pytest.raises(ValueError, match=r"column 'x' of .*a\.tsv is empty in row 1"):
        list(read_points(tmp_path / "a.tsv").blocks(2))


def test_rows_of_another_length_are_counted_in_the_file(tmp_path):
    """Not in the lines that were read together, and in our own words."""
    lines = ["x,y", *["1,2"] * 500, "3", *["1,2"] * 500]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(DamagedFileError) as refused:
        list(read_points(tmp_path / "a.csv").blocks(300))
    assert str(refused.value).endswith(
        "has 2 columns at first but 1 in row 500: give every row the same number"
    )


def test_columns_of_numbers_are_named_for_those_that_are_not(tmp_path):
    """As a list to paste into the call that takes it."""
    odd = pa.table({"id": ["a", "b"], "x": [1.0, 2.0], "a,b": [1, 2]})
    pq.write_table(odd, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text('id,x,"a,b"\na,1.5,1\nb,2.5,2\n')
    for name in ("a.parquet", "a.csv"):
        with pytest.raises(ValueError, match=r"with tp.read_points\(X, columns=\['x', 'a,b'\]\)$"):
            read_points(tmp_path / name)
        assert read_points(tmp_path / name, columns=["x", "a,b"]).shape == (2, 2)


def test_folder_with_different_columns(tmp_path, points):
    save_parquet(tmp_path / "a.parquet", points)
    save_parquet(tmp_path / "b.parquet", points[:, :4])
    with pytest.raises(ValueError, match=r"b\.parquet and .*a\.parquet differ in columns c4"):
        read_points(tmp_path)
    doubled = pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pytest.raises(ValueError, match="Table has several columns a: rename them"):
        read_points(doubled)


def test_no_arrays(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_group("empty")
    with pytest.raises(ValueError, match=r"a\.h5 holds no arrays"):
        read_points(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file.create_group("obs")
    with pytest.raises(ValueError, match=r"a\.h5ad has neither X nor an entry of obsm"):
        read_points(tmp_path / "a.h5ad")


def write_records(file):
    """As before version 0.7."""
    file["X"] = np.eye(2)
    file["obs"] = np.array([(b"a", 1), (b"b", 0)], dtype=[("index", "S1"), ("c", "i4")])
    file["uns/c_categories"] = ["B", "T"]


def write_vectors_of_records(file):
    """Also as before version 0.7."""
    file["obsm"] = np.zeros(2, dtype=[("X_pca", "f4", (3,))])


def write_old_sparse(file):
    """As before version 0.7, and by hand."""
    group = file.create_group("X")
    group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", (2, 2)
    group["data"], group["indices"], group["indptr"] = [1.0, 1.0], [0, 1], [0, 1, 2]


def write_old_categories(file):
    """As in version 0.7."""
    file["X"] = np.eye(2)
    file["obs/c"] = np.array([1, 0], dtype=np.int8)
    file["obs/__categories/c"] = ["B", "T"]


@pytest.mark.parametrize(
    "write", [write_records, write_vectors_of_records, write_old_sparse, write_old_categories]
)
def test_old_layouts_of_annotated_data(tmp_path, write):
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        write(file)
    message = r"old\.h5ad has an old AnnData file layout: rewrite it with anndata 0\.8"
    with pytest.raises(ValueError, match=message):
        read_points(tmp_path / "old.h5ad")
    with pytest.raises(ValueError, match=message):
        read_values(f"{tmp_path}/old.h5ad::obs/c")


@pytest.mark.parametrize(
    ("name", "save", "package"),
    [
        ("points.parquet", save_parquet, "pyarrow"),
        ("points.zarr", save_zarr, "zarr"),
        ("points.h5", save_hdf5, "h5py"),
        ("points.h5ad", save_h5ad, "h5py"),
    ],
)
def test_missing_library(tmp_path, points, monkeypatch, name, save, package):
    save(tmp_path / name, points)
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    message = rf"^reading {name} needs {package}: pip install {package}$"
    with pytest.raises(ImportError, match=message):
        read_points(name)


def test_a_key_is_suggested_in_a_way_that_works(tmp_path, points):
    X = annotated(points)
    with pytest.raises(ValueError, match=r"AnnData has no 'pca'") as refused:
        read_points(X, key="pca")
    call = refused.value.remedy.partition("as in ")[2]
    assert eval(call, {"tp": tp, "X": X}).shape == points.shape
    np.savez(tmp_path / "a.npz", x=points, y=points)
    with np.load(tmp_path / "a.npz") as X, pytest.raises(ValueError, match="2 arrays") as refused:
        read_points(X)
    place = refused.value.remedy.partition("as in ")[2].partition(", from")[0]
    assert read_points(place.strip("'")).shape == points.shape


@pytest.mark.parametrize(
    "content", ["a,b\n1,2\n3,\x004\n", "a,b\n1,2\n\x00\n", 'a,b\n1,2\n"\x00",4\n']
)
def test_a_nul_byte_is_found_in_its_line(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DamagedFileError, match=r"a\.csv has a NUL byte in line 3"):
        read_points(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("\x00" * 50)
    with pytest.raises(DamagedFileError, match=r"a\.csv has a NUL byte in line 1"):
        read_points(tmp_path / "a.csv")


def test_a_header_alone_is_called_that(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(DamagedFileError, match="has a header, and there are no rows to read below"):
        read_points(tmp_path / "a.csv")


def test_points_between_thousands_are_no_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1.234.567;1\n2.345.678;2\n")
    with pytest.raises(ValueError, match=r"has points between thousands, '1.234.567',.*as 1234"):
        read_points(tmp_path / "a.csv")
