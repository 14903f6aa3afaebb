"""What the default settings are worth: beside a grid of others, uniform landmarks and PCA."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

import trigpoint as tp
from experiments.benchmarks.collection import COLLECTION, load
from experiments.framework.chosen import Chosen
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page
from experiments.framework.summary import grouped, standard_error
from experiments.internals import ParameterError, choose_landmarks, local_dimension, thread_count

COORDINATES = (2, 10, 50)
DEFAULT, UNIFORM, PRINCIPAL, KERNEL = "default", "uniform landmarks", "PCA", "kernel PCA"
LEADING = ", leading"

# Splits of the points, more of them where few points are held back.
SEEDS, SMALL_SEEDS, SMALL = 6, 12, 2500
TRAIN_SHARE, MOST_HELD_BACK, MOST_LANDMARKS = 0.7, 1500, 1000
KEPT = 10

# Points of accuracy or of kept neighbors that the default may be behind.
NEAR, FAR = 1.0, 3.0

QUICK = ("bowl", "digits")
QUICK_POINTS = 600

# Neighbors that graphs are tried with, by how points are placed.
_NEIGHBORS = {"graph": (5, 7, 10, 20, 50), "all": (10, 20, 50, 200)}
_METRICS = ("bhattacharyya", "euclidean")
_ANCHORS = (3, 5)

# Low-rank covariances are compared above this many columns; below, covariances are full.
_LOW_RANK = "low-rank"
_LOW_RANK_ABOVE = 32


def grid() -> dict[str, dict[str, Any]]:
    """Settings of the graph and of the extension, by name."""
    found: dict[str, dict[str, Any]] = {
        f"{metric} {count}, {extension}": {
            "graph": metric,
            "n_neighbors": count,
            "extension": extension,
        }
        for metric in _METRICS
        for extension, counts in _NEIGHBORS.items()
        for count in counts
    }
    for count, extension in ((7, "graph"), (10, "graph"), (200, "all")):
        found[f"{_LOW_RANK} {count}, {extension}"] = {
            "graph": "bhattacharyya",
            "n_neighbors": count,
            "extension": extension,
        }
    found["complete"] = {"graph": "complete", "extension": "all"}
    return found | {f"anchors {count}": {"graph": tp.AnchorGraph(count)} for count in _ANCHORS}


def cases(settings: Settings) -> Iterator[Row]:
    """Every data set that is available, split again for every seed."""
    for name, entry in COLLECTION.items():
        if entry.missing(settings) or (settings.quick and name not in QUICK):
            continue
        small = not settings.quick and len(load(name, settings)[0]) < SMALL
        for seed in settings.seeds(SMALL_SEEDS if small else SEEDS):
            yield {"data": name, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Scores of the default and of all other settings, with the same landmarks."""
    X, labels = load(case["data"], settings)
    if settings.quick:
        X, labels = X[:QUICK_POINTS], None if labels is None else labels[:QUICK_POINTS]
    seed = case["seed"]
    trial = Trial.split(X, labels, seed)
    k = min(MOST_LANDMARKS, len(trial.train) // 2)
    counts = [count for count in COORDINATES if 4 * count <= k]
    scores: dict[str, dict[str, float]] = {}
    with warnings.catch_warnings():
        # What poor settings warn of shows in their scores.
        warnings.simplefilter("ignore")
        ours = drawn(tp.EfficientDPP(k), trial.train, seed)
        of_rank = ours
        if X.shape[1] > _LOW_RANK_ABOVE:
            of_rank = drawn(tp.EfficientDPP(k), trial.train, seed, _LOW_RANK)
        uniform = drawn(tp.Uniform(k), trial.train, seed)
        for count in counts:
            methods = {
                DEFAULT: tp.LaplacianEigenmaps(count, landmarks=ours),
                UNIFORM: tp.LaplacianEigenmaps(count, landmarks=uniform),
                KERNEL: tp.KernelPCA(count, landmarks=ours),
            }
            if count <= X.shape[1]:
                methods[PRINCIPAL] = PCA(count, random_state=0)
            tried = {name: trial.attempt(method) for name, method in methods.items()}
            scores[str(count)] = {name: score for name, score in tried.items() if score is not None}
        for name, options in grid().items():
            landmarks = of_rank if name.startswith(_LOW_RANK) else ours
            if name.startswith(_LOW_RANK) and of_rank is ours:
                continue
            for count, variant, score in _scored(trial, landmarks, options, counts):
                scores[str(count)][name + variant] = score
    sizes = {"n": len(trial.train), "held_back": len(trial.test), "d": X.shape[1], "k": k}
    dimension = round(local_dimension(trial.train, k), 3)
    return {**sizes, "dimension": dimension, "labeled": labels is not None, "scores": scores}


def drawn(sampler: Any, X: np.ndarray, seed: int, covariance: str = "auto") -> Chosen:
    """Landmarks with what every graph needs to know of them, as an estimator would draw them."""
    rng = np.random.default_rng(seed)
    return Chosen(
        choose_landmarks(
            sampler, X, covariance=covariance, rng=rng, n_threads=thread_count(None)
        )
    )


def _scored(
    trial: "Trial", landmarks: Chosen, options: dict[str, Any], counts: Sequence[int]
) -> Iterator[tuple[int, str, float]]:
    """Number of coordinates, which eigenvectors if not the automatic ones, and score."""
    if options["graph"] != "complete" and len(counts) > 1:
        # The leading ten coordinates are the first of the leading fifty.
        for most in reversed(counts):
            emb = _eigenmaps(most, landmarks, options, "leading")
            try:
                known, asked = trial.embedded(emb)
            except ParameterError:
                continue  # The graph does not have so many eigenvalues.
            for count in counts:
                if count <= most:
                    score = trial.rated(known[:, :count], asked[:, :count])
                    yield count, LEADING if count == 2 else "", score
            break
        counts = counts[:1]
    for count in counts:
        score = trial.attempt(_eigenmaps(count, landmarks, options, "auto"))
        if score is not None:
            yield count, "", score


def _eigenmaps(
    count: int, landmarks: Chosen, options: dict[str, Any], eigenvectors: str
) -> tp.LaplacianEigenmaps:
    return tp.LaplacianEigenmaps(count, landmarks=landmarks, eigenvectors=eigenvectors, **options)


@dataclass(frozen=True)
class Trial:
    """Points to fit and points held back, and what is known about the latter.

    `wanted` has their classes, or their nearest points among those to fit.
    """

    train: np.ndarray
    test: np.ndarray
    labels: np.ndarray | None
    wanted: np.ndarray

    @classmethod
    def split(cls, X: np.ndarray, labels: np.ndarray | None, seed: int) -> "Trial":
        """Split the points."""
        order = np.random.default_rng(seed).permutation(len(X))
        n_train = int(TRAIN_SHARE * len(X))
        train, test = order[:n_train], order[n_train:][:MOST_HELD_BACK]
        if labels is None:
            return cls(X[train], X[test], None, _nearest(X[train], X[test], KEPT))
        return cls(X[train], X[test], labels[train], labels[test])

    def attempt(self, estimator: Any) -> float | None:
        """Fit an estimator and rate its coordinates; None if it cannot have so many."""
        try:
            return self.rated(*self.embedded(estimator))
        except ParameterError:
            return None

    def embedded(self, estimator: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit an estimator; coordinates of the points to fit, and of those held back."""
        estimator.fit(self.train)
        return estimator.transform(self.train), estimator.transform(self.test)

    def rated(self, known: np.ndarray, asked: np.ndarray) -> float:
        """Share of points with the class of the nearest one, or of nearest points that are kept."""
        if self.labels is not None:
            right = self.labels[_nearest(known, asked, 1)[:, 0]] == self.wanted
        else:
            found = _nearest(known, asked, KEPT)
            right = (found[:, :, None] == self.wanted[:, None, :]).any(axis=2)
        return round(float(np.mean(right)), 5)


def _nearest(known: np.ndarray, asked: np.ndarray, count: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=count).fit(known).kneighbors(asked, return_distance=False)
