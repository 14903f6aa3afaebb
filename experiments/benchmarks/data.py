"""The points that are measured on."""

import os
from pathlib import Path

import numpy as np

import trigpoint as tp
from experiments.paper.patches import load_patches

BESIDE = Path(__file__).parents[3] / "shared" / "data"
NO_MNIST = (
    "MNIST took no part in this run: its files are looked for in the folder that TRIGPOINT_DATA "
    "names."
)


def swiss_roll(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Swiss roll of `n` points in float32, and its arc length and height."""
    return tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)


def mnist_folder() -> Path | None:
    """Folder of the MNIST files, from TRIGPOINT_DATA or beside the repository."""
    root = Path(os.environ.get("TRIGPOINT_DATA", BESIDE))
    folder = root / "mnist" if (root / "mnist").is_dir() else root
    return folder if any(folder.glob("train-images-idx3-ubyte*")) else None


def mnist(split: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """First `n` images of MNIST in float32 from 0 to 1, and their digits."""
    folder = mnist_folder()
    if folder is None:
        raise FileNotFoundError(NO_MNIST)
    X, digits = tp.datasets.load_mnist(folder, split=split)
    return X[:n].copy(), digits[:n]


def all_mnist(n: int) -> tuple[np.ndarray, np.ndarray]:
    """First `n` of the training and test images together, and their digits."""
    return mnist("all", n)


REAL = {
    "lidar": "points/lidar_lonestar.npz",
    "coil": "points/coil20_1440x1024.npz",
    "faces": "points/isomap_faces_698x1024.npz",
    "patches": "ct",
}


def missing(kind: str) -> bool:
    """Whether the files of real data are not there."""
    return mnist_folder() is None if kind == "mnist" else not _file(kind).exists()


def _file(kind: str) -> Path:
    return Path(os.environ.get("TRIGPOINT_DATA", BESIDE)) / REAL[kind]


def images(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Images of COIL-20 from 0 to 1 and their objects, or faces and their pose and light."""
    with np.load(_file(kind)) as file:
        X = file["X"].astype(np.float32)
        return X / X.max(), file["y" if kind == "coil" else "params"]


def patches(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Patches of CT scans as the paper's experiment takes them, and their classes."""
    found = load_patches(_file("patches"), "openkbp", n)
    return found.X, found.y


def real(kind: str) -> np.ndarray:
    """20,000 digits of MNIST, a fifth of the LiDAR scan, or all images of COIL-20."""
    if kind == "mnist":
        return mnist("train", 20_000)[0]
    with np.load(_file(kind)) as file:
        X = file["xyz"][::5] if kind == "lidar" else file["X"]
    # Around their centre, for those who multiply in float32.
    return (X - X.mean(axis=0)).astype(np.float64)


def points(spec: dict) -> np.ndarray:
    """Points of a measurement: ``spec["data"]`` is "roll" or "mnist"."""
    return swiss_roll(spec["n"])[0] if spec["data"] == "roll" else mnist("train", spec["n"])[0]


def sample_rows(n: int, size: int) -> np.ndarray:
    """Fixed random rows, the same for every method."""
    return np.sort(np.random.default_rng(0).permutation(n)[:size])
