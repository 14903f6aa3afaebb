"""Every format as a file and as an object: what is read is what was written."""

import gzip
import subprocess
import sys
import tracemalloc
import weakref

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from formats import OBJECTS, PATHS, TEXTS, annotated, names, save_h5ad_sparse, table
from scipy import sparse

import trigpoint as tp
from trigpoint._common.errors import ParameterWarning
from trigpoint._files import PointSource, read_points
from trigpoint._files.column_types import TableColumn, table_columns
from trigpoint._files.values import read_values

BLOCKS = 1, 7, 50, 103, 1000


def check_source(source: PointSource, X: np.ndarray) -> None:
    assert isinstance(source, PointSource)
    assert source.shape == X.shape
    assert source.dtype == X.dtype
    for rows in BLOCKS:
        blocks = list(source.blocks(rows))
        assert all(len(block) <= rows for block in blocks)
        assert all(block.flags.c_contiguous and block.dtype == X.dtype for block in blocks)
        np.testing.assert_array_equal(np.concatenate(blocks), X, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PATHS)
def test_path(tmp_path, points, name, dtype):
    X = points.astype(dtype)
    PATHS[name](tmp_path / name, X)
    check_source(read_points(tmp_path / name), X)
    source = read_points(str(tmp_path / name))
    check_source(source, X)
    assert source.path == tmp_path / name
    assert name in source.name
    assert name in repr(source)


@pytest.mark.parametrize("name", TEXTS)
def test_text(tmp_path, points, name):
    TEXTS[name](tmp_path / name, points)
    source = read_points(tmp_path / name)
    check_source(source, points)
    unnamed = name in ("semicolons.csv", "bare.txt")
    assert source.feature_names == (None if unnamed else names(points))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OBJECTS)
def test_object(tmp_path, points, name, dtype):
    X = points.astype(dtype)
    with OBJECTS[name](tmp_path, X) as thing:
        source = read_points(thing)
        check_source(source, X)
        assert source.path is None
        assert read_points(source) is source


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (np.float16, np.float32),
        (np.int64, np.float64),
        (np.uint8, np.float64),
        (np.bool_, np.float64),
    ],
)
@pytest.mark.parametrize("name", ["points.npy", "points.npz", "points.parquet", "points.zarr"])
def test_conversion_of_files(tmp_path, points, name, stored, read):
    X = (10 * np.abs(points)).astype(stored)
    PATHS[name](tmp_path / name, X)
    check_source(read_points(tmp_path / name), X.astype(read))


@pytest.mark.parametrize("name", ["ndarray", "h5py", "table", "pandas", "polars", "anndata"])
def test_conversion_of_objects(tmp_path, points, name):
    X = (10 * points).astype(np.int16)
    with OBJECTS[name](tmp_path, X) as thing:
        check_source(read_points(thing), X.astype(np.float64))


def test_columns_of_several_types():
    mixed = pa.table({"a": pa.array([1, 2], pa.float32()), "b": np.array([3, 4], np.float16)})
    assert read_points(mixed).dtype == np.float32
    source = read_points(mixed.append_column("c", pa.array([5, 6], pa.int8())))
    assert source.dtype == np.float64
    np.testing.assert_array_equal(next(source.blocks(9)), [[1, 3, 5], [2, 4, 6]])


def test_array_without_reading(tmp_path, points):
    """An array is handed on only where nothing has to be read or converted."""
    assert read_points(points).array() is points
    np.save(tmp_path / "a.npy", points)
    mapped = read_points(tmp_path / "a.npy").array()
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(mapped, points)
    for other in (
        np.asfortranarray(points),
        points.astype(int),
        points.astype(points.dtype.newbyteorder()),
        points[:, ::2],
    ):
        assert read_points(other).array() is None
    assert read_points(points, columns=[0, 1]).array() is None
    np.save(tmp_path / "f.npy", np.asfortranarray(points))
    assert read_points(tmp_path / "f.npy").array() is None


def test_feature_names(tmp_path, points):
    for name in ("points.parquet", "folder", "points.h5ad"):
        PATHS[name](tmp_path / name, points)
        assert read_points(tmp_path / name).feature_names == names(points)
    for name in ("table", "dataset", "pandas", "polars", "lazy", "xarray", "anndata"):
        (tmp_path / name).mkdir()
        with OBJECTS[name](tmp_path / name, points) as thing:
            assert read_points(thing).feature_names == names(points)
    assert read_points(points).feature_names is None


