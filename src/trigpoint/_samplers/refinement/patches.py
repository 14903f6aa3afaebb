"""Patches: groups of nearby landmarks, with the candidates they may be exchanged for."""

from dataclasses import dataclass

import numpy as np

from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import take_rows

# Average and maximum number of landmarks per patch. Larger patches would find more worthwhile
# exchanges, but their tables would not fit in the cache.
_TOGETHER = 32
MOST_TOGETHER = 160

# Candidates per landmark. There are more, up to a total, if one table holds them all.
_CANDIDATES = 4
_CANDIDATES_OF_FEW = 8
ENOUGH_CANDIDATES = 640


@dataclass(frozen=True)
class Patch:
    """Landmarks that are refined together."""

    slots: np.ndarray  # Indices of the landmarks.
    candidates: np.ndarray  # Rows of the points that they may be exchanged for.
    places: np.ndarray  # Coordinates of the candidates, float64.
    points: np.ndarray  # Indices of the measured points in the patch.


def draw_patches(
    X: np.ndarray,
    landmarks: np.ndarray,
    points: np.ndarray,
    excluded: np.ndarray,
    rng: np.random.Generator,
    n_threads: int,
) -> list[Patch]:
    """Partition space around random points into patches, each with landmarks and new candidates.

    The partition does not depend on the landmarks (k, d). All points `X` (n, d) are equally likely
    to become candidates, except for the `excluded` rows, which are in ascending order. The error is
    measured at `points` (s, d).
    """
    n, k = X.shape[0], len(landmarks)
    if k <= MOST_TOGETHER:
        wanted = max(_CANDIDATES * k, min(_CANDIDATES_OF_FEW * k, ENOUGH_CANDIDATES))
        candidates = draw_rows(n, wanted, excluded, rng)
        places = take_rows(X, candidates).astype(np.float64)
        return [Patch(np.arange(k), candidates, places, np.arange(len(points)))]
    n_patches = -(-k // _TOGETHER)
    candidates = draw_rows(n, _CANDIDATES * k, excluded, rng)
    rows = np.concatenate([rng.choice(n, n_patches, replace=False), candidates])
    centers, places = np.split(take_rows(X, rows), [n_patches])
    members = [
        _grouped(nearest(centers, some, 1, n_threads)[1][:, 0], n_patches)
        for some in (landmarks, places, points)
    ]
    patches = []
    for slots, near, measured in zip(*members, strict=True):
        slots = _at_most(MOST_TOGETHER, slots, rng)
        near = _at_most(_CANDIDATES * MOST_TOGETHER, near, rng)
        patches.append(Patch(slots, candidates[near], places[near].astype(np.float64), measured))
    return patches


def draw_rows(n: int, size: int, excluded: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw up to `size` distinct rows from `n` that are not `excluded`."""
    if n <= 4 * (size + len(excluded)):
        rows = np.delete(np.arange(n), excluded)
    else:
        rows = np.empty(0, dtype=np.int64)
        # At least three quarters of the rows are available, so one iteration is usually enough.
        while len(rows) < size:
            rows = np.union1d(rows, np.setdiff1d(rng.integers(n, size=2 * size), excluded))
    return rng.permutation(rows)[:size]


def _at_most(size: int, members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return members if len(members) <= size else rng.permutation(members)[:size]


def _grouped(labels: np.ndarray, n_groups: int) -> list[np.ndarray]:
    """Return the indices of the members of each group."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, n_groups)))
