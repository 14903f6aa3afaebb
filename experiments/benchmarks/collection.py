"""Data sets of 3 to 1,024 dimensions that default settings are tried on, with and without classes.

Some were looked at when the defaults were chosen, the others were not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec

import numpy as np
from sklearn import datasets

import trigpoint as tp
from experiments.data import cut_patches, load_mnist
from experiments.framework.experiment import Settings

# Points, and classes where there are any.
Labeled = tuple[np.ndarray, np.ndarray | None]

SIZE = 10_000


@dataclass(frozen=True)
class Entry:
    """A data set: how to get it, where its files are, and whether the defaults were chosen on it.

    `path` is that of a file or folder of the real data, `package` the one that ships the data.
    `few` marks those of fewer than 2,500 points, whose scores vary more.
    """

    load: Callable[[Settings], Labeled]
    known: bool
    few: bool = False
    path: str | None = None
    package: str | None = None

    def missing(self, settings: Settings) -> bool:
        """Whether its files or its package are not here."""
        absent = self.path is not None and not settings.has(self.path)
        return absent or (self.package is not None and find_spec(self.package) is None)


def load(name: str, settings: Settings) -> Labeled:
    """Points in float32, at most `SIZE` of them, and their classes as integers."""
    X, labels = COLLECTION[name].load(settings)
    rows = np.random.default_rng(0).permutation(len(X))[:SIZE]
    # Some coordinates are those of a map, whose origin is far away.
    X = (X[rows] - np.mean(X, axis=0, dtype=np.float64)).astype(np.float32)
    if labels is None:
        return X, None
    return X, np.unique(labels[rows], return_inverse=True)[1]


def _random() -> np.random.Generator:
    return np.random.default_rng(7)


def _scaled(X: np.ndarray) -> np.ndarray:
    """Columns of a table, brought to the same scale."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


# Surfaces and other made shapes ---------------------------------------------------------------


def _roll(settings: Settings) -> Labeled:
    return tp.datasets.make_swiss_roll(SIZE, random_state=0)[0], None


def _bowl(settings: Settings) -> Labeled:
    return tp.datasets.make_fish_bowl(SIZE, random_state=0)[0], None


def _wavy(settings: Settings) -> Labeled:
    """A rectangle bent into waves, with a little noise."""
    rng = _random()
    a, b = (rng.random((SIZE, 2)) * [6, 3]).T
    X = np.stack([a, b, 0.6 * np.sin(2 * a) * np.cos(b)], axis=1)
    return X + 0.02 * rng.normal(size=X.shape), None


def _torus(settings: Settings) -> Labeled:
    """A bent torus in six dimensions."""
    rng = _random()
    u, v = 2 * np.pi * rng.random((2, SIZE))
    flat = [np.cos(u), np.sin(u), np.cos(v), np.sin(v)]
    X = np.stack([*flat, 0.3 * np.cos(u + v), 0.3 * np.sin(u - v)], axis=1)
    return X + 0.01 * rng.normal(size=X.shape), None


def _cube(settings: Settings) -> Labeled:
    """A solid cube, bent into twelve dimensions."""
    rng = _random()
    X = np.sin(1.2 * rng.random((SIZE, 3)) @ rng.normal(size=(3, 12)))
    return X + 0.01 * rng.normal(size=X.shape), None


def _noisy_roll(settings: Settings) -> Labeled:
    """A Swiss roll with noise in forty dimensions."""
    rng = _random()
    roll, _ = tp.datasets.make_swiss_roll(SIZE, random_state=1)
    plane = np.linalg.qr(rng.normal(size=(40, 3)))[0]
    return roll @ plane.T + 0.25 * rng.normal(size=(SIZE, 40)), None


def _sphere(settings: Settings) -> Labeled:
    """A sphere of five dimensions, bent into a hundred."""
    rng = _random()
    u = rng.normal(size=(SIZE, 6))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return np.tanh(u @ rng.normal(size=(6, 100))) + 0.05 * rng.normal(size=(SIZE, 100)), None


def _clusters(settings: Settings) -> Labeled:
    """Twelve overlapping clusters of different shapes in twenty dimensions."""
    rng = _random()
    centers, widths = 1.2 * rng.normal(size=(12, 20)), 0.4 + 0.6 * rng.random((12, 20))
    labels = rng.integers(12, size=SIZE)
    return centers[labels] + rng.normal(size=(SIZE, 20)) * widths[labels], labels


def _waves(settings: Settings) -> Labeled:
    """Noisy sines and square waves of four frequencies at any phase."""
    rng = _random()
    labels = rng.integers(4, size=6000)
    frequencies = 1 + labels + 0.3 * rng.normal(size=6000)
    turns = frequencies[:, None] * np.linspace(0, 1, 96) + rng.random((6000, 1))
    sine = np.sin(2 * np.pi * turns)
    X = np.where((labels % 2 == 0)[:, None], sine, 0.7 * np.sign(sine))
    return X + 0.3 * rng.normal(size=X.shape), labels


