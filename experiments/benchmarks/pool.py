"""What is lost when landmarks are drawn, and embeddings fitted, on a uniform sample of the rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import trigpoint as tp
from experiments.benchmarks import point_sets
from experiments.internals import Landmarks, Pool, local_covariances, nearest, projected
from experiments.pages import Page, grouped
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import knn_accuracy, nystrom_error, shortcut_rate

SEEDS = 3
PER_LANDMARK = (16, 32, 64, 128)
FLOOR = 2**17  # rows, the size of a pool for few landmarks
ALL, FLOOR_NAME = "all", "2^17"
# Rows for each landmark that a map draws from.
ROWS_OF_MAP = 20

SAMPLE = 10_000  # rows that neighbors are searched among
QUERIES = 2_000
ERROR_SAMPLE = 20_000
# Graphs whose shortcuts are counted. Ellipses of whole neighborhoods allow for more neighbors.
SHORTCUTS = (("euclidean", 25), ("bhattacharyya", 100))

# Separate groups of a roll, by how many rows they have: one in 10,000, and one in 100,000.
GROUPS = {"A": 10_000, "B": 100_000}

# Every embedding is fitted on every pool up to this many rows, and above on fewer.
MOST_FOR_EVERY_POOL = 100_000


@dataclass(frozen=True)
class Points:
    """Points, and what is known of them."""

    X: np.ndarray
    labels: np.ndarray | None = None
    intrinsic: np.ndarray | None = None
    groups: np.ndarray | None = None


# Data sets: their titles, rows and numbers of landmarks.
FULL: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "mnist": ("MNIST, 784 columns", 70_000, (250, 1000)),
    "roll": ("Swiss roll, 3 columns", 1_000_000, (250, 1000, 2500)),
    "patches": ("CT patches of 24 patients, 147 columns", 60_000, (250, 1000)),
    "heavy tails": ("Student t, 2 degrees of freedom, 3 columns", 1_000_000, (250, 1000)),
    "lidar": ("LiDAR, 3 columns", 518_862, (250, 1000)),
    "bowl": ("Fish bowl, 3 columns", 300_000, (250, 1000)),
    "groups": ("Swiss roll with two small groups far away, 3 columns", 1_000_000, (250, 1000)),
    "mammoth": ("Mammoth, 3 columns", 50_000, (250, 1000)),
    "fine patches": ("CT patches of one patient, 147 columns", 40_000, (250, 1000)),
    "digits": ("Digits of scikit-learn, 64 columns", 1_797, (25,)),
    "coil": ("COIL-20, 1,024 columns", 1_440, (25,)),
}
QUICK = {"roll": (20_000, (50,)), "groups": (20_000, (50,)), "digits": (1_797, (25,))}


def load(kind: str, n: int, settings: Settings) -> Points:
    """`n` rows in float32, in random order."""
    rng = np.random.default_rng(0)
    if kind in ("roll", "groups"):
        X, intrinsic = point_sets.swiss_roll(n)
        return Points(X, intrinsic=intrinsic) if kind == "roll" else _with_groups(X, rng)
    if kind == "bowl":
        return Points(tp.datasets.make_fish_bowl(n, random_state=0)[0].astype(np.float32))
    if kind == "heavy tails":
        return Points(rng.standard_t(2, size=(n, 3)).astype(np.float32))
    if kind == "digits":
        X, labels = load_digits(return_X_y=True)
    elif kind == "coil":
        X, labels = point_sets.pixels(settings)
    else:
        X, labels = point_sets.real(kind, settings, n)
    rows = rng.permutation(len(X))[:n]
    X = (X[rows] - X.mean(axis=0, dtype=np.float64)).astype(np.float32)
    return Points(X, None if labels is None else labels[rows])


def _with_groups(X: np.ndarray, rng: np.random.Generator) -> Points:
    """The first rows of a roll, moved far away into groups of their own; then shuffled."""
    X, groups, start = X.copy(), np.zeros(len(X), dtype=np.int64), 0
    for number, rarity in enumerate(GROUPS.values(), start=1):
        size = max(len(X) // rarity, 2)
        rows = slice(start, start + size)
        X[rows] = 0.5 * rng.normal(size=(size, 3)) + [60.0 * number, 0, 0]
        groups[rows], start = number, start + size
    order = rng.permutation(len(X))
    return Points(X[order], groups=groups[order])


def cases(settings: Settings) -> Iterator[Row]:
    """Every data set with every number of landmarks, one seed after the other."""
    kinds = QUICK if settings.quick else {kind: sizes for kind, (_, *sizes) in FULL.items()}
    for seed in range(1 if settings.quick else SEEDS):
        for kind, (n, counts) in kinds.items():
            for k in counts:
                yield {"data": kind, "n": n, "k": k, "seed": seed}


def pool_sizes(n: int, k: int) -> dict[str, int]:
    """Rows of the pools that are smaller than the data, and of all data."""
    sizes = {str(rows): rows * k for rows in PER_LANDMARK}
    if max(sizes.values()) < FLOOR:
        sizes[FLOOR_NAME] = FLOOR
    return {name: size for name, size in sizes.items() if size < n} | {ALL: n}


def run(case: Row, settings: Settings) -> Row:
    """Every measure of every pool."""
    k, seed = case["k"], case["seed"]
    points = load(case["data"], case["n"], settings)
    measures = _Measures(points, k)
    found: dict[str, Row] = {}
    for name, size in pool_sizes(len(points.X), k).items():
        rows = np.arange(size)
        if name != ALL:
            rng = np.random.default_rng([seed, size])
            rows = np.sort(rng.choice(len(points.X), size, replace=False))
        # The pool is drawn here, not by the sampler.
        sampler = tp.EfficientDPP(k, pool=None, random_state=seed, n_jobs=1)
        pool = Pool(points.X[rows])
        chosen = sampler.select(pool)
        if points.intrinsic is not None:
            _, covariances = local_covariances(pool, chosen, "full", 1)
            chosen = replace(chosen, covariances=covariances)
        found[name] = {"rows": size, **measures.landmarks(rows, chosen)}
        if points.groups is not None:
            far = tp.FarthestPoint(k, random_state=seed).fit(points.X[rows])
            found[name] |= measures.groups(rows[far.indices_], "farthest point")
        elif _embedded(name, len(points.X)):
            found[name] |= measures.embeddings(rows, k, seed, name in ("16", ALL))
    return {"pools": found, "bandwidth": measures.bandwidth}


def _embedded(name: str, n: int) -> bool:
    return n <= MOST_FOR_EVERY_POOL or name in ("16", "64", FLOOR_NAME, ALL)


class _Measures:
    """Measures on fixed rows, the same for every pool and seed."""

    def __init__(self, points: Points, k: int) -> None:
        self.points = points
        X, n = points.X, len(points.X)
        self.sample = np.random.default_rng(1).permutation(n)[:SAMPLE]
        self.n_queries = min(QUERIES, len(self.sample) // 2)
        self.true = self._neighbors(X[self.sample])
        # One and a half times the distance to the nearest other of k random rows.
        some = X[self.sample[:k]] if k <= SAMPLE else X
        self.bandwidth = 1.5 * float(np.median(nearest(some, some, 2, 1)[0][:, 1]))

    def _neighbors(self, Y: np.ndarray) -> np.ndarray:
        """Ten nearest other rows of every query, ascending."""
        return nearest(Y, Y[: self.n_queries], 11, 1)[1][:, 1:]

    def landmarks(self, rows: np.ndarray, chosen: Landmarks) -> Row:
        """Coverage, approximation and counts of the landmarks that were drawn from a pool."""
        X, marks = self.points.X, chosen.points
        distances, labels = nearest(marks, X, 1, 1)
        counts = np.bincount(labels[:, 0], minlength=len(marks))
        pooled = np.bincount(labels[rows, 0], minlength=len(marks)) * len(X) / len(rows)
        found = {
            "trace": nystrom_error(
                X[point_sets.sample_rows(len(X), ERROR_SAMPLE)],
                marks,
                self.bandwidth,
                relative=True,
            ),
            "radius": distances.max(),
            "rms": np.sqrt(np.mean(distances**2)),
            "masses": np.abs(pooled - counts).sum() / len(X),
        }
        if self.points.intrinsic is not None:
            on_roll = self.points.intrinsic[rows[chosen.indices]]
            for metric, m in SHORTCUTS:
                m = min(m, len(marks) // 2)
                graph = tp.KNNGraph(m, metric=metric).build(chosen).weights
                found[f"shortcuts, {metric}"] = shortcut_rate(graph, on_roll, m)
        if self.points.groups is not None:
            found |= self.groups(rows[chosen.indices], "DPP")
        return {name: float(value) for name, value in found.items()}

    def groups(self, indices: np.ndarray, name: str) -> Row:
        """Landmarks in every small group."""
        counts = np.bincount(self.points.groups[indices], minlength=1 + len(GROUPS))
        return {f"{name}, {group}": int(n) for group, n in zip(GROUPS, counts[1:], strict=True)}

    def embeddings(self, rows: np.ndarray, k: int, seed: int, with_map: bool) -> Row:
        """What embeddings that were fitted on a pool preserve of the rows of the sample."""
        pool, found, options = self.points.X[rows], {}, {"random_state": seed, "n_jobs": 1}
        drawn = tp.EfficientDPP(k, pool=None, n_jobs=1)
        makers: dict[str, Any] = {
            f"{count}-D": tp.LaplacianEigenmaps(count, landmarks=drawn, **options)
            for count in (2, 10)
        }
        if with_map:
            few = tp.EfficientDPP(k, pool=min(ROWS_OF_MAP * k, len(pool)), n_jobs=1)
            makers["map"] = tp.LandmarkMap(landmarks=few, **options)
        for name, estimator in makers.items():
            Y = estimator.fit(pool).transform(self.points.X[self.sample])
            found |= {f"{what}, {name}": value for what, value in self._scores(Y).items()}
        found["dimension"] = float(makers["2-D"].dimension_)
        if with_map:
            found["masses, map"] = self._mass_error(makers["map"])
        return found

    def _scores(self, Y: np.ndarray) -> Row:
        both = np.concatenate([self.true, self._neighbors(Y)], axis=1)
        both.sort(axis=1)
        found = {"preserved": float(np.mean(both[:, 1:] == both[:, :-1]) * 19 / 10)}
        if self.points.labels is not None:
            labels, n = self.points.labels[self.sample], self.n_queries
            found["1-NN"] = float(knn_accuracy(Y[n:], labels[n:], Y[:n], labels[:n]))
        return found

    def _mass_error(self, fitted: Any) -> float:
        """Difference of the masses from counts over all rows, as a share of all rows."""
        X, marks = self.points.X, fitted.landmarks_
        # Landmarks of many columns are in principal components.
        inside, _ = projected(fitted.model_.extension.projection, X)
        found = nearest(marks, inside.astype(marks.dtype), 1, 1)[1]
        counts = np.bincount(found[:, 0], minlength=len(marks))
        masses = fitted.masses_ * (len(X) / fitted.masses_.sum())
        return float(np.abs(masses - counts).sum() / len(X))


COLUMNS = {
    "trace": ("trace error, %", 100),
    "radius": ("covering radius", 1),
    "rms": ("rms distance", 1),
    "masses": ("masses, %", 100),
    "shortcuts, euclidean": ("shortcuts, Euclidean, %", 100),
    "shortcuts, bhattacharyya": ("shortcuts, Bhattacharyya, %", 100),
    "preserved, 2-D": ("preserved, 2-D, %", 100),
    "1-NN, 2-D": ("1-NN, 2-D, %", 100),
    "preserved, 10-D": ("preserved, 10-D, %", 100),
    "1-NN, 10-D": ("1-NN, 10-D, %", 100),
    "preserved, map": ("preserved, map, %", 100),
    "1-NN, map": ("1-NN, map, %", 100),
    "masses, map": ("masses, map, %", 100),
    "dimension": ("dimension", 1),
    "DPP, A": ("DPP, 1 in 10,000", 1),
    "DPP, B": ("1 in 100,000", 1),
    "farthest point, A": ("farthest point, 1 in 10,000", 1),
    "farthest point, B": ("1 in 100,000", 1),
}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """One table for each data set."""
    page.text(
        f"""Landmarks are drawn by `EfficientDPP`, and default embeddings fitted, on a uniform
        random sample of the rows, the pool: 16 to 128 rows for each landmark, {FLOOR:,} rows, or
        all of them. Distances and trace errors are those of all rows, or of {ERROR_SAMPLE:,} random
        ones; neighbors preserved (10 nearest) and 1-NN accuracy are those of {QUERIES:,} rows among
        {SAMPLE:,} after `transform`. Masses are the counts of rows nearest to each landmark in the
        pool, and their difference from counts over all rows, summed. A map takes {ROWS_OF_MAP} rows
        per landmark of any pool. Each number is the mean over the seeds; the last line of a table
        is the standard deviation of a single seed with all rows."""
    )
    for (kind, n, k), same in grouped(rows, "data", "n", "k").items():
        page.heading(f"{FULL[kind][0]}, n = {n:,}, k = {k:,}, {len(same)} seeds")
        _table([row["pools"] for row in same], page)


def _table(runs: Sequence[dict[str, Row]], page: Page) -> None:
    names = [name for name in COLUMNS if name in runs[0][ALL]]
    lines = []
    for pool in runs[0]:
        cells = [[run[pool].get(name) for run in runs] for name in names]
        lines.append(
            [pool, *(_mean(name, values) for name, values in zip(names, cells, strict=True))]
        )
    spread = [
        np.std([run[ALL][name] for run in runs], ddof=min(1, len(runs) - 1)) for name in names
    ]
    lines.append(["SD", *(_shown(name, value) for name, value in zip(names, spread, strict=True))])
    page.table(["pool", *(COLUMNS[name][0] for name in names)], lines)


def _mean(name: str, values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return _shown(name, float(np.mean(known))) if known else ""


def _shown(name: str, value: float) -> str:
    return f"{COLUMNS[name][1] * value:.3g}"


EXPERIMENT = Experiment("pool", "Fitting on a pool of rows", cases, run, show)
