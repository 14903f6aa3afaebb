"""Landmarks that were drawn once and graphs that were built once, to compare what uses them."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from experiments.internals import LandmarkGraph, Landmarks, Sampler


class Chosen(Sampler):
    """A sampler that returns given landmarks."""

    takes_stores = True

    def __init__(self, chosen: Landmarks) -> None:
        # With a callback of its own, it is not given that of an estimator.
        super().__init__(callback=lambda *_: None)
        self.chosen = chosen

    def _select(self, X: Any, rng: np.random.Generator) -> Landmarks:
        return self.chosen


class Built(BaseEstimator):
    """A graph of such landmarks that is given, too."""

    needs_covariances = False

    def __init__(self, graph: LandmarkGraph) -> None:
        self.graph = graph

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Return the graph."""
        return self.graph
