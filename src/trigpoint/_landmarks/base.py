"""The contract of all samplers."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from trigpoint._common.checks import as_generator, check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import reporter
from trigpoint._common.records import Landmarks
from trigpoint._points.inputs import points_to_fit


class Sampler(BaseEstimator, ABC):
    """Base of the samplers: ``fit(X)`` chooses landmarks among the rows of `X`.

    A sampler assigns its parameters in ``__init__`` and implements `_select`. After `fit` it has
    ``indices_`` (int64 rows of `X`) and ``landmarks_`` (their coordinates); the same
    ``random_state`` gives the same indices whatever the number of threads.
    """

    random_state: Any

    @abstractmethod
    def _select(self, X: np.ndarray, rng: np.random.Generator) -> Landmarks:
        """Choose landmarks among the rows of validated `X` with the one generator `rng`."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like of shape (n, d), or file
            The points, float32 or float64; other numbers are converted to float64. A path, or an
            object that `trigpoint.read_points` takes, is read, into memory if it fits.
        y : ignored
            Present for scikit-learn's sake.

        Returns
        -------
        self
        """
        report = reporter(getattr(self, "verbose", False), getattr(self, "callback", None))
        self.select(points_to_fit(self, X, report))
        return self

    def select(self, X: np.ndarray) -> Landmarks:
        """Choose the landmarks among points that have been validated."""
        chosen = self._select(X, as_generator(self.random_state))
        self._remember(chosen)
        return chosen

    def _remember(self, chosen: Landmarks) -> None:
        self.indices_ = chosen.indices
        self.landmarks_ = chosen.points


def check_n_landmarks(n_landmarks: Any, n_points: int) -> int:
    """Return a valid number of landmarks out of `n_points` points."""
    return check_count(
        "n_landmarks", n_landmarks, high=n_points, why=f"the data has {n_points} points"
    )


def too_few_distinct(k: int, n_distinct: int, n_points: int) -> ParameterValueError:
    """Error of more landmarks than there are distinct points."""
    return ParameterValueError(
        "n_landmarks",
        k,
        "{parameter=} is too large: only {n_distinct} of the {n_points} points are distinct",
        ("choose {parameter} <= {n_distinct}", "remove duplicated points"),
        n_distinct=n_distinct,
        n_points=n_points,
    )
