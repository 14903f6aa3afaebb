"""Time and memory of maps of up to ten million points, beside umap-learn."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.benchmarks.measuring import apart, measure
from experiments.benchmarks.methods import MAPPERS, warm_up
from experiments.pages import Page, number, size
from experiments.runner import Experiment, Row, Settings

COLUMNS = 50
GROUPS = 100
OURS, PEER = "LandmarkMap", "umap-learn"
# Beyond this many points, the time of the peer is taken to grow in proportion.
PEER_MOST = 1_000_000
LIMIT = 3600  # seconds
SIZES = (100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (5_000, 20_000)


def cases(settings: Settings) -> Iterator[Row]:
    """Growing sizes."""
    for n in QUICK_SIZES if settings.quick else SIZES:
        for method in (PEER, OURS):
            if method == OURS or n <= PEER_MOST:
                yield {"method": method, "n": n}


def run(case: Row, settings: Settings) -> Row:
    """Time and memory of a map of all points."""
    X = bent_groups(case["n"])
    method = MAPPERS[case["method"]]
    warm_up(method, X)[1](X[:50])
    _, cost = measure(lambda: method.run(X, 0)[0])
    return cost


def bent_groups(n: int) -> np.ndarray:
    """Groups of different sizes, each on a bent sheet of five dimensions, with noise; float32."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(GROUPS, COLUMNS))
    bends = rng.normal(size=(GROUPS, 5, COLUMNS)).astype(np.float32)
    shares = rng.dirichlet(np.full(GROUPS, 2.0))
    groups = np.repeat(np.arange(GROUPS), rng.multinomial(n, shares))
    X = np.empty((n, COLUMNS), dtype=np.float32)
    for group in range(GROUPS):
        rows = np.flatnonzero(groups == group)
        sheet = rng.random((len(rows), 5), dtype=np.float32) @ bends[group]
        noise = rng.standard_normal((len(rows), COLUMNS), dtype=np.float32)
        X[rows] = centers[group] + np.sin(1.5 * sheet) + 0.1 * noise
    return X[rng.permutation(n)]


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Seconds and memory, and seconds of the peer for as many points."""
    page.text(
        f"""Maps of {GROUPS} bent sheets of five dimensions in {COLUMNS} columns, fitted and every
        point placed, with default settings. Where {PEER} was not measured, its time is taken to
        grow in proportion to the points, as it does at best."""
    )
    peers = [row for row in rows if row["method"] == PEER and "seconds" in row]
    lines = []
    for row in rows:
        if reason := row.get("error"):
            lines.append([row["method"], f"{row['n']:,}", reason])
            continue
        cells = [row["method"], f"{row['n']:,}", number(row["seconds"]), size(row["peak"])]
        if peers and row["method"] == OURS:
            peer = max((peer for peer in peers if peer["n"] <= row["n"]), key=lambda row: row["n"])
            grown = peer["seconds"] * row["n"] / peer["n"]
            measured = "" if peer["n"] == row["n"] else ", in proportion"
            cells += [f"{number(grown).text}{measured}", number(row["seconds"] / grown)]
        lines.append(cells)
    page.table(["method", "points", "seconds", "memory", PEER, "ratio"], lines, "-")


EXPERIMENT = Experiment("map_speed", "Maps of many points", cases, apart(run, LIMIT, LIMIT), show)
