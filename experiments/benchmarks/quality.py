"""How good landmarks are by the paper's own measure: every sampler, on made and on real data."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.benchmarks.measuring import apart
from experiments.benchmarks.sets import coil, lidar, mnist, sample_rows
from experiments.pages import Cell, Page, duration, grouped
from experiments.paper.table1 import COUNTS, SURFACES
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import nystrom_error, optimal_error

OPTIMUM, EXACT, MOVED = "optimum", "ExactDPP", "EfficientDPP, refined and moved\\*"
SEEDS = 50

# Seconds for the runs of one sampler on real data, errors included, after which no further run is
# started.
BUDGET = 10.0
MEASURED = 20_000

# By the number of landmarks and the bandwidth of the kernel. Starred landmarks are not points.
SAMPLERS: dict[str, Callable[[int, float], Any]] = {
    "EfficientDPP": lambda k, s: tp.EfficientDPP(k),
    "EfficientDPP, refined": lambda k, s: tp.EfficientDPP(k, refine=True, kernel_bandwidth=s),
    MOVED: lambda k, s: tp.EfficientDPP(k, refine=tp.Refinement(snap=False), kernel_bandwidth=s),
    "uniform": lambda k, s: tp.Uniform(k),
    "k-means++ seeding": lambda k, s: tp.KMeansPlusPlus(k),
    "k-means, uniform start\\*": lambda k, s: tp.KMeansLandmarks(k, snap=False),
    "k-means++\\*": lambda k, s: tp.KMeansLandmarks(k, init="k-means++", snap=False),
    "k-means++, nearest points": lambda k, s: tp.KMeansLandmarks(k, init="k-means++"),
    "RPCholesky": lambda k, s: tp.RPCholesky(k, bandwidth=s),
    "FarthestPoint": lambda k, s: tp.FarthestPoint(k),
    EXACT: lambda k, s: tp.ExactDPP(k, bandwidth=s),
}


# Their titles, bandwidths and numbers of landmarks. The bowl is 4 % larger than in table 1.
SETS = {
    "roll": ("Swiss roll, n = 1,000", 1.0, COUNTS),
    "bowl": ("Fish bowl, n = 1,000", 1.0, COUNTS),
    "coil": ("COIL-20, n = 1,440", 5.0, (100, 300, 1000)),
    "lidar": ("LiDAR, n = 103,773", 1.7, (100, 500, 2000)),
    "mnist": ("MNIST, n = 20,000", 5.0, (100, 500, 2000)),
}
MADE = ("roll", "bowl")


def points(kind: str, seed: int, settings: Settings) -> np.ndarray:
    """Points of a set; those of the roll and of the bowl are drawn again for every seed."""
    if kind in MADE:
        return SURFACES[kind].make(1000, {"roll": 0.115, "bowl": 1.45}[kind], seed)
    if kind == "mnist":
        return mnist(20_000, settings)[0]
    X = lidar(settings)[::5] if kind == "lidar" else coil(settings)[0]
    # For methods that multiply in float32.
    return (X - X.mean(axis=0)).astype(np.float64)


def cases(settings: Settings) -> Iterator[Row]:
    """Every sampler on every data set, but for those that take too long."""
    for kind in MADE if settings.quick else SETS:
        _, bandwidth, counts = SETS[kind]
        for name in (OPTIMUM, *SAMPLERS):
            for k in (50,) if settings.quick else counts:
                if kind not in MADE and name == EXACT:
                    continue
                if kind in ("lidar", "mnist") and (name == OPTIMUM or (name, k) == (MOVED, 2000)):
                    continue
                shared = {"data": kind, "bandwidth": bandwidth, "k": k}
                yield {**shared, "seeds": 3 if settings.quick else SEEDS, "method": name}


def run(case: Row, settings: Settings) -> Row:
    """Mean error relative to the trace, its spread, number of runs and median seconds."""
    kind, k, bandwidth = case["data"], case["k"], case["bandwidth"]
    errors: list[float] = []
    seconds: list[float] = []
    X = points(kind, 0, settings)
    if case["method"] != OPTIMUM:
        make = SAMPLERS[case["method"]]
        # Imports and compiles, as for every measurement.
        for part in (points("roll", 0, settings), X[:1000]):
            make(10, bandwidth).set_params(random_state=0).fit(part)
    start = time.perf_counter()
    for seed in range(case["seeds"]):
        if kind in MADE:
            X = points(kind, seed, settings)
        elif errors and (case["method"] == OPTIMUM or time.perf_counter() - start > BUDGET):
            break
        began = time.perf_counter()
        if case["method"] == OPTIMUM:
            errors.append(float(optimal_error(X, bandwidth, [k], relative=True)[0]))
            continue
        fitted = make(k, bandwidth).set_params(random_state=seed).fit(X)
        seconds.append(time.perf_counter() - began)
        measured = X[sample_rows(len(X), MEASURED)]
        errors.append(nystrom_error(measured, fitted.landmarks_, bandwidth, relative=True))
    return {
        "mean": float(np.mean(errors)),
        "spread": float(np.std(errors, ddof=1)) if len(errors) > 1 else None,
        "runs": len(errors),
        "seconds": float(np.median(seconds)) if seconds else None,
    }


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """For every data set the errors over k, and what they cost."""
    page.text(
        f"""Trace error of the Nystrom approximation (equation 1 of the paper) in per cent of the
        trace, with its standard error; the optimum is what no approximation of that rank can beat,
        the sum of the remaining eigenvalues. Roll and bowl are those of the paper's Table 1
        (multiply by 10 for its units), drawn anew for every run. LiDAR is every fifth point of the
        scan; its error is measured at {MEASURED:,} of them. A star marks landmarks that are not
        points of the data. On made data {SEEDS} runs each; on real data as many as could be begun
        within {BUDGET:g} seconds for each k, and the last column says how many that were at the
        largest k. Samplers that approximate a kernel are told its bandwidth; the others, and the
        plain EfficientDPP, are not. Seconds are the median at the largest k. The best of a column
        is bold, leaving out the optimum."""
    )
    for (kind,), same in grouped(rows, "data").items():
        title, bandwidth, _ = SETS[kind]
        counts = sorted({row["k"] for row in same})
        page.heading(f"{title}, bandwidth {bandwidth:g}")
        lines = []
        for (name,), runs in grouped(same, "method").items():
            by_k = {row["k"]: row for row in runs}
            last = by_k[max(by_k)]
            cells = [_cell(by_k[k], name) if k in by_k else "-" for k in counts]
            seconds = duration(last["seconds"]).text if last.get("seconds") else "-"
            lines.append([name, *cells, seconds, str(last.get("runs") or "-")])
        columns = {"sampler": None} | {f"k = {k:,}": min for k in counts}
        page.table(columns | {"seconds": None, "runs": None}, lines)


def _cell(row: Row, name: str) -> Cell:
    if row.get("error"):
        return Cell(row["error"])
    text = f"{100 * row['mean']:.3g}"
    if row["spread"]:
        text += f" ± {100 * row['spread'] / np.sqrt(row['runs']):.1g}"
    return Cell(text, None if name == OPTIMUM else row["mean"])


EXPERIMENT = Experiment("quality", "Quality of landmarks", cases, apart(run), show)
