"""What is done with a damaged file, and which errors are allowed."""

import json
import math
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError, ParameterError
from trigpoint._sources import open_source
from trigpoint._sources.tables import is_table, read_values, table_columns
from trigpoint._sources.tensors import _DIGEST, _LENGTH_BYTES, _METADATA, _digest, _parts

# Formats such as HDF5 and Zarr may declare more rows than they store; these are not read.
_MOST_BYTES = 2**24

_MEMORY_TIMES, _MEMORY_BYTES = 4, 2**26


class WrongError(Exception):
    """A damaged file led to an error that is not one of ours, or does not name the file."""


def check(target: str, content: bytes, folder: Path) -> str:
    """Read a file with this content: "read", or "refused".

    Raises
    ------
    WrongError
        For any other error, coordinates that are not finite, and for too much memory.
    """
    name = "a.trig" if target in ("model", "forged") else f"a.{target}"
    path = folder / ("a.npz" if target == "values" else name)
    path.write_bytes(forged(content) if target == "forged" else content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        _USES.get(target, _read)(path)
        outcome = "read"
    except MemoryError as error:
        # Said before it is allocated.
        if path.name not in str(error):
            raise WrongError(f"MemoryError: {error}") from error
        outcome = "refused"
    except (DamagedFileError, ParameterError, OSError) as error:
        # A model's parameters are named instead of its file.
        if path.name not in str(error) and target != "forged":
            raise WrongError(f"{type(error).__name__} without the file's name: {error}") from error
        outcome = "refused"
    except Exception as error:
        raise WrongError(f"{type(error).__name__}: {error}") from error
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if grown > _MEMORY_TIMES * len(content) + _MEMORY_BYTES:
        raise WrongError(f"{grown:,} bytes for a file of {len(content):,}")
    return outcome


def _read(path: Path) -> None:
    if is_table(path):
        table_columns(path)
    source = open_source(path)
    if math.prod(source.shape) * source.dtype.itemsize > _MOST_BYTES:
        return
    rows = 0
    for first, block in source.blocks():
        assert first == rows
        rows += block.shape[0]
    assert rows == source.n


def _read_values(path: Path) -> None:
    read_values(str(path))


def _load(path: Path) -> None:
    model = tp.load(path)
    X = np.linspace(-9, 9, 6 * model.n_features_in_).reshape(6, -1)
    coordinates = model.transform(X)
    if not np.isfinite(coordinates).all():
        raise WrongError("coordinates are not finite")


_USES: dict[str, Callable[[Path], None]] = {
    "values": _read_values,
    "model": _load,
    "forged": _load,
}


def forged(content: bytes) -> bytes:
    """The same content with a right digest, as far as it has the parts of a model."""
    try:
        entries, data = _parts(content)
        metadata = entries.pop(_METADATA)
        metadata.pop(_DIGEST, None)
        metadata[_DIGEST] = _digest(entries, metadata, data)
        header = json.dumps({_METADATA: metadata, **entries}).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return content
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(_LENGTH_BYTES, "little") + header + bytes(data)


if __name__ == "__main__":
    kept = Path(sys.argv[2])
    sys.exit(check(sys.argv[1], (kept / "content").read_bytes(), kept) != "refused")
