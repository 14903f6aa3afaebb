"""The landmarks embedded from other graphs: both metrics, several numbers of neighbors."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from trigpoint._common.checks import check_count
from trigpoint._common.records import Landmarks
from trigpoint._common.words import counted
from trigpoint._graphs import KNNGraph
from trigpoint._graphs.graph import METRICS
from trigpoint._report.subject import Subject
from trigpoint.metrics._suspects import JudgedEdges, judge_edges

# More landmarks would take minutes: shortest paths for Isomap, eigenvectors for the others.
_MOST_FOR_PATHS = 1500
_MOST_FOR_EIGENVECTORS = 5000


@dataclass(frozen=True)
class Neighborhood:
    """The landmarks embedded from one kind of neighborhood.

    Attributes
    ----------
    metric : {"bhattacharyya", "euclidean"}
    n_neighbors : int
    coordinates : ndarray of shape (k, 2)
        With signs flipped to match the embedding of the estimator.
    edges : JudgedEdges
    """

    metric: str
    n_neighbors: int
    coordinates: np.ndarray
    edges: JudgedEdges


@dataclass(frozen=True)
class Neighborhoods:
    """Embeddings to compare, and notes about those that are missing.

    There are no notes about comparisons that were not requested.
    """

    embeddings: list[Neighborhood]
    notes: list[str]


def compare_neighborhoods(
    subject: Subject, landmarks: Landmarks, numbers: Sequence[int] | None
) -> Neighborhoods:
    """Embed the landmarks from graphs with several numbers of neighbors and both metrics.

    Parameters
    ----------
    subject : Subject
    landmarks : Landmarks
        Its landmarks, with covariances if Bhattacharyya neighborhoods are wanted.
    numbers : sequence of int or None
        Numbers of neighbors; those too large for the number of landmarks are left out. ``None``
        compares nothing.
    """
    k = len(landmarks.points)
    asked = [] if numbers is None else numbers
    wanted = {check_count("neighborhoods", number) for number in asked}
    if not wanted:
        return Neighborhoods([], [])
    fitting = sorted(number for number in wanted if number < k)
    reason = _reason_against(subject, k, min(wanted))
    if reason:
        return Neighborhoods([], [reason])
    notes, metrics = [], list(METRICS)
    if landmarks.covariances is None:
        metrics.remove("bhattacharyya")
        notes.append(
            "Only Euclidean neighborhoods are available: this model lacks the local covariances "
            "that the Bhattacharyya distance compares. Pass the points, as in "
            "emb.report(path, X), to estimate them."
        )
    if len(fitting) < len(wanted):
        notes.append(f"Numbers of neighbors too large for {k} landmarks are left out.")
    embeddings = []
    combinations = list(product(metrics, fitting))
    subject.progress("neighborhoods", 0, len(combinations))
    for done, (metric, number) in enumerate(combinations, start=1):
        try:
            embeddings.append(_embedded(subject, landmarks, metric, number))
        except (ValueError, np.linalg.LinAlgError) as error:
            notes.append(f"{metric.capitalize()}, {counted(number, 'neighbor')}: {error}.")
        subject.progress("neighborhoods", done, len(combinations))
    return Neighborhoods(embeddings, notes)


def _reason_against(subject: Subject, k: int, fewest: int) -> str:
    if subject.embed_graph is None:
        return f"{subject.fitted.method} has no graph whose neighbors could be compared."
    by_paths = subject.fitted.geodesics is not None
    most = _MOST_FOR_PATHS if by_paths else _MOST_FOR_EIGENVECTORS
    if k > most:
        return f"Not computed above {most:,} landmarks, where it would take minutes."
    if k < 4 or k <= fewest:
        return f"{counted(k, 'landmark')}: too few to compare neighborhoods of {fewest} or more."
    return ""


def _embedded(subject: Subject, landmarks: Landmarks, metric: str, number: int) -> Neighborhood:
    assert subject.embed_graph is not None
    bandwidth = getattr(subject.fitted.parameters.get("graph"), "bandwidth", None)
    builder = KNNGraph(number, metric=metric, bandwidth=bandwidth)
    graph = builder.build(landmarks, subject.n_threads)
    # Disconnected graphs need no warning: the page shows the number of bridges.
    embedded = subject.embed_graph(landmarks, graph, 2)
    coordinates = _turned(embedded.spectrum.coordinates, subject.fitted.spectrum.coordinates)
    return Neighborhood(metric, number, coordinates, judge_edges(graph, landmarks))


def _turned(coordinates: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Flip signs of coordinates to correlate positively with another embedding."""
    shared = min(coordinates.shape[1], like.shape[1])
    around, others = coordinates - coordinates.mean(axis=0), like - like.mean(axis=0)
    signs = np.ones(coordinates.shape[1])
    signs[:shared] = np.where(
        np.einsum("ij,ij->j", around[:, :shared], others[:, :shared]) < 0, -1.0, 1.0
    )
    return coordinates * signs
