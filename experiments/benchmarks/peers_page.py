"""Page of the benchmark of maps: a table for each data set, ranks over sets, and who wins where."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from experiments.benchmarks.judging import KEPT, NEIGHBORS, QUERIES, SEVERAL, unpacked
from experiments.benchmarks.map_sets import MAP_SETS
from experiments.benchmarks.methods import DETERMINISTIC, MAPPERS, setups
from experiments.benchmarks.plots import logarithmic
from experiments.pages import (
    Cell,
    Page,
    duration,
    grouped,
    legend_below,
    mean,
    median,
    percent,
    score,
    size,
)
from experiments.runner import Row, Settings
from trigpoint.metrics import procrustes_r2

OURS, BASELINE = "LandmarkMap", "random"
DRAWS = 2000


class Measure(NamedTuple):
    """A column: which end is best, how its cells look, and how the text names who is better."""

    best: Callable
    cell: Callable[[float], Cell]
    wins: str


MEASURES = {
    "seconds": Measure(min, duration, "is faster"),
    "preserved": Measure(max, percent, "preserves more neighbors"),
    "area": Measure(max, score, "has a larger area under R_NX"),
    "distances": Measure(max, score, "has a higher rank correlation of distances"),
    "triplets": Measure(max, percent, "orders more triplets"),
    "R²": Measure(max, score, "differs less between seeds"),
}

# A method, by the measures that it has on a set; empty if it failed.
Scores = dict[str, dict[str, float]]


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Ranks and wins first, then a table for each data set."""
    _introduce(page)
    tables = {name: _scores(same) for (name,), same in grouped(rows, "data").items()}
    _plot(tables, page)
    for title, held_out in (("Sets used to choose rules", False), ("Held-out sets", True)):
        half = {name: t for name, t in tables.items() if MAP_SETS[name].held_out == held_out}
        if half:
            page.heading(f"{title}: mean ranks")
            _ranks(half, page)
    page.heading("Where other methods win")
    _wins(tables, page)
    for (name,), same in grouped(rows, "data").items():
        entry = MAP_SETS[name]
        part = "held out" if entry.held_out else "used to choose rules"
        page.heading(f"{entry.title}, n = {same[0]['n']:,} ({entry.kind}, {part})")
        _table(same, tables[name], page)
    page.text("Settings:")
    page.items(setups(MAPPERS))


def _introduce(page: Page) -> None:
    counts = ", ".join(f"{queries:,} up to {most:,} rows" for most, queries in QUERIES[:-1])
    page.text(
        f"""Every method lays out all rows in two dimensions, with default settings, in a process of
        its own, after a call on a few rows that imports and compiles. On sets of words and of
        molecules every method is asked for cosine distances (angular in PaCMAP and TriMap, unit
        rows in PCA). *Preserved* is the share of the {NEIGHBORS} nearest neighbors of a row that
        are among its {NEIGHBORS} nearest in the map; *area* is that under R_NX, neighborhoods of
        all sizes over the logarithm of their size; *distances* is the rank correlation of
        distances of random pairs; *triplets* is the share of random triplets of which the map
        orders the distances as the data does (`trigpoint.metrics.map_scores`). Neighborhoods are
        those of random rows among all rows ({counts}, {QUERIES[-1][1]:,} beyond). *R²* is how much
        of one map another seed explains, after rotation and scaling (Procrustes; mean of all
        pairs of seeds, on {KEPT} rows). Up to {SEVERAL:,} rows, seconds are the median and scores
        the mean of several seeds; larger sets and {" and ".join(DETERMINISTIC)} have one. The best
        of a column is bold, leaving out {BASELINE} coordinates.
        Trustworthiness and continuity are in the file of results."""
    )


def _scores(rows: Sequence[Row]) -> Scores:
    """Every method's measures on one set."""
    found: Scores = {}
    for (name,), runs in grouped(rows, "method").items():
        good = [row for row in runs if "error" not in row]
        found[name] = {}
        if not good or name == BASELINE:
            continue
        found[name] = {
            "seconds": median(good, "seconds"),
            "preserved": mean(good, "kept"),
            **{column: mean(good, column) for column in ("area", "distances", "triplets")},
        }
        shapes = [unpacked(row["shape"]) for row in good]
        if name in DETERMINISTIC:
            found[name]["R²"] = 1.0
        elif len(shapes) > 1:
            pairs = [procrustes_r2(one, other) for one, other in combinations(shapes, 2)]
            found[name]["R²"] = float(np.mean(pairs))
    return {name: found[name] for name in MAPPERS if name in found}


def _table(rows: Sequence[Row], table: Scores, page: Page) -> None:
    columns = {"method": None, **{name: one.best for name, one in MEASURES.items()}}
    lines = []
    for name, scores in table.items():
        runs = [row for row in rows if row["method"] == name]
        good = [row for row in runs if "error" not in row]
        if not good:
            lines.append([name, runs[0]["error"]])
        elif name == BASELINE:
            # As text, so that these are never the best.
            cells = [percent(mean(good, "kept")), score(mean(good, "area"))]
            cells += [score(mean(good, "distances")), percent(mean(good, "triplets"))]
            lines.append([name, "-", *(cell.text for cell in cells), "-", "-"])
        else:
            shown = [
                one.cell(scores[column]) if column in scores else "-"
                for column, one in MEASURES.items()
            ]
            lines.append([name, *shown, size(median(good, "peak"))])
    page.table({**columns, "memory": min}, lines, fill="-")


