"""Nearest-neighbor classification in the embedding, for every way to choose landmarks.

What `mnist`, `headneck`, `patients` and `readings` share: two pipelines, the schemes of choosing
landmarks, scores, tables and tests.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from experiments.internals import knn_labels
from experiments.pages import (
    CORRECTED,
    PAIRED_TEST,
    Comparison,
    Page,
    column,
    compare,
    holm,
)
from experiments.runner import Row
from trigpoint import (
    EfficientDPP,
    KMeansLandmarks,
    KMeansPlusPlus,
    KNNGraph,
    LaplacianEigenmaps,
    Uniform,
    as_published,
)

# The paper's neighborhood and bandwidth for both data sets.
N_NEIGHBORS_PAPER = 5000
BANDWIDTH_PAPER = 5.0

# The paper does not give the number of graph neighbors. This one was chosen on validation points,
# for Euclidean graphs with agreed links, and is the same for all schemes.
GRAPH_NEIGHBORS = 100

# The pipeline as printed: plain links, one bandwidth, the printed extension. The library's graph
# and extension: agreed links, a bandwidth for each landmark, and weights that add up to one.
PUBLISHED, LIBRARY = "published", "library"


@dataclass(frozen=True, eq=False)
class Task:
    """Points with labels, for training and for testing."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


UNIFORM, SEEDING = "uniform", "k-means++ seeding"
KMEANS_UNIFORM, KMEANS = "k-means uniform", "k-means++"
KMEANS_UNIFORM_ROWS, KMEANS_ROWS = f"{KMEANS_UNIFORM}, nearest points", f"{KMEANS}, nearest points"
DPP, BHATTACHARYYA = "efficient DPP", "efficient DPP, Bhattacharyya"
DEFAULTS, UNIFORM_DEFAULTS = "library defaults", "library defaults, uniform"

# No embedding at all: the nearest neighbor in the raw data.
REFERENCE = "raw data"

COLORS = {
    UNIFORM: "#999999",
    KMEANS_UNIFORM: "#e69f00",
    KMEANS_UNIFORM_ROWS: "#f5d68a",
    SEEDING: "#56b4e9",
    KMEANS: "#009e73",
    KMEANS_ROWS: "#80cfb9",
    DPP: "#0072b2",
    BHATTACHARYYA: "#d55e00",
    DEFAULTS: "#cc79a7",
    UNIFORM_DEFAULTS: "#e6bcd3",
}
_OF_THE_PAPER = (UNIFORM, KMEANS_UNIFORM, SEEDING, KMEANS, DPP, BHATTACHARYYA)
SCHEMES = {
    PUBLISHED: (*_OF_THE_PAPER, KMEANS_UNIFORM_ROWS, KMEANS_ROWS),
    LIBRARY: (*_OF_THE_PAPER, DEFAULTS, UNIFORM_DEFAULTS),
}

# Comparisons of two schemes: those that the paper makes, and some of our own.
COMPARISONS = (
    (SEEDING, UNIFORM),
    (KMEANS_UNIFORM, UNIFORM),
    (KMEANS_UNIFORM_ROWS, UNIFORM),
    (KMEANS, SEEDING),
    (KMEANS_ROWS, SEEDING),
    (DPP, SEEDING),
    (DPP, KMEANS),
    (DPP, KMEANS_ROWS),
    (BHATTACHARYYA, DPP),
    (DEFAULTS, DPP),
    (DEFAULTS, UNIFORM_DEFAULTS),
    (DPP, REFERENCE),
    (BHATTACHARYYA, REFERENCE),
    (DEFAULTS, REFERENCE),
)

PARAMETERS = {
    "n_neighbors": N_NEIGHBORS_PAPER,
    "bandwidth": BANDWIDTH_PAPER,
    "graph_neighbors": GRAPH_NEIGHBORS,
}

SETTING = f"""The *published* pipeline is `trigpoint.as_published`: Algorithm 2 with the paper's m
and sigma = {BANDWIDTH_PAPER:g}, a graph that links two landmarks if either is among the nearest of
the other, weights and extension with sigma = {BANDWIDTH_PAPER:g}, the extension by the printed
formula, and diagonal covariances. The *library's* has the same landmarks, links that agree, a
bandwidth for each landmark, and an extension by weights that add up to one, over all landmarks. The
paper does not give the number of graph neighbors: here it is {GRAPH_NEIGHBORS} for all schemes of
both, chosen on validation points for the library's Euclidean graph ([readings](readings.md) has
others). *Library defaults* leave m, sigma and all the rest to trigpoint. Landmarks of k-means are
its centers, or the points nearest to them."""


# Running --------------------------------------------------------------------------------------


