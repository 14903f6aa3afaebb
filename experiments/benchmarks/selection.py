"""Landmarks: how long they take, and how well they cover the points."""

from collections.abc import Iterator, Sequence

from experiments.benchmarks.measuring import apart, measure
from experiments.benchmarks.methods import SELECTORS, setups, warm_up
from experiments.benchmarks.plots import growth_lines, logarithmic
from experiments.benchmarks.sets import mnist, sample_rows, swiss_roll
from experiments.pages import Page, duration, grouped, legend_below, number, percent, size
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import coverage_radius, nystrom_error

ERROR_SAMPLE = 20_000
EXACT = "DPPy exact k-DPP"
COLUMNS = {"method": None, "seconds": min, "memory": min}
COLUMNS |= {"covering radius": min, "trace error": min}

FULL = [("roll", 2_000, 50), ("roll", 10_000, 1000), ("roll", 100_000, 1000)]
FULL += [("roll", 1_000_000, 1000), ("mnist", 60_000, 1000)]
QUICK = [("roll", 1_000, 50), ("mnist", 2_000, 100)]


def cases(settings: Settings) -> Iterator[Row]:
    """Every method on every data set, smaller ones first."""
    for kind, n, k in QUICK if settings.quick else FULL:
        bandwidth = 6.0 if kind == "mnist" else round(1.5 * (1000 / k) ** 0.5, 2)
        for name, method in SELECTORS.items():
            if n <= method.most_rows:
                shared = {"data": kind, "n": n, "k": k, "bandwidth": bandwidth, "seed": 0}
                yield {**shared, "method": name}


def run(case: Row, settings: Settings) -> Row:
    """Choose landmarks, and measure how good they are."""
    method, k = SELECTORS[case["method"]], case["k"]
    options = {"bandwidth": case["bandwidth"]} if case["method"] == EXACT else {}
    X = swiss_roll(case["n"])[0] if case["data"] == "roll" else mnist(case["n"], settings)[0]
    warm_up(method, X, k, **options)
    landmarks, cost = measure(lambda: method.run(X, k, case["seed"], **options))
    sample = X[sample_rows(len(X), ERROR_SAMPLE)]
    return {
        **cost,
        "radius": coverage_radius(X, landmarks),
        "trace": nystrom_error(sample, landmarks, case["bandwidth"], relative=True),
    }


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """One table for each data set, and time and quality side by side."""
    page.text(
        f"""Covering radius: largest distance from any point to its nearest landmark. Trace error:
        error of the Nystrom approximation of the Gaussian kernel (equation 1 of the paper), as a
        share of the trace, with one bandwidth for all methods of a table; of more than
        {ERROR_SAMPLE:,} points it is estimated on {ERROR_SAMPLE:,} drawn at random, the same for
        all. Smaller is better everywhere, the best of a column is bold. A star
        marks methods whose landmarks are means of points and not points."""
    )
    _plot(rows, page)
    for (kind, n, k), same in grouped(rows, "data", "n", "k").items():
        title = "MNIST" if kind == "mnist" else "Swiss roll"
        page.heading(f"{title}, n = {n:,}, k = {k:,}")
        page.table(
            COLUMNS,
            [[row["method"], *_cells(row)] for row in same],
            fill="-",
        )
        page.text(f"Bandwidth of the trace error {same[0]['bandwidth']:g}.")
    page.text("Settings:")
    page.items(setups(SELECTORS))


def _cells(row: Row) -> list:
    if row.get("error"):
        return [row["error"]]
    cost = [duration(row["seconds"]), size(row["peak"])]
    return [*cost, number(row["radius"]), percent(row["trace"])]


def _plot(rows: Sequence[Row], page: Page) -> None:
    """Time over n, and radius over time on the second largest roll."""
    colors = {name: method.color for name, method in SELECTORS.items()}
    k = max(row["k"] for row in rows if row["data"] == "roll")
    grown = [row for row in rows if (row["data"], row["k"]) == ("roll", k)]
    n = sorted({row["n"] for row in grown})[-2:][0]
    describe = f"Seconds over the number of points, and covering radius over seconds at n = {n:,}"
    with page.picture(describe, ncols=2) as (left, right):
        growth_lines(left, grown, colors, "seconds")
        left.set(ylabel="seconds", title=f"Swiss roll, k = {k:,}")
        for row in grown:
            if row["n"] == n and not row.get("error"):
                right.plot(row["seconds"], row["radius"], "o", color=colors[row["method"]])
        right.set(xlabel="seconds", ylabel="covering radius", title=f"n = {n:,}, best: lower left")
        logarithmic(right, "x")
        legend_below((left, right), ncols=3)


EXPERIMENT = Experiment("selection", "Choosing landmarks", cases, apart(run), show)
