"""Damaged and unusual files: every row is read or refused, and errors name the file."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from formats import save_h5ad, save_h5ad_sparse, save_hdf5, save_npz, save_parquet, save_zarr_zip
from scipy import sparse

from trigpoint._common.errors import ParameterError, ParameterWarning
from trigpoint._files import DamagedFileError, hdf5, read_points
from trigpoint._files.column_types import TableColumn, table_columns
from trigpoint._files.values import read_values

NAMED = (DamagedFileError, ParameterError, OSError)


def rows_of(path, **choice):
    return np.concatenate(list(read_points(path, **choice).blocks(2)))


def test_rows_that_begin_with_a_hash_are_rows(tmp_path):
    (tmp_path / "a.csv").write_text("# by hand\n\nkind,x\n#1,1\nb,2\n")
    assert rows_of(tmp_path / "a.csv", columns="x").tolist() == [[1], [2]]
    assert read_values(f"{tmp_path}/a.csv::kind").tolist() == ["#1", "b"]


@pytest.mark.parametrize("quoted", ["2", '"2"'])
def test_blank_lines_between_rows_are_counted_and_said(tmp_path, quoted):
    (tmp_path / "a.csv").write_text(f"x,y\n1,{quoted}\n\n  \n3,4\n\n")
    with pytest.warns(ParameterWarning, match=r"a\.csv has 2 blank lines between its rows"):
        source = read_points(tmp_path / "a.csv")
    assert source.shape == (2, 2)
    assert source.table.n_blank == 2


def test_blank_lines_at_the_ends_are_no_news(tmp_path):
    (tmp_path / "a.csv").write_text("\nx,y\n1,2\n3,4\n\n\n")
    assert rows_of(tmp_path / "a.csv").tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("field", ["a" * 200_000, f'"{"a" * 200_000}"', '"a\nb"', '"a\n\n,b"'])
def test_long_fields_and_line_breaks_in_columns_that_are_not_read(tmp_path, field):
    (tmp_path / "a.csv").write_text(f"x,note\n1,{field}\n2,c\n")
    assert rows_of(tmp_path / "a.csv", columns="x").tolist() == [[1], [2]]
    assert read_values(f"{tmp_path}/a.csv::note")[0] == field.strip('"')


def test_a_separator_inside_quotes_is_not_one(tmp_path):
    (tmp_path / "a.csv").write_text('"a,b";c\n1;2\n')
    assert read_points(tmp_path / "a.csv").feature_names == ["a,b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.txt", "1,5 2,5\n3,5 4\n", [[1.5, 2.5], [3.5, 4]]),
        ("a.csv", "4,909;3,2\n1;2,5\n", [[4.909, 3.2], [1, 2.5]]),
        ("a.csv", "x;y\n1;2\n-0,125;1,5e-3\n", [[1, 2], [-0.125, 1.5e-3]]),
        ("a.tsv", 'x\ty\n"1,5"\t-2,25\n', [[1.5, -2.25]]),
    ],
)
def test_decimal_commas(tmp_path, name, content, rows):
    (tmp_path / name).write_text(content)
    assert rows_of(tmp_path / name).tolist() == rows


def test_columns_of_a_table_with_decimal_commas(tmp_path):
    place = tmp_path / "a.csv"
    place.write_text("kind;size;day\noak, old;1,5;2020-01-01\nelm 1.5;2;2020-01-02\n")
    assert [column.kind for column in table_columns(place)] == ["text", "number", "date"]
    assert read_values(f"{place}::size").tolist() == [1.5, 2]
    assert read_values(f"{place}::kind").tolist() == ["oak, old", "elm 1.5"]


def test_columns_that_only_look_like_numbers(tmp_path):
    """Ids that count the rows, and text that may have been meant as a number."""
    place = tmp_path / "a.csv"
    rows = [f'{row},{row},$5.0{row},"1,20{row}",7 kg,r{row}' for row in range(1, 9)]
    place.write_text("\n".join(["Tree_ID,x,cost,mass,size,name", *rows]))
    assert [column.described() for column in table_columns(place)] == [
        "row number",
        "number",
        "text such as $5.01",
        "number with a decimal comma",
        "text such as 7 kg",
        "text",
    ]
    place.write_text("id,x\n3,1\n7,2\n")
    assert [column.kind for column in table_columns(place)] == ["number", "number"]
    place.write_text(f"x,y\n{'1.' * 10**5},2\n")
    assert table_columns(place)[0] == TableColumn("x", "text")


def test_ids_that_count_the_rows_of_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    counted, others = list(range(5, 3005)), [*range(500), *range(501, 3001)]
    columns = {"id": counted, "x": counted, "no": others, "row": [None] * 3000}
    pq.write_table(
        pa.table(columns).cast(pa.schema([(name, pa.int64()) for name in columns])),
        tmp_path / "a.parquet",
    )
    kinds = [column.kind for column in table_columns(tmp_path / "a.parquet")]
    assert kinds == ["row number", "number", "number", "number"]


HEADERS = {
    "unclosed": "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3",
    "too large": "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999999, 3), }",
    "overflow": "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000000, 3000000000), }",
    "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -3), }",
    "fields": "{'descr': [('a',)], 'fortran_order': False, 'shape': (4, 3), }",
    "quotes": "'''",
    "nested": "[" * 3000,
    "indented": "\t x\n y\n",
}


def npy(header: str) -> bytes:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(96)


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_headers_of_numpy_that_make_no_sense(tmp_path, header):
    (tmp_path / "a.npy").write_bytes(npy(header))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", npy(header))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(NAMED, match=name.replace(".", r"\.")):
            rows_of(tmp_path / name)
        with pytest.raises(DamagedFileError, match=name.replace(".", r"\.")):
            read_values(str(tmp_path / name))


def test_a_header_with_a_truth_value_for_a_number(tmp_path):
    (tmp_path / "a.npy").write_bytes(
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (True, 3), }")
    )
    assert rows_of(tmp_path / "a.npy").shape == (1, 3)


SAVED = {
    "a.npz": save_npz,
    "a.parquet": save_parquet,
    "a.zarr.zip": save_zarr_zip,
    "a.h5": save_hdf5,
    "a.h5ad": save_h5ad,
    "b.h5ad": save_h5ad_sparse,
}


@pytest.mark.parametrize("name", SAVED)
def test_damaged_bytes_are_never_a_traceback(tmp_path, points, name, monkeypatch):
    """Read or refused by name; many kinds of damage cannot be noticed without checksums."""
    # A process for each file would take nearly all the time.
    monkeypatch.setattr("trigpoint._files.hdf5._can_be_read", lambda *_: True)
    path = tmp_path / name
    SAVED[name](path, points)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refusals = []
    for _ in range(100):
        damaged = bytearray(whole)
        start = rng.integers(len(whole))
        damaged[start : start + 16] = rng.bytes(len(damaged[start : start + 16]))
        path.write_bytes(damaged)
        try:
            source = read_points(path)
            if source.shape[0] * source.shape[1] < 1e6:
                list(source.blocks(100))
        except NAMED as error:
            refusals.append(str(error))
    assert len(refusals) > 2
    assert all(name in refusal for refusal in refusals)


def test_sparse_arrays_with_columns_out_of_range(tmp_path):
    matrix = sparse.csr_array(np.eye(4))
    sparse.save_npz(tmp_path / "a.npz", matrix)
    with np.load(tmp_path / "a.npz") as parts:
        changed = dict(parts) | {"indices": np.array([0, 1, 2, 4_000_000], dtype=np.int32)}
    np.savez(tmp_path / "a.npz", **changed)
    with pytest.raises(DamagedFileError, match=r"a\.npz cannot be read as a \.npz file"):
        rows_of(tmp_path / "a.npz")


def test_sparse_rows_that_the_shape_leaves_out(tmp_path, points):
    save_h5ad_sparse(tmp_path / "a.h5ad", points)
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["X"].attrs["shape"] = (len(points) - 3, points.shape[1])
    with pytest.raises(DamagedFileError, match=r"a\.h5ad::X is damaged: its shape"):
        read_points(tmp_path / "a.h5ad")


def test_compressed_bytes_that_are_damaged(tmp_path):
    """They raise an error of zlib's own."""
    raw = io.BytesIO()
    np.savez_compressed(raw, X=np.arange(3000.0).reshape(-1, 3))
    content = bytearray(raw.getvalue())
    content[60:70] = b"\xff" * 10
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(NAMED, match=r"a\.npz"):
        rows_of(tmp_path / "a.npz")
    with pytest.raises(DamagedFileError, match=r"a\.npz"):
        read_values(f"{tmp_path}/a.npz::X")


