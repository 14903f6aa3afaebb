"""How good landmarks are by the paper's own measure: every sampler, on made and on real data."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import trigpoint as tp
from benchmarks import data
from benchmarks.harness import timed
from benchmarks.report import Cell, Report, by_case, duration, logarithmic, number
from trigpoint.metrics import nystrom_error, optimal_error

TITLE = "Quality of landmarks"
OURS, REFINED = "EfficientDPP", "EfficientDPP, refined"
FREE = "EfficientDPP, refined and moved*"
OPTIMUM = "optimum"
SEEDING, UNIFORM = "k-means++ seeding", "uniform"
SEEDS = 50

# Seconds that all runs of one sampler on one case may take, fits and errors each; one run is made
# in any case.
BUDGET, QUICK_BUDGET = 15.0, 1.0
MEASURED = 20_000


@dataclass(frozen=True)
class Entry:
    """A sampler, by the number of landmarks and the bandwidth of the kernel."""

    make: Callable[[int, float], Any]
    colour: str
    marker: str
    # Largest data that it can do.
    most: int = 10**9


SAMPLERS = {
    OURS: Entry(lambda k, s: tp.EfficientDPP(k), "#0072b2", "o"),
    REFINED: Entry(
        lambda k, s: tp.EfficientDPP(k, refine=True, kernel_bandwidth=s), "#d55e00", "o"
    ),
    FREE: Entry(
        lambda k, s: tp.EfficientDPP(k, refine=tp.Refinement(snap=False), kernel_bandwidth=s),
        "#d55e00",
        "*",
    ),
    UNIFORM: Entry(lambda k, s: tp.Uniform(k), "#999999", "s"),
    SEEDING: Entry(lambda k, s: tp.KMeansPlusPlus(k), "#56b4e9", "s"),
    "k-means, uniform start*": Entry(
        lambda k, s: tp.KMeansLandmarks(k, snap=False), "#e69f00", "^"
    ),
    "k-means++*": Entry(
        lambda k, s: tp.KMeansLandmarks(k, init="k-means++", snap=False), "#009e73", "^"
    ),
    "k-means++, nearest points": Entry(
        lambda k, s: tp.KMeansLandmarks(k, init="k-means++"), "#009e73", "v"
    ),
    "RPCholesky": Entry(lambda k, s: tp.RPCholesky(k, bandwidth=s), "#cc79a7", "D"),
    "FarthestPoint": Entry(lambda k, s: tp.FarthestPoint(k), "#000000", "x"),
    "GreedyNystrom": Entry(lambda k, s: tp.GreedyNystrom(k, bandwidth=s), "#882255", "P"),
    "LeverageScores": Entry(lambda k, s: tp.LeverageScores(k, bandwidth=s), "#ddcc77", "X"),
    "KDPP": Entry(lambda k, s: tp.KDPP(k, bandwidth=s), "#aa4499", "d", most=1000),
}

TITLES = {
    "roll": "Swiss roll, n = 1,000, bandwidth 1",
    "bowl": "Fish bowl, n = 1,000, bandwidth 1",
    "mnist": "MNIST, n = 20,000, bandwidth 5",
    "lidar": "LiDAR, n = 518,862, bandwidth 1.7",
    "coil": "COIL-20, n = 1,440, bandwidth 5",
}
BANDWIDTHS = {"roll": 1.0, "bowl": 1.0, "mnist": 5.0, "lidar": 1.7, "coil": 5.0}
MADE = ("roll", "bowl")
TABLE_1 = (25, 50, 60, 70, 80, 90, 100)
FULL = {"roll": TABLE_1, "bowl": TABLE_1}
FULL |= {"coil": (100, 300, 1000), "lidar": (100, 500, 2000), "mnist": (100, 500, 2000)}
QUICK = {"roll": (25, 100), "bowl": (25, 100)}


def points(kind: str, seed: int) -> np.ndarray:
    """Points of a case; those of the roll and of the bowl are drawn anew for every seed."""
    if kind == "roll":
        return tp.datasets.make_swiss_roll(1000, scale=0.115, random_state=seed)[0]
    if kind == "bowl":
        return tp.datasets.make_fish_bowl(1000, disc_radius=2.5, scale=1.45, random_state=seed)[0]
    return data.real(kind)


def specs(quick: bool) -> Iterator[dict]:
    """Every sampler on every case."""
    for kind, counts in (QUICK if quick else FULL).items():
        if kind not in MADE and data.missing(kind):
            continue
        shared = {"data": kind, "bandwidth": BANDWIDTHS[kind]}
        shared |= {"seeds": 3 if quick else SEEDS, "budget": QUICK_BUDGET if quick else BUDGET}
        yield {**shared, "k": list(counts), "method": OPTIMUM}
        for k in counts:
            for name in SAMPLERS:
                if kind in MADE or len(points(kind, 0)) <= SAMPLERS[name].most:
                    yield {**shared, "k": k, "method": name}


def work(spec: dict) -> dict:
    """Error and seconds of every run, as many as the budget allows."""
    kind, k, bandwidth = spec["data"], spec["k"], spec["bandwidth"]
    if spec["method"] == OPTIMUM:
        return {"errors": _optimum(kind, k, bandwidth, spec["seeds"])}
    entry = SAMPLERS[spec["method"]]
    # Imports and compiles, as for every measurement.
    entry.make(10, bandwidth).set_params(random_state=0).fit(points("roll", 0))
    if kind not in MADE:
        X = points(kind, 0)
        entry.make(min(k, 20), bandwidth).set_params(random_state=0).fit(X[:1000])
    errors, seconds = [], []
    start = time.perf_counter()
    for seed in range(spec["seeds"]):
        if errors and time.perf_counter() - start > 2 * spec["budget"]:
            break
        if sum(seconds) > spec["budget"]:
            break
        X = points(kind, seed) if kind in MADE else X
        sampler = entry.make(k, bandwidth).set_params(random_state=seed)
        spent, fitted = timed(lambda sampler=sampler, X=X: sampler.fit(X))
        measured = X[data.sample_rows(len(X), MEASURED)] if len(X) > MEASURED else X
        seconds.append(spent)
        errors.append(nystrom_error(measured, fitted.landmarks_, bandwidth, relative=True))
    return {"errors": errors, "seconds": seconds}


def _optimum(kind: str, counts: list[int], bandwidth: float, seeds: int) -> list[list[float]]:
    """Relative error of the best approximation of each rank, one list for each data set."""
    if kind not in MADE:
        X = points(kind, 0)
        measured = X[data.sample_rows(len(X), MEASURED)] if len(X) > MEASURED else X
        return [list(_best_rank(measured, counts, bandwidth))]
    return [
        list(optimal_error(points(kind, seed), bandwidth, counts, relative=True))
        for seed in range(seeds)
    ]


def _best_rank(X: np.ndarray, counts: list[int], bandwidth: float) -> np.ndarray:
    """Least relative error of the ranks; of large kernels an upper bound on it, a close one.

    Randomised subspace iteration in float32: Ritz values are below the eigenvalues.
    """
    if len(X) <= 5000:
        return optimal_error(X, bandwidth, counts, relative=True)
    from trigpoint.kernels import gaussian_kernel

    K = gaussian_kernel(X.astype(np.float32), bandwidth).astype(np.float32)
    rank = int(1.2 * max(counts)) + 20
    basis = np.random.default_rng(0).standard_normal((len(X), rank), dtype=np.float32)
    for _ in range(3):
        basis = np.linalg.qr(K @ basis)[0]
    ritz = np.linalg.eigvalsh((basis.T @ (K @ basis)).astype(np.float64))[::-1]
    return np.array([1 - ritz[:count].sum() / len(X) for count in counts])


def render(records: list[dict], report: Report) -> None:
    """For every data set the errors over k, what they cost, and error over time."""
    budget = records[0]["spec"]["budget"]
    report.text(
        f"""Trace error of the Nystrom approximation (equation 1 of the paper) in per cent of the
        trace, with its standard error; the optimum is what no approximation of that rank can
        beat, the sum of the remaining eigenvalues. Roll and bowl are those of the paper's Table 1
        (multiply by 10 for its units), drawn anew for every run. Of LiDAR the error is measured at
        {MEASURED:,} of the points. A star marks landmarks that are means of points and not points.
        Up to {SEEDS} runs each, as many as fit into {budget:g} s (at least one); "runs" says how
        many, at the least. Samplers that approximate a kernel are told its bandwidth; the others,
        and the plain EfficientDPP, are not. Seconds are the median at the largest k."""
    )
    for (kind,), rows in by_case(records, "data").items():
        report.heading(TITLES[kind])
        _table(rows, report)
    if absent := [kind for kind in FULL if kind not in MADE and data.missing(kind)]:
        report.text(f"*No files of {', '.join(absent)} were found for this run.*")
    _targets(records, report)
    _plot(records, report)


def _table(rows: list[dict], report: Report) -> None:
    optimum = next(r for r in rows if r["spec"]["method"] == OPTIMUM)
    counts = optimum["spec"]["k"]
    columns: dict[str, Callable | None] = {"sampler": None}
    columns |= {f"k = {k:,}": min for k in counts} | {"seconds": None, "runs": None}
    lines = [[f"*{OPTIMUM}*", *(_plain(m) for m in _optima(optimum)), "", ""]]
    samplers = [r for r in rows if r["spec"]["method"] != OPTIMUM]
    for (name,), runs in by_case(samplers, "method").items():
        line: list = [name.replace("*", "\\*")]
        for record in runs:
            errors = record["result"].get("errors")
            line.append(_error_cell(errors) if errors else record["result"]["error"])
        done = [r["result"] for r in runs if "errors" in r["result"]]
        seconds = [float(np.median(result["seconds"])) for result in done]
        line += [duration(seconds[-1]), str(min(len(r["errors"]) for r in done))] if done else []
        lines.append(line)
    report.table(columns, lines)


def _optima(record: dict) -> np.ndarray:
    return np.mean(record["result"]["errors"], axis=0)


def _plain(share: float) -> str:
    return f"*{number(100 * share).text}*"


def _error_cell(errors: list[float]) -> Cell:
    mean = float(np.mean(errors))
    text = number(100 * mean).text
    if len(errors) > 1:
        text += f" ± {number(100 * np.std(errors, ddof=1) / np.sqrt(len(errors))).text}"
    return Cell(text, mean)


def _means(records: list[dict], kind: str) -> dict[tuple[str, int], float]:
    return {
        (r["spec"]["method"], r["spec"]["k"]): float(np.mean(r["result"]["errors"]))
        for r in records
        if r["spec"]["data"] == kind and r["spec"]["method"] != OPTIMUM and "errors" in r["result"]
    }


def _targets(records: list[dict], report: Report) -> None:
    """What was aimed at, and what came of it."""
    report.heading("Aims")
    rows = []
    seconds = {
        (r["spec"]["data"], r["spec"]["method"], r["spec"]["k"]): np.median(r["result"]["seconds"])
        for r in records
        if "seconds" in r["result"]
    }
    for (kind,), some in by_case(records, "data").items():
        means = _means(records, kind)
        optimum = next(r for r in some if r["spec"]["method"] == OPTIMUM)
        for k, best in zip(optimum["spec"]["k"], _optima(optimum), strict=True):
            here = {name: mean for (name, count), mean in means.items() if count == k}
            refined, moved, plain = (here.pop(name) for name in (REFINED, FREE, OURS))
            peer = min(here, key=here.__getitem__)
            on_data = min(mean for name, mean in here.items() if not name.endswith("*"))
            times = [seconds[kind, name, k] for name in (OURS, SEEDING)]
            row = [f"{kind}, k = {k:,}", f"{refined / best:.2f}"]
            row += [f"{refined / here[peer]:.2f} ({peer})".replace("*", "\\*")]
            row += [f"{refined / on_data:.2f}", f"{moved / here[peer]:.2f}"]
            row += [f"{plain / here[name]:.2f}" for name in (SEEDING, UNIFORM)]
            row += [f"{times[0] / times[1]:.2f}"]
            rows.append(row)
    columns = (
        "case",
        "refined / optimum",
        "refined / best other",
        "refined / best other of points",
    )
    columns += ("moved / best other",)
    columns += ("plain / seeding", "plain / uniform", "seconds: plain / seeding")
    report.table(dict.fromkeys(columns), rows)


def _plot(records: list[dict], report: Report) -> None:
    """Error over time, at the largest k of each data set."""
    kinds = [kind for (kind,) in by_case(records, "data")]
    describe = "Trace error over seconds for every sampler, at the largest k"
    with report.plot("quality", describe, panels=len(kinds)) as panels:
        for axes, kind in zip(panels, kinds, strict=True):
            cases = [r for r in records if r["spec"]["data"] == kind]
            optimum = next(r for r in cases if r["spec"]["method"] == OPTIMUM)
            k = optimum["spec"]["k"][-1]
            for record in cases:
                if record["spec"]["k"] == k and "errors" in record["result"]:
                    name = record["spec"]["method"]
                    entry, result = SAMPLERS[name], record["result"]
                    place = np.median(result["seconds"]), 100 * np.mean(result["errors"])
                    axes.plot(*place, entry.marker, color=entry.colour, label=name)
            best = 100 * _optima(optimum)[-1]
            axes.axhline(best, color="#666666", linestyle="--", linewidth=1, label=OPTIMUM)
            axes.set(xlabel="seconds", title=f"{TITLES[kind].split(',')[0]}, k = {k:,}")
            logarithmic(axes, "xy")
        panels[0].set(ylabel="trace error, %")
