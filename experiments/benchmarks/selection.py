"""Landmarks: how long they take, and how well they cover the points."""

from collections.abc import Iterator

from experiments.benchmarks import data
from experiments.benchmarks.harness import measure
from experiments.benchmarks.journal import ONE_SEED_FROM
from experiments.benchmarks.peers import SELECTORS, settings, warm_up
from experiments.benchmarks.report import (
    Report,
    by_case,
    duration,
    growth_lines,
    logarithmic,
    mean,
    median,
    number,
    percent,
    size,
)
from trigpoint.metrics import coverage_radius, nystrom_error

TITLE = "Choosing landmarks"
ERROR_SAMPLE = 20_000
SEEDS_UP_TO = 100_000
COLUMNS = {"method": None, "seconds": min, "memory": min}
COLUMNS |= {"covering radius": min, "trace error": min}

FULL = [("roll", 2_000, 50), ("roll", 10_000, 1000), ("roll", 100_000, 1000)]
FULL += [("roll", 1_000_000, 1000), ("mnist", 60_000, 1000)]
QUICK = [("roll", 1_000, 50), ("mnist", 2_000, 100)]


def specs(quick: bool) -> Iterator[dict]:
    """Every method on every data set, smaller ones first."""
    for kind, n, k in QUICK if quick else FULL:
        if kind == "mnist" and data.mnist_folder() is None:
            continue
        bandwidth = 6.0 if kind == "mnist" else round(1.5 * (1000 / k) ** 0.5, 2)
        for name in SELECTORS:
            options = {}
            if name == "DPPy exact k-DPP":
                options["bandwidth"] = bandwidth
            for seed in range(1 if quick or n > SEEDS_UP_TO else 3):
                case = {"data": kind, "n": n, "k": k, "bandwidth": bandwidth, "seed": seed}
                yield {**case, "method": name, "options": options, "family": f"{kind} {name}"}


def work(spec: dict) -> dict:
    """Choose landmarks, and look at how good they are."""
    X = data.points(spec)
    method, k, options = SELECTORS[spec["method"]], spec["k"], spec["options"]
    warm_up(method, X, k, **options)
    landmarks, cost = measure(lambda: method.run(X, k, spec["seed"], **options))
    sample = X[data.sample_rows(len(X), ERROR_SAMPLE)]
    return {
        **cost,
        "radius": coverage_radius(X, landmarks),
        "trace": nystrom_error(sample, landmarks, spec["bandwidth"], relative=True),
    }


def render(records: list[dict], report: Report) -> None:
    """One table for each data set, and time and quality side by side."""
    report.text(
        f"""Covering radius: largest distance from any point to its nearest landmark. Trace error:
        error of the Nystrom approximation of the Gaussian kernel (equation 1 of the paper), as a
        share of the trace, with one bandwidth for all methods of a table; of more than
        {ERROR_SAMPLE:,} points it is estimated on {ERROR_SAMPLE:,} drawn at random, the same for
        all. {_seeds(records)} Smaller is better everywhere, the best of a column is bold. A star
        marks methods whose landmarks are means of points and not points."""
    )
    for (kind, n, k), rows in by_case(records, "data", "n", "k").items():
        title = "MNIST" if kind == "mnist" else "Swiss roll"
        report.heading(f"{title}, n = {n:,}, k = {k:,}")
        report.table(
            COLUMNS,
            [[_label(name), *_cells(runs)] for (name,), runs in by_case(rows, "method").items()],
        )
        report.text(f"Bandwidth of the trace error {rows[0]['spec']['bandwidth']:g}.")
    if not any(r["spec"]["data"] == "mnist" for r in records):
        report.text(f"*{data.NO_MNIST}*")
    report.text("Settings:")
    report.items(settings(SELECTORS))
    _plot(records, report)


def _seeds(records: list[dict]) -> str:
    seeds = 1 + max(r["spec"]["seed"] for r in records)
    if seeds == 1:
        return "One seed each."
    return (
        f"Up to {SEEDS_UP_TO:,} points, time and memory are the median and quality the mean of "
        f"{seeds} seeds; beyond, and where a run takes over {ONE_SEED_FROM:.0f} s, it is one seed."
    )


def _label(name: str) -> str:
    return name + ("\\*" if SELECTORS[name].centres else "")


def _cells(runs: list[dict]) -> list:
    results = [r["result"] for r in runs]
    if reason := results[0].get("error"):
        return [reason]
    return [
        duration(median(results, "seconds")),
        size(median(results, "peak")),
        number(mean(results, "radius")),
        percent(mean(results, "trace")),
    ]


def _plot(records: list[dict], report: Report) -> None:
    """Time over n, and quality over time on the largest data with several seeds."""
    colours = {name: method.colour for name, method in SELECTORS.items()}
    on_roll = [r for r in records if r["spec"]["data"] == "roll"]
    k = max(r["spec"]["k"] for r in on_roll)
    grown = [r for r in on_roll if r["spec"]["k"] == k]
    n = max(r["spec"]["n"] for r in grown if r["spec"]["n"] <= SEEDS_UP_TO)
    describe = f"Seconds over the number of points, and covering radius over seconds at n = {n:,}"
    with report.plot("selection", describe) as (left, right):
        growth_lines(left, grown, colours, "seconds")
        left.set(ylabel="seconds", title=f"Swiss roll, k = {k:,}")
        same = [r for r in grown if r["spec"]["n"] == n and "trace" in r["result"]]
        for (name,), runs in by_case(same, "method").items():
            results = [r["result"] for r in runs]
            place = median(results, "seconds"), mean(results, "radius")
            right.plot(*place, "o", color=colours[name])
        right.set(xlabel="seconds", ylabel="covering radius", title=f"n = {n:,}, best: lower left")
        logarithmic(right, "x")
