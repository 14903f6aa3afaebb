"""The method of ``trigpoint embed``: as asked for, or the best of those tried, and why."""

import argparse
from typing import Any

from trigpoint._command import common
from trigpoint._command.expectation import expect
from trigpoint._estimators import (
    DiffusionMaps,
    Isomap,
    KernelPCA,
    LandmarkMap,
    LaplacianEigenmaps,
    compare_methods,
)
from trigpoint._estimators.comparison import FEWEST_TO_COMPARE
from trigpoint._files import PointSource
from trigpoint.metrics._comparison import Comparison

METHODS: dict[str, Any] = {
    "laplacian": LaplacianEigenmaps,
    "diffusion": DiffusionMaps,
    "isomap": Isomap,
    "kernel-pca": KernelPCA,
    "map": LandmarkMap,
}
_NAMES = {method.__name__: name for name, method in METHODS.items()}

# Coordinates of a picture, for which the method is chosen by trying.
_PICTURE = 3

# Options that mean eigenmaps if no method is named.
_OF_EIGENMAPS = ("graph", "neighbors", "eigenvectors", "extension")

# PCA is mentioned if its score is this much better.
_PCA_MORE = 0.02


def choose_method(
    options: argparse.Namespace, points: Any, source: PointSource
) -> tuple[str, Comparison | None]:
    """The method that was asked for, or the best of those tried, and how they compare."""
    if options.method is not None:
        return options.method, None
    if _not_compared(options, points.shape[0]):
        return "laplacian", None
    expect(options, source, list(METHODS), compare=True)
    tried = compare_methods(
        points,
        options.components,
        landmarks=options.landmarks if isinstance(options.landmarks, int) else None,
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
        callback=common.progress(options),
    )
    return _NAMES[tried.attempts[0].method], tried


def scores(tried: Comparison) -> dict[str, float]:
    """Scores of the methods, the best first, then that of PCA."""
    found = {_NAMES[name]: round(score, 4) for name, score in tried.scores.items()}
    return found | {"pca": round(tried.pca_score, 4)}


def failures(tried: Comparison) -> dict[str, str]:
    """Methods that could not be tried, and why."""
    return {_NAMES[name]: why for name, why in tried.failures.items()}


def _not_compared(options: argparse.Namespace, n_points: int) -> str:
    """Why methods are not compared; empty if they are."""
    given = [name for name in _OF_EIGENMAPS if getattr(options, name) is not None]
    if given:
        return f"it is what --{given[0]} is for"
    if options.components > _PICTURE:
        return f"methods are compared for up to {_PICTURE} coordinates"
    few = n_points < FEWEST_TO_COMPARE
    return f"methods are compared from {FEWEST_TO_COMPARE} points on" if few else ""


def reason(tried: Comparison | None, options: argparse.Namespace, n_points: int) -> str:
    """Why the method was taken."""
    if tried is None:
        return _not_compared(options, n_points)
    best, *others = [(_NAMES[name], score) for name, score in tried.scores.items()]
    beside = ", ".join(f"{name} {score:.2f}" for name, score in others)
    text = f"its neighborhoods agree best with those of the points, {best[1]:.2f}"
    text += f" ({beside}; 1 is perfect)" if others else ""
    if tried.pca_score > best[1] + _PCA_MORE:
        text += f"; plain PCA would agree better, {tried.pca_score:.2f}"
    for name, why in failures(tried).items():
        text += f"; {name} was not tried: {why}"
    return text
