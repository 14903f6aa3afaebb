"""Embeddings into the plane: time, memory, and what is left of the manifold."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from experiments.benchmarks import data
from experiments.benchmarks.harness import measure
from experiments.benchmarks.peers import EMBEDDERS, settings, warm_up
from experiments.benchmarks.report import (
    Report,
    by_case,
    growth_lines,
    number,
    percent,
    score,
    size,
)
from trigpoint.metrics import coordinate_recovery, knn_accuracy

TITLE = "Embedding"
SAMPLE = 5000
NEIGHBORS = 15
FULL = [("roll", 10_000), ("roll", 100_000), ("roll", 1_000_000), ("mnist", 70_000)]
QUICK = [("roll", 1_000)]


def specs(quick: bool) -> Iterator[dict]:
    """Every method on every data set, smaller ones first."""
    for kind, n in QUICK if quick else FULL:
        if kind == "mnist" and data.mnist_folder() is None:
            continue
        for name in EMBEDDERS:
            if quick and name == "umap-learn, seeded":
                continue  # Compiling it twice would take a tenth of the time.
            family = f"{kind} {name}"
            yield {"data": kind, "n": n, "method": name, "seed": 0, "family": family}


def work(spec: dict) -> dict:
    """Embed, and compare with what is known of the data."""
    load = data.swiss_roll if spec["data"] == "roll" else data.all_mnist
    X, truth = load(spec["n"])
    method = EMBEDDERS[spec["method"]]
    warm_up(method, X)
    Y, cost = measure(lambda: method.run(X, spec["seed"]))
    return {**cost, **(_on_roll(Y, truth) if spec["data"] == "roll" else _on_digits(Y, truth))}


def _on_roll(Y: np.ndarray, intrinsic: np.ndarray) -> dict:
    rows = data.sample_rows(len(Y), SAMPLE)
    length, height = coordinate_recovery(Y[rows], intrinsic[rows])
    true, kept = (_neighbors(points[rows]) for points in (intrinsic, Y))
    shared = [len(set(a) & set(b)) for a, b in zip(true, kept, strict=True)]
    return {"length": length, "height": height, "kept": float(np.mean(shared)) / NEIGHBORS}


def _neighbors(points: np.ndarray) -> np.ndarray:
    """Nearest others of each point."""
    _, found = cKDTree(points).query(points, NEIGHBORS + 1)
    return found[:, 1:]


def _on_digits(Y: np.ndarray, digits: np.ndarray) -> dict:
    train = len(Y) * 6 // 7
    return {"accuracy": knn_accuracy(Y[:train], digits[:train], Y[train:], digits[train:])}


def render(records: list[dict], report: Report) -> None:
    """One table for each data set, time and memory over n."""
    report.text(
        f"""Two dimensions from three (the Swiss roll) or 784 (MNIST), all points fitted. On the
        roll, R² of arc length and height tells how well each can be read off the embedding
        (`trigpoint.metrics.coordinate_recovery`), and the last column which share of the
        {NEIGHBORS} nearest neighbours on the unrolled plane are among the {NEIGHBORS} nearest in
        the embedding, both on at most {SAMPLE:,} points drawn at random, the same for all methods.
        On MNIST the accuracy is that of the nearest embedded training image for the test images,
        all of them embedded together and without labels. The best of a column is bold."""
    )
    for (kind, n), rows in by_case(records, "data", "n").items():
        report.heading(f"{'MNIST' if kind == 'mnist' else 'Swiss roll'}, n = {n:,}")
        report.table(
            {"method": None, "seconds": min, "memory": min, **_quality_columns(kind)},
            [[r["spec"]["method"], *_cells(r["result"])] for r in rows] + _not_run(rows),
        )
    if not any(r["spec"]["data"] == "mnist" for r in records):
        report.text(f"*{data.NO_MNIST} Quick runs leave it out.*")
    report.text("Settings:")
    report.items(settings(EMBEDDERS))
    _plot([r for r in records if r["spec"]["data"] == "roll"], report)


def _not_run(rows: list[dict]) -> list[list]:
    """Methods that an interrupted run, or a quick one, did not come to."""
    done = {r["spec"]["method"] for r in rows}
    return [[name, "not run"] for name in EMBEDDERS if name not in done]


def _quality_columns(kind: str) -> dict:
    if kind == "mnist":
        return {"1-NN accuracy": max}
    return {"R² length": max, "R² height": max, "neighbours kept": max}


def _cells(result: dict) -> list:
    if reason := result.get("error"):
        return [reason]
    cost = [number(result["seconds"]), size(result["peak"])]
    if "accuracy" in result:
        return [*cost, percent(result["accuracy"])]
    return [*cost, score(result["length"]), score(result["height"]), percent(result["kept"])]


def _plot(records: list[dict], report: Report) -> None:
    colours = {name: method.colour for name, method in EMBEDDERS.items()}
    with report.plot("embedding", "Seconds and memory over the number of points") as (left, right):
        growth_lines(left, records, colours, "seconds")
        left.set(ylabel="seconds", title="time, Swiss roll")
        growth_lines(right, records, colours, "peak", scale=1e-6)
        right.set(ylabel="MB beyond the input", title="memory, Swiss roll")
