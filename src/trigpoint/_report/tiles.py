"""Small pictures of points, as tiles of one PNG image."""

import struct
import zlib
from dataclasses import dataclass

import numpy as np

# Larger pictures are reduced to about this many pixels per side.
_MOST_PIXELS = 48

# Bytes of the image; with what else a page may hold, it stays below 8 MB.
_MOST_BYTES = 2**21

# Fewer levels compress better, and nobody sees the difference in a picture of that size.
_LEVELS = 32

_ACROSS = 64
# Tiles that are compressed to see how many there is room for.
_PROBED = 256


@dataclass(frozen=True)
class Tiles:
    """Pictures of some of the sampled points, then of all landmarks.

    Attributes
    ----------
    points : int64 ndarray of shape (t,)
        Positions in the sample of the points that have a picture.
    n_landmarks : int
        Pictures of landmarks after those; 0 if there is no room for them.
    height, width : int
        Pixels of a tile.
    across : int
        Tiles in each row of the image.
    png : bytes
    """

    points: np.ndarray
    n_landmarks: int
    height: int
    width: int
    across: int
    png: bytes


def make_tiles(
    rows: np.ndarray, places: np.ndarray, landmarks: np.ndarray, shape: tuple[int, ...]
) -> Tiles:
    """Make pictures of points whose columns are pixels, as many as there is room for.

    Parameters
    ----------
    rows : ndarray of shape (p, d)
        Points.
    places : int64 ndarray of shape (p,)
        Their positions in the sample.
    landmarks : ndarray of shape (k, d)
    shape : tuple
        Height and width of a picture, and its channels before or after, if it has any.
    """
    scale = _scale(rows)
    probed = _pictures(_spread(rows, _PROBED), shape, scale)
    each = max(1, len(_png(_sheet(probed))) // len(probed))
    room = max(1, _MOST_BYTES // each)
    n_landmarks = len(landmarks) if len(landmarks) <= room // 2 else 0
    chosen = _spread(np.arange(len(rows)), room - n_landmarks)
    pictures = _pictures(rows[chosen], shape, scale)
    if n_landmarks:
        pictures = np.concatenate([pictures, _pictures(landmarks, shape, scale)])
    height, width = pictures.shape[1:3]
    return Tiles(places[chosen], n_landmarks, height, width, _ACROSS, _png(_sheet(pictures)))


def _spread(items: np.ndarray, most: int) -> np.ndarray:
    if len(items) <= most:
        return items
    return items[np.linspace(0, len(items) - 1, most).astype(np.int64)]


def _scale(rows: np.ndarray) -> tuple[float, float]:
    """Values shown as black and white: those of common pixels, otherwise the extremes."""
    low, high = float(rows.min()), float(rows.max())
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if low >= 0 and high <= 255:
        return 0.0, 255.0
    return low, high if high > low else low + 1.0


def _pictures(rows: np.ndarray, shape: tuple[int, ...], scale: tuple[float, float]) -> np.ndarray:
    """Pictures (p, height, width, channels) with 1 or 3 channels, uint8."""
    pixels = rows.reshape(len(rows), *shape).astype(np.float32)
    if len(shape) == 2:
        pixels = pixels[..., None]
    elif shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4):
        pixels = np.moveaxis(pixels, 1, 3)
    pixels = pixels[..., :3] if pixels.shape[3] >= 3 else pixels[..., :1]
    step = -(-max(pixels.shape[1:3]) // _MOST_PIXELS)
    height, width = (side // step for side in pixels.shape[1:3])
    blocks = pixels[:, : height * step, : width * step].reshape(
        len(pixels), height, step, width, step, pixels.shape[3]
    )
    share = (blocks.mean(axis=(2, 4)) - scale[0]) / (scale[1] - scale[0])
    levels = np.round((_LEVELS - 1) * np.clip(share, 0, 1))
    return np.round(levels * (255 / (_LEVELS - 1))).astype(np.uint8)


def _sheet(pictures: np.ndarray) -> np.ndarray:
    """One image (rows, columns, channels) of all pictures, from left to right, then down."""
    count, height, width, channels = pictures.shape
    down = -(-count // _ACROSS)
    sheet = np.zeros((down * _ACROSS, height, width, channels), dtype=np.uint8)
    sheet[:count] = pictures
    sheet = sheet.reshape(down, _ACROSS, height, width, channels).swapaxes(1, 2)
    return sheet.reshape(down * height, _ACROSS * width, channels)


def _png(image: np.ndarray) -> bytes:
    """A PNG file of an image with 1 or 3 channels."""
    height, width, channels = image.shape
    # Each line begins with the number of its filter: none.
    lines = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    lines[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    parts = {b"IHDR": header, b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    file = b"\x89PNG\r\n\x1a\n"
    for kind, data in parts.items():
        check = struct.pack(">I", zlib.crc32(kind + data))
        file += struct.pack(">I", len(data)) + kind + data + check
    return file
