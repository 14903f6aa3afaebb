"""Patches: landmarks near each other, and the candidates they may be exchanged for."""

from dataclasses import dataclass

import numpy as np

from trigpoint._numerics.nearest import nearest

# Landmarks per patch, on average and at most. Few enough that their tables stay in the cache;
# larger patches would find more of the worthwhile exchanges.
_TOGETHER = 32
MOST_TOGETHER = 160

# Candidates per landmark; more, up to a total, if one table holds them all.
_CANDIDATES = 4
_CANDIDATES_OF_FEW = 8
ENOUGH_CANDIDATES = 640


@dataclass(frozen=True)
class Patch:
    """Landmarks that are refined together.

    Attributes
    ----------
    slots : int64 ndarray
        Their numbers.
    candidates : int64 ndarray
        Rows of the points they may be exchanged for.
    points : int64 ndarray
        Numbers of the measured points in the patch.
    """

    slots: np.ndarray
    candidates: np.ndarray
    points: np.ndarray


def draw_patches(
    X: np.ndarray,
    landmarks: np.ndarray,
    points: np.ndarray,
    excluded: np.ndarray,
    rng: np.random.Generator,
    n_threads: int,
) -> list[Patch]:
    """Parts of space around random points, with the landmarks in each and new candidates.

    The parts do not depend on where the landmarks are, and among the other points all candidates
    are equally likely. So exchanges within a patch can go back and forth, and a Markov chain of
    them keeps its distribution.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        All points.
    landmarks : ndarray of shape (k, d)
    points : ndarray of shape (s, d)
        Where the error is measured.
    excluded : int64 ndarray
        Rows that are not to be candidates, in ascending order.
    rng : Generator
    n_threads : int
    """
    k = len(landmarks)
    if k <= MOST_TOGETHER:
        wanted = max(_CANDIDATES * k, min(_CANDIDATES_OF_FEW * k, ENOUGH_CANDIDATES))
        candidates = draw_rows(len(X), wanted, excluded, rng)
        return [Patch(np.arange(k), candidates, np.arange(len(points)))]
    n_patches = -(-k // _TOGETHER)
    candidates = draw_rows(len(X), _CANDIDATES * k, excluded, rng)
    centers = X[rng.choice(len(X), n_patches, replace=False)]
    members = [
        _grouped(nearest(centers, places, 1, n_threads)[1][:, 0], n_patches)
        for places in (landmarks, X[candidates], points)
    ]
    return [
        Patch(
            _at_most(MOST_TOGETHER, slots, rng),
            candidates[_at_most(_CANDIDATES * MOST_TOGETHER, near, rng)],
            measured,
        )
        for slots, near, measured in zip(*members, strict=True)
    ]


def draw_rows(n: int, size: int, excluded: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw `size` distinct rows out of `n`, or as many as there are, that are not `excluded`."""
    if n <= 4 * (size + len(excluded)):
        rows = np.delete(np.arange(n), excluded)
    else:
        rows = np.empty(0, dtype=np.int64)
        # At least three quarters of the rows are open, so this seldom takes a second turn.
        while len(rows) < size:
            rows = np.union1d(rows, np.setdiff1d(rng.integers(n, size=2 * size), excluded))
    return rng.permutation(rows)[:size]


def _at_most(size: int, members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return members if len(members) <= size else rng.permutation(members)[:size]


def _grouped(labels: np.ndarray, n_groups: int) -> list[np.ndarray]:
    """Numbers of the members of each group."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, n_groups)))
