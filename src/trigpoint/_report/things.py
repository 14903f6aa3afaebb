"""Images and texts of points, as shown on the page."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.labels import is_missing
from trigpoint._report.given import named_colors
from trigpoint.plot._values import label_text

# Maximum number of characters of all texts on a page, and of a single text.
_TEXT_CHARACTERS = 25_000_000
_MOST_CHARACTERS = 400

# Larger images are reduced to about this many pixels per side. Fewer levels compress better,
# without a visible difference at that size.
_MOST_PIXELS = 48
_LEVELS = 32

# Maximum size of all images in bytes, and number of images compressed to estimate how many fit.
_MOST_BYTES = 2**21
_PROBED = 256
_ACROSS = 64


@dataclass(frozen=True)
class Texts:
    """Texts (s,) of the sampled points, under a display name."""

    name: str
    values: list[str]
    cut: int = 0  # Number of characters after which texts are cut; 0 if none is.
    is_id: bool = False  # Whether these are names of rows, such as an index.


@dataclass(frozen=True)
class Things:
    """Images and texts of all points."""

    # Shape of the image formed by the columns of a point.
    image_shape: tuple[int, ...] | None = None
    addresses: np.ndarray | None = None  # Paths or URLs (n,) of images.
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)  # Texts (n,) by display name.
    ids: Mapping[str, np.ndarray] = field(default_factory=dict)  # Names (n,) of the rows.

    def shown_addresses(self, rows: np.ndarray) -> list[str] | None:
        """Return the addresses of the images of some points."""
        return None if self.addresses is None else _as_text(self.addresses[rows])

    def shown_texts(self, rows: np.ndarray) -> list[Texts]:
        """Return the texts of some points, cut if the page would otherwise become too large."""
        kinds = [(name, values, False) for name, values in self.texts.items()]
        kinds += [(name, values, True) for name, values in self.ids.items()]
        return [
            _cut(name, _as_text(values[rows]), _TEXT_CHARACTERS // len(kinds), is_id)
            for name, values, is_id in kinds
        ]


def _cut(name: str, texts: list[str], room: int, is_id: bool) -> Texts:
    lengths, most = np.array([len(text) for text in texts]), _MOST_CHARACTERS
    while most > 20 and np.minimum(lengths, most).sum() > room:
        most = most * 3 // 4
    if lengths.max(initial=0) <= most:
        return Texts(name, texts, 0, is_id)
    cut = [text if len(text) <= most else text[: most - 1] + "…" for text in texts]
    return Texts(name, cut, most, is_id)


def read_things(
    images: Any, text: Any, n_points: int | None, n_features: int, ids: Any = None
) -> Things:
    """Check the values of the parameters ``images`` and ``text``.

    `ids` are names of the rows, from `row_names`.
    """
    for name, given in (("images", images), ("text", text)):
        if given is not None and n_points is None:
            raise ParameterValueError(
                f"{name} belongs to the rows of X, but X was not passed: pass X", name
            )
    few = isinstance(images, tuple | list) and 0 < len(images) <= 3
    shape = None
    if few and all(isinstance(side, Integral) and int(side) > 0 for side in images):
        shape = tuple(map(int, images))
        _check_shape(shape, n_features)
    addresses = None
    if images is not None and shape is None:
        addresses = next(iter(_texts("images", images, n_points).values()))
    texts = {} if text is None else _texts("text", text, n_points)
    names = {} if ids is None else _texts("ids", ids, n_points)
    return Things(shape, addresses, texts, names)


def row_names(X: Any) -> Any:
    """Return the index of a table, unless it only counts the rows; None if there is none."""
    index: Any = getattr(X, "obs_names", getattr(X, "index", None))
    # The index of other kinds of tables, such as those of Dask, only counts rows.
    kind = type(index)
    if not kind.__module__.startswith("pandas") or kind.__name__ == "RangeIndex":
        return None
    return {str(index.name or "id"): np.asarray(index, dtype=object)}


def _as_text(values: np.ndarray) -> list[str]:
    return ["" if is_missing(value) else label_text(value) for value in values]


def _check_shape(shape: tuple[int, ...], n_features: int) -> None:
    if len(shape) < 2 or int(np.prod(shape)) != n_features:
        raise ParameterValueError(
            f"images={shape!r} does not match the {n_features} values of a row: pass height and "
            "width of an image, such as (28, 28) for 784 columns, or (32, 32, 3) with colors",
            "images",
        )
    if len(shape) == 3 and not {shape[0], shape[2]} & {1, 3, 4}:
        raise ParameterValueError(
            f"images={shape!r} does not have 1, 3 or 4 channels: put them first or last, as in "
            "(32, 32, 3)",
            "images",
        )


def _texts(parameter: str, values: Any, n_points: int | None) -> dict[str, np.ndarray]:
    """Return one text per point for each column, by name."""
    if isinstance(values, str):
        raise ParameterTypeError(
            f"{parameter}={short(values)} is a single string: pass one value per row of X",
            parameter,
        )
    assert n_points is not None
    if not hasattr(values, "shape") and isinstance(values, Sequence):
        values = np.array(values, dtype=object)
    named = named_colors(values, n_points, parameter=parameter)
    return {name: found.values for name, found in named.items()}


@dataclass(frozen=True)
class Tiles:
    """Thumbnails of some sampled points in one PNG image."""

    points: np.ndarray  # Positions (t,) in the sample of the points with an image.
    height: int  # Size of a tile in pixels.
    width: int
    across: int  # Number of tiles per row of the PNG image.
    png: bytes


def make_tiles(
    rows: np.ndarray, places: np.ndarray, shape: tuple[int, ...], first: np.ndarray
) -> Tiles:
    """Create thumbnails of as many points as fit, if columns are pixels.

    The candidates `rows` (p, d) are at the positions `places` (p,) of the sample. Those at the
    positions `first` are preferred. `shape` is the height and width of an image, optionally
    preceded or followed by its number of channels.
    """
    scale = _scale(rows)
    probed = _pictures(spread(rows, _PROBED), shape, scale)
    room = max(1, _MOST_BYTES * len(probed) // len(_png(_sheet(probed))))
    preferred = np.isin(places, first)
    chosen = spread(np.flatnonzero(preferred), room)
    others = spread(np.flatnonzero(~preferred), room - len(chosen))
    chosen = np.sort(np.concatenate([chosen, others]))
    pictures = _pictures(rows[chosen], shape, scale)
    height, width = pictures.shape[1:3]
    return Tiles(places[chosen], height, width, _ACROSS, _png(_sheet(pictures)))


def spread(items: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` items, evenly spaced."""
    return items[np.linspace(0, len(items) - 1, min(most, len(items))).astype(np.int64)]


