"""MNIST is read exactly, and damaged or missing files are refused with the reason."""

import gzip
import struct

import numpy as np
import pytest

from trigpoint.datasets import load_mnist


def idx(array, magic=None):
    """Write an array of bytes in idx format, by the book: http://yann.lecun.com/exdb/mnist."""
    magic = 0x00000800 + array.ndim if magic is None else magic
    return struct.pack(f">I{array.ndim}I", magic, *array.shape) + array.astype(np.uint8).tobytes()


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
        (tmp_path / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return tmp_path


@pytest.mark.parametrize(("split", "prefix"), [("train", "train"), ("test", "t10k")])
def test_pixels_and_labels(folder, digits, split, prefix):
    X, y = load_mnist(folder, split=split)
    images, labels = digits[prefix]
    assert X.dtype == np.float32
    assert y.dtype == np.int64
    np.testing.assert_array_equal(X, images.reshape(-1, 784).astype(np.float32) / 255)
    np.testing.assert_array_equal(y, labels)


def test_all_is_train_then_test(folder):
    X, y = load_mnist(str(folder), split="all")
    assert X.shape == (8, 784)
    np.testing.assert_array_equal(X[:5], load_mnist(folder)[0])
    np.testing.assert_array_equal(y, [5, 0, 4, 1, 9, 7, 2, 1])


def test_pixels_as_they_are(folder, digits):
    X, _ = load_mnist(folder, dtype=np.uint8, scale=False)
    assert X.dtype == np.uint8
    np.testing.assert_array_equal(X, digits["train"][0].reshape(5, 784))
    X, _ = load_mnist(folder, dtype=np.float64, scale=False)
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, digits["train"][0].reshape(5, 784))


def test_result_may_be_written_to(folder):
    X, y = load_mnist(folder)
    X[0, 0] = y[0] = 1


def test_uncompressed_files(folder):
    expected = load_mnist(folder)
    for path in list(folder.glob("train*.gz")):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    for got, want in zip(load_mnist(folder), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("subfolder", [True, False])
def test_environment_variable(folder, monkeypatch, tmp_path_factory, subfolder):
    root = folder
    if subfolder:
        root = tmp_path_factory.mktemp("root")
        folder.rename(root / "mnist")
    monkeypatch.setenv("TRIGPOINT_DATA", str(root))
    assert load_mnist(split="test")[0].shape == (3, 784)


def test_explicit_folder_wins_over_the_environment_variable(folder, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("TRIGPOINT_DATA", str(tmp_path_factory.mktemp("empty")))
    assert load_mnist(folder)[0].shape == (5, 784)


def test_nowhere_to_look(monkeypatch):
    monkeypatch.delenv("TRIGPOINT_DATA", raising=False)
    message = "TRIGPOINT_DATA is not set.*t10k-images-idx3-ubyte.*pass the folder"
    with pytest.raises(FileNotFoundError, match=message):
        load_mnist(split="test")


def test_missing_file_is_named_with_the_place(folder):
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    load_mnist(folder, split="train")
    with pytest.raises(FileNotFoundError) as caught:
        load_mnist(folder, split="all")
    message = str(caught.value)
    assert message.startswith("t10k-labels-idx1-ubyte (or the same with .gz) not found in")
    assert str(folder) in message


def damage(content, kind):
    """Return the bytes of a .gz file of labels, spoilt."""
    if kind == "cut compressed":
        return gzip.compress(content)[:-12]
    if kind == "not compressed":
        return content
    if kind == "cut":
        return gzip.compress(content[:-1])
    if kind == "too long":
        return gzip.compress(content + b"\0")
    if kind == "images":
        return gzip.compress(idx(np.zeros((5, 28, 28))))
    if kind == "floats":
        return gzip.compress(b"\0\0\x0d\x01" + content[4:])
    if kind == "cut header":
        return gzip.compress(content[:6])
    return b""


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("cut compressed", "is damaged"),
        ("not compressed", "is damaged"),
        ("cut", "holds 4 bytes of data, but its header declares 5"),
        ("too long", "holds 6 bytes of data, but its header declares 5"),
        ("images", "0x00000803, expected 0x00000801"),
        ("floats", "0x00000d01, expected 0x00000801"),
        ("cut header", "does not start like an idx file"),
        ("empty", "does not start like an idx file"),
    ],
)
def test_damaged_files_are_refused(folder, digits, kind, message):
    path = folder / "train-labels-idx1-ubyte.gz"
    path.write_bytes(damage(idx(digits["train"][1]), kind))
    with pytest.raises(ValueError, match=message) as caught:
        load_mnist(folder)
    assert str(path) in str(caught.value)


def test_counts_must_agree(folder):
    path = folder / "train-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(idx(np.zeros(4))))
    with pytest.raises(ValueError, match=r"5 images but .* 4 labels"):
        load_mnist(folder)


def test_other_image_sizes_are_refused(folder):
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx(np.zeros((5, 14, 14)))))
    with pytest.raises(ValueError, match=r"images of \(14, 14\) pixels"):
        load_mnist(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "validation"}, "split='validation' .* 'train', 'test', 'all'"),
        ({"dtype": np.uint8}, "dtype=uint8 cannot hold"),
        ({"dtype": np.complex128}, "dtype=complex128 cannot hold"),
        ({"dtype": np.int8, "scale": False}, "dtype=int8 cannot hold the pixel value 255"),
    ],
)
def test_wrong_parameters_are_named(folder, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_mnist(folder, **arguments)


def test_the_real_files(data_dir):
    folder = data_dir / "mnist"
    if not folder.is_dir():
        pytest.skip(f"no MNIST files: {folder} does not exist")
    X, y = load_mnist(folder, split="test")
    assert X.shape == (10_000, 784)
    assert X.min() == 0
    assert X.max() == 1
    # Counts of the digits and mean grey value of the test images, widely published.
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_array_equal(np.bincount(y), counts)
    assert X.mean(dtype=np.float64) == pytest.approx(0.1325, abs=1e-4)
    # The outermost frame of the images is empty, which it would not be if rows were shifted.
    frame = X.reshape(-1, 28, 28)[:, [0, -1], :]
    assert frame.mean() < 1e-3
    X, y = load_mnist(folder, dtype=np.uint8, scale=False)
    assert X.shape == (60_000, 784)
    np.testing.assert_array_equal(y[:5], [5, 0, 4, 1, 9])
