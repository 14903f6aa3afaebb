"""MNIST from its idx files."""

import gzip
import math
import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.checks import check_choice
from trigpoint._common.errors import ParameterValueError
from trigpoint.datasets._arguments import check_dtype

_PREFIXES = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}
_IMAGE_SHAPE = (28, 28)


def load_mnist(
    folder: str | os.PathLike[str] | None = None,
    *,
    split: str = "train",
    dtype: DTypeLike = np.float32,
    scale: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Read the MNIST handwritten digits [1]_ from local files.

    The files are ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte`` for the training
    images, ``t10k-images-idx3-ubyte`` and ``t10k-labels-idx1-ubyte`` for the test images, each
    uncompressed or compressed (``.gz``). Nothing is downloaded.

    Parameters
    ----------
    folder : path or None
        Where the files are. ``None`` uses the folder named by the environment variable
        ``TRIGPOINT_DATA``, or its subfolder ``mnist`` if there is one.
    split : {"train", "test", "all"}
        60,000 training images, 10,000 test images, or both, in this order.
    dtype : dtype
        Type of `X`; an integer type needs ``scale=False``.
    scale : bool
        Divide the pixels by 255, so that they range from 0 to 1.

    Returns
    -------
    X : ndarray of shape (n, 784)
        The images, row by row.
    y : int64 ndarray of shape (n,)
        The digits.

    Raises
    ------
    FileNotFoundError
        If a file is missing; the message says which one and where it was expected.
    ValueError
        If a file is damaged or does not hold what its name says.

    References
    ----------
    .. [1] Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to document
       recognition", Proceedings of the IEEE 86, 1998.
    """
    check_choice("split", split, tuple(_PREFIXES))
    dtype = check_dtype(dtype, integers=not scale)
    if not scale and np.issubdtype(dtype, np.integer) and np.iinfo(dtype).max < 255:
        raise ParameterValueError(
            "dtype",
            dtype,
            "dtype={dtype} cannot hold the pixel value 255",
            "choose np.uint8",
            dtype=dtype,
        )
    names = [
        name
        for prefix in _PREFIXES[split]
        for name in (f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte")
    ]
    paths = _find(names, folder)
    images, labels = [], []
    for image_path, label_path in zip(paths[::2], paths[1::2], strict=True):
        images.append(_read_idx(image_path, n_dims=3))
        labels.append(_read_idx(label_path, n_dims=1))
        if images[-1].shape[1:] != _IMAGE_SHAPE:
            raise ValueError(
                f"{image_path} holds images of {images[-1].shape[1:]} pixels instead of "
                f"{_IMAGE_SHAPE}: it is not MNIST; fetch the original file"
            )
        if len(images[-1]) != len(labels[-1]):
            raise ValueError(
                f"{image_path} holds {len(images[-1])} images but {label_path} holds "
                f"{len(labels[-1])} labels: fetch both from the same source"
            )
    X = np.empty((sum(map(len, images)), math.prod(_IMAGE_SHAPE)), dtype)
    start = 0
    for block in images:
        rows = X[start : start + len(block)]
        rows[...] = block.reshape(len(block), -1)
        if scale:
            rows /= 255
        start += len(block)
    return X, np.concatenate(labels).astype(np.int64)


def _find(names: list[str], folder: str | os.PathLike[str] | None) -> list[Path]:
    """Return the path of each file, compressed or not, or say what is missing and where."""
    if folder is not None:
        where = Path(folder)
        origin = "the given folder"
    elif root := os.environ.get("TRIGPOINT_DATA"):
        where = Path(root, "mnist") if Path(root, "mnist").is_dir() else Path(root)
        origin = "from the environment variable TRIGPOINT_DATA"
    else:
        raise FileNotFoundError(
            f"folder=None and the environment variable TRIGPOINT_DATA is not set, so there is "
            f"nowhere to look for {', '.join(names)} (or the same with .gz): pass the folder that "
            f"holds them or set TRIGPOINT_DATA; nothing is downloaded"
        )
    candidates = [(where / name, where / f"{name}.gz") for name in names]
    found = [next((path for path in pair if path.is_file()), None) for pair in candidates]
    missing = [name for name, path in zip(names, found, strict=True) if path is None]
    if missing:
        raise FileNotFoundError(
            f"{', '.join(missing)} (or the same with .gz) not found in {where} ({origin}): put the "
            f"MNIST files there or pass the folder that holds them; nothing is downloaded"
        )
    return [path for path in found if path is not None]


def _read_idx(path: Path, *, n_dims: int) -> np.ndarray:
    """Read an idx file of unsigned bytes with `n_dims` dimensions."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}): fetch it again") from error
    # Four bytes: two zeros, 8 for unsigned bytes, the number of dimensions. Then their sizes.
    magic = bytes([0, 0, 8, n_dims])
    header = 4 + 4 * n_dims
    if content[:4] != magic or len(content) < header:
        raise ValueError(
            f"{path} does not start like an idx file of bytes in {n_dims} dimensions (it starts "
            f"with 0x{content[:4].hex()}, expected 0x{magic.hex()}): fetch it again"
        )
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", count=n_dims, offset=4))
    if len(content) - header != math.prod(shape):
        raise ValueError(
            f"{path} holds {len(content) - header} bytes of data, but its header declares "
            f"{math.prod(shape)} for the shape {shape}: it is truncated or damaged; fetch it again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
