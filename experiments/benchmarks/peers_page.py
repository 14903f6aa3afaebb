"""Page of the benchmark of maps: mean ranks, where other methods win, and a table per data set."""

import base64
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from experiments.benchmarks.methods import DETERMINISTIC, MAPPERS, VARIED, setups
from experiments.benchmarks.plots import logarithmic
from experiments.benchmarks.sets import SETS
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

NEIGHBORS = 10
# Data sets with more rows than this have one seed, fewer queries and possibly fewer methods.
SEVERAL = 20_000
# Pairs of a maximum number of rows and the number of rows whose neighborhoods are compared.
QUERIES = ((SEVERAL, 1000), (100_000, 500), (10**9, 200))
# Number of rows whose coordinates are stored, to compare maps from different seeds.
KEPT = 300


class Measure(NamedTuple):
    """A column: whether low or high is best, how to format cells, and how to compare two values."""

    best: Callable
    cell: Callable[[float], Cell]
    gap: Callable[[float, float], float]
    gap_text: str


_SHARE = Measure(max, percent, lambda ours, theirs: 100 * (theirs - ours), "{:.1f} points")
_SCORE = Measure(max, score, lambda ours, theirs: theirs - ours, "{:.3f}")
_TIMES = Measure(min, duration, lambda ours, theirs: ours / theirs, "{:.1f} times as fast")
# Measures of single maps, and finally the one that compares maps from different seeds.
MEASURES = {"seconds": _TIMES, "preserved": _SHARE, "area": _SCORE, "distances": _SCORE}
MEASURES |= {"triplets": _SHARE, "R²": _SCORE}