@pytest.mark.parametrize("kind", ["a.h5ad", "a.npz"])
def test_sparse_rows_that_run_backward(tmp_path, points, kind):
    """SciPy's own check lets these pass, and reading them would crash the process."""
    path, n_rows = tmp_path / kind, len(points)
    if kind == "a.npz":
        pointers = np.zeros(n_rows + 1, dtype=np.int32)
        pointers[1] = 2**30
        arrays = {"data": np.zeros(0), "indices": np.zeros(0, dtype=np.int32), "indptr": pointers}
        np.savez(path, format=b"csr", shape=np.array(points.shape), **arrays)
    else:
        save_h5ad_sparse(path, points)
        with h5py.File(path, "r+") as file:
            file["X/indptr"][0] = 2**18
    with pytest.raises(DamagedFileError, match=r"a\.(npz|h5ad).*rows run backward"):
        rows_of(path)


@pytest.mark.parametrize(
    "name", ["endless.h5ad", "outside.h5ad", "no_end_of_groups.h5", "gigabytes.h5ad"]
)
def test_what_hdf5_itself_cannot_survive(name, monkeypatch):
    """It loops for ever, reads outside of its memory, or asks for a million times the file."""
    monkeypatch.setattr("trigpoint._files.hdf5._SECONDS", 0.5)
    path = Path(__file__).parent / "damaged_hdf5" / name
    read = {"endless.h5ad": "::obs/kind", "outside.h5ad": "::obs/kind"}.get(name, "")
    with pytest.raises(DamagedFileError, match=rf"{name} is damaged: reading it as HDF5 comes to"):
        read_values(f"{path}{read}") if read else read_points(path)


def test_the_first_reader_ends_though_nobody_waits():
    path = Path(__file__).parent / "damaged_hdf5" / "no_end_of_groups.h5"
    command = [sys.executable, "-c", hdf5._FIRST_READER, "1", str(path)]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, timeout=60).returncode < 0


def test_a_file_is_tried_once(tmp_path, monkeypatch):
    started, start = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **options: started.append(a) or start(*a, **options)
    )
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = np.eye(3)
        file["var/genes"] = np.array(["a", "b", "c"], dtype=object)
        file["var"].attrs["_index"] = "genes"
    for _ in range(2):
        assert read_points(path).feature_names == ["a", "b", "c"]
        assert rows_of(path).tolist() == np.eye(3).tolist()
    assert len(started) == 1
