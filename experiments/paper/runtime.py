"""Algorithm 2 against k-means at an equal number of landmarks, in seconds."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import TRAIN_SHARE
from experiments.pages import Page, column, grouped, legend_below, mean, with_error
from experiments.paper.classification import BANDWIDTH_PAPER as BANDWIDTH
from experiments.paper.classification import N_NEIGHBORS_PAPER as N_NEIGHBORS
from experiments.paper.headneck import patch_task
from experiments.paper.mnist import digits
from experiments.runner import Experiment, Row, Settings
from trigpoint import EfficientDPP, KMeansLandmarks, KMeansPlusPlus

RUNS, RUNS_SLOW = 3, 1
COUNTS, QUICK_COUNTS = (500, 1000, 2000), (50, 100, 200)

# About the same share of 2,000 points as the paper's m is of the digits.
QUICK_NEIGHBORS = 160

# What the paper found for its own code and k-means.
PAPER_FASTER = 0.15

# Points of the call that compiles and imports, before the one that is measured.
_WARM_UP_POINTS = 1000


# Titles, and how many points there are, also in the quick form.
DATA = {"mnist": ("digits (784 pixels)", 60_000), "ct": ("CT patches (147 voxels)", 80_000)}
QUICK_POINTS = 2_000


def literal_algorithm_2(
    X: np.ndarray, n_landmarks: int, n_neighbors: int, bandwidth: float, rng: np.random.Generator
) -> np.ndarray:
    """Algorithm 2 as the paper writes it: for every landmark, one pass over all points.

    A landmark repels its `n_neighbors` nearest points, itself included. Returns the rows of the
    landmarks, in the order they were drawn.
    """
    D = np.ones(len(X))
    norms = np.einsum("ij,ij->i", X, X)
    chosen = np.empty(n_landmarks, dtype=np.int64)
    for step in range(n_landmarks):
        cumulative = np.cumsum(D)
        drawn = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        i = chosen[step] = min(int(drawn), len(X) - 1)
        squares = norms + norms[i] - 2 * (X @ X[i])
        # Rounding leaves a little, which would let the landmark be drawn again: it comes first.
        squares[i] = -np.inf
        nearest = np.argpartition(squares, n_neighbors - 1)[:n_neighbors]
        exponents = np.maximum(squares[nearest], 0, dtype=np.float64) / (2 * bandwidth**2)
        D[nearest] *= -np.expm1(-exponents)
        # Only ratios count, and products of hundreds of factors would underflow.
        D /= D.max()
    return chosen


def _kmeans(X: np.ndarray, k: int, seed: int, init: str) -> int:
    return KMeansLandmarks(k, init=init, random_state=seed).fit(X).n_iter_


LITERAL, KMEANS = "literal", "k-means"

# Titles, and functions of the points, the number of landmarks, m and the seed. Those of k-means
# return the number of iterations.
METHODS: dict[str, tuple[str, Callable[[np.ndarray, int, int, int], Any]]] = {
    LITERAL: (
        "Algorithm 2 as written",
        lambda X, k, m, seed: literal_algorithm_2(X, k, m, BANDWIDTH, np.random.default_rng(seed)),
    ),
    "dpp": (
        "EfficientDPP, the paper's m and sigma",
        lambda X, k, m, seed: EfficientDPP(
            k, n_neighbors=m, bandwidth=BANDWIDTH, pool=None, random_state=seed
        ).fit(X),
    ),
    "dpp-default": (
        "EfficientDPP, defaults",
        lambda X, k, m, seed: EfficientDPP(k, pool=None, random_state=seed).fit(X),
    ),
    "seeding": (
        "k-means++ seeding",
        lambda X, k, m, seed: KMeansPlusPlus(k, random_state=seed).fit(X),
    ),
    KMEANS: ("k-means, uniform start", lambda X, k, m, seed: _kmeans(X, k, seed, "random")),
    "k-means++": ("k-means++", lambda X, k, m, seed: _kmeans(X, k, seed, "k-means++")),
}
# Run only once for many landmarks.
SLOW = ("seeding", KMEANS, "k-means++")


def cases(settings: Settings) -> Iterator[Row]:
    """Every method in turn, so that what slows the machine down slows all of them."""
    m = QUICK_NEIGHBORS if settings.quick else N_NEIGHBORS
    for place, k in enumerate(QUICK_COUNTS if settings.quick else COUNTS):
        few = settings.seeds(RUNS_SLOW if place else RUNS)
        for data, (_, n) in DATA.items():
            n = QUICK_POINTS if settings.quick else n
            for seed in settings.seeds(RUNS):
                for method in METHODS:
                    if method not in SLOW or seed in few:
                        case = {"data": data, "n_points": n, "method": method, "k": k}
                        yield {**case, "m": m, "sigma": BANDWIDTH, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Seconds of the choice alone."""
    name, method = case["data"], case["method"]
    n, k, m, seed = (case[column] for column in ("n_points", "k", "m", "seed"))
    folder = settings.find(name)
    _warm_up(method, name, folder, n)
    X = load_points(name, folder, n)
    start = time.perf_counter()
    found = METHODS[method][1](X, k, m, seed)
    seconds = round(time.perf_counter() - start, 4)
    return {"seconds": seconds, "iterations": found if isinstance(found, int) else None}


