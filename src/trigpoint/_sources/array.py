"""NumPy and SciPy arrays, memory maps, lists, and NumPy files."""

import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, load_npz

from trigpoint._common.checks import as_array, refuse_non_numbers
from trigpoint._common.errors import DamagedFileError
from trigpoint._neighbors.sparse import stored_row_bytes
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import Members, choose_member, refuse_key
from trigpoint._sources.problems import is_from, naming_errors
from trigpoint._sources.values import described, stays_sparse

# Members of every archive written by `scipy.sparse.save_npz`.
_SPARSE_MEMBERS = {"format.npy", "shape.npy", "data.npy"}


class ArraySource(Source):
    """Points in an in-memory or memory-mapped array (n, d); `names` lists all column names."""

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
        n, self._chosen, found = described(X.shape, X.dtype, name, columns, names)
        super().__init__(name, found, n)
        self._X, self._row_bytes = X, X.shape[1] * X.dtype.itemsize
        if isinstance(X, np.memmap) and isinstance(X.filename, (str, Path)):
            # Recorded so that output cannot overwrite the mapped file.
            self.path = Path(X.filename)

    def array(self) -> np.ndarray | None:
        """Return the array itself, unless it must be converted first."""
        X, flags = self._X, self._X.flags
        as_needed = X.dtype == self.dtype and flags.c_contiguous and flags.aligned
        is_whole = self._chosen is None and self.columns.chosen is None
        return X if as_needed and is_whole and not self.columns.sparse else None

    def octets(self) -> np.ndarray | None:
        is_small = self._X.dtype.itemsize == 1 and self._X.dtype.kind in "iu"
        is_whole = self._chosen is None and self.columns.holds == "numbers"
        return self._X if is_small and is_whole and self._X.flags.c_contiguous else None

    def returned(self, coordinates: np.ndarray) -> np.ndarray:
        return coordinates

    def _taken(self, rows: np.ndarray | slice | None) -> np.ndarray:
        X: Any = self._X
        mapped = getattr(X, "_mmap", None)
        if mapped is not None and mapped.size() < X.offset + X.nbytes:
            # Accessing a truncated memory map would crash the process.
            raise DamagedFileError(
                f"{self.name} was truncated after it was opened: do not change it while it is "
                "being read"
            )
        numbers = self._chosen
        if self.columns.chosen is not None:
            chosen = np.array(self.columns.chosen)
            numbers = chosen if numbers is None else numbers[chosen]
        if numbers is None:
            return self._X if rows is None else self._X[rows]
        if isinstance(rows, np.ndarray):
            # Read only the rows needed, which may be a small part of a memory map.
            return self._X[rows[:, None], numbers]
        return self._X[slice(None) if rows is None else rows, numbers]

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        return self._parts(block_rows(self._row_bytes))

    def _parts(self, step: int) -> Iterator[tuple[int, np.ndarray]]:
        # Slicing an array costs nothing, so there is no need to read larger pieces and cut them.
        for part in row_blocks(len(self._X), step):
            yield part.start, self._taken(part)


class SparseSource(Source):
    """Points in the rows of a CSR array."""

    def __init__(self, X: Any, name: str, columns: Any, names: Sequence[str] | None = None) -> None:
        refuse_non_numbers(X, name)
        n, chosen, found = described(X.shape, X.dtype, name, columns, names)
        self._X = csr_array(X) if chosen is None else csr_array(X)[:, chosen]
        sparse = stays_sparse(self._X.nnz, self._X.shape, found.dtype)
        super().__init__(name, replace(found, sparse=sparse), n)

    def _taken(self, rows: np.ndarray | None) -> csr_array:
        return self._X if rows is None else self._X[rows]

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, csr_array]]:
        row_bytes = stored_row_bytes(self._X)
        if not self.columns.sparse:
            row_bytes = max(row_bytes, self.columns.count * self.dtype.itemsize)
        for part in row_blocks(self.n, block_rows(row_bytes)):
            yield part.start, self._X[part]


def from_object(X: Any, key: str | None, columns: Any) -> Source:
    """Open a dense or sparse array, a list, or the open archive returned by ``np.load``."""
    if is_from(X, "numpy", "NpzFile"):
        name = str(X.zip.filename or "X")
        member = choose_member(key, _members(X.zip), name)
        return ArraySource(X[member], f"{name}::{member}", columns)
    refuse_key(key, "X")
    if issparse(X):
        return SparseSource(X, "X", columns)
    refuse_non_numbers(X)
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        X = np.from_dlpack(X)
    # Other subclasses, such as np.matrix, are converted because they may slice differently.
    return ArraySource(X if type(X) is np.memmap else as_array(X, "X"), columns=columns)


def from_path(path: Path, key: str | None, columns: Any) -> Source:
    """Open a ``.npy`` file as a read-only memory map, or an array of a ``.npz`` file."""
    name = str(path)
    if path.name.lower().endswith(".npz"):
        return _from_npz(path, name, key, columns)
    refuse_key(key, name)
    with naming_errors(name, "an array of numbers"):
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(mapped, np.memmap):
            raise ValueError("it is not a .npy file")
    return ArraySource(mapped, name, columns)


def _from_npz(path: Path, name: str, key: str | None, columns: Any) -> Source:
    with naming_errors(name, "arrays of numbers"):
        with zipfile.ZipFile(path) as archive:
            if set(archive.namelist()) >= _SPARSE_MEMBERS:
                refuse_key(key, name)
                stored = load_npz(path)
                if hasattr(stored, "check_format"):
                    check_inside(stored)
                return SparseSource(stored, name, columns)
            member = choose_member(key, _members(archive), name)
        with np.load(path, allow_pickle=False) as npz:
            return ArraySource(npz[member], f"{name}::{member}", columns)


def members(path: Path) -> Members:
    """Return the shapes and types of the arrays of an archive; none for other files."""
    if not path.name.lower().endswith(".npz"):
        return {}
    with naming_errors(str(path), "arrays of numbers"), zipfile.ZipFile(path) as archive:
        return _members(archive)


def _members(archive: zipfile.ZipFile) -> Members:
    """Return the shapes and types of the arrays of an archive, without reading them."""
    members = {}
    for name in archive.namelist():
        if not name.endswith(".npy"):
            continue
        with archive.open(name) as file:
            layout = np.lib.format
            is_old = layout.read_magic(file) == (1, 0)
            read = layout.read_array_header_1_0 if is_old else layout.read_array_header_2_0
            shape, _, dtype = read(file)
        # A forged header could request an arbitrary amount of memory.
        if math.prod(shape) * dtype.itemsize > archive.getinfo(name).file_size:
            raise DamagedFileError(f"{archive.filename}::{name} is truncated")
        members[name.removesuffix(".npy")] = (shape, dtype)
    return members


def check_inside(matrix: Any) -> None:
    """Raise a ValueError if the indices of a CSR array point outside its arrays."""
    matrix.check_format(full_check=True)
    # SciPy skips this check if the last row pointer is 0.
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its rows run backward")
