"""Share of neighbors that the best known maps preserve, the reference of grades.

`LandmarkMap`, `Isomap` and PCA are run on samples of each data set, with one, two and three
coordinates. For two coordinates, the best of the peers on all rows, as measured by the benchmark of
maps, is added.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

import trigpoint as tp
from experiments.benchmarks import sets
from experiments.pages import Page, grouped, percent
from experiments.runner import Experiment, Results, Row, Settings
from trigpoint.metrics._verdict import COEFFICIENTS, SPREAD, log_odds, share_at, terms

# Sizes of the samples, and maximum size of a data set. Maps of larger ones are not the best
# possible.
SIZES = 1_000, 4_000
MOST_ROWS = 200_000
QUICK = "digits", 500
METHODS = {"LandmarkMap": tp.LandmarkMap, "Isomap": tp.Isomap}
PEERS = "best of the peers"
RESULTS = Path(__file__).parents[2] / "docs" / "benchmarks" / "peers.csv"
# Share above which log odds are cut off, because they grow without bound.
MOST = 0.98
EXACT = 0.999


@cache
def best_of_peers() -> dict[str, float]:
    """Return the largest share of neighbors preserved on each data set by any map."""
    best: dict[str, float] = {}
    for row in Results(RESULTS, {}).rows:
        if row["preserved"] is not None:
            best[row["data"]] = max(best.get(row["data"], 0.0), row["preserved"])
    return best


def cases(settings: Settings) -> Iterator[Row]:
    """Yield the methods on samples of every data set, and the peers on all rows."""
    listed = {name: entry.n for name, entry in sets.SETS.items() if 0 < entry.n <= MOST_ROWS}
    if settings.quick:
        listed = dict([QUICK])
    for name, n in sorted(listed.items(), key=lambda item: item[1]):
        for size in sorted({min(size, n) for size in SIZES}):
            for n_components in (1, 2, 3):
                for method in METHODS:
                    yield {"data": name, "n": size, "n_components": n_components, "method": method}
        if name in best_of_peers():
            yield {"data": name, "n": n, "n_components": 2, "method": PEERS}


def run(case: Row, settings: Settings) -> Row:
    """Measure a method, or the data alone for the peers."""
    name, n = case["data"], case["n"]
    X = sets.mapped_rows(name, settings)
    X = X[sets.sample_rows(len(X), n)]
    options = {"metric": sets.SETS[name].metric, "random_state": 0}
    if case["method"] == PEERS:
        emb = tp.KernelPCA(case["n_components"], landmarks=min(200, n // 2), **options)
    else:
        emb = METHODS[case["method"]](case["n_components"], **options)
    found = emb.fit(X).quality(X)
    preserved = best_of_peers()[name] if case["method"] == PEERS else found.preserved
    return {
        "preserved": preserved,
        "by_pca": found.by_pca,
        "chance": found.chance,
        "dimension": found.dimension,
        "torn": found.torn,
        "false_neighbors": found.false_neighbors,
    }


def best_known(rows: Sequence[Row]) -> list[Row]:
    """Return the best share above chance for each data set, size and number of coordinates.

    Cases that PCA solves exactly, with as many coordinates as columns, are left out.
    """
    best = []
    rows = [row for row in rows if not row.get("error") and row["by_pca"] < EXACT]
    for (name, n, n_components), same in grouped(rows, "data", "n", "n_components").items():
        chance = np.mean([row["chance"] for row in same])
        share = max(max(row["preserved"], row["by_pca"]) for row in same)
        best.append(
            {
                "data": name,
                "n": n,
                "n_components": n_components,
                "dimension": same[0]["dimension"],
                "share": min(MOST, max((share - chance) / (1 - chance), 0.001)),
            }
        )
    return best


def regression(best: Sequence[Row]) -> tuple[np.ndarray, float]:
    """Return the coefficients of the reference, and the standard deviation of its residuals.

    Each data set has the same weight.
    """
    counts = {name: len(same) for (name,), same in grouped(best, "data").items()}
    weights = np.sqrt([1 / counts[row["data"]] for row in best])
    design = np.array([terms(row["dimension"], row["n"], row["n_components"]) for row in best])
    values = np.array([log_odds(row["share"]) for row in best])
    solved = np.linalg.lstsq(design * weights[:, None], values * weights, rcond=None)[0]
    errors = values - design @ solved
    return solved, float(np.sqrt(np.average(errors**2, weights=weights**2)))


def halves(best: Sequence[Row]) -> Mapping[bool, list[Row]]:
    """Divide data sets into those used for calibration (False) and those that check it (True)."""
    held = {name: sets.SETS[name].held_out for name in sets.SETS}
    return {kind: [row for row in best if held[row["data"]] == kind] for kind in (False, True)}


def errors(best: Sequence[Row]) -> np.ndarray:
    """Return the differences between the log odds of shares and the reference."""
    design = np.array([terms(row["dimension"], row["n"], row["n_components"]) for row in best])
    return np.array([log_odds(row["share"]) for row in best]) - design @ COEFFICIENTS


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write the coefficients, their accuracy, and a table for two coordinates."""
    best = best_known(rows)
    divided = halves(best)
    page.text(
        """The grade of an embedding compares the share of neighbors that it preserves with what the
        best known maps preserve for data of the same local dimension D, with the same number n of
        rows and l of coordinates. The best known maps are the best of LandmarkMap, Isomap and PCA
        on samples of each data set, and the best of all peers on all rows. The reference is a
        linear regression of the log odds of the share above chance on log D and log(n) / l."""
    )
    names = ("constant", "log D", "log(n) / l")
    found, spread = regression(divided[False] or best)
    page.table(
        ["term", "derived from these results", "used"],
        [[n, f"{a:.3f}", f"{b:.3f}"] for n, a, b in zip(names, found, COEFFICIENTS, strict=True)],
    )
    page.text(
        f"""The coefficients are derived from the data sets that were used to choose defaults of
        maps, where the standard deviation of the errors is {spread:.2f}. The range that `quality`
        states is the reference plus and minus {SPREAD} (which changes 40 % to
        {percent(share_at(log_odds(0.4) + SPREAD)).text})."""
    )
    page.table(
        ["data sets", "number", "cases", "mean error", "standard deviation", "within the range"],
        [
            [
                "held out" if held else "used",
                str(len({row["data"] for row in part})),
                str(len(part)),
                f"{errors(part).mean():+.2f}",
                f"{np.sqrt(np.mean(errors(part) ** 2)):.2f}",
                f"{100 * np.mean(np.abs(errors(part)) <= SPREAD):.0f} %",
            ]
            for held, part in divided.items()
            if part
        ],
    )
    page.heading("Two coordinates, all rows or the largest sample")
    largest = {
        name: max((row for row in same if row["n_components"] == 2), key=lambda row: row["n"])
        for (name,), same in grouped(best, "data").items()
    }
    page.table(
        ["data", "rows", "local dimension", "best known", "reference"],
        [
            [
                sets.SETS[name].title + (", held out" if sets.SETS[name].held_out else ""),
                f"{row['n']:,}",
                f"{row['dimension']:.1f}",
                percent(row["share"]),
                percent(share_at(log_odds(row["share"]) - float(errors([row])[0]))),
            ]
            for name, row in largest.items()
        ],
    )


EXPERIMENT = Experiment("attainable", "What maps can preserve", cases, run, show)
