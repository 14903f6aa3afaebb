"""All formats, written by their own libraries, and all objects that points are read from."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import xarray as xr
import zarr
from scipy import sparse

from trigpoint._sources import Columns


def names(X: np.ndarray) -> list[str]:
    return [f"c{number}" for number in range(X.shape[1])]


def table(X: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(names(X), map(pa.array, X.T.copy()), strict=True)))


def save_npz(path: Path, X: np.ndarray) -> None:
    np.savez_compressed(path, X=X, y=np.arange(len(X)))


def save_npz_fortran(path: Path, X: np.ndarray) -> None:
    np.savez(path, np.asfortranarray(X))


def save_parquet(path: Path, X: np.ndarray) -> None:
    pq.write_table(table(X), path, row_group_size=len(X) // 6)


def save_parquet_folder(path: Path, X: np.ndarray) -> None:
    path.mkdir()
    (path / "_SUCCESS").touch()
    save_parquet(path / "part-2.pq", X[len(X) // 3 :])
    save_parquet(path / "part-1.parquet", X[: len(X) // 3])


def save_zarr(path: Path, X: np.ndarray) -> None:
    zarr.create_array(store=str(path), data=X, chunks=(len(X) // 12, 2))


def save_zarr_zip(path: Path, X: np.ndarray) -> None:
    with zarr.storage.ZipStore(path, mode="w") as store:
        zarr.create_group(store=store)
        zarr.create_array(store=store, name="deep/X", data=X, chunks=(max(1, len(X) // 16), 3))
        zarr.create_array(store=store, name="labels", data=np.arange(len(X)))


def save_hdf5(path: Path, X: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("deep/X", data=X, chunks=(len(X) // 6, 2), compression="gzip")
        file["labels"] = np.arange(len(X))


def save_h5ad(path: Path, X: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = X
        var = file.create_group("var")
        var.attrs["_index"] = "genes"
        var["genes"] = names(X)
        file.create_group("obsm")["X_few"] = X[:, :2]


def save_h5ad_sparse(path: Path, X: np.ndarray, layout: str = "csr") -> None:
    matrix = sparse.csr_array(X) if layout == "csr" else sparse.csc_array(X)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"] = f"{layout}_matrix"
        group.attrs["shape"] = X.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(matrix, part)


def text(X: np.ndarray, separator: str, header: bool) -> str:
    lines = [separator.join(names(X))] if header else []
    lines += [separator.join(map(repr, row)) for row in X.tolist()]
    return "\n".join(lines) + "\n"


def save_text(separator: str, header: bool) -> Callable[[Path, np.ndarray], None]:
    return lambda path, X: (path.write_text(text(X, separator, header)), None)[1]


def save_gzip(path: Path, X: np.ndarray) -> None:
    path.write_bytes(gzip.compress(text(X, ",", True).encode()))


# File names, and functions that write the files.
PATHS: dict[str, Callable[[Path, np.ndarray], None]] = {
    "points.npy": np.save,
    "points.npz": save_npz,
    "fortran.npz": save_npz_fortran,
    "points.parquet": save_parquet,
    "points.PQ": save_parquet,
    "folder": save_parquet_folder,
    "points.zarr": save_zarr,
    "zarr without suffix": save_zarr,
    "points.zarr.zip": save_zarr_zip,
    "points.h5": save_hdf5,
    "points.hdf5": save_hdf5,
    "points.h5ad": save_h5ad,
    "sparse.h5ad": save_h5ad_sparse,
}
TEXTS: dict[str, Callable[[Path, np.ndarray], None]] = {
    "points.csv": save_text(",", True),
    "semicolons.csv": save_text(";", False),
    "points.tsv": save_text("\t", True),
    "blanks.txt": save_text(" ", True),
    "bare.txt": save_text("  ", False),
    "points.csv.gz": save_gzip,
}


def _npz(folder: Path, X: np.ndarray) -> Any:
    save_npz(folder / "object.npz", X)
    return np.load(folder / "object.npz")


def _dataset(folder: Path, X: np.ndarray) -> Any:
    save_hdf5(folder / "object.h5", X)
    return h5py.File(folder / "object.h5")["deep/X"]


def _memmap(folder: Path, X: np.ndarray) -> Any:
    np.save(folder / "object.npy", X)
    return np.load(folder / "object.npy", mmap_mode="r")


def _arrow_dataset(folder: Path, X: np.ndarray) -> Any:
    save_parquet_folder(folder / "object", X)
    return pa.dataset.dataset(sorted((folder / "object").glob("part*")), format="parquet")


def annotated(X: Any, obsm: dict[str, Any] | None = None) -> SimpleNamespace:
    """Return an object like AnnData, as readers and `fit_anndata` see it."""
    if obsm is None:
        obsm = {"X_few": X[:, :2], "frame": pd.DataFrame(X[:, :2], columns=["a", "b"])}
    return SimpleNamespace(
        X=X,
        obsm=obsm,
        layers={"counts": X},
        obs=pd.DataFrame(index=[f"cell {number}" for number in range(len(X))]),
        uns={},
        var_names=pd.Index(names(X)),
    )


# Functions of a folder and the points.
OBJECTS: dict[str, Callable[[Path, np.ndarray], Any]] = {
    "ndarray": lambda _, X: X,
    "fortran": lambda _, X: np.asfortranarray(X),
    "swapped": lambda _, X: X.astype(X.dtype.newbyteorder()),
    "matrix": lambda _, X: X.view(np.matrix),
    "memmap": _memmap,
    "npz": _npz,
    "csr": lambda _, X: sparse.csr_matrix(X),
    "csc": lambda _, X: sparse.csc_matrix(X),
    "coo": lambda _, X: sparse.coo_array(X),
    "h5py": _dataset,
    "zarr": lambda _, X: zarr.array(X, chunks=(16, 2)),
    "table": lambda _, X: table(X),
    "dataset": _arrow_dataset,
    "pandas": lambda _, X: pd.DataFrame(X, columns=names(X)),
    "unnamed": lambda _, X: pd.DataFrame(X),
    "polars": lambda _, X: pl.DataFrame(X, schema=names(X)),
    "lazy": lambda _, X: pl.LazyFrame(X, schema=names(X)),
    "xarray": lambda _, X: xr.DataArray(X, dims=("row", "column"), coords={"column": names(X)}),
    "anndata": lambda _, X: annotated(X),
    "tensor": lambda _, X: pytest.importorskip("torch").from_numpy(X),
}

# Files and objects whose columns have the names above.
NAMED = {"points.parquet", "points.PQ", "folder", "points.h5ad"}
NAMED |= TEXTS.keys() - {"semicolons.csv", "bare.txt"}
NAMED |= {"table", "dataset", "pandas", "polars", "lazy", "xarray", "anndata"}


@contextmanager
def held(name: str, folder: Path, X: np.ndarray) -> Iterator[Any]:
    """Return the points in a file or object, by any of the names above."""
    if name not in OBJECTS:
        (PATHS | TEXTS)[name](folder / name, X)
        yield folder / name
        return
    thing = OBJECTS[name](folder, X)
    yield thing
    if name in ("npz", "h5py"):
        getattr(thing, "file", thing).close()


class Model:
    """Stands in for a fitted model: squares of two columns; rows are far if the first exceeds 2."""

    n_components = 2

    def __init__(self, columns: Columns, step: int = 1000):
        self.columns, self.step = columns, step
        self.blocks = []

    def __call__(self, block, first_row=0):
        self.blocks.append((first_row, block.shape[0]))
        dense = block.toarray() if self.columns.sparse else block
        return dense[:, :2].astype(float) ** 2, dense[:, 0] > 2
