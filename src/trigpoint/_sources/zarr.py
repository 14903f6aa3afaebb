"""Zarr folders and archives, and open zarr arrays and groups."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from trigpoint._sources.choosing import Members
from trigpoint._sources.chunked import ChunkedSource, array_in
from trigpoint._sources.problems import naming_errors, require


def from_path(path: Path, key: str | None, columns: Any) -> ChunkedSource:
    """Open an array of a Zarr folder or archive."""
    return array_in(lambda: open_zarr(path), zarr_members, str(path), key, columns)


def from_object(X: Any, key: str | None, columns: Any) -> ChunkedSource:
    """Open a zarr array, or one in a zarr group."""
    name = f"zarr {X.store_path}"
    source = array_in(lambda: nullcontext(X), zarr_members, name, key, columns)
    root = getattr(X.store, "root", None)
    # Recorded so that output cannot overwrite the folder.
    source.path = None if root is None else Path(root)
    return source


@contextmanager
def open_zarr(path: Path) -> Iterator[Any]:
    """Open a folder or archive for reading, and name it in errors raised until it is closed."""
    zarr = require("zarr", f"reading {path}")
    with naming_errors(str(path), "Zarr"):
        if path.is_dir():
            store = zarr.storage.LocalStore(path, read_only=True)
        else:
            store = zarr.storage.ZipStore(path, mode="r")
        with closing(store):
            yield zarr.open(store=store, mode="r")


def members(path: Path) -> Members:
    """Return the shapes and types of the arrays of a folder or archive."""
    with open_zarr(path) as node:
        return zarr_members(node)


def zarr_members(node: Any) -> Members:
    """Return the shapes and types of the arrays of a group; empty for an array."""
    if not hasattr(node, "members"):
        return {}
    return {
        member: (array.shape, array.dtype)
        for member, array in node.members(max_depth=None)
        if hasattr(array, "shape")
    }
