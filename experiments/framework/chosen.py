"""Landmarks that were drawn once, to compare what uses them."""

from typing import Any

import numpy as np

from experiments.internals import Landmarks, Sampler


class Chosen(Sampler):
    """A sampler that returns given landmarks."""

    takes_stores = True

    def __init__(self, chosen: Landmarks) -> None:
        # With a callback of its own, it is not given that of an estimator.
        super().__init__(callback=lambda *_: None)
        self.chosen = chosen

    def _select(self, X: Any, rng: np.random.Generator) -> Landmarks:
        return self.chosen
