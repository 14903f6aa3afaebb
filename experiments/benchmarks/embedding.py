"""Benchmark of embeddings into the plane: time, memory, and recovery of the manifold."""

from collections.abc import Iterator, Sequence

from experiments.benchmarks.measuring import apart, measure
from experiments.benchmarks.methods import EMBEDDERS, setups, warm_up
from experiments.benchmarks.plots import growth_lines
from experiments.benchmarks.sets import sample_rows, swiss_roll
from experiments.pages import Page, grouped, legend_below, number, percent, score, size
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import coordinate_recovery, map_scores

SAMPLE = 5000
NEIGHBORS = 15
COLUMNS = {"method": None, "seconds": min, "memory": min}
COLUMNS |= {"R² length": max, "R² height": max, "neighbors kept": max}


def cases(settings: Settings) -> Iterator[Row]:
    """Yield every method on every data set, from small to large."""
    for n in (1_000,) if settings.quick else (10_000, 100_000, 1_000_000):
        for name, method in EMBEDDERS.items():
            if n <= method.most_rows:
                yield {"data": "roll", "n": n, "method": name, "seed": 0}


def run(case: Row, settings: Settings) -> Row:
    """Embed the points, and compare with their coordinates on the unrolled plane."""
    X, intrinsic = swiss_roll(case["n"])
    method = EMBEDDERS[case["method"]]
    warm_up(method, X)
    Y, cost = measure(lambda: method.run(X, case["seed"]))
    rows = sample_rows(len(Y), SAMPLE)
    length, height = coordinate_recovery(Y[rows], intrinsic[rows])
    found = map_scores(intrinsic[rows], Y[rows], n_neighbors=NEIGHBORS, n_queries=None)
    return {**cost, "length": length, "height": height, "kept": found.neighbors_preserved}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write one table for each number of points, and plot time and memory against it."""
    page.text(
        f"""A Swiss roll is embedded in two dimensions, and all points are fitted. The R² of arc
        length and height measures how well each is recovered from the embedding
        (`trigpoint.metrics.coordinate_recovery`). The last column is the share of the {NEIGHBORS}
        nearest neighbors on the unrolled plane that are among the {NEIGHBORS} nearest in the
        embedding. Both are computed on a random sample of at most {SAMPLE:,} points, the same for
        all methods. The best value of each column is bold."""
    )
    colors = {name: method.color for name, method in EMBEDDERS.items()}
    describe = "Seconds and memory over the number of points"
    with page.picture(describe, ncols=2) as (left, right):
        growth_lines(left, rows, colors, "seconds")
        left.set(ylabel="seconds", title="time")
        growth_lines(right, rows, colors, "peak", scale=1e-6)
        right.set(ylabel="MB beyond the input", title="memory")
        legend_below((left, right), ncols=3)
    for (n,), same in grouped(rows, "n").items():
        page.heading(f"n = {n:,}")
        page.table(COLUMNS, [[row["method"], *_cells(row)] for row in same], fill="-")
    page.text("Settings:")
    page.items(setups(EMBEDDERS))


def _cells(row: Row) -> list:
    if row.get("error"):
        return [row["error"]]
    cost = [number(row["seconds"]), size(row["peak"])]
    return [*cost, score(row["length"]), score(row["height"]), percent(row["kept"])]


EXPERIMENT = Experiment("embedding", "Embedding", cases, apart(run), show)
