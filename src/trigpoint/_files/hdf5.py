"""HDF5 files, and h5py datasets and groups."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
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

# In a damaged file, HDF5 may loop for ever, fill the memory or end the process, when it lists
# groups or reads text of variable length. So a process of its own does that first, within limits;
# errors that it meets are left to the one that reads the file.
_SECONDS = 6
_FIRST_READER = """
import os, sys, h5py
seconds, path, *places = sys.argv[1:]
try:
    import resource, signal
    # Also if nobody waits any more.
    signal.alarm(int(seconds))
    kept = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(open("/proc/self/statm").read().split()[5])
    most = pages * resource.getpagesize() + 4 * os.path.getsize(path) + 2**26
    resource.setrlimit(resource.RLIMIT_DATA, (most, kept[1]))
except (ImportError, AttributeError, OSError, ValueError):
    resource = None
print("ready", flush=True)
try:
    file = h5py.File(path, "r")
    file.visititems(lambda *_: None)
except Exception as error:
    # Damage may raise anything. Too much memory must not be asked for again; the rest may.
    sys.exit(3 if "alloc" in str(error) or isinstance(error, MemoryError) else 0)
if resource is not None:
    resource.setrlimit(resource.RLIMIT_DATA, kept)
for place in places:
    try:
        node = file[place]
        for part in [node, *(node.values() if hasattr(node, "values") else ())]:
            for name in part.attrs:
                part.attrs[name]
            if getattr(part, "dtype", None) == object:
                part[...]
    except Exception:
        # Whoever reads it next meets the same error, and names the file.
        pass
"""


@lru_cache
def _can_be_read(path: Path, places: tuple[str, ...], n_bytes: int, changed: int) -> bool:
    """Whether a process that lists a file and reads text at some places comes to its end."""
    # Much text takes longer.
    seconds = _SECONDS + n_bytes / 2e7
    command = [sys.executable, "-c", _FIRST_READER, str(round(seconds) + 2), str(path), *places]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            # A package that is missing there is no damage.
            return process.wait(seconds) in (0, 1)
        except subprocess.TimeoutExpired:
            return False
        finally:
            process.kill()


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
    if not node:
        raise ParameterValueError(
            "X",
            type(node).__name__,
            "{parameter} belongs to an HDF5 file that is closed",
            ("open it again", "pass its path"),
        )
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
def open_hdf5(path: Path, name: str, text: Sequence[str] = ()) -> Iterator[Any]:
    """Open a file for reading, also `text` in some groups; errors until it is closed name it."""
    h5py = require("h5py", f"reading {name}")
    if sys.executable and path.is_file():
        state = os.stat(path)
        if not _can_be_read(path.resolve(), tuple(text), state.st_size, state.st_mtime_ns):
            raise DamagedFileError(f"{name} is damaged: reading it as HDF5 comes to no end")
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
