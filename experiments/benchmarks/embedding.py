"""Embeddings into the plane: time, memory, and what is left of the manifold."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.benchmarks import point_sets
from experiments.benchmarks.measuring import apart, foregone, measure
from experiments.benchmarks.methods import EMBEDDERS, setups, warm_up
from experiments.benchmarks.plots import growth_lines
from experiments.pages import Page, grouped, legend_below, number, percent, score, size
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import coordinate_recovery, knn_accuracy, map_scores

SAMPLE = 5000
NEIGHBORS = 15
FULL = [("roll", 10_000), ("roll", 100_000), ("roll", 1_000_000), ("mnist", 70_000)]
QUICK = [("roll", 1_000)]


def cases(settings: Settings) -> Iterator[Row]:
    """Every method on every data set, smaller ones first."""
    for kind, n in QUICK if settings.quick else FULL:
        for name in EMBEDDERS:
            if settings.quick and name == "umap-learn, seeded":
                continue  # Compiling it twice would take a tenth of the time.
            yield {"data": kind, "n": n, "method": name, "seed": 0}


def run(case: Row, settings: Settings) -> Row:
    """Embed, and compare with what is known about the data."""
    on_roll, n = case["data"] == "roll", case["n"]
    X, truth = point_sets.swiss_roll(n) if on_roll else point_sets.real("mnist", settings, n)
    method = EMBEDDERS[case["method"]]
    warm_up(method, X)
    Y, cost = measure(lambda: method.run(X, case["seed"]))
    return {**cost, **(_on_roll(Y, truth) if on_roll else _on_digits(Y, truth))}


def _on_roll(Y: np.ndarray, intrinsic: np.ndarray) -> Row:
    rows = point_sets.sample_rows(len(Y), SAMPLE)
    length, height = coordinate_recovery(Y[rows], intrinsic[rows])
    found = map_scores(intrinsic[rows], Y[rows], n_neighbors=NEIGHBORS, n_queries=None)
    return {"length": length, "height": height, "kept": found.neighbors_preserved}


def _on_digits(Y: np.ndarray, digits: np.ndarray) -> Row:
    train = len(Y) * 6 // 7
    return {"accuracy": knn_accuracy(Y[:train], digits[:train], Y[train:], digits[train:])}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """One table for each data set, and time and memory over n."""
    page.text(
        f"""Two dimensions from three (the Swiss roll) or 784 (MNIST), all points fitted. On the
        roll, R² of arc length and height tells how well each can be read off the embedding
        (`trigpoint.metrics.coordinate_recovery`), and the last column which share of the
        {NEIGHBORS} nearest neighbors on the unrolled plane are among the {NEIGHBORS} nearest in
        the embedding, both on at most {SAMPLE:,} points drawn at random, the same for all methods.
        On MNIST the accuracy is that of the nearest embedded training image for the test images,
        all of them embedded together and without labels. The best of a column is bold."""
    )
    _plot([row for row in rows if row["data"] == "roll"], page)
    for (kind, n), same in grouped(rows, "data", "n").items():
        page.heading(f"{'MNIST' if kind == 'mnist' else 'Swiss roll'}, n = {n:,}")
        page.table(
            {"method": None, "seconds": min, "memory": min, **_quality_columns(kind)},
            [[row["method"], *_cells(row)] for row in same] + _not_run(same),
            fill="-",
        )
    page.text("Settings:")
    page.items(setups(EMBEDDERS))


def _not_run(rows: Sequence[Row]) -> list[list]:
    """Methods that an interrupted or quick run did not reach."""
    done = {row["method"] for row in rows}
    return [[name, "not run"] for name in EMBEDDERS if name not in done]


def _quality_columns(kind: str) -> Row:
    if kind == "mnist":
        return {"1-NN accuracy": max}
    return {"R² length": max, "R² height": max, "neighbors kept": max}


def _cells(row: Row) -> list:
    if reason := row.get("error"):
        return [reason]
    cost = [number(row["seconds"]), size(row["peak"])]
    if "accuracy" in row:
        return [*cost, percent(row["accuracy"])]
    return [*cost, score(row["length"]), score(row["height"]), percent(row["kept"])]


def _plot(rows: Sequence[Row], page: Page) -> None:
    colours = {name: method.colour for name, method in EMBEDDERS.items()}
    describe = "Seconds and memory over the number of points"
    with page.picture(describe, ncols=2) as (left, right):
        growth_lines(left, rows, colours, "seconds")
        left.set(ylabel="seconds", title="time, Swiss roll")
        growth_lines(right, rows, colours, "peak", scale=1e-6)
        right.set(ylabel="MB beyond the input", title="memory, Swiss roll")
        legend_below((left, right), ncols=3)


EXPERIMENT = Experiment("embedding", "Embedding", cases, apart(run), show, foregone=foregone)
