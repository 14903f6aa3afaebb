"""MNIST from its idx files."""

import gzip
import math
from pathlib import Path

import numpy as np

_PREFIXES = {"train": "train", "test": "t10k"}


def load_mnist(folder: str | Path, *, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Read the MNIST handwritten digits from local files.

    The files are ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte`` for the training
    images, ``t10k-images-idx3-ubyte`` and ``t10k-labels-idx1-ubyte`` for the test images, each
    uncompressed or compressed (``.gz``).

    Parameters
    ----------
    folder : path
        Where the files are.
    split : {"train", "test"}
        60,000 training images or 10,000 test images.

    Returns
    -------
    X : float32 ndarray of shape (n, 784)
        The images, row by row, from 0 to 1.
    y : int64 ndarray of shape (n,)
        The digits.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged or does not hold what its name says.
    """
    prefix = _PREFIXES[split]
    images = _read_idx(Path(folder), f"{prefix}-images-idx3-ubyte", n_dims=3)
    labels = _read_idx(Path(folder), f"{prefix}-labels-idx1-ubyte", n_dims=1)
    if len(images) != len(labels) or images.shape[1:] != (28, 28):
        raise ValueError(f"{folder} has images {images.shape} and {len(labels)} labels")
    X = images.reshape(len(images), -1).astype(np.float32)
    X /= 255
    return X, labels.astype(np.int64)


def _read_idx(folder: Path, name: str, *, n_dims: int) -> np.ndarray:
    """Read an idx file of unsigned bytes with `n_dims` dimensions, compressed or not."""
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{name} (or the same with .gz) not found in {folder}")
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    # Four bytes: two zeros, 8 for unsigned bytes, the number of dimensions. Then their sizes.
    header = 4 + 4 * n_dims
    if content[:4] != bytes([0, 0, 8, n_dims]) or len(content) < header:
        raise ValueError(f"{path} does not start like an idx file of bytes in {n_dims} dimensions")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", count=n_dims, offset=4))
    if len(content) - header != math.prod(shape):
        raise ValueError(f"{path} holds {len(content) - header} bytes of data for shape {shape}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
