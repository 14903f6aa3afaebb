"""Eigenvalues beyond those of the coordinates, and the widest gap.

Plots and reports both take them from here, so that they show the same gap.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._common.records import Fit, Spectrum
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._spectrum import classical_scaling, diffusion_maps, kernel_pca, laplacian_eigenmaps

_SHOWN = 30
_BEYOND = 8

# Consecutive eigenvalues form a gap if one is at least this many times the other.
_GAP = 1.5

# Repeated computations of an eigenvalue agree to within this share of the largest.
_SAME = 1e-6


@dataclass(frozen=True)
class Eigenvalues:
    """Leading eigenvalues of the landmarks.

    Attributes
    ----------
    values : ndarray of shape (m,)
        In the order of their eigenvectors, without the constant one.
    used : bool ndarray of shape (m,)
        Whether the eigenvector is a coordinate of the embedding.
    gap : int or None
        How many come before the widest gap; ``None`` if no gap stands out.
    meaning : str
        What they are eigenvalues of.
    """

    values: np.ndarray
    used: np.ndarray
    gap: int | None
    meaning: str


def leading_eigenvalues(fitted: Fit) -> Eigenvalues:
    """Compute the leading eigenvalues of the operator of an embedding, and their widest gap.

    They are consecutive even if the coordinates, chosen as independent, are not. So the space
    between two of them is a gap, not a skipped eigenvector.

    The gap is where the ratio of consecutive eigenvalues is largest. Those of the Laplacian grow,
    the others fall; those of diffusion maps are compared by their distance from 1.
    """
    k, n_components = fitted.spectrum.coordinates.shape
    count = min(max(_SHOWN, n_components + _BEYOND), k - 1)
    values, sizes, meaning = _computed(fitted, count)
    used = _used(values, fitted.spectrum.eigenvalues)
    return Eigenvalues(values, used, widest_gap(sizes), meaning)


def widest_gap(sizes: np.ndarray) -> int | None:
    """Return how many of the increasing `sizes` precede the largest ratio, if it is large."""
    if len(sizes) < 2:
        return None
    floor = np.finfo(np.float64).eps * abs(sizes).max()
    ratios = np.maximum(sizes[1:], floor) / np.maximum(sizes[:-1], floor)
    widest = int(np.argmax(ratios))
    return widest + 1 if ratios[widest] >= _GAP else None


def _computed(fitted: Fit, count: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return eigenvalues, the same as increasing sizes, and what they are eigenvalues of."""
    if fitted.graph is None:
        assert fitted.bandwidth is not None
        kernel = gaussian_kernel(fitted.landmarks.points.astype(np.float64), fitted.bandwidth)
        values = _all_positive(kernel_pca, kernel, count).eigenvalues
        return values, 1 / values, "centered kernel, largest first"
    if fitted.geodesics is not None:
        values = _all_positive(classical_scaling, fitted.geodesics, count).eigenvalues
        return values, 1 / values, "squared geodesics, largest first"
    if fitted.method == "DiffusionMaps":
        alpha = float(fitted.parameters["alpha"])
        values = diffusion_maps(fitted.graph.weights, count, alpha=alpha).eigenvalues
        return values, 1 - values, "Markov matrix, largest first"
    values = laplacian_eigenmaps(fitted.graph.weights, count).eigenvalues
    return values, values, "graph Laplacian, smallest first"


def _all_positive(embed: Any, matrix: np.ndarray, count: int) -> Spectrum:
    """Compute up to `count` eigenvalues that are above rounding error."""
    while count > 1:
        try:
            return embed(matrix, count)
        except ValueError:
            count //= 2
    return embed(matrix, 1)


def _used(values: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return which of the eigenvalues belong to the coordinates."""
    used = np.zeros(len(values), dtype=bool)
    tolerance = _SAME * abs(values).max()
    if len(own) <= len(values) and (abs(values[: len(own)] - own) <= tolerance).all():
        # The search below would confuse equal eigenvalues.
        used[: len(own)] = True
        return used
    for value in own:
        nearest = np.argmin(abs(values - value))
        used[nearest] |= abs(values[nearest] - value) <= tolerance
    return used
