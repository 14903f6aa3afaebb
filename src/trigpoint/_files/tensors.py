"""Named arrays and a text in one file, in the safetensors layout.

Eight bytes with the length of the header, little-endian; the header, JSON that gives every array's
type, shape and place, and metadata; the arrays, one after the other. Nothing in it is ever
executed, and nothing is allocated beyond the size of the file. A digest of all arrays and of the
metadata is kept with them, so that a damaged file is noticed wherever the damage is.
"""

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._files.whole import written_whole

_TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
_NAMES = {np.dtype(code).newbyteorder("="): name for name, code in _TYPES.items()}
_LENGTH_BYTES = 8
_MAX_HEADER = 2**24
_MAX_DIMENSIONS = 8
_DIGEST = "sha256"


class DamagedFileError(ValueError):
    """A file is not what it should be: cut off, altered, or of another kind."""


def write_tensors(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], metadata: dict[str, str]
) -> None:
    """Write `arrays` and `metadata` to `path`, which appears when it is complete.

    Parameters
    ----------
    path : path
    arrays : dict of ndarray
        Of float64, float32, int64, int32 or uint8.
    metadata : dict of str
    """
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    header: dict[str, Any] = {}
    end = 0
    for name, array in ordered.items():
        start, end = end, end + array.nbytes
        dtype = _NAMES[array.dtype]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [start, end]}
    data = [
        array.astype(_TYPES[header[name]["dtype"]]).tobytes() for name, array in ordered.items()
    ]
    metadata = metadata | {_DIGEST: _digest(header, metadata, data)}
    text = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":")).encode()
    # Arrays start at a multiple of eight bytes, as the layout has it.
    text += b" " * (-len(text) % 8)
    with written_whole(path) as partial, partial.open("wb") as file:
        file.write(len(text).to_bytes(_LENGTH_BYTES, "little"))
        file.write(text)
        for part in data:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays and metadata of a file that `write_tensors` wrote.

    Raises
    ------
    DamagedFileError
        When the file is cut off, altered, or not of this kind.
    """
    path = Path(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if size < _LENGTH_BYTES or not 0 < length <= min(size - _LENGTH_BYTES, _MAX_HEADER):
            raise DamagedFileError(
                f"{path} is no file that trigpoint saved, or not a whole one: its header has no "
                "possible length"
            )
        metadata, entries = _header(path, file.read(length))
        data = file.read()
    if len(data) != size - _LENGTH_BYTES - length:
        raise DamagedFileError(f"{path} is cut off: save it again")
    arrays = {}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        n_bytes = math.prod(shape) * np.dtype(_TYPES[dtype]).itemsize
        if start != end or stop - start != n_bytes or stop > len(data):
            raise DamagedFileError(
                f"{path} is damaged: {name!r} is not where the header says; save it again"
            )
        end = stop
        flat = np.frombuffer(data, _TYPES[dtype], count=math.prod(shape), offset=start)
        arrays[name] = flat.reshape(shape).astype(flat.dtype.newbyteorder("="), copy=True)
    if end != len(data):
        raise DamagedFileError(
            f"{path} is damaged: {len(data) - end} bytes belong to nothing; save it again"
        )
    recorded = metadata.pop(_DIGEST, None)
    if recorded != _digest(entries, metadata, [data]):
        raise DamagedFileError(
            f"{path} is damaged: its digest is not that of its content; save it again"
        )
    return arrays, metadata


def is_tensor_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is of this kind, by its first bytes or, if it is damaged, by its ending."""
    path = Path(path)
    if not path.is_file():
        return path.suffix == ".trig"
    with path.open("rb") as file:
        length, first = int.from_bytes(file.read(_LENGTH_BYTES), "little"), file.read(1)
    return path.suffix == ".trig" or (first == b"{" and 0 < length <= _MAX_HEADER)


def _header(path: Path, text: bytes) -> tuple[dict[str, str], dict[str, Any]]:
    """Metadata and entries of a header, all of the right kinds."""
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(
            f"{path} is no file that trigpoint saved, or a damaged one: {error}"
        ) from error
    if not isinstance(header, dict):
        raise DamagedFileError(f"{path} has a header that is no list of arrays")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise DamagedFileError(f"{path} has metadata that is no text")
    for name, entry in header.items():
        if not _is_entry(entry):
            raise DamagedFileError(f"{path}: the header describes {name!r} as no array can be")
    return metadata, header


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return False
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(shape, list) or not isinstance(offsets, list) or len(offsets) != 2:
        return False
    numbers = [*shape, *offsets]
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers)
    # Beside a dimension of none, another could be of any size.
    whole = whole and (0 not in shape or max(shape) <= _MAX_HEADER)
    dtype = entry["dtype"]
    known = isinstance(dtype, str) and dtype in _TYPES
    return whole and known and len(shape) <= _MAX_DIMENSIONS


def _digest(entries: dict[str, Any], metadata: dict[str, str], data: list[bytes]) -> str:
    described = json.dumps([entries, metadata], sort_keys=True).encode()
    digest = hashlib.sha256(described)
    for part in data:
        digest.update(part)
    return digest.hexdigest()
