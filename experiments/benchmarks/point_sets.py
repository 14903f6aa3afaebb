"""The data sets of the benchmarks."""

import numpy as np

import trigpoint as tp
from experiments.data import load_mnist, load_patches
from experiments.runner import Settings


def swiss_roll(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Swiss roll of `n` points in float32, and its arc length and height."""
    return tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)


def mnist(settings: Settings, split: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """First `n` images of MNIST in float32 from 0 to 1, and their digits."""
    X, digits = load_mnist(settings.find("mnist"), split=split)
    return X[:n].copy(), digits[:n]


def coil(settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Images of COIL-20 from 0 to 1, and their objects."""
    with np.load(settings.find("points/coil20_1440x1024.npz")) as file:
        X = file["X"].astype(np.float32)
        return X / X.max(), file["y"]


def patches(settings: Settings, n: int, source: str = "openkbp") -> tuple[np.ndarray, np.ndarray]:
    """Patches of CT scans as the paper's experiment takes them, and their classes."""
    found = load_patches(settings.find("ct"), source, n)
    return found.X, found.y


def cells(settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Blood cells by the activity of their genes, and their types as integers."""
    import h5py

    with h5py.File(settings.find("points/10x_pbmc68k_reduced.h5ad")) as file:
        types = file["obs"]["bulk_labels"]
        return file["X"][:].astype(np.float32), np.unique(types[:], return_inverse=True)[1]


def mammoth(settings: Settings) -> np.ndarray:
    """Points of a mammoth's skeleton."""
    return np.load(settings.find("points/mammoth_50000x3_f32.npy"))


def lidar(settings: Settings) -> np.ndarray:
    """Points of a scan of a landscape."""
    with np.load(settings.find("points/lidar_lonestar.npz")) as file:
        return file["xyz"]


def real(settings: Settings, kind: str) -> np.ndarray:
    """20,000 digits of MNIST, a fifth of the LiDAR scan, or all images of COIL-20."""
    if kind == "mnist":
        return mnist(settings, "train", 20_000)[0]
    X = lidar(settings)[::5] if kind == "lidar" else coil(settings)[0]
    # Centered, for methods that multiply in float32.
    return (X - X.mean(axis=0)).astype(np.float64)


def sample_rows(n: int, size: int) -> np.ndarray:
    """Fixed random rows, the same for every method."""
    return np.sort(np.random.default_rng(0).permutation(n)[:size])
