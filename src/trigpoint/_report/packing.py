"""The arrays of a page, concatenated into one block of bytes."""

import base64
from typing import Any

import numpy as np

_TYPES = {"uint8": "u8", "uint16": "u16", "uint32": "u32"}
_ALIGNMENT = 4


class Packed:
    """Collects arrays; `add` returns the location of each one for the page."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: np.ndarray) -> dict[str, Any]:
        """Add an array of 8-, 16- or 32-bit integers."""
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        place = {"type": _TYPES[array.dtype.name], "start": self._size, "length": int(array.size)}
        padding = -len(data) % _ALIGNMENT
        self._parts.append(data + bytes(padding))
        self._size += len(data) + padding
        return place

    def text(self) -> str:
        """The whole block, as base64."""
        return base64.b64encode(b"".join(self._parts)).decode("ascii")


def smallest(array: np.ndarray) -> np.ndarray:
    """Nonnegative integers in two bytes if they fit, otherwise four."""
    return array.astype(np.uint16 if array.max(initial=0) < 2**16 else np.uint32)
