"""Benchmark of four samplers in the same pipeline, on many data sets."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import t
from sklearn.neighbors import NearestNeighbors

import trigpoint as tp
from experiments.benchmarks.sets import load
from experiments.pages import Page, grouped, mean, standard_error
from experiments.runner import Experiment, Row, Settings

DPP = "EfficientDPP"
SAMPLERS = {
    DPP: tp.EfficientDPP,
    "Uniform": tp.Uniform,
    "FarthestPoint": tp.FarthestPoint,
    "RPCholesky": tp.RPCholesky,
}
COUNTS, COORDINATES = (100, 300, 1000), (2, 10)
# fmt: off
DATA = (
    "roll", "bowl", "wavy_sheet", "mammoth", "lidar", "torus", "shuttle", "cube", "segment",
    "clusters", "cancer", "noisy_roll", "digits", "waves", "sphere", "ct", "ct_fine", "frey",
    "blood", "mnist", "coil", "faces", "hole", "s", "tube", "phishing", "diabetes", "wine",
    "copula", "classes", "photographs", "ct_cubes", "mnist_small", "chirps", "arms",
)
# fmt: on

# Maximum number of points to use, share of them to fit, and maximum number to hold out.
SIZE, TRAIN_SHARE, MOST_HELD_BACK = 10_000, 0.7, 1500
SPLITS, KEPT = 2, 10
QUICK, QUICK_SIZE = ("bowl", "digits"), 600

# Groups of held-out points to score: all, and the tenth farthest from their neighbors.
PARTS = "all", "sparsest tenth"
_SPARSEST = 0.1

# Data sets with a local dimension below this count as surfaces.
_SURFACE = 3.5


class Trial:
    """Random split of points into a training set, which is fitted, and a test set to score."""

    def __init__(self, X: np.ndarray, labels: np.ndarray | None, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = np.split(order, [int(TRAIN_SHARE * len(X))])
        self.train, self.test = X[train], X[test[:MOST_HELD_BACK]]
        self.nearest = _nearest(self.train, self.test, KEPT)
        self.labels = None if labels is None else (labels[train], labels[test[:MOST_HELD_BACK]])

    def hits(self, known: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Return the score of each test point.

        With classes, the score is 1 if the nearest training point has the same class. Without, it
        is the share of nearest training points that are preserved.
        """
        found = _nearest(known, asked, KEPT)
        if self.labels is not None:
            return self.labels[0][found[:, 0]] == self.labels[1]
        return (found[:, :, None] == self.nearest[:, None, :]).any(axis=2).mean(axis=1)


def _nearest(known: np.ndarray, asked: np.ndarray, count: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=count).fit(known).kneighbors(asked, return_distance=False)


def cases(settings: Settings) -> Iterator[Row]:
    """Yield every split of every data set."""
    for seed in settings.seeds(SPLITS, quick=1):
        for name in QUICK if settings.quick else DATA:
            yield {"data": name, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Score all samplers for every number of coordinates and landmarks."""
    X, labels = load(case["data"], settings)
    rows = np.random.default_rng(0).permutation(len(X))[: QUICK_SIZE if settings.quick else SIZE]
    # Center the data, because some columns are geographic, with an origin far away.
    X = (X[rows] - np.mean(X, axis=0, dtype=np.float64)).astype(np.float32)
    trial = Trial(X, None if labels is None else np.asarray(labels)[rows], case["seed"])
    distances = np.linalg.norm(trial.test - trial.train[trial.nearest[:, -1]], axis=1)
    sparse = distances >= np.quantile(distances, 1 - _SPARSEST)
    found: Row = {"d": X.shape[1], "dimension": None}
    for count in COORDINATES:
        for k in COUNTS:
            possible = 2 * k <= len(trial.train) and count <= X.shape[1]
            for name, kind in SAMPLERS.items():
                scores: tuple[float | None, ...] = None, None
                if possible:
                    emb = tp.LaplacianEigenmaps(count, landmarks=kind(k, random_state=case["seed"]))
                    emb.fit(trial.train)
                    hit = trial.hits(emb.transform(trial.train), emb.transform(trial.test))
                    scores = float(hit.mean()), float(hit[sparse].mean())
                    if name == DPP:
                        found["dimension"] = float(emb.dimension_)
                for part, score in zip(PARTS, scores, strict=True):
                    found[f"{name}, {count}, {k}, {part}"] = score
    return found


def scores_of(rows: Sequence[Row], count: int, k: int) -> list[Row]:
    """Return the dimension of every data set, and the mean scores of all samplers in percent."""
    possible = [row for row in rows if row[f"{DPP}, {count}, {k}, {PARTS[0]}"] is not None]
    return [
        {"dimension": mean(runs, "dimension")}
        | {
            sampler: [100 * mean(runs, f"{sampler}, {count}, {k}, {part}") for part in PARTS]
            for sampler in SAMPLERS
        }
        for runs in grouped(possible, "data").values()
    ]


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write the differences between samplers across data sets."""
    page.text(
        f"""`LaplacianEigenmaps` with default settings uses landmarks from four samplers. Of up to
        {SIZE:,} points, {100 * TRAIN_SHARE:.0f} % are fitted, and up to {MOST_HELD_BACK:,} of the
        others are held out for scoring. The score is the share of held-out points that have the
        class of the nearest fitted point in the embedding or, for data without classes, the share
        of their {KEPT} nearest fitted points that are among the {KEPT} nearest in the embedding.
        Scores are means over {SPLITS} splits. The sparsest tenth are the held-out points whose
        tenth neighbor is farthest."""
    )
    found = {
        f"{count} coordinates, k = {k:,}": scores_of(rows, count, k)
        for count in COORDINATES
        for k in COUNTS
    }
    page.heading("EfficientDPP compared with the others")
    page.text(
        f"""Percentage points by which `EfficientDPP` is better: the mean over data sets, with a
        95 % interval for other data sets of these kinds (t distribution), and in parentheses the
        number of data sets on which it is ahead. *Surfaces* have a local dimension below
        {_SURFACE:g}."""
    )
    others = [name for name in SAMPLERS if name != DPP]
    lines = []
    for setting, scores in found.items():
        for place, part in enumerate(PARTS):
            for kind, surface in (("surfaces", True), ("others", False)):
                some = [one for one in scores if (one["dimension"] < _SURFACE) == surface]
                cells = [_summary([m[DPP][place] - m[o][place] for m in some]) for o in others]
                lines.append([setting, kind, part, *cells])
    page.table(["", "data", "points", *(f"less {other}" for other in others)], lines)
    page.text("The table of runs has the scores of every data set.")


def _summary(gains: Sequence[float]) -> str:
    """Format the mean gain over data sets, its interval, and the number of positive gains."""
    if len(gains) < 2:
        return "-"
    half = t.ppf(0.975, len(gains) - 1) * standard_error(np.array(gains))
    ahead = f"{sum(gain > 0 for gain in gains)} of {len(gains)}"
    return f"{np.mean(gains):+.1f} ± {half:.1f} ({ahead})"


EXPERIMENT = Experiment("samplers", "Do diverse landmarks matter?", cases, run, show)
