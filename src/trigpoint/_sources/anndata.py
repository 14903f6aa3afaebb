"""Annotated data matrices: ``.h5ad`` files, read with h5py alone, and AnnData objects.

Without a key, the points are the principal components ``obsm["X_pca"]`` or, without these, ``X``.
"""

import tempfile
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._sources.array import ArraySource, SparseSource, check_inside
from trigpoint._sources.atomic import atomic_write
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import Members, choose_name, key_place, listed, tables_among
from trigpoint._sources.chunked import ChunkedSource
from trigpoint._sources.frames import from_pandas
from trigpoint._sources.hdf5 import open_hdf5
from trigpoint._sources.problems import is_from, naming_errors, require

# Where scanpy stores principal components.
PRINCIPAL_COMPONENTS = "obsm/X_pca"

# Entries of ``obsm`` with fewer columns are assumed to be visualizations, such as UMAP.
_FEWEST_COLUMNS = 10


def from_path(path: Path, key: str | None, columns: Any) -> Source:
    """Open X or an ``obsm`` entry of an ``.h5ad`` file."""
    name = str(path)
    with open_h5ad(path) as file:
        full_key = _full_key(key, "X" in file, file.get("obsm", ()), file, name)
        names = _var_names(file) if full_key == "X" else None

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with open_h5ad(path) as file:
            yield _rows_of(file[full_key], f"{name}::{full_key}")

    source = ChunkedSource(open_rows, f"{name}::{full_key}", columns, names)
    source.representation = full_key.removeprefix("obsm/")
    return source


def from_object(X: Any, key: str | None, columns: Any) -> Source:
    """Open X or an ``obsm`` entry of an AnnData object, in memory or backed by its file."""
    source, full_key = _of_object(X, key, columns)
    source.representation = full_key.removeprefix("obsm/")
    return source


def _of_object(X: Any, key: str | None, columns: Any) -> tuple[Source, str]:
    layers = [f"layers/{layer}" for layer in getattr(X, "layers", None) or ()]
    full_key = _full_key(key, X.X is not None, X.obsm, layers, "AnnData")
    name = f"AnnData {full_key}"
    group, _, entry = full_key.partition("/")
    points = getattr(X, group)[entry] if entry else X.X
    if is_from(points, "pandas", "DataFrame"):
        return from_pandas(points, columns, name), full_key
    names = None if group == "obsm" else [str(label) for label in X.var_names]
    if isinstance(points, np.ndarray):
        return ArraySource(np.asarray(points), name, columns, names), full_key
    if sparse.issparse(points):
        return SparseSource(points, name, columns, names), full_key
    return ChunkedSource(lambda: nullcontext(points), name, columns, names), full_key


def members(path: Path) -> Members:
    """Return the shapes and types of X, the entries of ``obsm``, and the layers."""
    with open_h5ad(path) as file:
        keys = ["X"] * ("X" in file)
        keys += [f"{group}/{key}" for group in ("obsm", "layers") for key in file.get(group, ())]
        # Skip data frames, which are neither datasets nor sparse matrices.
        rows = {
            key: _rows_of(file[key], str(path))
            for key in keys
            if hasattr(file[key], "dtype") or "indptr" in file[key]
        }
        return {key: (matrix.shape, matrix.dtype) for key, matrix in rows.items()}


def likely_points(arrays: Members) -> str | None:
    """Return the key of the likely points: principal components, X, or the largest table."""
    for key in (PRINCIPAL_COMPONENTS, "X"):
        if key in arrays:
            return key
    tables = tables_among(arrays)
    reduced = [
        key for key in tables if key.startswith("obsm/") and arrays[key][0][1] >= _FEWEST_COLUMNS
    ]
    return max(reduced or tables, key=lambda key: tuple(arrays[key][0]), default=None)


@contextmanager
def open_h5ad(path: Path) -> Iterator[Any]:
    """Open a file for reading; anndata converts file layouts older than its version 0.8."""
    with open_hdf5(path) as file:
        as_records = any(hasattr(file.get(group), "dtype") for group in ("obs", "var", "obsm"))
        sparse_by_other_names = "h5sparse_format" in getattr(file.get("X"), "attrs", ())
        is_old = as_records or sparse_by_other_names or "__categories" in file.get("obs", ())
        if not is_old:
            yield file
            return
    folder = _converted(path.absolute(), path.stat().st_mtime_ns)
    with open_hdf5(Path(folder.name) / "cells.h5ad") as file:
        yield file


@lru_cache(maxsize=4)
def _converted(path: Path, changed: int) -> tempfile.TemporaryDirectory[str]:
    """Rewrite a file in the current layout, as ``cells.h5ad`` in a folder deleted at exit."""
    del changed
    anndata = require("anndata", f"reading {path}, an AnnData file of an old layout,")
    folder = tempfile.TemporaryDirectory()
    with naming_errors(str(path), "AnnData"):
        anndata.read_h5ad(path).write_h5ad(Path(folder.name) / "cells.h5ad")
    return folder


