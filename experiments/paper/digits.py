"""A second look at the Bhattacharyya graph on digits.

What the paper may have done otherwise than `graphs`: binary images, one bandwidth of 5 for weights
and extension, the extension as it is printed, and few labels. Settings are chosen on validation
digits, and only those that were chosen are shown on the test digits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances

from experiments.data.mnist import load_mnist
from experiments.framework.chosen import Chosen
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page
from experiments.framework.summary import CORRECTED, PAIRED_TEST, column, compare, grouped, holm
from experiments.internals import Landmarks, ParameterError
from experiments.paper.classification import (
    BANDWIDTH_PAPER,
    N_NEIGHBORS_PAPER,
    Task,
    mean_and_spread,
    nearest_neighbor_scores,
    paper_neighbors,
)
from experiments.paper.graphs import (
    BHATTACHARYYA,
    EUCLIDEAN,
    METRICS,
    STYLES,
    drawn_landmarks,
    with_covariances,
)
from experiments.paper.on_device import device_name, on_device
from trigpoint import KNNGraph, LaplacianEigenmaps

RUNS, N_COMPONENTS, N_LANDMARKS = 5, 100, 1000
QUICK_COMPONENTS, QUICK_LANDMARKS = 30, 150
N_VALIDATION = 10_000
QUICK_SIZES = (3_000, 1_000)

IMAGES = ("gray", "binary")
NEIGHBORS, QUICK_NEIGHBORS = (5, 20, 100, 500), (20, 100)
# A bandwidth for each landmark, as in the other experiments; the paper's sigma for all of them; and
# the same with the extension by the paper's formula.
KERNELS = OWN, COMMON, PRINTED = ("own bandwidths", "sigma = 5", "sigma = 5, as printed")
THRESHOLD = 0.5

# Labeled training digits, and how often so few are drawn; 0 stands for all of them.
LABELS = (0, 1000, 100)
LABEL_DRAWS = 20


def cases(settings: Settings) -> Iterator[Row]:
    """Every setting, draw by draw."""
    k = QUICK_LANDMARKS if settings.quick else N_LANDMARKS
    for seed in settings.seeds(RUNS):
        for images in IMAGES:
            for kernel in KERNELS:
                for neighbors in QUICK_NEIGHBORS if settings.quick else NEIGHBORS:
                    for metric in METRICS:
                        setting = {"kernel": kernel, "neighbors": neighbors, "metric": metric}
                        yield {"images": images, **setting, "k": k, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Embed with one graph, and classify validation and test digits with all and few labels."""
    place = settings.find("mnist"), case["images"], settings.quick
    tasks = _tasks(*place)
    chosen = _landmarks(*place, case["k"], case["seed"], METRICS[case["metric"]])
    labels = tasks["validation"].train_labels
    try:
        embed = _embedding(tasks["validation"].train, chosen, case, settings.quick)
    except ParameterError:
        # This graph has fewer eigenvalues that the extension could divide by.
        none = {_column(part, count): None for part in tasks for count in LABELS}
        return {"device": "cpu", **none}
    # Neighbors are searched on the device, and all else is quick on the host.
    train, *others = (
        on_device(embed(points), settings.device)
        for points in (tasks["validation"].train, *(task.test for task in tasks.values()))
    )
    tested = dict(zip(tasks, others, strict=True))
    row: Row = {"device": device_name(train)}
    for part, task in tasks.items():
        for count in LABELS:
            subsets = _labeled(len(labels), count, case["seed"])
            found = [
                nearest_neighbor_scores(train[rows], labels[rows], tested[part], task.test_labels)
                for rows in subsets
            ]
            row[_column(part, count)] = round(float(np.mean([score for score, _ in found])), 6)
    return row


def _column(part: str, count: int) -> str:
    return f"{part}_{count or 'all'}"


def _labeled(n: int, count: int, seed: int) -> list[Any]:
    """Which training digits have labels: all, or several times a few."""
    if not count:
        return [slice(None)]
    rng = np.random.default_rng(seed)
    return [rng.choice(n, count, replace=False) for _ in range(LABEL_DRAWS)]


@lru_cache(maxsize=2)
def _tasks(folder: Path, images: str, quick: bool) -> dict[str, Task]:
    """Training digits with validation digits, which are the last ones of their file; with test."""
    X, y = load_mnist(folder, split="train")
    test, test_labels = load_mnist(folder, split="test")
    n_train, n_test = QUICK_SIZES if quick else (len(X) - N_VALIDATION, len(test))

    def seen(points: np.ndarray) -> np.ndarray:
        return (points > THRESHOLD).astype(np.float32) if images == "binary" else points

    last = slice(len(X) - n_test, None)
    validation = Task(seen(X[:n_train]), y[:n_train], seen(X[last]), y[last])
    final = replace(validation, test=seen(test[:n_test]), test_labels=test_labels[:n_test])
    return {"validation": validation, "test": final}


