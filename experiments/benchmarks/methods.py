"""Which method draws a picture best: what `compare_methods` takes, on data sets of all kinds."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.benchmarks.collection import COLLECTION, load
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page

QUICK = ("roll", "digits")
QUICK_POINTS = 600

METHODS = {
    "LaplacianEigenmaps": "eigenmaps",
    "Isomap": "Isomap",
    "KernelPCA": "kernel PCA",
    "LandmarkMap": "map",
}
NEIGHBORS = 10


def cases(settings: Settings) -> Iterator[Row]:
    """Every data set that is available."""
    for name, entry in COLLECTION.items():
        if not entry.missing(settings) and (not settings.quick or name in QUICK):
            yield {"data": name, "seed": 0}


def run(case: Row, settings: Settings) -> Row:
    """Scores of all methods, and what a person would look at: neighbors, or classes."""
    X, labels = load(case["data"], settings)
    if settings.quick:
        X, labels = X[:QUICK_POINTS], None if labels is None else labels[:QUICK_POINTS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compared = tp.compare_methods(X, random_state=case["seed"])
    row: Row = {"d": X.shape[1], "scores": compared.scores, "pca": compared.pca_score}
    row["seen"] = {
        attempt.method: _seen(X, labels, compared.rows, attempt.coordinates)
        for attempt in compared.attempts
    }
    return row | {"labeled": labels is not None}


def _seen(X: np.ndarray, labels: Any, rows: np.ndarray, Y: np.ndarray) -> float:
    """Accuracy of the nearest neighbor, or without classes the neighbors kept."""
    if labels is None:
        return tp.metrics.neighbor_preservation(X[rows], Y, n_neighbors=NEIGHBORS)
    half = len(rows) // 2
    known = labels[rows]
    return tp.metrics.knn_accuracy(Y[:half], known[:half], Y[half:], known[half:])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Scores by data set and method."""
    good = [row for row in rows if "error" not in row]
    taken = [_best(row["scores"]) for row in good]
    counts = ", ".join(f"{name} {taken.count(method)}" for method, name in METHODS.items())
    agree = sum(
        row["seen"][best] >= max(row["seen"].values()) - 0.01
        for row, best in zip(good, taken, strict=True)
    )
    page.text(
        f"""What `tp.compare_methods` finds on up to 10,000 points: the agreement of neighborhoods
        at all scales, measured along the points (1 is perfect), of four methods with the same
        landmarks, the best in bold, and in brackets what it does not know: 1-NN accuracy within
        the sample where there are classes, otherwise how many of the nearest {NEIGHBORS} are kept.
        Taken: {counts}. On {agree} of {len(good)} data sets, the method that is taken is also
        within a point of the best by that measure."""
    )
    lines = []
    for row in good:
        cells = [
            f"{row['scores'][method]:.3f} ({row['seen'][method]:.1%})"
            if method in row["scores"]
            else "-"
            for method in METHODS
        ]
        best = list(METHODS).index(_best(row["scores"]))
        cells[best] = f"**{cells[best]}**"
        measure = "accuracy" if row["labeled"] else "neighbors kept"
        lines.append([row["data"], f"{row['d']:,}", measure, *cells, f"{row['pca']:.3f}"])
    page.table(["data", "columns", "in brackets", *METHODS.values(), "PCA"], lines)


def _best(scores: dict[str, float]) -> str:
    return max(scores, key=scores.__getitem__)


EXPERIMENT = Experiment("methods", "Which method", cases, run, show)
