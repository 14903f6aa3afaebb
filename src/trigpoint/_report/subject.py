"""What a report is about."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from trigpoint._common.progress import Report
from trigpoint._common.records import (
    EmbeddedLandmarks,
    FittedEmbedding,
    LandmarkGraph,
    Landmarks,
)


@dataclass(frozen=True)
class Subject:
    """A fitted embedding, and the means to make its report.

    Attributes
    ----------
    fitted : FittedEmbedding
    feature_names : list of str or None
        Names of the columns it was fitted to.
    seconds : dict
        How long each stage of the fit took, without compiling.
    n_threads : int
    progress : callable
        Receives progress.
    embed_graph : callable or None
        ``embed_graph(landmarks, graph, n_components)`` embeds landmarks from another graph in the
        same way; ``None`` for an embedding without a graph.
    compile_seconds : float
        How long loops were compiled during the fit.
    scales : ndarray of shape (d,) or None
        What columns were divided by.
    decided : dict
        What parameters stand for that were left to the library, if the result does not show it.
    """

    fitted: FittedEmbedding
    feature_names: list[str] | None
    seconds: dict[str, float]
    n_threads: int
    progress: Report
    embed_graph: Callable[[Landmarks, LandmarkGraph, int], EmbeddedLandmarks] | None = None
    compile_seconds: float = 0.0
    scales: np.ndarray | None = None
    decided: dict[str, str] = field(default_factory=dict)