def _scale(rows: np.ndarray) -> tuple[float, float]:
    """Return the values of black and white: 0 to 1, 0 to 255, or the extremes of the data."""
    low, high = float(rows.min()), float(rows.max())
    for white in (1.0, 255.0):
        if low >= 0 and white / 2 < high <= white:
            return 0.0, white
    return low, high if high > low else low + 1.0


def _pictures(rows: np.ndarray, shape: tuple[int, ...], scale: tuple[float, float]) -> np.ndarray:
    """Return images (p, height, width, channels) with 1 or 3 channels, uint8."""
    pixels = rows.reshape(len(rows), *shape).astype(np.float32)
    if len(shape) == 2:
        pixels = pixels[..., None]
    elif shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4):
        pixels = np.moveaxis(pixels, 1, 3)
    pixels = pixels[..., : 3 if pixels.shape[3] >= 3 else 1]
    step = -(-max(pixels.shape[1:3]) // _MOST_PIXELS)
    height, width = (side // step for side in pixels.shape[1:3])
    blocks = pixels[:, : height * step, : width * step].reshape(
        len(pixels), height, step, width, step, pixels.shape[3]
    )
    share = (blocks.mean(axis=(2, 4)) - scale[0]) / (scale[1] - scale[0])
    levels = np.round((_LEVELS - 1) * np.clip(share, 0, 1))
    return np.round(levels * (255 / (_LEVELS - 1))).astype(np.uint8)


def _sheet(pictures: np.ndarray) -> np.ndarray:
    """Arrange images in one image (rows, columns, channels), row by row."""
    count, height, width, channels = pictures.shape
    down = -(-count // _ACROSS)
    sheet = np.zeros((down * _ACROSS, height, width, channels), dtype=np.uint8)
    sheet[:count] = pictures
    sheet = sheet.reshape(down, _ACROSS, height, width, channels).swapaxes(1, 2)
    return sheet.reshape(down * height, _ACROSS * width, channels)


def _png(image: np.ndarray) -> bytes:
    """Encode an image with 1 or 3 channels as PNG, without Matplotlib, which is optional."""
    height, width, channels = image.shape
    # Each PNG scanline begins with its filter type, here 0 for none.
    lines = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    lines[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    parts = {b"IHDR": header, b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    file = b"\x89PNG\r\n\x1a\n"
    for kind, data in parts.items():
        check = struct.pack(">I", zlib.crc32(kind + data))
        file += struct.pack(">I", len(data)) + kind + data + check
    return file
