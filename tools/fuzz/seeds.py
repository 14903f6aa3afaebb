"""Small files of every format, which the fuzzer damages."""

import gzip
import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from scipy import sparse

import trigpoint as tp

# Files that were once read wrongly, by format; they are damaged further.
KEPT = Path(__file__).parent / "corpus"

_X = np.round(np.random.default_rng(0).normal(size=(12, 3)), 3)
_X[_X < -0.5] = 0


def seeds(target: str) -> list[bytes]:
    """Contents of files for a target, in a fixed order; the made ones come first."""
    return _MADE[target]() + [path.read_bytes() for path in sorted((KEPT / target).glob("*"))]


def _saved(name: str, *saves: Callable[[Path], object]) -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        contents = []
        for save in saves:
            save(path)
            contents.append(path.read_bytes())
            path.unlink()
    return contents


def _npy() -> list[bytes]:
    arrays = (
        _X,
        _X.astype(np.float16),
        np.asfortranarray(_X),
        np.arange(8, dtype=">i4").reshape(4, 2),
    )
    return _saved("a.npy", *(lambda path, a=array: np.save(path, a) for array in arrays))


def _npz() -> list[bytes]:
    return _saved(
        "a.npz",
        lambda path: np.savez(path, X=_X, y=np.arange(12)),
        lambda path: np.savez_compressed(path, X=_X),
        lambda path: np.savez(path, np.asfortranarray(_X)),
        *(
            lambda path, f=form: sparse.save_npz(path, sparse.csr_array(_X).asformat(f))
            for form in ("csr", "csc", "coo")
        ),
    )


def _text() -> list[bytes]:
    rows = "\n".join(",".join(map(str, row)) for row in _X.tolist())
    return [
        f"x,y,z\n{rows}\n".encode(),
        f"# made by hand\n\n{rows}\n\n".encode(),
        b'"a, b",c,"d\ne"\r\n1,2,"3"\r\n4,5,"x\n\ny"\n7,8,"say ""no"""\n',
        b"x;y\n1,5;2\n3;4,5\n",
        b"\xef\xbb\xbfid,1990,2000\na,1,2\n#b,3,4\n",
        b"x\n1\n\n2\n",
        b",x,y\n0,1.5,2\n1,2.5,3\n",
    ]


def _compressed_text() -> list[bytes]:
    return [gzip.compress(content, mtime=0) for content in _text()]


def _blanks() -> list[bytes]:
    return [b"x y\n1 2\n3  4\n", b"1\t2\n3\t4\n", b"1,5 2,5\n", b"1, 2, 3\n4, 5, 6\n"]


def _parquet() -> list[bytes]:
    table = pa.table({"x": _X[:, 0], "y": _X[:, 1].astype(np.float32), "n": np.arange(12)})
    mixed = table.append_column("t", pa.array(["a", None] * 6).dictionary_encode())
    return _saved(
        "a.parquet",
        lambda path: pq.write_table(table, path, row_group_size=5),
        lambda path: pq.write_table(table, path, compression="none", use_dictionary=False),
        lambda path: pq.write_table(mixed, path),
    )


def _zarr() -> list[bytes]:
    def save(path: Path) -> None:
        with zarr.storage.ZipStore(path, mode="w") as store:
            zarr.create_array(store=store, data=_X, chunks=(5, 3), compressors=None)

    return _saved("a.zarr.zip", save)


def _hdf5() -> list[bytes]:
    def save(path: Path, **how: object) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("deep/X", data=_X, **how)
            file["labels"] = np.arange(12)

    return _saved("a.h5", save, lambda path: save(path, chunks=(5, 2), compression="gzip"))


def _h5ad() -> list[bytes]:
    """Text of fixed length: that of variable length is first read by a process of its own."""

    def dense(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file["X"] = _X
            file["var/genes"] = np.array([b"a", b"b", b"c"])
            file["var"].attrs["_index"] = np.bytes_(b"genes")
            file["obsm/X_pca"] = _X[:, :2]

    def in_rows(path: Path) -> None:
        matrix = sparse.csr_array(_X)
        with h5py.File(path, "w") as file:
            group = file.create_group("X")
            group.attrs["encoding-type"] = np.bytes_(b"csr_matrix")
            group.attrs["shape"] = _X.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)

    return _saved("a.h5ad", dense, in_rows)


def models() -> list[bytes]:
    """Models of all kinds, with few landmarks."""
    X, _ = tp.datasets.make_swiss_roll(60, random_state=0)
    estimators = (
        tp.LaplacianEigenmaps(landmarks=8, n_neighbors=4, random_state=0),
        tp.LaplacianEigenmaps(landmarks=8, n_neighbors=4, extension="smooth", random_state=0),
        tp.DiffusionMaps(landmarks=8, extension="all", random_state=0),
        tp.Isomap(landmarks=8, n_neighbors=4, random_state=0),
        tp.KernelPCA(landmarks=8, random_state=0),
        tp.LandmarkMap(landmarks=8, n_iter=5, random_state=0),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _saved("a.trig", *(lambda path, e=e: e.fit(X).save(path) for e in estimators))


def _values() -> list[bytes]:
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("y.npy", _saved("y.npy", lambda path: np.save(path, np.arange(5)))[0])
    return [plain.getvalue()]


_MADE: dict[str, Callable[[], list[bytes]]] = {
    "npy": _npy,
    "npz": _npz,
    "csv": _text,
    "csv.gz": _compressed_text,
    "txt": _blanks,
    "parquet": _parquet,
    "zarr.zip": _zarr,
    "h5": _hdf5,
    "h5ad": _h5ad,
    "values": _values,
    "model": models,
    "forged": models,
}
TARGETS = tuple(_MADE)
