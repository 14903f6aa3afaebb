"""The data sets of the benchmarks."""

import numpy as np

import trigpoint as tp
from experiments.data import load_mnist, load_patches
from experiments.runner import Settings


def swiss_roll(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Swiss roll of `n` points in float32, and its arc length and height."""
    return tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)


def real(kind: str, settings: Settings, n: int = 0) -> tuple[np.ndarray, np.ndarray | None]:
    """Points of real data in their order, and their classes where there are any.

    `n` is the number of patches, or of the first digits of MNIST, of which those for testing come
    last.
    """
    if kind == "mnist":
        parts = (load_mnist(settings.find("mnist"), split=split) for split in ("train", "test"))
        X, labels = (np.concatenate(values)[:n] for values in zip(*parts, strict=True))
        return X, labels
    if kind == "mammoth":
        return np.load(settings.find("points/mammoth_50000x3_f32.npy")), None
    if kind == "cells":
        import h5py

        with h5py.File(settings.find("points/10x_pbmc68k_reduced.h5ad")) as file:
            types = file["obs"]["bulk_labels"][:]
            return file["X"][:].astype(np.float32), np.unique(types, return_inverse=True)[1]
    if kind in ARRAYS:
        name, points, classes = ARRAYS[kind]
        with np.load(settings.find(f"points/{name}.npz")) as file:
            return file[points], None if classes is None else file[classes]
    found = load_patches(settings.find("ct"), "rtog" if kind == "fine patches" else "openkbp", n)
    return found.X, found.y


# Files with several arrays: the names of the file, of the points and of their classes.
ARRAYS: dict[str, tuple[str, str, str | None]] = {
    "coil": ("coil20_1440x1024", "X", "y"),
    "frey": ("frey_faces_1965x560", "X", None),
    "isomap": ("isomap_faces_698x1024", "X", None),
    "lidar": ("lidar_lonestar", "xyz", None),
}


def pixels(settings: Settings) -> tuple[np.ndarray, np.ndarray | None]:
    """Images of COIL-20 from 0 to 1, and their objects."""
    X, objects = real("coil", settings)
    X = X.astype(np.float32)
    return X / X.max(), objects


def centered(kind: str, settings: Settings) -> np.ndarray:
    """20,000 digits of MNIST as they are, or a fifth of the LiDAR scan or all of COIL-20."""
    if kind == "mnist":
        return real(kind, settings, 20_000)[0]
    X = real(kind, settings)[0][::5] if kind == "lidar" else pixels(settings)[0]
    # For methods that multiply in float32.
    return (X - X.mean(axis=0)).astype(np.float64)


def sample_rows(n: int, size: int) -> np.ndarray:
    """Fixed random rows, the same for every method."""
    return np.sort(np.random.default_rng(0).permutation(n)[:size])
