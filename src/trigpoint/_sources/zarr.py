"""Zarr folders and archives, and zarr arrays and groups."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from trigpoint._sources.choosing import Members, choose_member
from trigpoint._sources.chunked import ChunkedSource
from trigpoint._sources.problems import naming_errors, refusal, require
from trigpoint._sources.writers import NAMES_ATTRIBUTE


def from_path(path: Path, key: str | None, columns: Any) -> ChunkedSource:
    """Points in an array of a Zarr folder or archive."""
    name = str(path)
    with _opened(path) as node:
        member = _array_of(node, name, key)
        names = _names(node[member] if member else node)

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with _opened(path) as node:
            yield node[member] if member else node

    return ChunkedSource(open_rows, f"{name}::{member}" if member else name, columns, names)


def from_object(X: Any, key: str | None, columns: Any) -> ChunkedSource:
    """Points in an open zarr array, or in one of an open group."""
    name = f"zarr {X.store_path}"
    member = _array_of(X, name, key)
    array = X[member] if member else X
    name = f"{name}::{member}" if member else name
    source = ChunkedSource(lambda: nullcontext(array), name, columns, _names(array))
    root = getattr(X.store, "root", None)
    # Nothing may be written over the folder.
    source.path = None if root is None else Path(root)
    return source


def zarr_members(path: Path) -> Members:
    """The arrays of a group; none if it is an array itself."""
    with _opened(path) as node:
        return _members(node) if hasattr(node, "members") else {}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    zarr = require("zarr", f"reading {path}")
    with naming_errors(str(path), "Zarr"):
        if path.is_dir():
            store = zarr.storage.LocalStore(path, read_only=True)
        else:
            store = zarr.storage.ZipStore(path, mode="r")
        with closing(store):
            yield zarr.open(store=store, mode="r")


def _array_of(node: Any, name: str, key: str | None) -> str | None:
    """Name of the array inside a group; None if the node is the array."""
    if hasattr(node, "members"):
        return choose_member(key, _members(node), name)
    if key is not None:
        raise refusal(f"{name} is a single array, so {key=} has no effect: leave it out", "key")
    return None


def _members(node: Any) -> Members:
    return {
        member: (array.shape, array.dtype)
        for member, array in node.members(max_depth=None)
        if hasattr(array, "shape")
    }


def _names(array: Any) -> Sequence[str] | None:
    names = array.attrs.get(NAMES_ATTRIBUTE)
    fits = isinstance(names, list) and array.ndim == 2 and len(names) == array.shape[1]
    return [str(name) for name in names] if fits else None