def copy_cells(source: Path, rows: Sequence[int], target: Path, *, replace: bool = True) -> int:
    """Copy cells, with everything known about them, to another ``.h5ad`` file.

    Returns the number of variables.
    """
    cells = require("anndata", "writing .h5ad").read_h5ad(source)[np.asarray(rows)].copy()
    with atomic_write(target, replace=replace) as partial:
        cells.write_h5ad(partial)
    return int(cells.n_vars)


def read_obs(path: Path, key: str) -> np.ndarray:
    """Read one column of ``obs``, given as ``"obs/NAME"`` or ``"NAME"``.

    Text and category names are returned as objects. Missing values are NaN or None.
    """
    wanted = key.strip("/").removeprefix("obs/")
    with open_h5ad(path) as file:
        obs = file.get("obs")
        if obs is None:
            raise ParameterValueError(
                f"{path} has no obs, which would hold the columns of the cells", "X"
            )
        node = obs[choose_name(wanted, list(obs), "column", f"{path}::obs/")]
        if not hasattr(node, "keys"):
            return _decoded(node[...])
        if "codes" in node:
            # Missing values have code -1, which selects the last entry, None.
            names = [*map(str, _decoded(node["categories"][...])), None]
            return np.array(names, dtype=object)[node["codes"][...]]
        if "mask" not in node:
            column = node.name.strip("/")
            raise ParameterValueError(
                f"{column} is not a column of numbers, text or categories: choose another", "key"
            )
        values = _decoded(node["values"][...]).astype(object)
        values[node["mask"][...]] = None
        return values


def obs_columns(path: Path) -> dict[str, str]:
    """Return the kind of each column of ``obs`` by name: numbers, text or classes."""

    def kind(node: Any) -> str:
        if not hasattr(node, "dtype"):
            return "classes" if "codes" in node else "other"
        return "number" if node.dtype.kind in "fbiu" else "text"

    with open_h5ad(path) as file:
        obs = file.get("obs", {})
        index = obs.attrs.get("_index", "_index") if obs else ""
        return {column: kind(node) for column, node in obs.items() if column != index}


def _full_key(
    key: str | None, has_x: bool, obsm: Iterable[str], others: Container[str], name: str
) -> str:
    """Resolve `key` to the full key of the points: ``X``, ``obsm/NAME``, or one of `others`."""
    choices = ["X"] * has_x + [f"obsm/{entry}" for entry in obsm]
    default = PRINCIPAL_COMPONENTS if PRINCIPAL_COMPONENTS in choices else "X"
    wanted = default if key is None else key.strip("/")
    for candidate in (wanted, f"obsm/{wanted}"):
        if candidate in choices or candidate in others:
            return candidate
    if not choices:
        raise ParameterValueError(
            f"{name} has neither X nor an entry of obsm: name another file", "X"
        )
    place = key_place(name, choices[0])
    raise ParameterValueError(
        f"{name} has no {wanted!r}: choose from {listed(choices)}, as in {place}", "key"
    )


def _rows_of(node: Any, name: str) -> Any:
    """Return the matrix in an HDF5 node as an object that can be sliced by rows."""
    if hasattr(node, "dtype"):
        return node
    kind = _text(node.attrs.get("encoding-type", "group"))
    if kind not in ("csr_matrix", "csc_matrix"):
        raise ParameterValueError(f"{name} is a {kind}, not a matrix: choose another", "key")
    return _SparseRows(node, kind.removesuffix("_matrix"), name)


def _var_names(file: Any) -> list[str] | None:
    """Read the column names of X, or return None if the file has none."""
    var = file.get("var")
    index: Any = None if var is None else var.get(_text(var.attrs.get("_index", "_index")))
    if not hasattr(index, "dtype"):
        return None
    return [_text(name) for name in index[:]] or None


def _text(value: Any) -> str:
    """Return an attribute or value as str; h5py returns fixed-length text as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _decoded(values: np.ndarray) -> np.ndarray:
    """Convert the bytes that h5py returns for text to str; leave numbers unchanged."""
    if values.dtype.kind not in "OS":
        return values
    return np.array(list(map(_text, values)), dtype=object)


class _SparseRows:
    """Row access to a CSR matrix stored in an HDF5 group."""

    def __init__(self, group: Any, layout: str, name: str) -> None:
        self._group, self._name = group, name
        self.shape = tuple(int(count) for count in group.attrs["shape"])
        self.dtype = group["data"].dtype
        self.nnz = len(group["data"])
        self.format = layout
        pointers = group["indptr"]
        if layout == "csr" and (
            len(pointers) != self.shape[0] + 1
            or not pointers[-1] == self.nnz == len(group["indices"])
        ):
            raise DamagedFileError(
                f"{name} is damaged: its shape, {self.shape}, and its arrays do not match"
            )

    def __getitem__(self, part: slice) -> Any:
        pointers = self._group["indptr"][part.start : part.stop + 1].astype(np.int64)
        stored = slice(pointers[0], pointers[-1])
        values, columns = self._group["data"][stored], self._group["indices"][stored]
        try:
            shape = (part.stop - part.start, self.shape[1])
            rows = sparse.csr_array((values, columns, pointers - pointers[0]), shape=shape)
            check_inside(rows)
        except ValueError as error:
            raise DamagedFileError(f"{self._name} is damaged: {error}") from error
        return rows
