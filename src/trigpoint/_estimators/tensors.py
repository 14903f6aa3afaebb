"""Named arrays and metadata in one safetensors file, written atomically.

Loading executes nothing from the file and allocates no more than its size. The file includes a
digest of all arrays and metadata, so that any damage is detected.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from trigpoint._common.errors import DamagedFileError
from trigpoint._sources.atomic import atomic_write
from trigpoint._sources.problems import check_is_file

# A file begins with the length of its header. The header is JSON and describes the arrays after it.
_LENGTH_BYTES = 8
_METADATA = "__metadata__"
_DIGEST = "sha256"


def write_tensors(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], metadata: dict[str, str]
) -> None:
    """Write `arrays` and `metadata` to `path`, which appears only when complete."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries, data = _parts(safetensors.numpy.save(contiguous))
    metadata = metadata | {_DIGEST: _digest(entries, metadata, data)}
    # safetensors would write the metadata in a different order every time.
    header = json.dumps({_METADATA: metadata, **entries}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with atomic_write(path) as partial, partial.open("wb") as file:
        file.write(len(header).to_bytes(_LENGTH_BYTES, "little") + header)
        file.write(data)


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read the arrays and metadata of a file written by `write_tensors`.

    Raises
    ------
    DamagedFileError
        If the file is truncated, altered, or not of this kind.
    """
    check_is_file(Path(path))
    content = Path(path).read_bytes()
    try:
        # This checks the header against the size of the file before anything is allocated.
        arrays = safetensors.numpy.load(content)
        entries, data = _parts(content)
    # NumPy raises its own errors for types and shapes that it does not support.
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFileError(
            f"{path} is not a file that trigpoint saved, or it is damaged ({error}): save it again"
        ) from error
    metadata = entries.pop(_METADATA, {})
    if metadata.pop(_DIGEST, None) != _digest(entries, metadata, data):
        raise DamagedFileError(
            f"{path} is damaged, because its digest does not match its content: save it again"
        )
    return arrays, metadata


def is_tensor_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is of this kind, judged by its suffix ``.trig`` or its first bytes."""
    path = Path(path)
    if path.suffix == ".trig" or not path.is_file():
        return path.suffix == ".trig"
    with path.open("rb") as file:
        length, first = int.from_bytes(file.read(_LENGTH_BYTES), "little"), file.read(1)
    return first == b"{" and 0 < length < path.stat().st_size


def _parts(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """Return the header and the data of a well-formed file."""
    end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    return json.loads(content[_LENGTH_BYTES:end]), memoryview(content)[end:]


def _digest(entries: dict[str, Any], metadata: dict[str, str], data: memoryview) -> str:
    described = json.dumps([entries, metadata], sort_keys=True).encode()
    return hashlib.sha256(described + data).hexdigest()
