"""HDF5 files, and h5py datasets and groups."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trigpoint._common.errors import ParameterValueError
from trigpoint._files.arrays import SlicedSource
from trigpoint._files.damage import name_damage
from trigpoint._files.optional import require
from trigpoint._files.selection import Members, choose_member
from trigpoint._files.source import PointSource


def read_hdf5(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in a dataset of an HDF5 file."""
    with open_hdf5(path, name) as file:
        member = choose_member(key, hdf5_members(file), name)

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with open_hdf5(path, name) as file:
            yield file[member]

    return SlicedSource(open_rows, f"{name}::{member}", columns)


def from_hdf5(node: Any, key: str | None, columns: Any) -> PointSource:
    """Points in an open h5py dataset, or in one of an open group or file."""
    if hasattr(node, "keys"):
        node = node[choose_member(key, hdf5_members(node), node.file.filename)]
    elif key is not None:
        raise ParameterValueError(
            "key",
            key,
            "{name} is a single dataset, so {parameter=} has no effect",
            "leave it out",
            name=node.name,
        )

    @contextmanager
    def open_rows() -> Iterator[Any]:
        yield node

    return SlicedSource(open_rows, f"{node.file.filename}::{node.name.strip('/')}", columns)


@contextmanager
def open_hdf5(path: Path, name: str) -> Iterator[Any]:
    """Open a file for reading; errors until it is closed name it."""
    h5py = require("h5py", f"reading {name}")
    with name_damage(name, "HDF5"), h5py.File(path, "r") as file:
        yield file


def hdf5_members(group: Any) -> Members:
    """The datasets of a file or group."""
    found = {}

    def note(member: str, node: Any) -> None:
        # Groups have no shape, and neither does an empty dataset.
        if getattr(node, "shape", None) is not None:
            found[member] = (node.shape, node.dtype)

    group.visititems(note)
    return found