def paper_neighbors(n: int) -> int:
    """The paper's m; for fewer points, the same share that it is of 60,000."""
    return min(N_NEIGHBORS_PAPER, n // 12)


def paper_dpp(k: int, n: int, seed: int) -> EfficientDPP:
    """Algorithm 2 with the paper's m and sigma."""
    m = paper_neighbors(n)
    return EfficientDPP(k, n_neighbors=m, bandwidth=BANDWIDTH_PAPER, pool=None, random_state=seed)


@lru_cache(maxsize=8)
def drawn(task: Task, scheme: str, k: int, seed: int) -> Any:
    """Rows of the landmarks, or the landmarks themselves if they are centers."""
    X = task.train
    if scheme in (KMEANS_ROWS, KMEANS_UNIFORM_ROWS):
        centers = drawn(task, scheme.partition(",")[0], k, seed)
        from sklearn.metrics import pairwise_distances_argmin

        return np.unique(pairwise_distances_argmin(centers, X))
    if scheme in (KMEANS, KMEANS_UNIFORM):
        init = "k-means++" if scheme == KMEANS else "random"
        sampler = KMeansLandmarks(k, init=init, snap=False, random_state=seed)
        return sampler.fit(X).landmarks_
    if scheme == DPP:
        return paper_dpp(k, len(X), seed).fit(X).indices_
    kind = {UNIFORM: Uniform, SEEDING: KMeansPlusPlus}[scheme]
    rows = kind(k, random_state=seed).fit(X).indices_
    # A few patches are the same, and landmarks must be distinct.
    return rows[np.sort(np.unique(X[rows], axis=0, return_index=True)[1])]


def estimator(
    task: Task, pipeline: str, scheme: str, k: int, n_components: int, seed: int
) -> LaplacianEigenmaps:
    """Laplacian eigenmaps with the landmarks of a scheme and the graph of a pipeline."""
    if scheme in (DEFAULTS, UNIFORM_DEFAULTS):
        kind = EfficientDPP if scheme == DEFAULTS else Uniform
        return LaplacianEigenmaps(
            n_components, landmarks=kind(k, random_state=seed), random_state=seed
        )
    # Covariances are of the neighborhoods in which the sampler looked.
    landmarks = (
        paper_dpp(k, len(task.train), seed)
        if scheme == BHATTACHARYYA
        else drawn(task, scheme, k, seed)
    )
    if pipeline == PUBLISHED:
        published = as_published(
            n_components,
            k,
            paper_neighbors(len(task.train)),
            BANDWIDTH_PAPER,
            min(GRAPH_NEIGHBORS, k - 1),
            bhattacharyya=scheme == BHATTACHARYYA,
            covariance="diag",
            random_state=seed,
        )
        return published.set_params(landmarks=landmarks)
    metric = "bhattacharyya" if scheme == BHATTACHARYYA else "euclidean"
    return LaplacianEigenmaps(
        n_components,
        landmarks=landmarks,
        graph=KNNGraph(min(GRAPH_NEIGHBORS, k - 1), metric=metric),
        extension="all",
        random_state=seed,
    )


def predicted(task: Task, case: Row, n_components: int) -> np.ndarray:
    """Labels of the test points, by the nearest training point in the embedding or raw data."""
    if case["scheme"] == REFERENCE:
        return knn_labels(task.train, task.train_labels, task.test)
    fitted = estimator(
        task, case["pipeline"], case["scheme"], case["k"], n_components, case["seed"]
    ).fit(task.train)
    train, test = fitted.transform(task.train), fitted.transform(task.test)
    return knn_labels(train, task.train_labels, test)


def scored(task: Task, labels: np.ndarray) -> Row:
    """Share of test points whose class is found, and the mean of that share over the classes."""
    right = labels == task.test_labels
    recalls = [right[task.test_labels == one].mean() for one in np.unique(task.test_labels)]
    return {
        "accuracy": round(float(right.mean()), 6),
        "mean_recall": round(float(np.mean(recalls)), 6),
    }


# Showing --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """The runs of one pipeline on one set of points, as a page shows them.

    Columns are `counts` of `by`: landmarks or patients. Where every run is a new split of the same
    points, `overlap` gives the size of the test set over that of the training set for each count.
    """

    title: str
    pipeline: str
    rows: Sequence[Row]
    counts: Sequence[int]
    overlap: Callable[[int], float] | None = None
    by: str = "k"

    @property
    def schemes(self) -> list[str]:
        """Schemes with any runs, in the order of the page."""
        found = {row["scheme"] for row in self.rows}
        return [name for name in (*COLORS, REFERENCE) if name in found]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Comparisons of these schemes; with the raw data where these are of the same splits."""
        comparable = {*self.schemes} - ({REFERENCE} if self.overlap is None else set())
        return [pair for pair in COMPARISONS if comparable.issuperset(pair)]

    def head(self, count: int) -> str:
        """Heading of a column."""
        return f"k = {count:,}" if self.by == "k" else f"{count} {self.by}"

    def runs(self, scheme: str, count: int) -> list[Row]:
        """Runs of a scheme; the raw data has no landmarks."""
        mine = [row for row in self.rows if row["scheme"] == scheme]
        return [row for row in mine if row[self.by] in (count, None)]


def select(rows: Sequence[Row], pipeline: str, **chosen: Any) -> list[Row]:
    """Rows of a pipeline, and those of the raw data if there are none of this pipeline's."""
    found = [row for row in rows if chosen.items() <= row.items()]
    mine = [row for row in found if row["pipeline"] == pipeline]
    if not any(row["scheme"] == REFERENCE for row in mine):
        mine += [row for row in found if row["scheme"] == REFERENCE]
    return mine


def score_table(
    columns: Mapping[str, tuple[Table, int]], page: Page, scores: Mapping[str, str]
) -> None:
    """Mean and standard deviation of some scores; columns are a table and one of its counts."""
    lines, numbers = [], set()
    for name in (*COLORS, REFERENCE):
        found = [table.runs(name, count) for table, count in columns.values()]
        if any(found):
            numbers |= {len(runs) for runs in found if runs and name != REFERENCE}
            lines.append([name, *(mean_and_spread(runs, one) for runs in found for one in scores)])
    heads = [
        f"{head}, {what}" if len(scores) > 1 else head
        for head in columns
        for what in scores.values()
    ]
    page.table(["%", *heads], lines)
    page.text(f"Mean ± standard deviation over {runs_text(numbers)}.")


def runs_text(numbers: Collection[int]) -> str:
    """How many runs the cells of a table have."""
    low, high = min(numbers), max(numbers)
    return f"{low} to {high} runs" if low < high else "1 run" if high == 1 else f"{high} runs"


def mean_and_spread(rows: Sequence[Row], name: str) -> str:
    """Mean and standard deviation of a column of shares, in percent."""
    values = 100 * column(rows, name)
    if not len(values):
        return ""
    spread = f" ± {values.std(ddof=1):.2f}" if len(values) > 1 else ""
    return f"{values.mean():.2f}{spread}"


Compared = dict[tuple[str, Table, tuple[str, str], int], Comparison]


def compared(tables: Sequence[Table], scores: Collection[str]) -> Compared:
    """All comparisons of a page, corrected for how many these are."""
    found = {
        (score, table, pair, count): compare(
            *(table.runs(name, count) for name in pair),
            score,
            table.overlap and table.overlap(count),
        )
        for score in scores
        for table in tables
        for pair in table.pairs
        for count in table.counts
    }
    return dict(zip(found, holm(list(found.values())), strict=True))


def tests_text(overlap: bool, holds: str) -> str:
    """What the stars of a page mean."""
    stars = f"Stars at 0.05, 0.01 and 0.001 by a {PAIRED_TEST}, {CORRECTED}"
    if overlap:
        stars += """; before the slash as the paper presumably computed it, which takes splits for
        independent, and behind it with the variance that Nadeau and Bengio give for repeated splits
        of the same points"""
    return f"{stars}. They {holds}."


def show_table(
    table: Table,
    found: Compared,
    claims: Mapping[tuple[str, str], str],
    scores: Mapping[str, str],
    page: Page,
) -> None:
    """Scores of all schemes; what the paper says about two of them, and the differences here."""
    page.heading(table.title)
    heads = [table.head(count) for count in table.counts]
    score_table({table.head(n): (table, n) for n in table.counts}, page, scores)
    for score, what in scores.items():
        lines = [
            [
                " - ".join(pair),
                claims.get(pair, "-"),
                *(found[score, table, pair, count].points for count in table.counts),
            ]
            for pair in table.pairs
        ]
        page.table([f"difference in {what}", "the paper", *heads], lines)


def accuracy_bars(axes: Any, table: Table, found: Compared) -> None:
    """Bars of the mean accuracy with standard deviations, and the paper's stars."""
    shown = [name for name in table.schemes if name != REFERENCE]
    width, tops = 0.8 / len(shown), {}
    for place, name in enumerate(shown):
        for group, k in enumerate(table.counts):
            values = 100 * column(table.runs(name, k), "accuracy")
            spread = values.std(ddof=1) if len(values) > 1 else 0.0
            at = group + (place - (len(shown) - 1) / 2) * width
            label = name if group == 0 else None
            axes.bar(at, values.mean(), width, yerr=spread, label=label, color=COLORS[name])
            tops[name, k] = at, values.mean() - spread, values.mean() + spread
    low, high = min(bar[1] for bar in tops.values()), max(bar[2] for bar in tops.values())
    axes.set_ylim(low - 0.1 * (high - low), high + 0.18 * (high - low))
    # The two comparisons that the paper marks.
    for pair in ((DPP, SEEDING), (BHATTACHARYYA, DPP)):
        for k in table.counts:
            one = found["accuracy", table, pair, k]
            if one.stars and one.difference > 0:
                at, _, top = tops[pair[0], k]
                height = top + 0.02 * (high - low)
                axes.text(at, height, one.stars, ha="center", va="bottom", rotation=90, fontsize=7)
    axes.set_xticks(range(len(table.counts)), [f"{k:,}" for k in table.counts])
    # Panels are narrower than the longest titles.
    title = table.title.replace(": ", ":\n").replace(", binary", ",\nbinary")
    axes.set(xlabel="landmarks k", ylabel="accuracy, %", title=title)