@lru_cache(maxsize=6)
def _landmarks(
    folder: Path,
    images: str,
    quick: bool,
    k: int,
    seed: int,
    kind: str | None,
) -> Landmarks:
    """Landmarks with the covariances of a kind, if any, and the paper's m and sigma."""
    X = _tasks(folder, images, quick)["validation"].train
    if kind is None:
        return drawn_landmarks(X, k, seed)
    chosen = _landmarks(folder, images, quick, k, seed, None)
    return with_covariances(X, chosen, paper_neighbors(len(X)), kind)


def _embedding(X: np.ndarray, chosen: Landmarks, case: Row, quick: bool) -> Any:
    """The function that gives points their coordinates."""
    metric = EUCLIDEAN if chosen.covariances is None else BHATTACHARYYA
    bandwidth = None if case["kernel"] == OWN else BANDWIDTH_PAPER
    estimator = LaplacianEigenmaps(
        QUICK_COMPONENTS if quick else N_COMPONENTS,
        landmarks=Chosen(chosen),
        graph=KNNGraph(case["neighbors"], metric=metric, bandwidth=bandwidth),
        extension="all",
    ).fit(X)
    if case["kernel"] != PRINTED:
        return estimator.transform
    coordinates, eigenvalues = estimator.fitted_.spectrum.coordinates, estimator.eigenvalues_
    return lambda points: printed_extension(
        points, chosen.points, coordinates, eigenvalues, BANDWIDTH_PAPER
    )


def printed_extension(
    X: np.ndarray,
    landmarks: np.ndarray,
    coordinates: np.ndarray,
    eigenvalues: np.ndarray,
    sigma: float,
) -> np.ndarray:
    """Coordinates of points by the formula of the paper's section 4.1.

    The kernel is divided by ``k sqrt(E[K] E[K])``, with expectations over the landmarks, and the
    landmarks' coordinates by the eigenvalues lambda of the Laplacian, as the paper writes it.
    Points that are landmarks are extended like all others.
    """
    k, values = len(landmarks), coordinates / eigenvalues
    landmarks = landmarks.astype(np.float64)

    def kernel(points: np.ndarray) -> np.ndarray:
        squares = euclidean_distances(points, landmarks, squared=True)
        return np.exp(-squares / (2 * sigma**2))

    own, mine = kernel(landmarks).mean(axis=1), kernel(X.astype(np.float64))
    return (mine / own**0.5) @ values / (k * mine.mean(axis=1, keepdims=True) ** 0.5)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """The chosen settings on the test digits, and all settings on the validation digits."""
    page.text(
        """The paper: the Bhattacharyya graph improves the classification of digits. In the
        experiment `graphs` it does not. The paper calls the images binary, gives one bandwidth, and
        prints a formula for the extension; `graphs` has gray images, a bandwidth for each landmark,
        and weights that add up to 1. So both are tried, with 5 to 500 neighbors, covariances of
        low rank, and few labels."""
    )
    _draw(_embedded(rows), page)
    page.text(
        f"""Test digits, in the setting that was chosen on validation digits for each metric alone:
        accuracy in per cent, mean ± standard deviation over draws of landmarks, and percentage
        points above the Euclidean graph. Stars at .05, .01 and .001, {CORRECTED}: {PAIRED_TEST}."""
    )
    brief(rows, settings, page)
    with page.details("How it was run"):
        page.text(
            f"""{"3,000" if settings.quick else "50,000"} training digits,
            {QUICK_LANDMARKS if settings.quick else N_LANDMARKS:,} landmarks by efficient DPP with
            the paper's m and sigma, {QUICK_COMPONENTS if settings.quick else N_COMPONENTS}
            coordinates, the nearest neighbor among labeled digits. Of 1,000 and 100 labels, means
            over {LABEL_DRAWS} draws. Images are binary above a gray value of {THRESHOLD:g}. *{OWN}*
            have weights that add up to 1 in the extension, and so has *{COMMON}*; *{PRINTED}* has
            the paper's formula, with expectations over the landmarks, and divides by the
            eigenvalues of the Laplacian. For every number of labels and every metric, the setting
            with the best mean on validation digits, the last 10,000 of the training file, is the
            one that is shown on the test digits."""
        )
    _validation_tables(_embedded(rows), page)


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """The chosen settings on the test digits."""
    good = _embedded(rows)
    chosen = {
        (count, metric): best_setting(good, count, metric) for count in LABELS for metric in METRICS
    }
    _test_table(good, chosen, page)


def _embedded(rows: Sequence[Row]) -> list[Row]:
    """Rows of graphs that have as many eigenvectors as are wanted."""
    return [row for row in rows if row[_column("validation", 0)] is not None]


