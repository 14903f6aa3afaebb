"""Classification of handwritten digits from 100 coordinates, for every way to choose landmarks."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.stats import t

from experiments.data import load_mnist
from experiments.pages import Page, legend_below
from experiments.paper import classification
from experiments.paper.classification import (
    BHATTACHARYYA,
    DPP,
    KMEANS,
    KMEANS_ROWS,
    LIBRARY,
    PUBLISHED,
    REFERENCE,
    SEEDING,
    UNIFORM,
    Table,
    Task,
)
from experiments.runner import Experiment, Row, Settings

RUNS, COUNTS, N_COMPONENTS = 20, (250, 500, 1000, 2000), 100
QUICK_COUNTS, QUICK_COMPONENTS = (150,), 30
CLAIMS = {
    (SEEDING, UNIFORM): "above",
    (KMEANS, SEEDING): "no better",
    (KMEANS_ROWS, SEEDING): "no better",
    (DPP, SEEDING): "above, significantly",
    (BHATTACHARYYA, DPP): "above",
}
SCORES = {"accuracy": "accuracy"}
SIZES, QUICK_SIZES = (60_000, 10_000), (3_000, 1_000)
THRESHOLD = 0.5
PIXELS = {
    PUBLISHED: "binary images, as in the paper",
    LIBRARY: "gray images",
}

# Test digits are dealt to this many groups, from which errors over test digits are estimated.
GROUPS = 20


def cases(settings: Settings) -> Iterator[Row]:
    """Both pipelines with every scheme and number of landmarks, 20 times; the raw data once."""
    n_train, n_test = QUICK_SIZES if settings.quick else SIZES
    sizes: Row = {"n_train": n_train, "n_test": n_test}
    for pipeline in PIXELS:
        yield {"pipeline": pipeline, "scheme": REFERENCE, "k": None, "seed": 0, **sizes}
    for seed in settings.seeds(RUNS):
        for pipeline, schemes in classification.SCHEMES.items():
            for k in QUICK_COUNTS if settings.quick else COUNTS:
                for scheme in schemes:
                    yield {"pipeline": pipeline, "scheme": scheme, "k": k, "seed": seed, **sizes}


def run(case: Row, settings: Settings) -> Row:
    """Embed and classify once."""
    threshold = THRESHOLD if case["pipeline"] == PUBLISHED else None
    task = digits(settings.find("mnist"), case["n_train"], case["n_test"], threshold)
    n_components = QUICK_COMPONENTS if settings.quick else N_COMPONENTS
    labels = classification.predicted(task, case, n_components)
    wrong = labels != task.test_labels
    errors = [int(wrong[group::GROUPS].sum()) for group in range(GROUPS)]
    return {**classification.scored(task, labels), "errors": " ".join(map(str, errors))}


@lru_cache(maxsize=2)
def digits(folder: Path, n_train: int, n_test: int, threshold: float | None = None) -> Task:
    """The digits in the order of their files, gray or binary: all of them, or the first ones."""
    train, train_labels = load_mnist(folder, split="train")
    test, test_labels = load_mnist(folder, split="test")
    train, test = train[:n_train], test[:n_test]
    if threshold is not None:
        train, test = ((threshold < X).astype(np.float32) for X in (train, test))
    return Task(train, train_labels[:n_train], test, test_labels[:n_test])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies, the paper's claims, bars."""
    page.text(
        """The paper: k-means++ seeding beats uniform landmarks and k-means++ gains nothing over
        its seeding; efficient DPP sampling beats the seeding significantly, and the Bhattacharyya
        graph adds to that. It gives bars, no numbers."""
    )
    tables = _tables(rows, settings)
    found = classification.compared(tables, SCORES)
    with page.picture(
        "Accuracy of every scheme by number of landmarks, one panel for each pipeline",
        figsize=(13, 4),
        ncols=len(tables),
        squeeze=False,
    ) as axes:
        for panel, table in zip(axes[0], tables, strict=True):
            classification.accuracy_bars(panel, table, found)
        legend_below(axes[0], ncols=5)
    with page.details("How it was run"):
        n_train, n_test = QUICK_SIZES if settings.quick else SIZES
        page.text(
            f"""{n_train:,} digits to learn from, {n_test:,} to classify by their nearest neighbor
            in the embedding, with m = {classification.paper_neighbors(n_train):,} (the paper's is
            {classification.N_NEIGHBORS_PAPER:,}). Binary images are 1 above a gray value of
            {THRESHOLD:g}. {classification.SETTING}"""
        )
    page.text(
        classification.tests_text(
            False,
            "hold for other draws of landmarks, with the same digits",
        )
    )
    for table in tables:
        classification.show_table(table, found, CLAIMS, SCORES, page)
        _show_intervals(table, page)


def _tables(rows: Sequence[Row], settings: Settings) -> list[Table]:
    counts = QUICK_COUNTS if settings.quick else COUNTS
    return [
        Table(
            f"{pipeline.capitalize()} pipeline, {pixels}",
            pipeline,
            classification.select(rows, pipeline),
            counts,
        )
        for pipeline, pixels in PIXELS.items()
    ]


def _show_intervals(table: Table, page: Page) -> None:
    """The main differences, with intervals over test digits."""
    lines = []
    for pair in (pair for pair in CLAIMS if pair in table.pairs):
        cells = [_interval(*(table.runs(name, k) for name in pair)) for k in table.counts]
        lines.append([" - ".join(pair), *cells])
    page.text(
        """For other test digits: the same differences with 95 % intervals. Accuracies are averaged
        over the draws, and the standard error comes from twenty groups of test digits."""
    )
    page.table(["difference", *map(table.head, table.counts)], lines)


def _interval(first: Sequence[Row], second: Sequence[Row]) -> str:
    """Difference of two schemes in points, and what it may be with other test digits."""
    means = []
    for rows in (first, second):
        errors = [row["errors"].split() for row in rows]
        means.append(np.array(errors, dtype=float).mean(axis=0) / (rows[0]["n_test"] / GROUPS))
    difference = 100 * (means[1] - means[0])
    half = t.ppf(0.975, GROUPS - 1) * difference.std(ddof=1) / np.sqrt(GROUPS)
    return f"{difference.mean():+.2f} ± {half:.2f}"


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies of all schemes in both pipelines."""
    columns = {
        f"{table.pipeline}, k = {k:,}": (table, k)
        for table in _tables(rows, settings)
        for k in sorted({table.counts[0], table.counts[-1]})
    }
    classification.score_table(columns, page, SCORES)


PARAMETERS = classification.PARAMETERS | {"n_components": N_COMPONENTS, "threshold": THRESHOLD}

EXPERIMENT = Experiment(
    "mnist", "MNIST: classification by landmarks", cases, run, show, PARAMETERS, brief
)