@pytest.mark.parametrize("content", [",0,1\n0,.5,.6\n1,.7,.8\n", "x,1990\n.5,.6\n.7,.8\n"])
def test_names_that_are_numbers(tmp_path, content):
    """What pandas writes for columns without names, and years."""
    (tmp_path / "a.csv").write_text(content)
    source = read_points(tmp_path / "a.csv")
    assert len(source.feature_names) == 2
    np.testing.assert_array_equal(np.asarray(source), [[0.5, 0.6], [0.7, 0.8]])


def test_a_first_line_that_counts_is_a_point_with_a_warning(tmp_path):
    (tmp_path / "a.csv").write_text("0,1\n.5,.6\n.7,.8\n")
    with pytest.warns(
        UserWarning, match=r"counts its columns \(0, 1\.\.\.\) and is read as a point"
    ):
        source = read_points(tmp_path / "a.csv")
    np.testing.assert_array_equal(np.asarray(source)[0], [0, 1])


def test_pandas_index_is_no_coordinate(tmp_path, points):
    index = pd.Index([f"cell{number}" for number in range(len(points))], name="cell")
    frame = pd.DataFrame(points, columns=names(points), index=index)
    frame.to_parquet(tmp_path / "a.parquet")
    assert "cell" in pq.read_schema(tmp_path / "a.parquet").names
    check_source(read_points(tmp_path / "a.parquet"), points)
    check_source(read_points(frame), points)


def test_text_with_comments_blank_lines_and_quotes(tmp_path):
    content = '\ufeff# made by hand\n\n  # with care\n"a, b",c\r\n1,2\n\n"3",4\n\n'
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    with pytest.warns(ParameterWarning, match="1 blank line between its rows"):
        source = read_points(tmp_path / "a.csv")
    assert source.feature_names == ["a, b", "c"]
    check_source(source, np.array([[1.0, 2], [3, 4]]))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_text_with_quoted_line_breaks(tmp_path, name):
    """In names and in values, beside the numbers that are read."""
    content = 'x,"no\nte",y\r\n1,"one, ""two""\nthree",+2\n3,"\n\n", 4 \n"5","#",6\n'
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt", newline="") as file:
        file.write(content)
    source = read_points(tmp_path / name, columns=["y", "x"])
    check_source(source, np.array([[2.0, 1], [4, 3], [6, 5]]))
    assert table_columns(tmp_path / name)[1] == TableColumn("no\nte", "text")
    values = read_values(f"{tmp_path / name}::no\nte")
    assert values.tolist() == ['one, "two"\nthree', None, "#"]


def test_no_row_is_left_out(tmp_path):
    """Whatever it begins with, and however empty it is."""
    (tmp_path / "a.csv").write_text("id,x\n#1,1\n#2,2\n")
    check_source(read_points(tmp_path / "a.csv", columns="x"), np.array([[1.0], [2]]))
    assert read_values(f"{tmp_path}/a.csv::id").tolist() == ["#1", "#2"]
    (tmp_path / "a.tsv").write_text("kind\tx\noak\t1\n\t\nelm\t2\n")
    assert read_values(f"{tmp_path}/a.tsv::kind").tolist() == ["oak", None, "elm"]
    for end in ("elm\n", '"elm"\n'):
        (tmp_path / "b.csv").write_text(f"kind\noak\n\n{end}")
        assert read_values(f"{tmp_path}/b.csv").tolist() == ["oak", None, "elm"]


def test_text_needs_no_other_library(tmp_path, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "a.csv").write_text('"x","y",kind\n1,2,"oak, ""old""\ntree"\n3,4,elm\n')
    check_source(read_points(tmp_path / "a.csv", columns=["x", "y"]), np.array([[1.0, 2], [3, 4]]))
    assert read_values(f"{tmp_path}/a.csv::kind").tolist() == ['oak, "old"\ntree', "elm"]


