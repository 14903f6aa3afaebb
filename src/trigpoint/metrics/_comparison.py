"""What methods are worth that were tried on the same points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone


@dataclass(frozen=True, eq=False)
class Attempt:
    """One method, tried.

    Attributes
    ----------
    method : str
        Name of the estimator.
    estimator : estimator
        Not fitted, with all defaults and the number of coordinates.
    score : float
        Agreement of its neighborhoods with those of the points.
    coordinates : float64 ndarray of shape (r, l)
        Those of the points that were compared.
    """

    method: str
    estimator: BaseEstimator
    score: float
    coordinates: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Methods tried on a sample of the points; `compare_methods` returns it.

    Attributes
    ----------
    attempts : tuple of Attempt
        The best first.
    failures : dict of str to str
        Methods that could not be tried, and why.
    pca_score : float
        What as many principal components score on the same points.
    rows : int64 ndarray of shape (r,)
        Rows of the points that were compared.
    n_fitted, n_points : int
        Points that the methods were fitted to, and all points.
    """

    attempts: tuple[Attempt, ...]
    failures: dict[str, str]
    pca_score: float
    rows: np.ndarray
    n_fitted: int
    n_points: int

    @property
    def best(self) -> Any:
        """The estimator that keeps most, not fitted."""
        return clone(self.attempts[0].estimator)

    @property
    def scores(self) -> dict[str, float]:
        """Scores by method, the best first."""
        return {attempt.method: attempt.score for attempt in self.attempts}

    def __repr__(self) -> str:
        lines = [*self.scores.items(), ("PCA, for comparison", self.pca_score)]
        width = max(len(name) for name, _ in lines)
        table = [f"  {name:<{width}}  {score:.3f}" for name, score in lines]
        table += [f"  {name:<{width}}  {reason}" for name, reason in self.failures.items()]
        points = f"{self.n_fitted:,} of {self.n_points:,} points"
        return "\n".join([f"{self.attempts[0].method} keeps most, on {points}:", *table])
