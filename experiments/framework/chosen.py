"""Landmarks that were drawn once, for comparing what is done with them."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from experiments.internals import Landmarks


class Chosen(BaseEstimator):
    """A sampler that returns given landmarks."""

    def __init__(self, chosen: Landmarks) -> None:
        self.chosen = chosen

    def fit(self, X: np.ndarray) -> Self:
        """Take the landmarks."""
        self.landmarks_, self.indices_ = self.chosen.points, self.chosen.indices
        self.radii_, self.covariances_ = self.chosen.radii, self.chosen.covariances
        return self
