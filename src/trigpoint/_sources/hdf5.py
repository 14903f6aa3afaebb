"""HDF5 files, and h5py datasets and groups."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from trigpoint._sources.choosing import Members, choose_member
from trigpoint._sources.chunked import ChunkedSource
from trigpoint._sources.problems import naming_errors, refusal, require


def from_path(path: Path, key: str | None, columns: Any) -> ChunkedSource:
    """Points in a dataset of an HDF5 file."""
    name = str(path)
    with open_hdf5(path) as file:
        member = choose_member(key, hdf5_members(file), name)

    @contextmanager
    def open_rows() -> Iterator[Any]:
        with open_hdf5(path) as file:
            yield file[member]

    return ChunkedSource(open_rows, f"{name}::{member}", columns)


def from_object(X: Any, key: str | None, columns: Any) -> ChunkedSource:
    """Points in an open h5py dataset, or in one of an open group or file."""
    if not X:
        raise refusal("X belongs to an HDF5 file that is closed: open it again or pass its path")
    if hasattr(X, "keys"):
        X = X[choose_member(key, hdf5_members(X), X.file.filename)]
    elif key is not None:
        raise refusal(f"{X.name} is a single dataset, so {key=} has no effect: leave it out", "key")
    name = f"{X.file.filename}::{X.name.strip('/')}"
    return ChunkedSource(lambda: nullcontext(X), name, columns)


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Open a file for reading; errors until it is closed name it."""
    h5py = require("h5py", f"reading {path}")
    with naming_errors(str(path), "HDF5"), h5py.File(path, "r") as file:
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
