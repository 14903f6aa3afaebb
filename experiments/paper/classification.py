"""Nearest-neighbor classification in the embedding, for every way to choose landmarks.

What `mnist`, `headneck` and `graphs` share.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.page import (
    CORRECTED,
    PAIRED_TEST,
    RESAMPLED_TEST,
    Comparison,
    Page,
    column,
    compare,
    grouped,
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
)
from trigpoint.metrics import knn_accuracy

# The paper's neighborhood and bandwidth for both data sets.
N_NEIGHBORS_PAPER = 5000
BANDWIDTH_PAPER = 5.0

# What the paper leaves open, chosen on validation points for Euclidean graphs (`graphs`), and the
# same for all schemes.
GRAPH_NEIGHBORS = 100
EXTENSION: Any = "all"


@dataclass(frozen=True)
class Task:
    """Points with labels, for training and for testing."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


@dataclass(frozen=True)
class Scheme:
    """A way to choose landmarks, and the metric of their graph.

    `sampler` takes the number of landmarks, the number of points and the seed. With
    `own`, everything that the paper does not specify has the library's default.
    """

    sampler: Callable[[int, int, int], Any]
    metric: str
    colour: str
    own: bool = False


def paper_neighbors(n: int) -> int:
    """The paper's m; for fewer points, the same share that it is of 60,000."""
    return min(N_NEIGHBORS_PAPER, n // 12)


def paper_dpp(k: int, n: int, seed: int) -> EfficientDPP:
    """Algorithm 2 with the paper's m and sigma."""
    m = paper_neighbors(n)
    return EfficientDPP(k, n_neighbors=m, bandwidth=BANDWIDTH_PAPER, pool=None, random_state=seed)


UNIFORM, KMEANS_UNIFORM, SEEDING = "uniform", "k-means uniform", "k-means++ seeding"
KMEANS, DPP, BHATTACHARYYA = "k-means++", "efficient DPP", "efficient DPP, Bhattacharyya"
DEFAULTS = "library defaults"

# No embedding at all: the nearest neighbor among the points themselves.
REFERENCE = "the points themselves"

SCHEMES = {
    UNIFORM: Scheme(lambda k, n, seed: Uniform(k, random_state=seed), "euclidean", "#999999"),
    KMEANS_UNIFORM: Scheme(
        lambda k, n, seed: KMeansLandmarks(k, snap=False, random_state=seed),
        "euclidean",
        "#e69f00",
    ),
    SEEDING: Scheme(
        lambda k, n, seed: KMeansPlusPlus(k, random_state=seed), "euclidean", "#56b4e9"
    ),
    KMEANS: Scheme(
        lambda k, n, seed: KMeansLandmarks(k, init="k-means++", snap=False, random_state=seed),
        "euclidean",
        "#009e73",
    ),
    DPP: Scheme(paper_dpp, "euclidean", "#0072b2"),
    BHATTACHARYYA: Scheme(paper_dpp, "bhattacharyya", "#d55e00"),
    DEFAULTS: Scheme(
        lambda k, n, seed: EfficientDPP(k, random_state=seed), "bhattacharyya", "#cc79a7", own=True
    ),
}

# Comparisons of two schemes: those that the paper makes, and two of our own.
COMPARISONS = (
    (SEEDING, UNIFORM),
    (KMEANS_UNIFORM, UNIFORM),
    (KMEANS, SEEDING),
    (DPP, SEEDING),
    (DPP, KMEANS),
    (BHATTACHARYYA, DPP),
    (DEFAULTS, DPP),
)


@dataclass(frozen=True)
class Reading:
    """How the runs of a task are evaluated.

    Attributes
    ----------
    counts : sequence of int
        Numbers of landmarks.
    claims : sequence of str
        What the paper says about `COMPARISONS`.
    overlap : float
        Points for testing over points for training, where every run is a new split.
    """

    counts: Sequence[int]
    claims: Sequence[str]
    overlap: float = 0.0

    @property
    def test(self) -> str:
        """Name of the test, and what it does not cover."""
        if self.overlap:
            return f"{RESAMPLED_TEST}; it holds for these patches, not for other patients"
        return (
            f"{PAIRED_TEST}; it holds for other draws of landmarks, with the same points for "
            "training and testing"
        )


COMMON_SETTING = f"""What the paper leaves open is the same for all schemes and was chosen on
validation points, for Euclidean graphs (`graphs`): {GRAPH_NEIGHBORS} graph
neighbors, a bandwidth for each landmark, and an extension over
{"all landmarks" if EXTENSION == "all" else f"the {EXTENSION} nearest landmarks"}. Landmarks of
k-means are its centers. Library defaults leave m, sigma and all the rest to trigpoint."""

PARAMETERS = {
    "n_neighbors": N_NEIGHBORS_PAPER,
    "bandwidth": BANDWIDTH_PAPER,
    "graph_neighbors": GRAPH_NEIGHBORS,
    "extension": EXTENSION,
}


def run_scheme(task: Task, case: Row, n_components: int) -> Row:
    """Measure one case: a scheme and a number of landmarks, or the points themselves."""
    if case["scheme"] == REFERENCE:
        return scored(task, task.train, task.test)
    return classify_scheme(task, case["scheme"], case["k"], n_components, case["seed"])


def classify_scheme(task: Task, name: str, k: int, n_components: int, seed: int) -> Row:
    """Measure Laplacian eigenmaps with the landmarks and the graph of a scheme."""
    scheme = SCHEMES[name]
    landmarks = scheme.sampler(k, len(task.train), seed)
    setting: dict[str, Any] = {"landmarks": landmarks, "random_state": seed}
    if not scheme.own:
        setting["graph"] = KNNGraph(GRAPH_NEIGHBORS, metric=scheme.metric)
        setting["extension"] = EXTENSION
    return classify(task, LaplacianEigenmaps(n_components, **setting))


def classify(task: Task, estimator: LaplacianEigenmaps) -> Row:
    """Accuracy of the nearest neighbor in the embedding."""
    estimator.fit(task.train)
    return scored(task, estimator.transform(task.train), estimator.transform(task.test))


def scored(task: Task, train: np.ndarray, test: np.ndarray) -> Row:
    """Share of test points that have the class of the nearest training point."""
    accuracy = knn_accuracy(train, task.train_labels, test, task.test_labels)
    # Some rows of the committed tables were computed with a GPU.
    return {"device": "cpu", "accuracy": round(accuracy, 6)}


def ordered_schemes(seeds: Sequence[int]) -> list[tuple[str, int]]:
    """Scheme and seed: all schemes with one seed, then with the next."""
    return [(name, seed) for seed in seeds for name in SCHEMES]


def show_scheme_rows(rows: Sequence[Row], reading: Reading, page: Page) -> None:
    """Accuracies and the paper's comparisons, of one task."""
    accuracy_table({f"k = {k:,}": (rows, k) for k in reading.counts}, page)
    with page.details("Differences, and whether they are significant"):
        comparison_table(rows, reading, page)


def accuracy_table(columns: Mapping[str, tuple[Sequence[Row], int]], page: Page) -> None:
    """Mean and standard deviation of the accuracy; columns are rows and a number of landmarks."""
    lines, numbers = [], set()
    for name in (*SCHEMES, REFERENCE):
        cells = []
        for rows, k in columns.values():
            runs = [row for row in rows if row["scheme"] == name and row["k"] in (k, None)]
            cells.append(mean_and_spread(runs, "accuracy"))
            numbers |= {len(runs)} if name != REFERENCE else set()
        if any(cells):
            lines.append([name, *cells])
    page.table(["accuracy, %", *columns], lines)
    page.text(
        f"""Mean ± standard deviation over {runs_text(numbers)}; {REFERENCE}, without any embedding,
        in one."""
    )


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


def compared_schemes(
    rows: Sequence[Row], reading: Reading
) -> dict[tuple[tuple[str, str], int], Comparison]:
    """`COMPARISONS` for every number of landmarks, corrected for how many these are."""
    cells = grouped(rows, "scheme", "k")
    found = {
        (pair, k): compare(
            *(cells.get((name, k), []) for name in pair), "accuracy", reading.overlap
        )
        for pair in COMPARISONS
        for k in reading.counts
    }
    return dict(zip(found, holm(list(found.values())), strict=True))


def comparison_table(rows: Sequence[Row], reading: Reading, page: Page) -> None:
    """What the paper says about two schemes, and the difference found here in percentage points."""
    found = compared_schemes(rows, reading)
    lines = []
    for pair, claim in zip(COMPARISONS, reading.claims, strict=True):
        lines.append([" - ".join(pair), claim, *(found[pair, k].points for k in reading.counts)])
    pairs = runs_text({cell.n_pairs for cell in found.values()})
    page.text(
        f"""Differences in percentage points over {pairs} with the same seed. Stars at .05, .01 and
        .001, {CORRECTED}: {reading.test}."""
    )
    page.table(["difference", "the paper", *(f"k = {k:,}" for k in reading.counts)], lines)


def accuracy_bars(axes: Any, rows: Sequence[Row], reading: Reading, title: str) -> None:
    """Bars of the mean accuracy with standard deviations, and the paper's stars."""
    cells, counts = grouped(rows, "scheme", "k"), reading.counts
    shown = [name for name in SCHEMES if any((name, k) in cells for k in counts)]
    if not shown:
        return
    width = 0.8 / len(shown)
    lows, highs = [], []
    for place, name in enumerate(shown):
        at, means, spreads = [], [], []
        for group, k in enumerate(counts):
            if (name, k) not in cells:
                continue
            values = 100 * column(cells[name, k], "accuracy")
            at.append(group + (place - (len(shown) - 1) / 2) * width)
            means.append(values.mean())
            spreads.append(values.std(ddof=1) if len(values) > 1 else 0.0)
        axes.bar(at, means, width, yerr=spreads, label=name, color=SCHEMES[name].colour)
        lows.append(min(means) - max(spreads))
        highs.append(max(np.add(means, spreads)))
    span = max(highs) - min(lows)
    axes.set_ylim(min(lows) - 0.1 * span, max(highs) + 0.18 * span)
    _stars(axes, rows, reading, shown, width, span)
    axes.set_xticks(range(len(counts)), [f"{k:,}" for k in counts])
    axes.set(xlabel="landmarks k", ylabel="accuracy, %", title=title)


def _stars(
    axes: Any,
    rows: Sequence[Row],
    reading: Reading,
    shown: Sequence[str],
    width: float,
    span: float,
) -> None:
    """Stars over the bars of the two comparisons that the paper marks."""
    cells, marked = grouped(rows, "scheme", "k"), ((DPP, SEEDING), (BHATTACHARYYA, DPP))
    for (pair, k), found in compared_schemes(rows, reading).items():
        if pair in marked and found.stars and found.difference > 0:
            values = 100 * column(cells[pair[0], k], "accuracy")
            group = list(reading.counts).index(k)
            at = group + (shown.index(pair[0]) - (len(shown) - 1) / 2) * width
            spread = values.std(ddof=1) if len(values) > 1 else 0.0
            height = values.mean() + spread + 0.02 * span
            axes.text(at, height, found.stars, ha="center", va="bottom", rotation=90, fontsize=7)
