"""Annotated data matrices: ``.h5ad`` files, read with h5py alone, and AnnData objects."""

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._sources.array import ArraySource, SparseSource, check_inside
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import Members, choose_name, key_place, listed, tables_among
from trigpoint._sources.chunked import ChunkedSource
from trigpoint._sources.frames import from_pandas
from trigpoint._sources.hdf5 import open_hdf5
from trigpoint._sources.problems import is_from

# Where scanpy stores principal components.
PRINCIPAL_COMPONENTS = "obsm/X_pca"

# Entries of ``obsm`` with fewer columns are assumed to be embeddings for plots, such as UMAP.
_FEWEST_COLUMNS = 10


def from_path(path: Path, key: str | None, columns: Any) -> ChunkedSource:
    """Open X or an ``obsm`` entry of an ``.h5ad`` file."""
    name = str(path)
    with open_h5ad(path) as file:
        full_key = _full_key(key, "X" in file, file.get("obsm", ()), file, name)
        names = _var_names(file) if full_key == "X" else None

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with open_h5ad(path) as file:
            yield _rows_of(file[full_key], f"{name}::{full_key}")

    return ChunkedSource(open_rows, f"{name}::{full_key}", columns, names)


def from_object(X: Any, key: str | None, columns: Any) -> Source:
    """Open X or an ``obsm`` entry of an AnnData object, in memory or backed by its file."""
    layers = [f"layers/{layer}" for layer in getattr(X, "layers", None) or ()]
    full_key = _full_key(key, X.X is not None, X.obsm, layers, "AnnData")
    name = f"AnnData {full_key}"
    group, _, entry = full_key.partition("/")
    points = getattr(X, group)[entry] if entry else X.X
    if is_from(points, "pandas", "DataFrame"):
        return from_pandas(points, columns, name)
    names = None if group == "obsm" else [str(label) for label in X.var_names]
    if isinstance(points, np.ndarray):
        return ArraySource(np.asarray(points), name, columns, names)
    if sparse.issparse(points):
        return SparseSource(points, name, columns, names)
    return ChunkedSource(lambda: nullcontext(points), name, columns, names)


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
    """Return the key of the likely points: principal components, or the largest table."""
    tables = tables_among(arrays)
    reduced = [
        key for key in tables if key.startswith("obsm/") and arrays[key][0][1] >= _FEWEST_COLUMNS
    ]
    if PRINCIPAL_COMPONENTS in reduced:
        return PRINCIPAL_COMPONENTS
    return max(reduced or tables, key=lambda key: tuple(arrays[key][0]), default=None)


@contextmanager
def open_h5ad(path: Path) -> Iterator[Any]:
    """Open a file for reading; reject file layouts older than anndata 0.8."""
    with open_hdf5(path) as file:
        as_records = any(hasattr(file.get(group), "dtype") for group in ("obs", "var", "obsm"))
        sparse_by_other_names = "h5sparse_format" in getattr(file.get("X"), "attrs", ())
        if as_records or sparse_by_other_names or "__categories" in file.get("obs", ()):
            raise ParameterValueError(
                f"{path} has an old AnnData file layout: rewrite it with anndata 0.8 or newer: "
                "anndata.read_h5ad(old).write_h5ad(new)",
                "X",
            )
        yield file


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
    wanted = "X" if key is None else key.strip("/")
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