def best_setting(rows: Sequence[Row], count: int, metric: str) -> tuple[Any, ...]:
    """Images, kernel and neighbors with the best mean on validation digits."""
    mine = [row for row in rows if row["metric"] == metric]
    cells = grouped(mine, "images", "kernel", "neighbors")
    name = _column("validation", count)
    return max(cells, key=lambda setting: column(cells[setting], name).mean())


def _test_table(rows: Sequence[Row], chosen: dict[Any, tuple[Any, ...]], page: Page) -> None:
    cells = grouped(rows, "metric", "images", "kernel", "neighbors")
    found, lines = {}, []
    for count, metric in chosen:
        if metric != EUCLIDEAN:
            runs = cells[metric, *chosen[count, metric]]
            beside = cells[EUCLIDEAN, *chosen[count, EUCLIDEAN]]
            found[count, metric] = compare(runs, beside, _column("test", count))
    found = dict(zip(found, holm(list(found.values())), strict=True))
    for (count, metric), (images, kernel, neighbors) in chosen.items():
        runs = cells[metric, images, kernel, neighbors]
        less = "" if metric == EUCLIDEAN else found[count, metric].points
        setting = f"{images}, {kernel}, {neighbors} neighbors"
        lines.append([f"{count:,}" if count else "all", metric, setting])
        lines[-1] += [mean_and_spread(runs, _column("test", count)), less]
    page.table(["labels", "graph", "setting", "accuracy", "above Euclidean"], lines)


def _validation_tables(rows: Sequence[Row], page: Page) -> None:
    cells = grouped(rows, "metric", "images", "kernel", "neighbors")
    others = [metric for metric in METRICS if metric != EUCLIDEAN]
    with page.details("All settings, on validation digits"):
        for count in LABELS:
            name = _column("validation", count)
            lines, above = [], dict.fromkeys(others, 0)
            for images, kernel, neighbors in grouped(rows, "images", "kernel", "neighbors"):
                beside = cells.get((EUCLIDEAN, images, kernel, neighbors), [])
                line = [images, kernel, f"{neighbors}", _mean(beside, name)]
                for metric in others:
                    runs = cells.get((metric, images, kernel, neighbors), [])
                    difference = compare(runs, beside, name).difference
                    above[metric] += difference > 0
                    line.append(f"{100 * difference:+.2f}")
                lines.append(line)
            shares = ", ".join(f"{metric} {above[metric]} of {len(lines)}" for metric in others)
            page.text(
                f"""{f"{count:,} labels" if count else "All labels"}: accuracy of the Euclidean
                graph in per cent, and percentage points above it. Settings with a gain: {shares}.
                """
            )
            page.table(["images", "kernel", "neighbors", EUCLIDEAN, *others], lines)


def _draw(rows: Sequence[Row], page: Page) -> None:
    """Differences on validation digits in gray, over the number of neighbors."""
    mine = [row for row in rows if row["images"] == IMAGES[0]]
    cells, at = (
        grouped(mine, "metric", "kernel", "neighbors"),
        sorted({r["neighbors"] for r in mine}),
    )
    dashes = dict(zip(KERNELS, ("-", "--", ":"), strict=False))
    describe = "Gain of the Bhattacharyya graph over the number of neighbors"
    with page.picture(describe, ncols=len(LABELS), squeeze=False) as axes:
        for panel, count in zip(axes[0], LABELS, strict=True):
            for metric, kernel in grouped(mine, "metric", "kernel"):
                if metric == EUCLIDEAN:
                    continue
                found = [
                    compare(
                        cells.get((metric, kernel, n), []),
                        cells.get((EUCLIDEAN, kernel, n), []),
                        _column("validation", count),
                    )
                    for n in at
                ]
                color, marker = STYLES[metric]
                style = {"color": color, "marker": marker, "label": f"{metric}; {kernel}"}
                panel.plot(at, [100 * one.difference for one in found], dashes[kernel], **style)
            panel.axhline(0, color="black", linewidth=0.8)
            panel.set(xscale="log", xlabel="neighbors in the graph")
            panel.set_title(f"{count:,} labels" if count else "all labels")
            panel.set_xticks(at, [str(n) for n in at])
            panel.minorticks_off()
        axes[0][0].set_ylabel("points above Euclidean")
        handles, labels = axes[0][0].get_legend_handles_labels()
        axes[0][0].figure.legend(handles, labels, loc="outside lower center", ncols=2)


def _mean(rows: Sequence[Row], name: str) -> str:
    return f"{100 * column(rows, name).mean():.2f}" if rows else "-"


PARAMETERS = {
    "n_neighbors": N_NEIGHBORS_PAPER,
    "bandwidth": BANDWIDTH_PAPER,
    "n_components": N_COMPONENTS,
    "threshold": THRESHOLD,
    "label_draws": LABEL_DRAWS,
}

EXPERIMENT = Experiment(
    "digits",
    "A second look at the Bhattacharyya graph on digits",
    cases,
    run,
    show,
    PARAMETERS,
    brief,
)
