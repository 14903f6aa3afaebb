"""More eigenvalues than there are coordinates, to see where they leave off."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint.kernels import gaussian_kernel
from trigpoint.manifold import DiffusionMaps, Isomap, LaplacianEigenmaps
from trigpoint.records import Spectrum
from trigpoint.spectrum import classical_scaling, diffusion_maps, kernel_pca, laplacian_eigenmaps

_SHOWN = 30
_BEYOND = 8

# Two neighbouring eigenvalues are taken for a gap where one is so many times the other.
_GAP = 1.5


@dataclass(frozen=True)
class Eigenvalues:
    """Leading eigenvalues of the landmarks.

    Attributes
    ----------
    values : ndarray of shape (m,)
        In the order of their eigenvectors, the constant one left out.
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


def leading_eigenvalues(estimator: Any) -> Eigenvalues:
    """Leading eigenvalues of the operator of an estimator, with the widest gap.

    The gap is where one eigenvalue is the largest multiple of its neighbour: of the Laplacian's,
    which grow, and of the others', which fall (diffusion maps by their distance from 1).
    """
    k, n_components = estimator.embedding_.shape
    count = min(max(_SHOWN, n_components + _BEYOND), k - 1)
    values, sizes, meaning = _computed(estimator, count)
    used = np.zeros(len(values), dtype=bool)
    for value in estimator.eigenvalues_:
        used[np.argmin(abs(values - value))] = True
    return Eigenvalues(values, used, _widest_gap(sizes), meaning)


def _computed(estimator: Any, count: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Eigenvalues; the same as sizes that grow; and what they are of."""
    fitted = estimator._fitted
    if isinstance(estimator, LaplacianEigenmaps):
        values = laplacian_eigenmaps(fitted.graph.weights, count).eigenvalues
        return values, values, "graph Laplacian, smallest first"
    if isinstance(estimator, DiffusionMaps):
        alpha = float(estimator.alpha)
        values = diffusion_maps(fitted.graph.weights, count, alpha=alpha).eigenvalues
        return values, 1 - values, "Markov matrix, largest first"
    if isinstance(estimator, Isomap):
        values = _all_positive(classical_scaling, estimator.geodesics_, count).eigenvalues
        return values, 1 / values, "squared geodesics, largest first"
    kernel = gaussian_kernel(fitted.landmarks.points.astype(np.float64), fitted.bandwidth)
    values = _all_positive(kernel_pca, kernel, count).eigenvalues
    return values, 1 / values, "centred kernel, largest first"


def _all_positive(embed: Any, matrix: np.ndarray, count: int) -> Spectrum:
    """As many eigenvalues as there are above rounding error, up to `count`."""
    while count > 1:
        try:
            return embed(matrix, count)
        except ValueError:
            count //= 2
    return embed(matrix, 1)


def _widest_gap(sizes: np.ndarray) -> int | None:
    if len(sizes) < 2:
        return None
    floor = np.finfo(np.float64).eps * abs(sizes).max()
    ratios = np.maximum(sizes[1:], floor) / np.maximum(sizes[:-1], floor)
    widest = int(np.argmax(ratios))
    return widest + 1 if ratios[widest] >= _GAP else None
