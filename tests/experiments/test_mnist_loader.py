"""MNIST is read exactly, and damaged or missing files are refused with the reason."""

import gzip
import struct

import numpy as np
import pytest

from experiments.data.mnist import load_mnist


def idx(array):
    """Write an array of bytes in idx format, by the book: http://yann.lecun.com/exdb/mnist."""
    header = struct.pack(f">I{array.ndim}I", 0x00000800 + array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def digits():
    rng = np.random.default_rng(0)
    return {
        "train": (rng.integers(0, 256, (5, 28, 28), dtype=np.uint8), np.array([5, 0, 4, 1, 9])),
        "t10k": (rng.integers(0, 256, (3, 28, 28), dtype=np.uint8), np.array([7, 2, 1])),
    }


@pytest.fixture
def folder(tmp_path, digits):
    for prefix, (images, labels) in digits.items():
        (tmp_path / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(labels))
    return tmp_path


@pytest.mark.parametrize(("split", "prefix"), [("train", "train"), ("test", "t10k")])
def test_pixels_and_labels(folder, digits, split, prefix):
    X, y = load_mnist(folder, split=split)
    images, labels = digits[prefix]
    assert X.dtype == np.float32
    assert y.dtype == np.int64
    np.testing.assert_array_equal(X, images.reshape(-1, 784).astype(np.float32) / 255)
    np.testing.assert_array_equal(y, labels)


def test_missing_file_is_named_with_its_folder(folder):
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError, match="t10k-labels-idx1-ubyte") as caught:
        load_mnist(folder, split="test")
    assert str(folder) in str(caught.value)


def test_the_real_files(data_dir):
    folder = data_dir / "mnist"
    if not folder.is_dir():
        pytest.skip(f"no MNIST files: {folder} does not exist")
    X, y = load_mnist(folder, split="test")
    assert X.shape == (10_000, 784)
    # Counts of the digits and mean grey value of the test images, widely published.
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_array_equal(np.bincount(y), counts)
    assert X.mean(dtype=np.float64) == pytest.approx(0.1325, abs=1e-4)
    # The outermost frame of the images is empty, which it would not be if rows were shifted.
    assert X.reshape(-1, 28, 28)[:, [0, -1], :].mean() < 1e-3
