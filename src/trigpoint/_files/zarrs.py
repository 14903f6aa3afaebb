"""Zarr folders and archives, and zarr arrays and groups."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from trigpoint._common.errors import ParameterValueError
from trigpoint._files.arrays import SlicedSource
from trigpoint._files.damage import name_damage
from trigpoint._files.optional import require
from trigpoint._files.selection import Members, choose_member
from trigpoint._files.source import PointSource

# Where `trigpoint._files.open_writer` keeps the names of the columns.
NAMES_ATTRIBUTE = "feature_names"


def read_zarr(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in an array of a Zarr folder or archive."""
    with _opened(path, name) as node:
        member = _array_of(node, name, key)
        names = _feature_names(node[member] if member else node)

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with _opened(path, name) as node:
            yield node[member] if member else node

    return SlicedSource(open_rows, f"{name}::{member}" if member else name, columns, names)


def zarr_members(path: Path, name: str) -> Members:
    """The arrays of a group; none if it is an array itself."""
    with _opened(path, name) as node:
        return _members(node) if hasattr(node, "members") else {}


def from_zarr(node: Any, key: str | None, columns: Any) -> PointSource:
    """Points in an open zarr array, or in one of an open group."""
    name = f"zarr {node.store_path}"
    member = _array_of(node, name, key)
    array = node[member] if member else node

    @contextmanager
    def open_rows() -> Iterator[Any]:
        yield array

    name = f"{name}::{member}" if member else name
    source = SlicedSource(open_rows, name, columns, _feature_names(array))
    # Its path on disk, if any, so that nothing overwrites it.
    root = getattr(node.store, "root", None)
    source.path = None if root is None else Path(root)
    return source


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Any]:
    zarr = require("zarr", f"reading {name}")
    with name_damage(name, "Zarr"):
        if path.is_dir():
            store = zarr.storage.LocalStore(path, read_only=True)
        else:
            store = zarr.storage.ZipStore(path, mode="r")
        with closing(store):
            yield zarr.open(store=store, mode="r")


def _array_of(node: Any, name: str, key: str | None) -> str | None:
    """Name of the array inside a group; ``None`` if the node is the array."""
    if not hasattr(node, "members"):
        if key is not None:
            raise ParameterValueError(
                "key",
                key,
                "{name} is a single array, so {parameter=} has no effect",
                "leave it out",
                name=name,
            )
        return None
    return choose_member(key, _members(node), name)


def _members(node: Any) -> Members:
    return {
        member: (array.shape, array.dtype)
        for member, array in node.members(max_depth=None)
        if hasattr(array, "shape")
    }


def _feature_names(array: Any) -> Sequence[str] | None:
    names = array.attrs.get(NAMES_ATTRIBUTE)
    fits = isinstance(names, list) and array.ndim == 2 and len(names) == array.shape[1]
    return [str(name) for name in names] if fits else None
