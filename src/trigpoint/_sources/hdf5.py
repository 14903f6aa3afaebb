"""HDF5 files, and h5py datasets and groups."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from trigpoint._common.errors import ParameterValueError
from trigpoint._sources.choosing import Members
from trigpoint._sources.chunked import ChunkedSource, array_in
from trigpoint._sources.problems import naming_errors, require


def from_path(path: Path, key: str | None, columns: Any) -> ChunkedSource:
    """Open a dataset of an HDF5 file."""
    return array_in(lambda: open_hdf5(path), hdf5_members, str(path), key, columns)


def from_object(X: Any, key: str | None, columns: Any) -> ChunkedSource:
    """Open an h5py dataset, or one in an h5py group or file."""
    if not X:
        raise ParameterValueError(
            "X belongs to an HDF5 file that is closed: open it again or pass its path", "X"
        )
    name = "::".join(part for part in (X.file.filename, X.name.strip("/")) if part)
    return array_in(lambda: nullcontext(X), hdf5_members, name, key, columns)


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Open a file for reading, and name it in errors raised until it is closed."""
    h5py = require("h5py", f"reading {path}")
    with naming_errors(str(path), "HDF5"), h5py.File(path, "r") as file:
        yield file


def members(path: Path) -> Members:
    """Return the shapes and types of the datasets of a file."""
    with open_hdf5(path) as file:
        return hdf5_members(file)


def hdf5_members(group: Any) -> Members:
    """Return the shapes and types of the datasets of a file or group."""
    found = {}

    def note(member: str, node: Any) -> None:
        # Groups have no shape; the shape of an empty dataset is None.
        if getattr(node, "shape", None) is not None:
            found[member] = (node.shape, node.dtype)

    group.visititems(note)
    return found
