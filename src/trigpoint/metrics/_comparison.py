"""Comparison of several methods on the same points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from trigpoint._common.words import html_table


@dataclass(frozen=True, eq=False)
class Attempt:
    """Result of one of the compared methods."""

    method: str  # Name of the estimator.
    # Unfitted estimator with default parameters, except for the number of coordinates.
    estimator: BaseEstimator
    score: float  # Agreement between the neighborhoods in the embedding and in the data.
    coordinates: np.ndarray  # Coordinates (r, l) of the compared points, float64.


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of `compare_methods` for several methods fitted to a sample of the points."""

    attempts: tuple[Attempt, ...]  # Best first.
    failures: dict[str, str]  # Reasons why methods could not be fitted, by method.
    pca_score: float  # Score of PCA with the same number of components, on the same points.
    rows: np.ndarray  # Rows (r,) of the compared points.
    n_fitted: int  # Number of points that the methods were fitted to.
    n_points: int  # Number of all points.

    @property
    def best(self) -> Any:
        """Unfitted estimator with the highest score."""
        return clone(self.attempts[0].estimator)

    @property
    def scores(self) -> dict[str, float]:
        """Scores by method, best first."""
        return {attempt.method: attempt.score for attempt in self.attempts}

    def __repr__(self) -> str:
        lines = self.lines()
        width = max(map(len, lines))
        table = [f"  {name:<{width}}  {value}" for name, value in lines.items()]
        return "\n".join([f"{self._verdict()}:", *table])

    def _repr_html_(self) -> str:
        return html_table(self._verdict(), self.lines())

    def _verdict(self) -> str:
        points = f"{self.n_fitted:,} of {self.n_points:,} points"
        return f"{self.attempts[0].method} preserves neighborhoods best, on {points}"

    def lines(self) -> dict[str, str]:
        """Return scores, and reasons why methods could not be fitted, as text by method."""
        scores = self.scores | {"PCA, for comparison": self.pca_score}
        return {name: f"{score:.3f}" for name, score in scores.items()} | self.failures
