"""Extension formula of the paper, as printed."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from trigpoint._common.records import Spectrum
from trigpoint._extension.weighted import AllLandmarks
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, row_blocks


@dataclass(frozen=True, eq=False)
class PublishedExtension:
    """Extension of Laplacian eigenmaps by the formula of the paper.

    ``phi(x) = sum_j K(x_j, x) phi_j / (lambda k sqrt(E[K(., x)] E[K(x_j, .)]))``, with expectations
    over the k landmarks x_j. In contrast to `MarkovExtension`, it divides by the lambda of
    ``(D - W) phi = lambda D phi``, and does not reproduce the eigenvectors at the landmarks.

    References
    ----------
    C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
    scalable manifold learning", 2015, section 4.1.
    """

    support: AllLandmarks
    # Values (l + 1, k) to sum: ``phi_j / (lambda sqrt(k E[K(x_j, .)]))``, and 1 for
    # ``k E[K(., x)]``.
    values: np.ndarray

    @classmethod
    def prepare(cls, landmarks: np.ndarray, sigma: float, spectrum: Spectrum) -> Self:
        """Prepare the extension from the landmarks (k, d) and one bandwidth."""
        k = len(landmarks)
        support, ones = AllLandmarks.prepare(landmarks, np.full(k, sigma)), np.ones((1, k))
        blocks = row_blocks(k, block_rows(support.row_bytes))
        sums = np.concatenate([support.sums(landmarks[part], ones).sums for part in blocks])
        values = (spectrum.coordinates / spectrum.eigenvalues / np.sqrt(sums)).T
        return cls(support, np.concatenate([values, ones]))

    @property
    def n_components(self) -> int:
        return len(self.values) - 1

    @property
    def row_bytes(self) -> int:
        return self.support.row_bytes + 8 * len(self.values)

    def __call__(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        sums, shifts = self.support.sums(X, self.values)
        return sums[:, :-1] * np.exp(shifts / 2)[:, None] / np.sqrt(sums[:, -1:]), shifts != 0
