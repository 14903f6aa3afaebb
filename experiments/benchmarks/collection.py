"""Data sets of 3 to 1,024 dimensions that default settings are tried on, with and without classes.

Some were looked at when the defaults were chosen, the others were not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import as_file, files
from typing import Any

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


def _made(make: Callable[[np.random.Generator], Labeled], known: bool) -> "Entry":
    """A data set that is made at random."""
    return Entry(lambda settings: make(np.random.default_rng(7)), known)


def _points(make: Callable[..., tuple], known: bool, **options: Any) -> "Entry":
    """The points of a function that makes surfaces."""
    return Entry(lambda settings: (make(SIZE, random_state=0, **options)[0], None), known)


def scaled(X: np.ndarray) -> np.ndarray:
    """Columns of a table, brought to the same scale."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


# Surfaces and other made shapes ---------------------------------------------------------------


def _wavy(rng: np.random.Generator) -> Labeled:
    """A rectangle bent into waves, with a little noise."""
    a, b = (rng.random((SIZE, 2)) * [6, 3]).T
    X = np.stack([a, b, 0.6 * np.sin(2 * a) * np.cos(b)], axis=1)
    return X + 0.02 * rng.normal(size=X.shape), None


def _torus(rng: np.random.Generator) -> Labeled:
    """A bent torus in six dimensions."""
    u, v = 2 * np.pi * rng.random((2, SIZE))
    flat = [np.cos(u), np.sin(u), np.cos(v), np.sin(v)]
    X = np.stack([*flat, 0.3 * np.cos(u + v), 0.3 * np.sin(u - v)], axis=1)
    return X + 0.01 * rng.normal(size=X.shape), None


def _cube(rng: np.random.Generator) -> Labeled:
    """A solid cube, bent into twelve dimensions."""
    X = np.sin(1.2 * rng.random((SIZE, 3)) @ rng.normal(size=(3, 12)))
    return X + 0.01 * rng.normal(size=X.shape), None


def _noisy_roll(rng: np.random.Generator) -> Labeled:
    """A Swiss roll with noise in forty dimensions."""
    roll, _ = tp.datasets.make_swiss_roll(SIZE, random_state=1)
    plane = np.linalg.qr(rng.normal(size=(40, 3)))[0]
    return roll @ plane.T + 0.25 * rng.normal(size=(SIZE, 40)), None


def _sphere(rng: np.random.Generator) -> Labeled:
    """A sphere of five dimensions, bent into a hundred."""
    u = rng.normal(size=(SIZE, 6))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return np.tanh(u @ rng.normal(size=(6, 100))) + 0.05 * rng.normal(size=(SIZE, 100)), None


def _clusters(rng: np.random.Generator) -> Labeled:
    """Twelve overlapping clusters of different shapes in twenty dimensions."""
    centers, widths = 1.2 * rng.normal(size=(12, 20)), 0.4 + 0.6 * rng.random((12, 20))
    labels = rng.integers(12, size=SIZE)
    return centers[labels] + rng.normal(size=(SIZE, 20)) * widths[labels], labels


def _waves(rng: np.random.Generator) -> Labeled:
    """Noisy sines and square waves of four frequencies at any phase."""
    labels = rng.integers(4, size=6000)
    frequencies = 1 + labels + 0.3 * rng.normal(size=6000)
    turns = frequencies[:, None] * np.linspace(0, 1, 96) + rng.random((6000, 1))
    sine = np.sin(2 * np.pi * turns)
    X = np.where((labels % 2 == 0)[:, None], sine, 0.7 * np.sign(sine))
    return X + 0.3 * rng.normal(size=X.shape), labels


def _tube(rng: np.random.Generator) -> Labeled:
    """The surface of a tube that runs along a helix."""
    t, angle = 4 * np.pi * rng.random(SIZE), 2 * np.pi * rng.random(SIZE)
    outward = np.stack([np.cos(t), np.sin(t), np.zeros(SIZE)], axis=1)
    along = np.stack([-np.sin(t), np.cos(t), np.full(SIZE, 0.3)], axis=1)
    across = np.cross(along / np.linalg.norm(along, axis=1, keepdims=True), outward)
    middle = np.stack([np.cos(t), np.sin(t), 0.3 * t], axis=1)
    around = np.cos(angle)[:, None] * outward + np.sin(angle)[:, None] * across
    return middle + 0.35 * around, None


def _copula(rng: np.random.Generator) -> Labeled:
    """Thirty correlated columns of different distributions, as in tables of measurements."""
    normal = rng.normal(size=(SIZE, 6)) @ rng.normal(size=(6, 30)) + rng.normal(size=(SIZE, 30))
    normal /= normal.std(axis=0)
    X = np.concatenate([normal[:, :10], np.exp(normal[:, 10:20]), np.tanh(normal[:, 20:])], axis=1)
    return scaled(X), None