def _hole(settings: Settings) -> Labeled:
    """A Swiss roll with a hole, and noise."""
    return datasets.make_swiss_roll(SIZE, noise=0.3, hole=True, random_state=0)[0], None


def _s_curve(settings: Settings) -> Labeled:
    return datasets.make_s_curve(SIZE, noise=0.05, random_state=0)[0], None


def _tube(settings: Settings) -> Labeled:
    """The surface of a tube that runs along a helix."""
    rng = _random()
    t, angle = 4 * np.pi * rng.random(SIZE), 2 * np.pi * rng.random(SIZE)
    outward = np.stack([np.cos(t), np.sin(t), np.zeros(SIZE)], axis=1)
    along = np.stack([-np.sin(t), np.cos(t), np.full(SIZE, 0.3)], axis=1)
    across = np.cross(along / np.linalg.norm(along, axis=1, keepdims=True), outward)
    middle = np.stack([np.cos(t), np.sin(t), 0.3 * t], axis=1)
    around = np.cos(angle)[:, None] * outward + np.sin(angle)[:, None] * across
    return middle + 0.35 * around, None


def _classes(settings: Settings) -> Labeled:
    """Six classes in fifty columns, of which twelve matter and eighteen are their mixtures."""
    return datasets.make_classification(
        8000, 50, n_informative=12, n_redundant=18, n_classes=6, class_sep=1.5, random_state=0
    )


def _copula(settings: Settings) -> Labeled:
    """Thirty correlated columns of different distributions, as in tables of measurements."""
    rng = _random()
    normal = rng.normal(size=(SIZE, 6)) @ rng.normal(size=(6, 30)) + rng.normal(size=(SIZE, 30))
    normal /= normal.std(axis=0)
    X = np.concatenate([normal[:, :10], np.exp(normal[:, 10:20]), np.tanh(normal[:, 20:])], axis=1)
    return _scaled(X), None


def _chirps(settings: Settings) -> Labeled:
    """Noisy spectrograms of tones that rise, fall, stay, or rise and fall again."""
    rng = _random()
    n, times, bands = 6000, np.linspace(0, 1, 16), np.arange(24)
    labels = rng.integers(4, size=n)
    shapes = np.stack([times, 1 - times, np.full(16, 0.5), 1 - np.abs(2 * times - 1)])
    start, span = 10 * rng.random((n, 1)), 6 + 6 * rng.random((n, 1))
    pitch = start + span * shapes[labels]
    power = np.exp(-((bands[:, None] - pitch[:, None, :]) ** 2) / 2)
    power *= 0.5 + rng.random((n, 1, 1))
    return (power + 0.15 * np.abs(rng.normal(size=power.shape))).reshape(n, -1), labels


def _arms(settings: Settings) -> Labeled:
    """Pictures of an arm with two joints, at any angles."""
    rng = _random()
    n, width = 5000, 24
    first, second = 2 * np.pi * rng.random(n), np.pi * rng.random(n)
    along = np.linspace(0, 1, 8)[:, None, None]
    unit = [np.stack([np.cos(angle), np.sin(angle)], axis=1) for angle in (first, first + second)]
    elbow = 5.5 * unit[0]
    beads = np.concatenate([along * elbow, elbow + along * 5 * unit[1]]) + (width - 1) / 2
    pixels = np.arange(width)
    X = np.zeros((n, width, width))
    for bead in beads:
        x, y = (np.exp(-((pixels - bead[:, axis, None]) ** 2) / 2) for axis in (0, 1))
        np.maximum(X, x[:, :, None] * y[:, None, :], out=X)
    return X.reshape(n, -1), None


# Shipped with packages ------------------------------------------------------------------------


def _digits(settings: Settings) -> Labeled:
    return datasets.load_digits(return_X_y=True)


def _cancer(settings: Settings) -> Labeled:
    X, labels = datasets.load_breast_cancer(return_X_y=True)
    return _scaled(X), labels


def _wine(settings: Settings) -> Labeled:
    X, labels = datasets.load_wine(return_X_y=True)
    return _scaled(X), labels


def _diabetes(settings: Settings) -> Labeled:
    return _scaled(datasets.load_diabetes(return_X_y=True, scaled=False)[0]), None


def _photos(settings: Settings) -> Labeled:
    """Pieces of 6 x 6 pixels of two photographs, a temple and a flower."""
    rng = _random()
    width, parts = 6, []
    for name in ("china.jpg", "flower.jpg"):
        photo = datasets.load_sample_image(name) / 255.0
        corners = rng.integers(np.array(photo.shape[:2]) - width, size=(4000, 2))
        parts.append(np.array([photo[a : a + width, b : b + width].ravel() for a, b in corners]))
    return np.concatenate(parts), np.repeat([0, 1], 4000)


