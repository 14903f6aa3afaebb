"""The CT patches of the head-and-neck experiment, and how they are split."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.data.ct_patches import load_ct_patches

SOURCES = {"openkbp": "openkbp", "rtog": "rtog-0522c0002"}
SPLITS = ("patch", "patient")

# Soft tissue; anything darker or brighter is clipped.
WINDOW_HU = (-200.0, 300.0)

# The paper gives a bandwidth of 5 and no unit of intensity. With this one, the bandwidth bears the
# same relation to distances of patches as to those of digits, whose pixels range from 0 to 1: in
# both, the nearest of 2,000 others is 1.1 bandwidths away in the median.
UNIT_HU = 140.0

# At the paper's resolution, about 40,000 of some 150,000 patches of three scans can be of organs.
ORGAN_SHARE = 0.3

# As in the paper, slightly more than half of the patches are for training.
TRAIN_SHARE = 80 / 150


@dataclass(frozen=True)
class Patches:
    """Labeled patches: points, classes, and the patient of each."""

    X: np.ndarray
    y: np.ndarray
    patients: np.ndarray


@lru_cache(maxsize=2)
def load_patches(folder: Path, source: str, n_patches: int) -> Patches:
    """Patches of the three organs, and surroundings to fill up the number."""
    loaded = load_ct_patches(folder / SOURCES[source], balanced=False, window=WINDOW_HU)
    rng = np.random.default_rng(0)
    n_organs = round(ORGAN_SHARE * n_patches)
    parts = [
        rng.choice(np.flatnonzero(loaded.y > 0), n_organs, replace=False),
        rng.choice(np.flatnonzero(loaded.y == 0), n_patches - n_organs, replace=False),
    ]
    rows = np.sort(np.concatenate(parts))
    unit = np.float32((WINDOW_HU[1] - WINDOW_HU[0]) / UNIT_HU)
    return Patches(loaded.X[rows] * unit, loaded.y[rows], loaded.groups[rows])


def split_rows(patches: Patches, split: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows for training and for testing, drawn again for every seed.

    By patch, as in the paper, neighboring and overlapping patches fall on both sides. By patient,
    whole patients are held back.
    """
    rng = np.random.default_rng(seed)
    n = len(patches.y)
    wanted = round(TRAIN_SHARE * n)
    if split == "patch":
        order = rng.permutation(n)
        return order[:wanted], order[wanted:]
    counts = np.bincount(patches.patients)
    order = rng.permutation(np.flatnonzero(counts))
    # As many patients as come closest to the number of patches.
    sums = np.cumsum(counts[order])[:-1]
    n_train = 1 + int(np.argmin(np.abs(sums - wanted)))
    trained = np.isin(patches.patients, order[:n_train])
    return rng.permutation(np.flatnonzero(trained)), rng.permutation(np.flatnonzero(~trained))
