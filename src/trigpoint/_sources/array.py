"""NumPy arrays, memory maps, lists, and NumPy files."""

import math
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from scipy.sparse import load_npz

from trigpoint._common.checks import as_array, refuse_masked, refuse_non_numbers
from trigpoint._common.errors import DamagedFileError
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._sources.base import Columns, Source
from trigpoint._sources.choosing import (
    Members,
    check_shape,
    choose_columns,
    choose_member,
    point_dtype,
    refuse_key,
)
from trigpoint._sources.problems import is_from, naming_errors

_SUFFIX = ".npy"

# Those of every format in which SciPy saves sparse arrays.
_SPARSE_MEMBERS = {"format.npy", "shape.npy", "data.npy"}


def chosen_columns(
    chosen: np.ndarray | None, names: Sequence[str] | None, count: int, dtype: np.dtype
) -> Columns:
    """Describe the chosen ones of `count` columns."""
    if chosen is not None:
        names, count = names and [names[number] for number in chosen], len(chosen)
    return Columns(None if names is None else tuple(names), count, dtype)


class ArraySource(Source):
    """Points in an array in memory, or in a memory map.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    name : str
        What messages call it.
    columns : str, int, sequence of them, or None
        Columns to read.
    names : sequence of str or None
        Names of all columns.
    """

    def __init__(
        self,
        X: np.ndarray,
        name: str = "X",
        columns: Any = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if X.dtype.kind not in "fbiu":
            refuse_non_numbers(X, name)
            X = X.astype(np.float64)
        n, count = check_shape(X.shape, name)
        self._X, self._chosen = X, choose_columns(columns, count, names, name)
        super().__init__(
            name, chosen_columns(self._chosen, names, count, point_dtype(X.dtype, name)), n
        )
        self._row_bytes = count * X.dtype.itemsize
        if isinstance(X, np.memmap) and isinstance(X.filename, (str, Path)):
            # Nothing may be written over the file.
            self.path = Path(X.filename)

    def array(self) -> np.ndarray | None:
        """Return the array itself, unless it must be converted first."""
        X, flags = self._X, self._X.flags
        as_needed = X.dtype == self.dtype and flags.c_contiguous and flags.aligned
        return X if as_needed and self._chosen is None and not self.columns.sparse else None

    def _taken(self, rows: np.ndarray | None) -> np.ndarray:
        self._refuse_cut()
        some = self._X if rows is None else self._X[rows]
        return some if self._chosen is None else some[:, self._chosen]

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        for part in row_blocks(len(self._X), block_rows(self._row_bytes)):
            self._refuse_cut()
            piece = self._X[part]
            yield part.start, piece if self._chosen is None else piece[:, self._chosen]

    def _refuse_cut(self) -> None:
        """Refuse a map of a file that has become shorter: reading what is gone ends the process."""
        mapped = getattr(self._X, "_mmap", None)
        if mapped is not None and mapped.size() < self._X.offset + self._X.nbytes:
            raise DamagedFileError(
                f"{self.name} has become shorter since it was opened: do not change it while it is "
                "being read"
            )


def from_object(X: Any, key: str | None, columns: Any) -> Source:
    """Points in an array of any kind, a list, or an open ``np.load(...)``, which stays open."""
    if is_from(X, "numpy", "NpzFile"):
        name = str(X.zip.filename or "X")
        return NpzSource(lambda: nullcontext(X.zip), name, key, columns)
    refuse_key(key, "X")
    refuse_masked(X)
    refuse_non_numbers(X)
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        X = np.from_dlpack(X)
    # Subclasses other than memory maps slice in their own ways.
    plain = X if type(X) is np.memmap else np.asarray(as_array(X, "X"))
    return ArraySource(plain, columns=columns)


def from_path(path: Path, key: str | None, columns: Any) -> Source:
    """Points in a ``.npy`` file, as a read-only memory map, or in an array of a ``.npz`` file."""
    name = str(path)
    if path.name.lower().endswith(".npz"):
        return _from_npz(path, name, key, columns)
    refuse_key(key, name)
    with path.open("rb") as file:
        shape, dtype, fortran = _read_header(file, name)
        start = file.tell()
    # Before mapping, which NumPy rejects for empty arrays and objects with its own messages.
    check_shape(shape, name)
    point_dtype(dtype, name)
    _check_length(path.stat().st_size - start, shape, dtype, name)
    order: Literal["C", "F"] = "F" if fortran else "C"
    mapped = np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape, order=order)
    return ArraySource(mapped, name, columns)


