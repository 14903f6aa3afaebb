"""Data sets of 3 to 1,024 dimensions that default settings are tried on, with and without classes.

Some were looked at when the defaults were chosen, the others were not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from sklearn import datasets

import trigpoint as tp
from experiments.benchmarks import point_sets
from experiments.data import cut_patches, load_mnist
from experiments.runner import Settings

# Points, and classes where there are any.
Labeled = tuple[np.ndarray, np.ndarray | None]

SIZE = 10_000


@dataclass(frozen=True)
class Entry:
    """A data set: how to get it, and whether the defaults were chosen on it.

    `few` marks those of fewer than 2,500 points, whose scores vary more.
    """

    load: Callable[[Settings], Labeled]
    known: bool
    few: bool = False


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


def _measured(load: Callable) -> Callable[[Settings], Labeled]:
    """A table of measurements that scikit-learn ships, in columns of the same scale."""

    def scaled(settings: Settings) -> Labeled:
        X, labels = load(return_X_y=True)
        return _scaled(X), labels

    return scaled


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


def _array(file: str, key: str, classes: str | None = None) -> Callable[[Settings], Labeled]:
    """Arrays of an ``.npz`` file."""

    def load(settings: Settings) -> Labeled:
        with np.load(settings.find(f"points/{file}.npz")) as arrays:
            return arrays[key], None if classes is None else arrays[classes]

    return load


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
    "roll": Entry(
        lambda s: (tp.datasets.make_swiss_roll(SIZE, random_state=0)[0], None), known=True
    ),
    "bowl": Entry(
        lambda s: (tp.datasets.make_fish_bowl(SIZE, random_state=0)[0], None), known=True
    ),
    "wavy sheet": Entry(_wavy, known=True),
    "mammoth": Entry(lambda s: (point_sets.mammoth(s), None), known=True),
    "lidar": Entry(_array("lidar_lonestar", "xyz"), known=True),
    "torus": Entry(_torus, known=True),
    "shuttle": Entry(_river("shuttle.csv.gz"), known=True),
    "cube": Entry(_cube, known=True),
    "segment": Entry(_river("segment.csv.zip"), known=True, few=True),
    "clusters": Entry(_clusters, known=True),
    "cancer": Entry(_measured(datasets.load_breast_cancer), known=True, few=True),
    "noisy roll": Entry(_noisy_roll, known=True),
    "digits": Entry(lambda s: datasets.load_digits(return_X_y=True), known=True, few=True),
    "waves": Entry(_waves, known=True),
    "sphere": Entry(_sphere, known=True),
    "CT": Entry(_ct(_OPENKBP, (7, 7, 3)), known=True),
    "CT, fine": Entry(_ct(_RTOG, (7, 7, 3)), known=True),
    "Frey faces": Entry(_array("frey_faces_1965x560", "X"), known=True, few=True),
    "cells": Entry(point_sets.cells, known=True, few=True),
    "MNIST": Entry(lambda s: load_mnist(s.find("mnist")), known=True),
    "COIL-20": Entry(_array("coil20_1440x1024", "X", "y"), known=True, few=True),
    "Isomap faces": Entry(_array("isomap_faces_698x1024", "X"), known=True, few=True),
    "roll with a hole": Entry(_hole, known=False),
    "S": Entry(
        lambda s: (datasets.make_s_curve(SIZE, noise=0.05, random_state=0)[0], None), known=False
    ),
    "tube": Entry(_tube, known=False),
    "phishing": Entry(_river("phishing.csv.gz"), known=False, few=True),
    "diabetes": Entry(
        lambda s: (_scaled(datasets.load_diabetes(return_X_y=True, scaled=False)[0]), None),
        known=False,
        few=True,
    ),
    "wine": Entry(_measured(datasets.load_wine), known=False, few=True),
    "copula": Entry(_copula, known=False),
    "classes": Entry(
        lambda s: datasets.make_classification(
            8000, 50, n_informative=12, n_redundant=18, n_classes=6, class_sep=1.5, random_state=0
        ),
        known=False,
    ),
    "photographs": Entry(_photos, known=False),
    "CT, cubes": Entry(_ct(_OPENKBP, (5, 5, 5)), known=False),
    "MNIST, small": Entry(_small_mnist, known=False),
    "chirps": Entry(_chirps, known=False),
    "arms": Entry(_arms, known=False),
}
