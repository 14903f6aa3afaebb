"""The data sets of the benchmarks."""

import numpy as np

import trigpoint as tp
from experiments.framework.experiment import Settings

NO_MNIST = "MNIST was left out of this run: `DATA=` names the folder that holds `mnist/`."

# Paths of the real data in the data folder.
PLACES = {
    "mnist": "mnist",
    "lidar": "points/lidar_lonestar.npz",
    "coil": "points/coil20_1440x1024.npz",
}


def missing(kind: str, settings: Settings) -> bool:
    """Whether this is real data whose files are missing."""
    return kind in PLACES and not settings.has(PLACES[kind])


def swiss_roll(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Swiss roll of `n` points in float32, and its arc length and height."""
    return tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)


def mnist(settings: Settings, split: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """First `n` images of MNIST in float32 from 0 to 1, and their digits."""
    X, digits = tp.datasets.load_mnist(settings.find(PLACES["mnist"]), split=split)
    return X[:n].copy(), digits[:n]


def real(settings: Settings, kind: str) -> np.ndarray:
    """20,000 digits of MNIST, a fifth of the LiDAR scan, or all images of COIL-20."""
    if kind == "mnist":
        return mnist(settings, "train", 20_000)[0]
    with np.load(settings.find(PLACES[kind])) as file:
        X = file["xyz"][::5] if kind == "lidar" else file["X"]
    # Centered, for methods that multiply in float32.
    return (X - X.mean(axis=0)).astype(np.float64)


def sample_rows(n: int, size: int) -> np.ndarray:
    """Fixed random rows, the same for every method."""
    return np.sort(np.random.default_rng(0).permutation(n)[:size])