def _from_npz(path: Path, name: str, key: str | None, columns: Any) -> Source:
    with _opened(path, name) as archive:
        if set(archive.namelist()) >= _SPARSE_MEMBERS:
            from trigpoint._sources.sparse_array import check_inside, from_sparse

            refuse_key(key, name)
            stored = load_npz(path)
            if hasattr(stored, "check_format"):
                check_inside(stored)
            return from_sparse(stored, name, columns)
    return NpzSource(lambda: _opened(path, name), name, key, columns)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[zipfile.ZipFile]:
    with naming_errors(name, "a .npz file"), zipfile.ZipFile(path) as archive:
        yield archive


def npz_members(path: Path) -> Members:
    """The arrays of an archive."""
    with _opened(path, str(path)) as archive:
        headers = _read_headers(archive, str(path))
    return {member: header[:2] for member, header in headers.items()}


class NpzSource(Source):
    """Points in one array of an archive, read front to back.

    An array in Fortran order is stored column by column, so every pass holds the whole array.

    Parameters
    ----------
    open_archive : callable
        Returns a context manager around the archive.
    name : str
        What messages call the file.
    key : str or None
        The array.
    columns : int, sequence of int, or None
        Columns to read.
    """

    def __init__(
        self,
        open_archive: Callable[[], AbstractContextManager[zipfile.ZipFile]],
        name: str,
        key: str | None,
        columns: Any,
    ) -> None:
        self._open_archive = open_archive
        with open_archive() as archive:
            headers = _read_headers(archive, name)
        self._member = choose_member(key, {m: header[:2] for m, header in headers.items()}, name)
        shape, self._stored, self._fortran, length = headers[self._member]
        name = f"{name}::{self._member}"
        n, self._width = check_shape(shape, name)
        dtype = point_dtype(self._stored, name)
        _check_length(length, shape, self._stored, name)
        self._chosen = choose_columns(columns, self._width, None, name)
        super().__init__(name, chosen_columns(self._chosen, None, self._width, dtype), n)

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        row_bytes = self._width * self._stored.itemsize
        at_once = self.n if self._fortran else block_rows(row_bytes)
        with self._open_archive() as archive, archive.open(self._member + _SUFFIX) as file:
            _read_header(file, self.name)
            for part in row_blocks(self.n, at_once):
                raw = file.read((part.stop - part.start) * row_bytes)
                if len(raw) % row_bytes:
                    raise EOFError("the array is truncated")
                values = np.frombuffer(raw, dtype=self._stored)
                shape = (-1, self._width) if not self._fortran else (self._width, -1)
                piece = values.reshape(shape).T if self._fortran else values.reshape(shape)
                yield part.start, piece if self._chosen is None else piece[:, self._chosen]


_Header = tuple[tuple[int, ...], np.dtype, bool, int]


def _read_headers(archive: zipfile.ZipFile, name: str) -> dict[str, _Header]:
    """Read the header of every array, and how many bytes follow it."""
    headers = {}
    for member in archive.namelist():
        if member.endswith(_SUFFIX):
            key = member.removesuffix(_SUFFIX)
            with archive.open(member) as file:
                header = _read_header(file, f"{name}::{key}")
                headers[key] = (*header, archive.getinfo(member).file_size - file.tell())
    return headers


def _read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Read shape, dtype and whether the order is Fortran's; stop where the values begin."""
    with naming_errors(name, "a .npy file"):
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            # Later versions are for records with names outside Latin-1.
            raise ValueError(f"version {version} of the format is for records, not numbers")
    return tuple(map(int, shape)), dtype, fortran


def _check_length(length: int, shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    """Reject a header that claims more values than follow it."""
    needed = math.prod(shape) * dtype.itemsize
    if length < needed:
        raise DamagedFileError(
            f"{name} is truncated: its header announces {needed:,} bytes of values, but {length:,} "
            "follow"
        )
