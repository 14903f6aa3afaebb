"""Benchmark of landmark selection: time, memory, and how well landmarks cover the points."""

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
    """Yield every method on every data set, from small to large."""
    for kind, n, k in QUICK if settings.quick else FULL:
        bandwidth = 6.0 if kind == "mnist" else round(1.5 * (1000 / k) ** 0.5, 2)
        for name, method in SELECTORS.items():
            if n <= method.most_rows:
                shared = {"data": kind, "n": n, "k": k, "bandwidth": bandwidth, "seed": 0}
                yield {**shared, "method": name}


def run(case: Row, settings: Settings) -> Row:
    """Select landmarks, and measure their quality."""
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
    """Write one table for each data set, and plot time and quality side by side."""
    page.text(
        f"""The covering radius is the largest distance from any point to its nearest landmark. The
        trace error is the error of the Nystrom approximation of the Gaussian kernel (equation 1 of
        the paper), as a share of the trace, with one bandwidth for all methods of a table. For more
        than {ERROR_SAMPLE:,} points, it is estimated on a random sample of {ERROR_SAMPLE:,}, the
        same for all methods. Smaller is better everywhere, and the best value of each column is
        bold. A star marks methods whose landmarks are means of points rather than points."""
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
        page.text(f"The bandwidth of the trace error is {same[0]['bandwidth']:g}.")
    page.text("Settings:")
    page.items(setups(SELECTORS))


def _cells(row: Row) -> list:
    if row.get("error"):
        return [row["error"]]
    cost = [duration(row["seconds"]), size(row["peak"])]
    return [*cost, number(row["radius"]), percent(row["trace"])]


def _plot(rows: Sequence[Row], page: Page) -> None:
    """Plot time against n, and covering radius against time on the second largest roll."""
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
