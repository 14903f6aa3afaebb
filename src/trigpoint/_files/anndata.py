"""Annotated data matrices: ``.h5ad`` files, read with h5py alone, and AnnData objects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._files.arrays import ArraySource, SlicedSource, check_inside, from_sparse
from trigpoint._files.frames import from_pandas
from trigpoint._files.hdf5 import open_hdf5
from trigpoint._files.optional import is_from
from trigpoint._files.selection import Members, key_place, listed
from trigpoint._files.source import PointSource


def read_h5ad(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in X or an ``obsm`` entry of an ``.h5ad`` file."""
    with open_h5ad(path, name) as file:
        entries = list(file.get("obsm", ()))
        full_key = _full_key(key, "X" in file, entries, lambda k: k in file, name)
        names = _var_names(file) if full_key == "X" else None

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with open_h5ad(path, name) as file:
            yield _rows_of(file[full_key], full_key, f"{name}::{full_key}")

    return SlicedSource(open_rows, f"{name}::{full_key}", columns, names)


def h5ad_members(path: Path, name: str) -> Members:
    """X, the entries of ``obsm``, and the layers."""
    with open_h5ad(path, name) as file:
        keys = ["X"] * ("X" in file)
        keys += [f"{group}/{key}" for group in ("obsm", "layers") for key in file.get(group, ())]
        nodes = {key: file[key] for key in keys}
        # Entries that are data frames have columns of their own.
        rows = {
            key: _rows_of(node, key, name)
            for key, node in nodes.items()
            if hasattr(node, "dtype") or "indptr" in node
        }
        return {key: (matrix.shape, matrix.dtype) for key, matrix in rows.items()}


@contextmanager
def open_h5ad(path: Path, name: str, text: Sequence[str] = ()) -> Iterator[Any]:
    """Open a file for reading, also `text` at other places than those of points and columns.

    The layouts that anndata wrote before version 0.8 are rejected.
    """
    with open_hdf5(path, name, ["X", "var", "obsm", "layers", *text]) as file:
        as_records = any(hasattr(file.get(group), "dtype") for group in ("obs", "var", "obsm"))
        sparse_by_other_names = "h5sparse_format" in getattr(file.get("X"), "attrs", ())
        if as_records or sparse_by_other_names or "__categories" in file.get("obs", ()):
            raise ParameterValueError(
                "X",
                name,
                "{name} has an old AnnData file layout",
                "rewrite it with anndata 0.8 or newer: anndata.read_h5ad(old).write_h5ad(new)",
                name=name,
            )
        yield file


def from_anndata(data: Any, key: str | None, columns: Any) -> PointSource:
    """Points in X or an ``obsm`` entry of an AnnData object, in memory or backed by its file."""
    full_key = _full_key(
        key, data.X is not None, list(data.obsm), lambda k: k in _layer_keys(data), "AnnData"
    )
    name = f"AnnData {full_key}"
    group, _, entry = full_key.partition("/")
    points = getattr(data, group)[entry] if entry else data.X
    if is_from(points, "pandas", "DataFrame"):
        return from_pandas(points, None, columns, name)
    names = None if group == "obsm" else [str(label) for label in data.var_names]
    if isinstance(points, np.ndarray):
        return ArraySource(points, name, columns, names)
    if sparse.issparse(points):
        return from_sparse(points, name, columns, names)
    return SlicedSource(lambda: nullcontext(points), name, columns, names)


def _full_key(
    key: str | None, has_x: bool, obsm: list[str], known: Callable[[str], bool], name: str
) -> str:
    """Key of the points: ``X``, ``obsm/NAME``, or another one that exists."""
    choices = ["X"] * has_x + [f"obsm/{entry}" for entry in obsm]
    wanted = "X" if key is None else key.strip("/")
    for candidate in (wanted, f"obsm/{wanted}"):
        if candidate in choices or known(candidate):
            return candidate
    if not choices:
        raise ParameterValueError(
            "X", name, "{name} has neither X nor an entry of obsm", "name another file", name=name
        )
    raise ParameterValueError(
        "key",
        key,
        "{name} has no {wanted!r}",
        "choose from {choices}, as in {place}",
        name=name,
        wanted=wanted,
        choices=listed(choices),
        place=key_place(name, choices[0]),
    )


def _layer_keys(data: Any) -> list[str]:
    return [f"layers/{layer}" for layer in getattr(data, "layers", None) or ()]


def _rows_of(node: Any, key: str, name: str) -> Any:
    """Return an object whose slices are rows of a matrix."""
    if hasattr(node, "dtype"):
        return node
    kind = _text(node.attrs.get("encoding-type", "group"))
    if kind not in ("csr_matrix", "csc_matrix"):
        raise ParameterValueError(
            "key", key, "{name} is a {kind}, not a matrix", "choose another", name=name, kind=kind
        )
    return _SparseRows(node, kind.removesuffix("_matrix"), name)


def _var_names(file: Any) -> list[str] | None:
    """Names of the columns of X, if the file has them as text."""
    var = file.get("var")
    index: Any = None if var is None else var.get(_text(var.attrs.get("_index", "_index")))
    if not hasattr(index, "dtype"):
        return None
    return [_text(name) for name in index[:]] or None


def _text(value: Any) -> str:
    """Text of an attribute or a dataset; that of fixed length comes as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


class _SparseRows:
    """Rows of a sparse matrix stored row by row in an HDF5 group."""

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
                f"{name} is damaged: its shape, {self.shape}, and its arrays do not belong together"
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