def _river(file: str) -> Callable[[Settings], Labeled]:
    """A table of the package river, whose last column is the class."""

    def load(settings: Settings) -> Labeled:
        import pandas as pd

        with as_file(files("river") / "datasets" / file) as path:
            table = pd.read_csv(path)
        return _scaled(table.iloc[:, :-1].to_numpy(np.float64)), table.iloc[:, -1].to_numpy()

    return load


# In the folder of the real data ---------------------------------------------------------------

_POINTS = {
    name: f"points/{file}"
    for name, file in {
        "mammoth": "mammoth_50000x3_f32.npy",
        "lidar": "lidar_lonestar.npz",
        "coil": "coil20_1440x1024.npz",
        "faces": "isomap_faces_698x1024.npz",
        "frey": "frey_faces_1965x560.npz",
        "cells": "10x_pbmc68k_reduced.h5ad",
    }.items()
}


def _array(name: str, key: str, classes: str | None = None) -> Callable[[Settings], Labeled]:
    """Arrays of an ``.npz`` file."""

    def load(settings: Settings) -> Labeled:
        with np.load(settings.find(_POINTS[name])) as file:
            return file[key], None if classes is None else file[classes]

    return load


def _mammoth(settings: Settings) -> Labeled:
    return np.load(settings.find(_POINTS["mammoth"])), None


def _cells(settings: Settings) -> Labeled:
    """Blood cells by their genes, and their types."""
    import h5py

    with h5py.File(settings.find(_POINTS["cells"])) as file:
        return file["X"][:], file["obs"]["bulk_labels"]


def _mnist(settings: Settings) -> Labeled:
    return load_mnist(settings.find("mnist"), split="train")


def _small_mnist(settings: Settings) -> Labeled:
    """The digits for testing, in 14 x 14 pixels."""
    X, labels = load_mnist(settings.find("mnist"), split="test")
    return X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1), labels


def _ct(folder: str, shape: tuple[int, int, int]) -> Callable[[Settings], Labeled]:
    """Patches of CT scans, as many of each organ as of their surroundings."""

    def load(settings: Settings) -> Labeled:
        patches = cut_patches(settings.find(folder), patch_shape=shape, per_class=2000)
        return patches.X, patches.y

    return load


_OPENKBP, _RTOG = "ct/openkbp", "ct/rtog-0522c0002"

COLLECTION = {
    "roll": Entry(_roll, known=True),
    "bowl": Entry(_bowl, known=True),
    "wavy sheet": Entry(_wavy, known=True),
    "mammoth": Entry(_mammoth, known=True, path=_POINTS["mammoth"]),
    "lidar": Entry(_array("lidar", "xyz"), known=True, path=_POINTS["lidar"]),
    "torus": Entry(_torus, known=True),
    "shuttle": Entry(_river("shuttle.csv.gz"), known=True, package="river"),
    "cube": Entry(_cube, known=True),
    "segment": Entry(_river("segment.csv.zip"), known=True, few=True, package="river"),
    "clusters": Entry(_clusters, known=True),
    "cancer": Entry(_cancer, known=True, few=True),
    "noisy roll": Entry(_noisy_roll, known=True),
    "digits": Entry(_digits, known=True, few=True),
    "waves": Entry(_waves, known=True),
    "sphere": Entry(_sphere, known=True),
    "CT": Entry(_ct(_OPENKBP, (7, 7, 3)), known=True, path=_OPENKBP),
    "CT, fine": Entry(_ct(_RTOG, (7, 7, 3)), known=True, path=_RTOG),
    "Frey faces": Entry(_array("frey", "X"), known=True, few=True, path=_POINTS["frey"]),
    "cells": Entry(_cells, known=True, few=True, path=_POINTS["cells"]),
    "MNIST": Entry(_mnist, known=True, path="mnist"),
    "COIL-20": Entry(_array("coil", "X", "y"), known=True, few=True, path=_POINTS["coil"]),
    "Isomap faces": Entry(_array("faces", "X"), known=True, few=True, path=_POINTS["faces"]),
    "roll with a hole": Entry(_hole, known=False),
    "S": Entry(_s_curve, known=False),
    "tube": Entry(_tube, known=False),
    "phishing": Entry(_river("phishing.csv.gz"), known=False, few=True, package="river"),
    "diabetes": Entry(_diabetes, known=False, few=True),
    "wine": Entry(_wine, known=False, few=True),
    "copula": Entry(_copula, known=False),
    "classes": Entry(_classes, known=False),
    "photographs": Entry(_photos, known=False),
    "CT, cubes": Entry(_ct(_OPENKBP, (5, 5, 5)), known=False, path=_OPENKBP),
    "MNIST, small": Entry(_small_mnist, known=False, path="mnist"),
    "chirps": Entry(_chirps, known=False),
    "arms": Entry(_arms, known=False),
}