def _chirps(rng: np.random.Generator) -> Labeled:
    """Noisy spectrograms of tones that rise, fall, stay, or rise and fall again."""
    n, times, bands = 6000, np.linspace(0, 1, 16), np.arange(24)
    labels = rng.integers(4, size=n)
    shapes = np.stack([times, 1 - times, np.full(16, 0.5), 1 - np.abs(2 * times - 1)])
    start, span = 10 * rng.random((n, 1)), 6 + 6 * rng.random((n, 1))
    pitch = start + span * shapes[labels]
    power = np.exp(-((bands[:, None] - pitch[:, None, :]) ** 2) / 2)
    power *= 0.5 + rng.random((n, 1, 1))
    return (power + 0.15 * np.abs(rng.normal(size=power.shape))).reshape(n, -1), labels


def _arms(rng: np.random.Generator) -> Labeled:
    """Pictures of an arm with two joints, at any angles."""
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


def _measured(load: Callable, settings: Settings) -> Labeled:
    """A table of measurements that scikit-learn ships, in columns of the same scale."""
    X, labels = load(return_X_y=True)
    return scaled(X), labels


def _photos(rng: np.random.Generator) -> Labeled:
    """Pieces of 6 x 6 pixels of two photographs, a temple and a flower."""
    width, parts = 6, []
    for name in ("china.jpg", "flower.jpg"):
        photo = datasets.load_sample_image(name) / 255.0
        corners = rng.integers(np.array(photo.shape[:2]) - width, size=(4000, 2))
        parts.append(np.array([photo[a : a + width, b : b + width].ravel() for a, b in corners]))
    return np.concatenate(parts), np.repeat([0, 1], 4000)


def _river(file: str, settings: Settings) -> Labeled:
    """A table of the package river, whose last column is the class."""
    import pandas as pd

    with as_file(files("river") / "datasets" / file) as path:
        table = pd.read_csv(path)
    return scaled(table.iloc[:, :-1].to_numpy(np.float64)), table.iloc[:, -1].to_numpy()


# In the folder of the real data ---------------------------------------------------------------


def _small_mnist(settings: Settings) -> Labeled:
    """The digits for testing, in 14 x 14 pixels."""
    X, labels = load_mnist(settings.find("mnist"), split="test")
    return X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1), labels


def _ct(folder: str, shape: tuple[int, int, int], settings: Settings) -> Labeled:
    """Patches of CT scans, as many of each organ as of their surroundings."""
    patches = cut_patches(settings.find(folder), patch_shape=shape, per_class=2000)
    return patches.X, patches.y


_OPENKBP, _RTOG = "ct/openkbp", "ct/rtog-0522c0002"

COLLECTION = {
    "roll": _points(tp.datasets.make_swiss_roll, known=True),
    "bowl": _points(tp.datasets.make_fish_bowl, known=True),
    "wavy sheet": _made(_wavy, known=True),
    "mammoth": Entry(partial(point_sets.real, "mammoth"), known=True),
    "lidar": Entry(partial(point_sets.real, "lidar"), known=True),
    "torus": _made(_torus, known=True),
    "shuttle": Entry(partial(_river, "shuttle.csv.gz"), known=True),
    "cube": _made(_cube, known=True),
    "segment": Entry(partial(_river, "segment.csv.zip"), known=True, few=True),
    "clusters": _made(_clusters, known=True),
    "cancer": Entry(partial(_measured, datasets.load_breast_cancer), known=True, few=True),
    "noisy roll": _made(_noisy_roll, known=True),
    "digits": Entry(lambda s: datasets.load_digits(return_X_y=True), known=True, few=True),
    "waves": _made(_waves, known=True),
    "sphere": _made(_sphere, known=True),
    "CT": Entry(partial(_ct, _OPENKBP, (7, 7, 3)), known=True),
    "CT, fine": Entry(partial(_ct, _RTOG, (7, 7, 3)), known=True),
    "Frey faces": Entry(partial(point_sets.real, "frey"), known=True, few=True),
    "cells": Entry(partial(point_sets.real, "cells"), known=True, few=True),
    "MNIST": Entry(lambda s: load_mnist(s.find("mnist")), known=True),
    "COIL-20": Entry(partial(point_sets.real, "coil"), known=True, few=True),
    "Isomap faces": Entry(partial(point_sets.real, "isomap"), known=True, few=True),
    "roll with a hole": _points(datasets.make_swiss_roll, known=False, noise=0.3, hole=True),
    "S": _points(datasets.make_s_curve, known=False, noise=0.05),
    "tube": _made(_tube, known=False),
    "phishing": Entry(partial(_river, "phishing.csv.gz"), known=False, few=True),
    "diabetes": Entry(
        lambda s: (scaled(datasets.load_diabetes(return_X_y=True, scaled=False)[0]), None),
        known=False,
        few=True,
    ),
    "wine": Entry(partial(_measured, datasets.load_wine), known=False, few=True),
    "copula": _made(_copula, known=False),
    "classes": Entry(
        lambda s: datasets.make_classification(
            8000, 50, n_informative=12, n_redundant=18, n_classes=6, class_sep=1.5, random_state=0
        ),
        known=False,
    ),
    "photographs": _made(_photos, known=False),
    "CT, cubes": Entry(partial(_ct, _OPENKBP, (5, 5, 5)), known=False),
    "MNIST, small": Entry(_small_mnist, known=False),
    "chirps": _made(_chirps, known=False),
    "arms": _made(_arms, known=False),
}
