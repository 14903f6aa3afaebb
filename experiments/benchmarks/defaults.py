"""What the default settings are worth: beside a grid of others, uniform landmarks and PCA."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

import trigpoint as tp
from experiments.benchmarks.collection import COLLECTION, load
from experiments.pages import Page, grouped, standard_error
from experiments.runner import Experiment, Row, Settings

COORDINATES = (2, 10, 50)
DEFAULT, UNIFORM, PRINCIPAL, KERNEL = "default", "uniform landmarks", "PCA", "kernel PCA"
LEADING = ", leading"

# Splits of the points, more of them where few points are held back.
SPLITS, SPLITS_OF_FEW = 6, 12
TRAIN_SHARE, MOST_HELD_BACK, MOST_LANDMARKS = 0.7, 1500, 1000
KEPT = 10

# Points of accuracy or of kept neighbors that the default may be behind the best of the grid, those
# that are too many, and those behind uniform landmarks or PCA that count.
NEAR, FAR = 1.0, 3.0
BELOW_UNIFORM, BELOW_PCA = 0.5, 1.0

QUICK = ("bowl", "digits")
QUICK_POINTS = 600

# Neighbors that graphs are tried with, by how points are placed.
_NEIGHBORS = {"graph": (5, 10, 20), "smooth": (10,), "all": (20, 200)}

# Scores are kept as whole numbers of these, in the order of `names`.
_UNIT = 1e-4


@dataclass(frozen=True)
class Setting:
    """A graph and how points are placed; `graph` is a metric, or the name of another graph."""

    graph: str
    count: int | None = None
    extension: str = "auto"

    @property
    def name(self) -> str:
        """As tables show it."""
        graph = self.graph if self.count is None else f"{self.graph} {self.count}"
        return graph if self.extension == "auto" else f"{graph}, {self.extension}"

    def counts(self, asked: Sequence[int]) -> Sequence[int]:
        """Numbers of coordinates that it is for: planes only for those of a picture."""
        return asked[:1] if self.extension == "smooth" else asked


GRID = [
    Setting(metric, count, extension)
    for metric in ("bhattacharyya", "euclidean")
    for extension, counts in _NEIGHBORS.items()
    for count in counts
] + [Setting("complete", extension="all")]


def names(count: int) -> list[str]:
    """What is scored for a number of coordinates: the references first, then the grid."""
    found = [DEFAULT, UNIFORM, PRINCIPAL, KERNEL]
    for setting in GRID:
        if count in setting.counts(COORDINATES):
            found.append(setting.name)
            if count == COORDINATES[0] and setting.graph != "complete":
                found.append(setting.name + LEADING)
    return found


def cases(settings: Settings) -> Iterator[Row]:
    """Every data set, split again for every seed."""
    for name, entry in COLLECTION.items():
        if settings.quick and name not in QUICK:
            continue
        for seed in settings.seeds(SPLITS_OF_FEW if entry.few else SPLITS):
            yield {"data": name, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Scores of the default and of all other settings, with the same landmarks."""
    X, labels = load(case["data"], settings)
    if settings.quick:
        X, labels = X[:QUICK_POINTS], None if labels is None else labels[:QUICK_POINTS]
    trial = Trial.split(X, labels, case["seed"])
    k = min(MOST_LANDMARKS, len(trial.train) // 2)
    counts = [count for count in COORDINATES if 4 * count <= k]
    # None for settings that cannot have so many coordinates.
    scores: dict[str, dict[str, float | None]] = {}
    with warnings.catch_warnings():
        # What poor settings warn of shows in their scores.
        warnings.simplefilter("ignore")
        drawn, uniform = (
            sampler(k, random_state=case["seed"]).fit(trial.train).indices_
            for sampler in (tp.EfficientDPP, tp.Uniform)
        )
        for count in counts:
            default = tp.LaplacianEigenmaps(count, landmarks=drawn)
            methods = {
                DEFAULT: default,
                UNIFORM: tp.LaplacianEigenmaps(count, landmarks=uniform),
                KERNEL: tp.KernelPCA(count, landmarks=drawn),
            }
            if count <= X.shape[1]:
                methods[PRINCIPAL] = PCA(count, random_state=0)
            scores[str(count)] = {name: trial.attempt(method) for name, method in methods.items()}
        for setting in GRID:
            for count, name, score in _scored(trial, drawn, setting, setting.counts(counts)):
                scores[str(count)][name] = score
    return {
        **{"d": X.shape[1], "k": k},
        "dimension": round(float(default.dimension_), 3),
        "labeled": labels is not None,
        "scores": {count: _packed(found, names(int(count))) for count, found in scores.items()},
    }


def _packed(scores: Mapping[str, float | None], order: Sequence[str]) -> list[int | None]:
    ordered = (scores.get(name) for name in order)
    return [None if score is None else round(score / _UNIT) for score in ordered]


def unpacked(row: Row, count: int) -> dict[str, float]:
    """Scores of a row by name, as shares."""
    found = zip(names(count), row["scores"][str(count)], strict=True)
    return {name: _UNIT * score for name, score in found if score is not None}


def _scored(
    trial: "Trial", landmarks: np.ndarray, setting: Setting, counts: Sequence[int]
) -> Iterator[tuple[int, str, float | None]]:
    """Number of coordinates, name of the setting, and score.

    For a picture, the leading eigenvectors are tried beside those that are taken by default.
    """
    graph: Any = setting.graph
    if setting.count is not None:
        graph = tp.KNNGraph(setting.count, metric=setting.graph)
    options = {"landmarks": landmarks, "graph": graph, "extension": setting.extension}
    if setting.graph != "complete":
        # The leading ten coordinates are the first of the leading fifty.
        for most in reversed(counts):
            emb = tp.LaplacianEigenmaps(most, eigenvectors="leading", **options)
            try:
                known, asked = trial.embedded(emb)
            except tp.ParameterError:
                continue  # The graph has too few landmarks, or not so many eigenvalues.
            for count in counts:
                if count <= most:
                    name = setting.name + LEADING if count == counts[0] else setting.name
                    yield count, name, trial.rated(known[:, :count], asked[:, :count])
            break
        counts = counts[:1]
    for count in counts:
        yield count, setting.name, trial.attempt(tp.LaplacianEigenmaps(count, **options))


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
        except tp.ParameterError:
            return None

    def embedded(self, estimator: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit an estimator; coordinates of the points to fit, and of those held back."""
        estimator.fit(self.train)
        return estimator.transform(self.train), estimator.transform(self.test)

    def rated(self, known: np.ndarray, asked: np.ndarray) -> float:
        """Share of points with the class of the nearest one, or of nearest points preserved."""
        return round(float(np.mean(self.hits(known, asked))), 5)

    def hits(self, known: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """The same for every point that is held back."""
        if self.labels is not None:
            return self.labels[_nearest(known, asked, 1)[:, 0]] == self.wanted
        found = _nearest(known, asked, KEPT)
        return (found[:, :, None] == self.wanted[:, None, :]).any(axis=2).mean(axis=1)

    def distances(self) -> np.ndarray:
        """Distance of every point that is held back to the tenth of its nearest fitted points."""
        rows = _nearest(self.train, self.test, KEPT)[:, -1]
        return np.linalg.norm(self.test - self.train[rows], axis=1)


def _nearest(known: np.ndarray, asked: np.ndarray, count: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=count).fit(known).kneighbors(asked, return_distance=False)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Where the default stands, in short and then by data set."""
    standings = {count: list(_standings(rows, count)) for count in COORDINATES}
    page.text(
        f"""Laplacian eigenmaps with default settings beside {len(GRID)} other
        choices of graph, neighbors and extension, for a picture also with the leading
        eigenvectors. All have the same landmarks, {MOST_LANDMARKS:,} or half of the points. Of up
        to 10,000 points {TRAIN_SHARE:.0%} are fitted, and up to {MOST_HELD_BACK:,} others are
        scored. *Accuracy* is the share of these that have the class of the nearest fitted point in
        the embedding. Without classes, *neighbors kept* is how many of the {KEPT} nearest fitted
        points are among the {KEPT} nearest in the embedding. Scores are percentages, and means over
        {SPLITS} splits of the points, or {SPLITS_OF_FEW} of data sets with fewer than 2,500."""
    )
    page.text(
        """*Best* is the best other setting for that data set: chosen on half of the splits and
        scored on the other half, both ways, because the best on the same splits is partly luck.
        Where the halves disagree, both choices are named. *Uniform* has uniform landmarks instead,
        and all else by default. Data sets in italics were not looked at when the rule was chosen,
        except for a few of its numbers."""
    )
    lines = []
    for count, found in standings.items():
        unseen = [one for one in found if not one.known]
        for which, some in (("all", found), ("in italics", unseen)):
            lines.append([f"{count} coordinates", which, *_counted(some)])
    page.table(["", "data sets", *_COUNTED], lines)
    page.items(
        [
            f"{count} coordinates, {what}: {', '.join(behind)}"
            for count, found in standings.items()
            for what, behind in _exceptions(found).items()
            if behind
        ]
    )
    for count, found in standings.items():
        page.heading(f"{count} coordinates")
        page.table(_COLUMNS, [one.cells() for one in found])
    page.heading("One setting for all")
    page.text(
        """How much better than the default each setting is, as a mean over all data sets that it is
        possible for."""
    )
    columns = [(count, "") for count in COORDINATES]
    columns.insert(1, (COORDINATES[0], LEADING))
    known = dict.fromkeys(
        name.removesuffix(LEADING)
        for found in standings.values()
        for one in found
        for name in one.scores
    )
    page.table(
        ["", *(f"{count} coordinates{which}" for count, which in columns)],
        [
            [name, *(_mean_gain(standings[count], name + which) for count, which in columns)]
            for name in known
            if name != DEFAULT
        ],
    )


@dataclass(frozen=True)
class Standing:
    """The default beside the others on one data set; scores in percent, one for each split.

    `best` has, for each split, that of the setting that was `chosen` on others.
    """

    data: str
    columns: int
    dimension: float
    labeled: bool
    scores: Mapping[str, np.ndarray]
    best: np.ndarray
    chosen: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether the rule was chosen on this data set, too."""
        return COLLECTION[self.data].known

    def gain(self, other: str) -> float:
        """How much better than the default another method is."""
        return float(np.mean(self.scores[other] - self.scores[DEFAULT]))

    @property
    def behind(self) -> float:
        """How far the default is behind the best of the grid."""
        return float(np.mean(self.best - self.scores[DEFAULT]))

    def below(self, other: str, margin: float) -> float | None:
        """How far the default is below another method, if by more than `margin` and by no chance.

        Differences of less than two standard errors of their mean may be chance.
        """
        if other not in self.scores:
            return None
        error = standard_error(self.scores[other] - self.scores[DEFAULT])
        gap = self.gain(other)
        return gap if gap > max(margin, 2 * error) else None

    def cells(self) -> list[str]:
        """Row of a table."""
        name = self.data if self.known else f"*{self.data}*"
        what = "accuracy" if self.labeled else "neighbors kept"
        means = {other: f"{np.mean(values):.1f}" for other, values in self.scores.items()}
        return [
            name,
            f"{self.columns:,}",
            f"{self.dimension:.1f}",
            what,
            means[DEFAULT],
            f"{np.mean(self.best):.1f}",
            " / ".join(self.chosen),
            *(means.get(other, "-") for other in (UNIFORM, PRINCIPAL, KERNEL)),
        ]


_COLUMNS = ["data", "columns", "local dimension", "score", "default", "best", "which is"]
_COLUMNS += ["uniform", PRINCIPAL, KERNEL]

_WITHIN, _BEHIND = f"within {NEAR:g} point of the best", f"more than {FAR:g} behind"
_BELOW_UNIFORM = "below uniform landmarks"
_BELOW_PCA = f"with classes, below PCA by more than {BELOW_PCA:g}"
_COUNTED = ["number", _WITHIN, _BEHIND, _BELOW_UNIFORM, _BELOW_PCA]


def _standings(rows: Sequence[Row], count: int) -> Iterator[Standing]:
    """Data sets with few columns first; those without two splits to compare are left out."""
    good = [row for row in rows if str(count) in row["scores"]]
    by_data = grouped(sorted(good, key=lambda row: (row["d"], row["data"], row["seed"])), "data")
    for (name,), runs in by_data.items():
        if len(runs) < 2:
            continue
        found = [unpacked(row, count) for row in runs]
        scores = {
            setting: 100 * np.array([one[setting] for one in found])
            for setting in found[0]
            if all(setting in one for one in found)
        }
        others = {DEFAULT, UNIFORM, PRINCIPAL, KERNEL}
        best, chosen = cross_fitted({k: v for k, v in scores.items() if k not in others})
        dimension = float(np.mean([row["dimension"] for row in runs]))
        first = runs[0]
        yield Standing(name, first["d"], dimension, first["labeled"], scores, best, chosen)


def _mean_gain(standings: Sequence[Standing], name: str) -> str:
    gains = [one.gain(name) for one in standings if name in one.scores]
    return f"{np.mean(gains):+.1f}" if gains else "-"


def cross_fitted(scores: Mapping[str, np.ndarray]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Score of the best setting in each split, chosen on every other split.

    Of the even and the odd splits, each half is scored with the setting that is best on the other.
    Returns the scores and the one or two settings.
    """
    names, table = list(scores), np.array(list(scores.values()))
    odd = np.arange(table.shape[1]) % 2 == 1
    best, chosen = np.empty(table.shape[1]), []
    for half in (odd, ~odd):
        place = int(np.argmax(table[:, ~half].mean(axis=1)))
        best[half] = table[place, half]
        chosen.append(names[place])
    return best, tuple(dict.fromkeys(chosen))


def _counted(standings: Sequence[Standing]) -> list[str]:
    """How many there are, and how many of each kind."""
    labeled = [one for one in standings if one.labeled and PRINCIPAL in one.scores]
    exceptions = _exceptions(standings)
    return [
        str(len(standings)),
        str(sum(one.behind <= NEAR for one in standings)),
        str(len(exceptions[_BEHIND])),
        str(len(exceptions[_BELOW_UNIFORM])),
        f"{len(exceptions[_BELOW_PCA])} of {len(labeled)}",
    ]


def _exceptions(standings: Sequence[Standing]) -> dict[str, list[str]]:
    """Data sets on which the default is much worse than something else, and by how much."""
    found: dict[str, list[str]] = {_BEHIND: [], _BELOW_UNIFORM: [], _BELOW_PCA: []}
    for one in standings:
        gaps = {
            _BEHIND: one.behind if one.behind > FAR else None,
            _BELOW_UNIFORM: one.below(UNIFORM, BELOW_UNIFORM),
            _BELOW_PCA: one.below(PRINCIPAL, BELOW_PCA) if one.labeled else None,
        }
        for what, gap in gaps.items():
            if gap is not None:
                found[what].append(f"{one.cells()[0]} ({gap:.1f})")
    return found


EXPERIMENT = Experiment("defaults", "What default settings are worth", cases, run, show)