def test_one_column(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n3\n")
    check_source(read_points(tmp_path / "a.csv"), np.array([[1.0], [2], [3]]))


def test_chunks_larger_and_smaller_than_blocks(tmp_path, points):
    """Blocks follow chunks where they can, and no chunk is asked for twice."""
    array = zarr.create_array(store=str(tmp_path / "a.zarr"), data=points, chunks=(40, 5))
    source = read_points(array)
    assert [len(block) for block in source.blocks(90)] == [80, 23]
    assert [len(block) for block in source.blocks(30)] == [30, 10, 30, 10, 23]


def test_annotated_object_with_a_sparse_matrix(points):
    data = annotated(points)
    data.X = sparse.csr_matrix(points)
    check_source(read_points(data), points)
    assert read_points(data, columns="c3").shape == (103, 1)
    data.X = data.X.tocsc()
    check_source(read_points(data), points)


@pytest.mark.parametrize("kind", [sparse.csc_matrix, sparse.coo_array])
def test_sparse_objects_of_other_formats(kind, points):
    check_source(read_points(kind(points)), points)


def test_damaged_sparse_matrix(tmp_path, points):
    save_h5ad_sparse(tmp_path / "a.h5ad", points)
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["X/indices"][3] = 1000
    with pytest.raises(ValueError, match=r"a\.h5ad::X is damaged"):
        list(read_points(tmp_path / "a.h5ad").blocks(10))


# An array in Fortran order comes column by column from its archive.
@pytest.mark.parametrize("name", sorted({*PATHS, *TEXTS} - {"fortran.npz"}))
def test_only_one_block_is_held(tmp_path, rng, monkeypatch, name):
    X = rng.random((20_000, 5))
    if name == "points.parquet":
        # One row group of many pages, to show that pages are read and not row groups.
        layout = {"use_dictionary": False, "data_page_size": 8000, "write_batch_size": 100}
        pq.write_table(table(X), tmp_path / name, **layout)
    else:
        {**PATHS, **TEXTS}[name](tmp_path / name, X)
    source = read_points(tmp_path / name)
    n_bytes = sum(block.nbytes for block in source.blocks(1000))
    alive: list[weakref.ref] = []

    def check(block: np.ndarray, *_: object) -> None:
        """Runs when a block has been read and is not yet handed out."""
        assert all(earlier() is None for earlier in alive)
        alive.append(weakref.ref(block))

    monkeypatch.setattr("trigpoint._files.source.refuse_non_finite", check)
    arrow_before, arrow = pa.total_allocated_bytes(), 0
    tracemalloc.start()
    for block in source.blocks(1000):
        del block
        arrow = max(arrow, pa.total_allocated_bytes() - arrow_before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_bytes == X.nbytes
    assert len(alive) >= 20
    assert peak + arrow < X.nbytes / 2


def test_optional_libraries_are_not_imported():
    """Beyond what scikit-learn imports: it takes pandas where there is one, and that pyarrow."""
    optional = "pyarrow", "pyarrow.parquet", "zarr", "h5py", "pandas", "polars", "xarray", "anndata"
    code = (
        "import sys, sklearn.utils; before = set(sys.modules); import trigpoint._files; "
        f"print([m for m in {optional} if m in sys.modules and m not in before])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
@pytest.mark.parametrize("header", ["x|y\n", ""])
def test_bars_between_columns(tmp_path, name, header):
    (tmp_path / name).write_text(f"{header}1.5|2\n3|4\n")
    check_source(read_points(tmp_path / name), np.array([[1.5, 2], [3, 4]]))


def test_half_precision_is_read_alike_from_memory_and_files(tmp_path, points):
    X = points.astype(np.float16)
    np.save(tmp_path / "half.npy", X)
    emb = tp.LaplacianEigenmaps(landmarks=10, graph="euclidean", random_state=0)
    found = emb.fit_transform(X)
    assert found.dtype == emb.landmarks_.dtype == np.float32
    np.testing.assert_array_equal(found, emb.fit_transform(tmp_path / "half.npy"))


@pytest.mark.parametrize("what", ["file", "dataset"])
def test_a_closed_file_is_called_that(tmp_path, points, what):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("X", data=points)
    with pytest.raises(tp.ParameterError, match="HDF5 file that is closed: open it again or pass"):
        read_points(file if what == "file" else dataset)
