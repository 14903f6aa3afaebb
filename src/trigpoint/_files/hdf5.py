"""HDF5 files, and h5py datasets and groups."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._files.arrays import SlicedSource
from trigpoint._files.damage import name_damage
from trigpoint._files.optional import require
from trigpoint._files.selection import Members, choose_member
from trigpoint._files.source import PointSource

# In damaged text of variable length, HDF5 may loop for ever or end the process. So a process of its
# own reads such text first, and errors that it meets are left to the one that reads the file.
_SECONDS = 8
_READ_TEXT = """
import sys, h5py
def read(node):
    for part in [node, *(node.values() if hasattr(node, "values") else ())]:
        for name in part.attrs:
            part.attrs[name]
        if getattr(part, "dtype", None) == object:
            part[...]
print("ready", flush=True)
with h5py.File(sys.argv[1], "r") as file:
    for place in sys.argv[2:]:
        try:
            read(file[place])
        except Exception:
            pass
"""


def check_text(file: Any, name: str, places: list[str]) -> None:
    """Refuse a file in which text is damaged that some of its groups and datasets hold."""
    path = Path(file.filename)
    held = tuple(place for place in places if place in file and _holds_text(file[place]))
    if held and sys.executable and path.is_file():
        state = os.stat(path)
        if not _text_ends(path.resolve(), held, state.st_size, state.st_mtime_ns):
            raise DamagedFileError(f"{name} is damaged: its text cannot be read")


def _holds_text(node: Any) -> bool:
    parts = [node, *(node.values() if hasattr(node, "values") else ())]
    types = [part.attrs.get_id(name).dtype for part in parts for name in part.attrs]
    types += [part.dtype for part in parts if hasattr(part, "dtype")]
    return any(kind.hasobject for kind in types)


@lru_cache
def _text_ends(path: Path, places: tuple[str, ...], n_bytes: int, changed: int) -> bool:
    """Whether a process that reads text at some places comes to its end."""
    command = [sys.executable, "-c", _READ_TEXT, str(path), *places]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            # Much text takes longer.
            return process.wait(_SECONDS + n_bytes / 2e7) in (0, 1)
        except subprocess.TimeoutExpired:
            process.kill()
            return False


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
