"""Damage to the bytes of a file, as disks, networks and attackers do it."""

from collections.abc import Iterator

import numpy as np

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
_PIECES = (
    *(
        b"\n",
        b"\r\n",
        b",",
        b";",
        b"\t",
        b" ",
        b'"',
        b'""',
        b"#",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"nan",
        b"-inf",
        b"1e999",
        b"-0",
        b"1_0",
        b"0x1",
        b"1,5",
        b"()",
        b"[",
        b"{",
        b"}",
        b"]",
        b"'",
    ),
    *(
        b"99999999999999999999",
        b"-1",
        b"True",
        b"None",
        b"shape",
        b"descr",
        b"|O",
        b"<M8[s]",
        b"<f8",
    ),
)
_MOST_CHANGES = 4


def damaged(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Change a file in one to four places."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, _MOST_CHANGES + 1))):
        _CHANGES[rng.integers(len(_CHANGES))](data, others, rng)
    return bytes(data)


def flips(content: bytes) -> Iterator[bytes]:
    """The file with each of its bits flipped, one at a time."""
    for bit in range(8 * len(content)):
        data = bytearray(content)
        data[bit // 8] ^= 1 << bit % 8
        yield bytes(data)


def cuts(content: bytes) -> Iterator[bytes]:
    """The file cut off at each length."""
    return (content[:length] for length in range(len(content)))


def _place(data: bytearray, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data) + 1))


def _flip(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    if data:
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))


def _replace(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    at, size = _place(data, rng), int(rng.integers(1, 9))
    data[at : at + size] = rng.bytes(size)


def _set_number(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    at, size = _place(data, rng), int(2 ** rng.integers(4))
    number = _NUMBERS[rng.integers(len(_NUMBERS))] % 256**size
    data[at : at + size] = number.to_bytes(size, "little" if rng.random() < 0.8 else "big")


def _insert(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    at = _place(data, rng)
    data[at:at] = _PIECES[rng.integers(len(_PIECES))]


def _overwrite(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    at, piece = _place(data, rng), _PIECES[rng.integers(len(_PIECES))]
    data[at : at + len(piece)] = piece


def _remove(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    at = _place(data, rng)
    del data[at : at + int(rng.integers(1, 17))]


def _cut(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    del data[_place(data, rng) :]


def _repeat(data: bytearray, _: list[bytes], rng: np.random.Generator) -> None:
    at = _place(data, rng)
    part = data[at : at + int(rng.integers(1, 33))]
    data[at:at] = part * int(rng.integers(1, 9))


def _splice(data: bytearray, others: list[bytes], rng: np.random.Generator) -> None:
    other = others[rng.integers(len(others))]
    data[_place(data, rng) :] = other[int(rng.integers(len(other) + 1)) :]


_CHANGES = (
    *(_flip, _flip, _replace, _set_number, _set_number, _insert, _overwrite),
    *(_remove, _cut, _repeat, _splice),
)