# Measures of each method on one data set, by name; empty if the method failed.
Scores = dict[str, dict[str, float]]


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write mean ranks and wins, followed by a table for each data set."""
    _introduce(page)
    of_set = grouped(rows, "data")
    scores = {name: _scores(same) for (name,), same in of_set.items()}
    left_out = {BASELINE, *VARIED}
    tables = {
        name: {method: found for method, found in table.items() if method not in left_out}
        for name, table in scores.items()
    }
    _plot(scores, page)
    for title, held_out in (("Sets used to choose rules", False), ("Held-out sets", True)):
        half = {name: t for name, t in tables.items() if SETS[name].held_out == held_out}
        if half:
            page.heading(f"{title}: mean ranks")
            _ranks(half, page)
    large = {name: table for name, table in tables.items() if SETS[name].n > SEVERAL}
    if large:
        page.heading(f"More than {SEVERAL:,} rows")
        _large(large, page)
    page.heading("Where other methods win")
    _wins(tables, page)
    for (name,), same in of_set.items():
        entry = SETS[name]
        part = "held out" if entry.held_out else "used to choose rules"
        page.heading(f"{entry.title}, n = {same[0]['n']:,} ({entry.kind}, {part})")
        _table(same, scores[name], page)
    page.text("Settings:")
    page.items(setups(MAPPERS))


def _introduce(page: Page) -> None:
    counts = ", ".join(f"{queries:,} up to {most:,} rows" for most, queries in QUERIES[:-1])
    page.text(
        f"""Every method maps all rows to two dimensions with default settings, in a separate
        process, after a warm-up call on a few rows that imports and compiles. For words and
        molecules, every method uses cosine distances (angular in PaCMAP and TriMap, unit rows in
        PCA). *Preserved* is the share of the {NEIGHBORS} nearest neighbors of a row that are among
        its {NEIGHBORS} nearest in the map; *area* is the area under R_NX, which covers
        neighborhoods of all sizes on a logarithmic scale; *distances* is the rank correlation of
        distances between random pairs; *triplets* is the share of random triplets whose distances
        have the same order in the map as in the data (`trigpoint.metrics.map_scores`).
        Neighborhoods are those of random rows among all rows ({counts}, {QUERIES[-1][1]:,} for
        more). *R²* measures how similar maps from different seeds are after rotation and scaling
        (Procrustes; mean of all pairs of seeds, on {KEPT} rows). Up to {SEVERAL:,} rows, time is
        the median and scores are the mean over several seeds. Larger data sets have only one seed,
        as do {" and ".join(DETERMINISTIC)}, and not every method was run on all of them. The best
        value of each column is bold, except for {BASELINE} coordinates. In the figure, small points
        are data sets, and squares are means over the data sets of up to {SEVERAL:,} rows on which
        all methods were run; the line connects {OURS} with 100, 300 (the default) and 1,000 steps.
        Trustworthiness and continuity are in the file of results."""
    )


def _scores(rows: Sequence[Row]) -> Scores:
    """Return the measures of every method on one data set."""
    found: Scores = {}
    for (name,), runs in grouped(rows, "method").items():
        good = [row for row in runs if not row.get("error")]
        found[name] = {}
        if good:
            found[name] = {column: median(good, column) for column in ("seconds", "memory")}
            for column in ("preserved", "area", "distances", "triplets"):
                found[name][column] = mean(good, column)
        shapes = [unpacked(row["shape"]) for row in good]
        if name == "PCA":
            found[name]["R²"] = 1.0
        elif len(shapes) > 1:
            pairs = [procrustes_r2(one, other) for one, other in combinations(shapes, 2)]
            found[name]["R²"] = float(np.mean(pairs))
    return {name: found[name] for name in MAPPERS if name in found}


def unpacked(text: str) -> np.ndarray:
    """Decode coordinates that `packed` encoded."""
    return np.frombuffer(base64.b64decode(text), "<f2").reshape(-1, 2).astype(np.float64)


def _table(rows: Sequence[Row], table: Scores, page: Page) -> None:
    measures = {name: (one.best, one.cell) for name, one in MEASURES.items()}
    measures["memory"] = min, size
    errors = {row["method"]: row["error"] for row in rows if row.get("error")}
    lines = []
    for name, scores in table.items():
        cells: list[Any] = [
            cell(scores[column]) if column in scores else "-"
            for column, (_, cell) in measures.items()
        ]
        if name == BASELINE:
            # Text cells are never the best.
            cells = [cell.text if isinstance(cell, Cell) else cell for cell in cells]
        lines.append([name, *cells] if scores else [name, errors[name]])
    heads = {"method": None} | {name: best for name, (best, _) in measures.items()}
    page.table(heads, lines, fill="-")


# Across data sets -----------------------------------------------------------------------------


def _common(tables: dict[str, Scores]) -> tuple[list[str], dict[str, Scores]]:
    """Return the methods that were run on half of the smaller sets, and the sets they share."""
    several = {name: table for name, table in tables.items() if SETS[name].n <= SEVERAL}
    known = Counter(method for table in several.values() for method in table)
    methods = [method for method in MAPPERS if 2 * known[method] >= len(several) > 0]
    return methods, {n: t for n, t in several.items() if all(m in t for m in methods)}


def _ranks(tables: dict[str, Scores], page: Page) -> None:
    """Write mean ranks with intervals; methods that failed on a set share its last ranks."""
    methods, complete = _common(tables)
    if not complete:
        page.text("No data set has a run of every method.")
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
        f"""Mean rank among {len(methods)} methods, where 1 is best, with 95 % intervals from
        {DRAWS:,} bootstrap samples of the {counts[0]} data sets of up to {SEVERAL:,} rows on which
        all of these methods were run, {counts[-1]} of them with several seeds. Methods that failed
        on a data set share its last ranks. Methods that were run on less than half of the data sets
        are omitted."""
    )
    heads = {"method": None, **dict.fromkeys(MEASURES, min)}
    page.table(heads, [[name, *cells] for name, *cells in zip(methods, *columns, strict=True)])


def _ranked(values: Sequence[float | None], measure: str) -> np.ndarray | None:
    """Return the ranks of methods on one data set, or None if it lacks the measure."""
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


def _large(tables: dict[str, Scores], page: Page) -> None:
    """Write the time and the preserved neighbors of every method on the largest data sets."""
    methods = [m for m in MAPPERS if any(t.get(m) for t in tables.values())]
    page.text("Seconds and share of neighbors preserved; the tables below have all measures.")
    lines = []
    for name, table in sorted(tables.items(), key=lambda item: SETS[item[0]].n):
        cells = [
            f"{duration(table[m]['seconds']).text} s, {percent(table[m]['preserved']).text}"
            if table.get(m)
            else ("failed" if m in table else "not run")
            for m in methods
        ]
        lines.append([f"{SETS[name].title}, {SETS[name].n:,} rows", *cells])
    page.table(["data", *methods], lines)


def _wins(tables: dict[str, Scores], page: Page) -> None:
    """Write how often, by how much and by which methods ours is beaten, for each measure."""
    page.text(
        f"""Number of data sets on which the best other method beats {OURS} at the precision of the
        tables below, and by how much; *typical* is the median over those data sets. PCA, which is
        always the fastest and does not depend on the seed, is omitted from seconds and R²."""
    )
    lines = []
    for measure, one in MEASURES.items():
        compared = []
        for name, table in tables.items():
            found = {m: scores[measure] for m, scores in table.items() if measure in scores}
            if measure in ("seconds", "R²"):
                found.pop("PCA", None)
            if OURS in found and len(found) > 1:
                ours = found.pop(OURS)
                # Of equally good methods, the first in the table wins.
                winner = one.best(found, key=found.__getitem__)
                theirs = found[winner]
                better = (
                    one.best(ours, theirs) != ours and one.cell(ours).text != one.cell(theirs).text
                )
                compared.append((name, winner if better else None, one.gap(ours, theirs)))
        if not compared:
            continue
        lost = [(gap, name, winner) for name, winner, gap in compared if winner]
        counts = [
            f"{sum(SETS[name].held_out == half for _, name, _ in lost)} of "
            f"{sum(SETS[name].held_out == half for name, _, _ in compared)}"
            for half in (False, True)
        ]
        by = Counter(winner for _, _, winner in lost).most_common()
        line = [measure, *counts, ", ".join(f"{winner} ({count})" for winner, count in by)]
        if lost:
            most, name, winner = max(lost)
            where = f"{winner}, {SETS[name].title}, {SETS[name].n:,} rows"
            line.append(one.gap_text.format(np.median([gap for gap, _, _ in lost])))
            line.append(f"{one.gap_text.format(most)} ({where})")
        lines.append(line)
    heads = ["measure", "better on sets used", "on held-out sets", "by", "typical", "at most"]
    page.table(heads, lines, fill="-")


def _plot(tables: dict[str, Scores], page: Page) -> None:
    """Plot preserved neighbors against time, with a small point per data set, and a large mean.

    Means are over ranked data sets on which no method failed, so that they are comparable. A line
    connects the means of ours with fewer and more steps.
    """
    describe = "Neighbors preserved over seconds, for every method on every set"
    with page.picture(describe, ncols=2, sharey=True, figsize=(9, 4)) as panels:
        for axes, held_out in zip(panels, (False, True), strict=True):
            half = {name: t for name, t in tables.items() if SETS[name].held_out == held_out}
            methods, common = _common(half)
            complete = [t for t in common.values() if all(t[m] for m in methods)]
            curve = []
            for name, method in MAPPERS.items():
                found = [t[name] for t in half.values() if t.get(name)]
                seconds, kept = ([s[c] for s in found] for c in ("seconds", "preserved"))
                style = {"color": method.color, "alpha": 0.35, "markeredgewidth": 0}
                if name not in {BASELINE, *VARIED}:
                    axes.plot(seconds, 100 * np.array(kept), "o", **style)
                if complete and name in methods and name != BASELINE:
                    found = [t[name] for t in complete]
                    seconds, kept = ([s[c] for s in found] for c in ("seconds", "preserved"))
                    middle = np.exp(np.log(seconds).mean()), 100 * np.mean(kept)
                    label = None if name in VARIED else name
                    axes.plot(*middle, "s", color=method.color, markersize=9, label=label)
                    curve += [middle] if name in {OURS, *VARIED} else []
            axes.plot(*zip(*sorted(curve), strict=True), color=MAPPERS[OURS].color)
            axes.set(xlabel="seconds", title="held out" if held_out else "used to choose rules")
            if half:
                logarithmic(axes, "x")
        panels[0].set(ylabel="neighbors preserved, %")
        legend_below(panels, ncols=6)
