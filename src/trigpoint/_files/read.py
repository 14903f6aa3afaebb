"""Recognize the format that points are in."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._files.anndata import from_anndata, read_h5ad
from trigpoint._files.arrays import ArraySource, from_sparse
from trigpoint._files.arrow import PARQUET_SUFFIXES, from_arrow, parquet_files, read_parquet
from trigpoint._files.damage import check_is_file
from trigpoint._files.frames import from_pandas, from_polars, from_xarray
from trigpoint._files.hdf5 import from_hdf5, read_hdf5
from trigpoint._files.naming import naming_file
from trigpoint._files.npy import from_npz_file, read_npy, read_npz
from trigpoint._files.optional import is_from
from trigpoint._files.selection import refuse_key, split_place
from trigpoint._files.source import PointSource
from trigpoint._files.text import read_text
from trigpoint._files.text_layout import TEXT_SUFFIXES
from trigpoint._files.zarrs import from_zarr, read_zarr

_Reader = Callable[[Path, str, str | None, Any], PointSource]

_READERS: dict[tuple[str, ...], _Reader] = {
    (".npy",): read_npy,
    (".npz",): read_npz,
    PARQUET_SUFFIXES: read_parquet,
    (".zarr", ".zarr.zip"): read_zarr,
    (".h5", ".hdf5"): read_hdf5,
    (".h5ad",): read_h5ad,
    (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES)): read_text,
}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_OBJECTS = (
    "a path, a NumPy array or NpzFile, a SciPy sparse array, an h5py Dataset, a zarr Array, "
    "a pyarrow Table or Dataset, a pandas or polars DataFrame, an xarray DataArray or an AnnData "
    "object"
)


def read_points(X: Any, *, key: str | None = None, columns: Any = None) -> PointSource:
    """Open points for reading in blocks; only headers are read at first.

    Parameters
    ----------
    X : path or object
        A path to a ``.npy``, ``.npz``, ``.parquet`` or ``.pq`` file or a folder of those, a
        ``.zarr`` folder or ``.zarr.zip``, a ``.h5``, ``.hdf5`` or ``.h5ad`` file, or a ``.csv``,
        ``.tsv`` or ``.txt`` file, also with ``.gz``. It may include a key, as in
        ``"cells.h5ad::obsm/X_pca"``. Or an object: a NumPy array or NpzFile, a SciPy sparse array,
        an h5py Dataset, a zarr Array, a pyarrow Table or Dataset, a pandas or polars DataFrame, an
        xarray DataArray, an AnnData object, or a `PointSource`, which is returned unchanged.
    key : str or None
        Which of several arrays: a name in ``.npz``, a path inside Zarr and HDF5, ``"X"`` or an
        ``obsm`` entry of AnnData. ``None`` takes the only array, or the only 2-D numeric array; in
        AnnData, X.
    columns : str, int, sequence of them, or None
        Columns to read, in this order, by number or, if they have names, by name.

    Returns
    -------
    source : PointSource
        float32 and float64 are kept, float16 becomes float32, and integers and booleans become
        float64.

    Raises
    ------
    ImportError
        If a file needs a library that is not installed; the message says how to install it.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the points are not a table of numbers with at least one row.

    Examples
    --------
    >>> import numpy as np
    >>> import trigpoint as tp
    >>> source = tp.read_points(np.arange(6).reshape(3, 2))
    >>> source.shape, source.dtype
    ((3, 2), dtype('float64'))
    >>> [len(block) for block in source.blocks(2)]
    [2, 1]
    """
    if key is not None and not isinstance(key, str):
        raise ParameterTypeError("key", key, "{parameter} must be a name, got {got!r}", got=key)
    if isinstance(X, (str, os.PathLike)):
        return _read_path(os.fspath(X), key, columns)
    if isinstance(X, PointSource):
        if key is not None or columns is not None:
            raise ParameterValueError(
                "key" if columns is None else "columns",
                key if columns is None else columns,
                "{name} is already open",
                "choose {parameter} when opening it",
                name=X.name,
            )
        return X
    return _read_object(X, key, columns)


def _read_path(text: str, key: str | None, columns: Any) -> PointSource:
    if not text:
        raise ParameterValueError("X", text, "the path of the points is empty", "name a file")
    path, key = _split_key(text, key)
    check_is_file(path)
    with naming_file(path):
        source = _reader(path)(path, str(path), key, columns)
    source.path = path
    return source


def _split_key(text: str, key: str | None) -> tuple[Path, str | None]:
    """Split ``"file::key"``."""
    file, carried = split_place(text)
    if carried is None:
        return Path(file), key
    if not file or not carried:
        raise ParameterValueError(
            "X", text, "{text!r} lacks a file or a key", "write it as 'file::key'", text=text
        )
    if key is not None:
        raise ParameterValueError(
            "key",
            key,
            "{text!r} includes a key, and {parameter=} is different",
            "give only one",
            text=text,
        )
    return Path(file), carried


def _reader(path: Path) -> _Reader:
    if path.is_dir():
        if any((path / mark).exists() for mark in ("zarr.json", ".zarray", ".zgroup")):
            return read_zarr
        if parquet_files(path):
            return read_parquet
        raise ParameterValueError(
            "X",
            str(path),
            "{path} is a folder, but not a Zarr array or group, and has no Parquet files "
            "(.parquet, .pq) directly in it",
            path=path,
        )
    for suffixes, reader in _READERS.items():
        if path.name.lower().endswith(suffixes):
            return reader
    known = ", ".join(suffix for suffixes in _READERS for suffix in suffixes)
    raise ParameterValueError(
        "X",
        str(path),
        "{path} has an unknown suffix",
        "save the table as CSV"
        if path.suffix.lower() in _SPREADSHEETS
        else "files that can be read are {known}",
        path=path,
        known=known,
    )


def _read_object(X: Any, key: str | None, columns: Any) -> PointSource:
    if isinstance(X, np.ndarray):
        refuse_key(key, "X")
        return ArraySource(X, columns=columns)
    if isinstance(X, np.lib.npyio.NpzFile):
        return from_npz_file(X, key, columns)
    if sparse.issparse(X):
        refuse_key(key, "X")
        return from_sparse(X, "X", columns)
    if is_from(X, "h5py", "Dataset", "Group"):
        return from_hdf5(X, key, columns)
    if is_from(X, "zarr", "Array", "Group"):
        return from_zarr(X, key, columns)
    if is_from(X, "pyarrow", "Table", "Dataset"):
        return from_arrow(X, key, columns)
    if is_from(X, "pandas", "DataFrame"):
        return from_pandas(X, key, columns)
    if is_from(X, "polars", "DataFrame", "LazyFrame"):
        return from_polars(X, key, columns)
    if is_from(X, "xarray", "DataArray"):
        return from_xarray(X, key, columns)
    # Not by class name: views of AnnData have their own classes.
    if hasattr(X, "X") and hasattr(X, "obsm"):
        return from_anndata(X, key, columns)
    raise ParameterTypeError(
        "X",
        X,
        "points cannot be read from {kind}",
        "give {objects}",
        kind=type(X).__name__,
        objects=_OBJECTS,
    )
