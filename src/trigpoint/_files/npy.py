"""NumPy files: ``.npy``, memory-mapped, and ``.npz``, read as a stream."""

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from scipy.sparse import load_npz

from trigpoint._common.errors import DamagedFileError
from trigpoint._files.arrays import ArraySource, check_inside, from_sparse
from trigpoint._files.damage import name_damage
from trigpoint._files.selection import (
    Members,
    check_shape,
    choose_columns,
    choose_member,
    point_dtype,
    refuse_key,
)
from trigpoint._files.source import PointSource
from trigpoint._numerics.blocks import BLOCK_BYTES, block_rows, row_blocks

_REMEDY = "save it as float32 or float64"
_SUFFIX = ".npy"

# Those of every format in which SciPy saves sparse arrays.
_SPARSE_MEMBERS = {"format.npy", "shape.npy", "data.npy"}


def read_npy(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in a ``.npy`` file, as a read-only memory map."""
    refuse_key(key, name)
    with path.open("rb") as file:
        shape, dtype, fortran = _read_header(file, name)
        start = file.tell()
    # Before mapping, which NumPy rejects for empty arrays and objects with its own messages.
    check_shape(shape, name)
    point_dtype(dtype, name, _REMEDY)
    _check_length(path.stat().st_size - start, shape, dtype, name)
    order: Literal["C", "F"] = "F" if fortran else "C"
    mapped = np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape, order=order)
    return ArraySource(mapped, name, columns)


def read_npz(path: Path, name: str, key: str | None, columns: Any) -> PointSource:
    """Points in one array of a ``.npz`` file, or in one that ``scipy.sparse.save_npz`` wrote."""
    with _opened(path, name) as archive:
        if set(archive.namelist()) >= _SPARSE_MEMBERS:
            refuse_key(key, name)
            stored = load_npz(path)
            if hasattr(stored, "check_format"):
                check_inside(stored)
            return from_sparse(stored, name, columns)
    return NpzSource(lambda: _opened(path, name), name, key, columns)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[zipfile.ZipFile]:
    with name_damage(name, "a .npz file"), zipfile.ZipFile(path) as archive:
        yield archive


def npz_members(path: Path, name: str) -> Members:
    """The arrays of an archive."""
    with _opened(path, name) as archive:
        headers, _ = _read_headers(archive, name)
    return {member: header[:2] for member, header in headers.items()}


def from_npz_file(npz: Any, key: str | None, columns: Any) -> PointSource:
    """Points in one array of an open ``np.load(...)``, which stays open."""
    return NpzSource(lambda: nullcontext(npz.zip), str(npz.zip.filename or "X"), key, columns)


class NpzSource(PointSource):
    """Points in one array of an archive, compressed or not, read front to back.

    An array stored in Fortran order comes column by column, so every pass over its rows holds the
    whole array.

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
            headers, lengths = _read_headers(archive, name)
        members = {member: header[:2] for member, header in headers.items()}
        member = choose_member(key, members, name)
        self._member = member + _SUFFIX
        (shape, self._stored_dtype, self._fortran), length = headers[member], lengths[member]
        name = f"{name}::{member}"
        self._stored_shape = check_shape(shape, name)
        dtype = point_dtype(self._stored_dtype, name, _REMEDY)
        _check_length(length, shape, self._stored_dtype, name)
        self._chosen = choose_columns(columns, shape[1], None, name)
        width = shape[1] if self._chosen is None else len(self._chosen)
        super().__init__(name, (shape[0], width), dtype)
        self.stored_dtype = self._stored_dtype

    def _pieces(self, rows: int) -> Iterator[np.ndarray]:
        n_rows, n_columns = self._stored_shape
        row_bytes = n_columns * self._stored_dtype.itemsize
        if self._chosen is not None:
            rows = min(rows, block_rows(row_bytes, 4 * BLOCK_BYTES))
        with self._open_archive() as archive, archive.open(self._member) as file:
            _read_header(file, self.name)
            if self._fortran:
                whole = self._values(file.read(n_rows * row_bytes)).reshape(n_columns, n_rows).T
                yield from (self._picked(whole[part]) for part in row_blocks(n_rows, rows))
                return
            for part in row_blocks(n_rows, rows):
                values = self._values(file.read((part.stop - part.start) * row_bytes))
                yield self._picked(values.reshape(-1, n_columns))
                del values

    def _values(self, raw: bytes) -> np.ndarray:
        if len(raw) % (self._stored_dtype.itemsize * self._stored_shape[1]):
            raise EOFError("the array is truncated")
        return np.frombuffer(raw, dtype=self._stored_dtype)

    def _picked(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._chosen is None else rows[:, self._chosen]


_Header = tuple[tuple[int, ...], np.dtype, bool]


def _read_headers(archive: zipfile.ZipFile, name: str) -> tuple[dict[str, _Header], dict[str, int]]:
    """Read the header of every array, and how many bytes follow it."""
    headers, lengths = {}, {}
    for member in archive.namelist():
        if member.endswith(_SUFFIX):
            key = member.removesuffix(_SUFFIX)
            with archive.open(member) as file:
                headers[key] = _read_header(file, f"{name}::{key}")
                lengths[key] = archive.getinfo(member).file_size - file.tell()
    return headers, lengths


def _read_header(file: IO[bytes], name: str) -> _Header:
    """Read the shape, the dtype and whether the order is Fortran's; stop where the values begin."""
    with name_damage(name, "a .npy file"):
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            # Later versions exist for records with names outside Latin-1, which are not points.
            raise ValueError(
                f"version {version} of the format is for records, not arrays of numbers"
            )
    return tuple(map(int, shape)), dtype, fortran


def _check_length(length: int, shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    """Reject a header that claims more values than follow it."""
    needed = math.prod(shape) * dtype.itemsize
    if length < needed:
        raise DamagedFileError(
            f"{name} is truncated: its header announces {needed:,} bytes of values, but {length:,} "
            "follow"
        )