# Over sets ------------------------------------------------------------------------------------


def _ranks(tables: dict[str, Scores], page: Page) -> None:
    """Mean ranks with intervals; methods that failed on a set share its last ranks."""
    known = {name for table in tables.values() for name in table}
    methods = [name for name in MAPPERS if name in known and name != BASELINE]
    complete = {name: table for name, table in tables.items() if all(m in table for m in methods)}
    if not complete:
        page.text("No set has a run of every method.")
        return
    columns, counts = [], []
    for measure in MEASURES:
        ranks = [
            found
            for table in complete.values()
            if (found := _ranked([table[m].get(measure) for m in methods], measure)) is not None
        ]
        columns.append(_with_intervals(np.array(ranks)) if ranks else ["-"] * len(methods))
        counts.append(len(ranks))
    page.text(
        f"""Rank among {len(methods)} methods, 1 is best, with 95 % intervals from {DRAWS:,}
        bootstrap samples of the {counts[0]} sets that every method was run on, {counts[-1]} of
        them with several seeds. Methods that failed on a set share its last ranks."""
    )
    heads = {"method": None, **dict.fromkeys(MEASURES, min)}
    page.table(heads, [[name, *cells] for name, *cells in zip(methods, *columns, strict=True)])


def _ranked(values: Sequence[float | None], measure: str) -> np.ndarray | None:
    """Ranks of methods on one set; None if the set has no such measure."""
    if measure == "R²" and sum(value is not None for value in values) < 3:
        return None
    sign = 1 if MEASURES[measure].best is min else -1
    return rankdata([np.inf if value is None else sign * value for value in values])


def _with_intervals(ranks: np.ndarray) -> list[Cell]:
    rng = np.random.default_rng(0)
    draws = ranks[rng.integers(len(ranks), size=(DRAWS, len(ranks)))].mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    middle = ranks.mean(axis=0)
    return [
        Cell(f"{m:.1f} ({a:.1f} to {b:.1f})", m) for m, a, b in zip(middle, low, high, strict=True)
    ]


def _wins(tables: dict[str, Scores], page: Page) -> None:
    """Where another method is better than ours, for each measure, as far as tables show it."""
    ours = {name: table for name, table in tables.items() if table.get(OURS)}
    if not ours:
        page.text(f"{OURS} has not been run.")
        return
    page.text("PCA is always the fastest and the same with every seed, and is left out of both.")
    for measure, (best, cell, wins) in MEASURES.items():
        better, n_sets = [], 0
        for name, table in ours.items():
            found = {m: scores[measure] for m, scores in table.items() if measure in scores}
            if measure in ("seconds", "R²"):
                found.pop("PCA", None)
            if len(found) < 2 or OURS not in found:
                continue
            n_sets += 1
            # Of equal ones, the first in the table.
            winner = best(found, key=found.__getitem__)
            figures = cell(found[winner]).text, cell(found[OURS]).text
            if figures[0] != figures[1]:
                entry = MAP_SETS[name]
                shown = f"{figures[0]} instead of {figures[1]}"
                better.append(f"{winner} on {entry.title} ({entry.n:,} rows; {shown})")
        if n_sets:
            listed = f": {', '.join(better)}" if better else ""
            page.text(
                f"On {len(better)} of {n_sets} sets another method {wins} than {OURS}{listed}."
            )


def _plot(tables: dict[str, Scores], page: Page) -> None:
    """Neighbors preserved over seconds: a point for each set, and a large one for their mean.

    Means are over the sets that all methods of the half were run on, so that they can be compared.
    """
    describe = "Neighbors preserved over seconds, for every method on every set"
    with page.picture(describe, ncols=2, sharey=True, figsize=(9, 4)) as panels:
        for axes, held_out in zip(panels, (False, True), strict=True):
            half = [t for name, t in tables.items() if MAP_SETS[name].held_out == held_out]
            run = {name for t in half for name, found in t.items() if found and name != BASELINE}
            for name, method in MAPPERS.items():
                if name not in run:
                    continue
                found = [t[name] for t in half if t.get(name)]
                seconds, kept = np.array([(s["seconds"], 100 * s["preserved"]) for s in found]).T
                axes.plot(seconds, kept, "o", color=method.colour, alpha=0.35, markeredgewidth=0)
                found = [t[name] for t in half if all(t.get(other) for other in run)]
                if not found:
                    continue
                seconds, kept = np.array([(s["seconds"], 100 * s["preserved"]) for s in found]).T
                middle = np.exp(np.log(seconds).mean()), kept.mean()
                axes.plot(*middle, "s", color=method.colour, markersize=9, label=name)
            axes.set(xlabel="seconds", title="held out" if held_out else "used to choose rules")
            if half:
                logarithmic(axes, "x")
        panels[0].set(ylabel="neighbors preserved, %")
        legend_below(panels, ncols=6)