def load_points(data: str, folder: Path, n_points: int) -> np.ndarray:
    """First digits of the training set, or training patches as the classification splits them."""
    if data == "mnist":
        return digits(folder, n_points, 0).train
    return patch_task(folder, "openkbp", "patch", round(n_points / TRAIN_SHARE), 0).train


@cache
def _warm_up(method: str, data: str, folder: Path, n_points: int) -> None:
    """Compile and import what a method needs, once."""
    X = load_points(data, folder, n_points)[:_WARM_UP_POINTS]
    METHODS[method][1](X, len(X) // 20, len(X) // 10, 0)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Times, their ratios to k-means, and the only figure that the paper gives."""
    page.text(
        f"""The paper, of its CT patches: "our unoptimized Matlab code for efficient DPP sampling
        runs approximately {PAPER_FASTER:.0%} faster than an optimized MEX version of K-means". It
        gives no seconds, no number of landmarks and no machine."""
    )
    _show_picture(rows, page)
    with page.details("How it was run"):
        page.text(
            f"""Seconds to choose k landmarks in float32, on all cores, without reading and without
            compiling. *{METHODS[LITERAL][0]}* is the paper's loop in NumPy, one pass over all
            points for every landmark, with m = {rows[0]["m"]:,} and sigma = {BANDWIDTH:g};
            `EfficientDPP` draws from the same distribution, several landmarks in one pass. k-means
            is scikit-learn's, from one start and to its own tolerance (`KMeansLandmarks`). Mean ±
            standard error; where there is no error, one run."""
        )
    for name, (title, _) in DATA.items():
        mine = [row for row in rows if row["data"] == name]
        if mine:
            page.heading(f"{mine[0]['n_points']:,} {title}")
            _show_tables(mine, page)


def _show_tables(rows: Sequence[Row], page: Page) -> None:
    cells = grouped(rows, "method", "k")
    counts = sorted({row["k"] for row in rows})
    head = [f"k = {k:,}" for k in counts]
    page.table(
        ["seconds", *head],
        [
            [title, *(with_error(column(cells[name, k], "seconds")) for k in counts)]
            for name, (title, _) in METHODS.items()
        ],
    )
    iterations = [f"{k:,}: {mean(cells[KMEANS, k], 'iterations'):.0f}" for k in counts]
    page.text(f"Iterations of k-means from a uniform start, by k: {'; '.join(iterations)}.")
    speeds = {
        name: [mean(cells[KMEANS, k], "seconds") / mean(cells[name, k], "seconds") for k in counts]
        for name in METHODS
        if name != KMEANS
    }
    page.table(
        ["seconds of k-means, uniform start, divided by its own", *head],
        [[METHODS[name][0], *(f"{x:.3g}" for x in found)] for name, found in speeds.items()],
    )
    literal = [
        f"{speed:.3g} times as fast for k = {k:,}"
        for k, speed in zip(counts, speeds[LITERAL], strict=True)
    ]
    page.text(
        f"""Algorithm 2 as written beside k-means, {1 + PAPER_FASTER:g} times as fast in the paper:
        here {", ".join(literal)}."""
    )


def _show_picture(rows: Sequence[Row], page: Page) -> None:
    shown = [name for name in DATA if any(row["data"] == name for row in rows)]
    cells = grouped(rows, "data", "method", "k")
    with page.picture(
        "Seconds over the number of landmarks, one panel for each data set",
        figsize=(9, 4.2),
        ncols=len(shown),
        squeeze=False,
        sharey=True,
    ) as axes:
        for panel, data in zip(axes[0], shown, strict=True):
            counts = sorted({row["k"] for row in rows if row["data"] == data})
            for name, (title, _) in METHODS.items():
                seconds = [mean(cells[data, name, k], "seconds") for k in counts]
                panel.loglog(counts, seconds, "-o", label=title)
            panel.set_xticks(counts, [f"{k:,}" for k in counts], minor=False)
            panel.set_xticks([], minor=True)
            panel.yaxis.set_major_formatter("{x:g}")
            panel.grid(axis="y", color="0.9")
            n_points = next(row["n_points"] for row in rows if row["data"] == data)
            panel.set(xlabel="landmarks k", title=f"{n_points:,} {DATA[data][0]}")
        axes[0][0].set_ylabel("seconds")
        legend_below(axes[0], ncols=3)


PARAMETERS = {"n_neighbors": N_NEIGHBORS, "bandwidth": BANDWIDTH, "dtype": "float32"}

EXPERIMENT = Experiment(
    "runtime", "Runtime: Algorithm 2 against k-means", cases, run, show, PARAMETERS
)
