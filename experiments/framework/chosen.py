"""Landmarks that were drawn once and graphs that were built once, to compare what uses them."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from experiments.internals import LandmarkGraph, Landmarks


class Chosen(BaseEstimator):
    """A sampler that returns given landmarks."""

    def __init__(self, chosen: Landmarks) -> None:
        self.chosen = chosen

    def fit(self, X: np.ndarray) -> Self:
        """Take the landmarks."""
        self.landmarks_, self.indices_ = self.chosen.points, self.chosen.indices
        self.radii_, self.covariances_ = self.chosen.radii, self.chosen.covariances
        return self


class Built(BaseEstimator):
    """A graph of such landmarks that is given, too."""

    needs_covariances = False

    def __init__(self, graph: LandmarkGraph) -> None:
        self.graph = graph

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Return the graph."""
        return self.graph
