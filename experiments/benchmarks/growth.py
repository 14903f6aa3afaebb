"""How time grows with the numbers of points and landmarks."""

from collections.abc import Iterator, Sequence

import numpy as np

import trigpoint as tp
from experiments.benchmarks import data
from experiments.benchmarks.peers import EMBEDDERS, SELECTORS
from experiments.benchmarks.plots import logarithmic, panels
from experiments.framework.cells import TARGET_COLUMNS, Cell, number, size, target
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.measuring import measure
from experiments.framework.page import Page
from experiments.framework.summary import grouped

BOUND = 1.1
NAMES = {"selection": "EfficientDPP", "pipeline": "whole pipeline"}
COLOURS = {
    "selection": SELECTORS["trigpoint EfficientDPP"].colour,
    "pipeline": EMBEDDERS["trigpoint, leading"].colour,
}
COLUMNS = ["EfficientDPP, s", "its memory", "`n_distance_rows_`", "`n_proposals_`"]
COLUMNS += ["whole pipeline, s", "the pipeline's memory"]
AXES = {"n": "number of points n", "k": "number of landmarks k"}


def cases(settings: Settings) -> Iterator[Row]:
    """Half decades of n with k fixed, then k with n fixed."""
    sizes = [round(10 ** (half / 2)) for half in range(8, 12 if settings.quick else 15)]
    counts = [100, 300, 1000] if settings.quick else [100, 300, 1000, 3000, 10_000, 20_000]
    k, n = (300, 100_000) if settings.quick else (1000, 1_000_000)
    sweeps = [("n", size, k) for size in sizes] + [("k", n, count) for count in counts]
    for vary, points, landmarks in sweeps:
        for what in NAMES:
            yield {"vary": vary, "what": what, "n": points, "k": landmarks}


def run(case: Row, settings: Settings) -> Row:
    """Time the selection, with its counters, or the whole pipeline."""
    X, _ = data.swiss_roll(case["n"])
    if case["what"] == "pipeline":
        _pipeline(200).fit_transform(X[:5000])
        return measure(lambda: _pipeline(case["k"]).fit_transform(X))[1]
    tp.EfficientDPP(200, random_state=0).fit(X[:5000])
    sampler, cost = measure(lambda: tp.EfficientDPP(case["k"], random_state=0).fit(X))
    counters = {"rows": sampler.n_distance_rows_, "proposals": sampler.n_proposals_}
    return {**cost, **counters}


def _pipeline(k: int) -> tp.LaplacianEigenmaps:
    return tp.LaplacianEigenmaps(landmarks=k, random_state=0)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The b and log10(a) of ``seconds = a sizes^b``, by least squares of the logarithms."""
    slope, offset = np.polyfit(np.log10(sizes), np.log10(seconds), 1)
    return float(slope), float(offset)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Times and counters, fitted exponents, and the lines."""
    page.text(
        """Swiss roll in float32, default m. The whole pipeline is
        `LaplacianEigenmaps(landmarks=k).fit_transform`. `n_distance_rows_` counts the
        neighborhoods that the selection computed (the paper's algorithm needs k), `n_proposals_`
        the points it drew to find its landmarks. The exponent b is that of time = a n^b or a k^b,
        fitted to the logarithms of all sizes; the last decade shows what is left of it where fixed
        costs no longer flatten the line."""
    )
    sweeps = grouped(rows, "vary")
    for (vary,), runs in sweeps.items():
        fixed = "k" if vary == "n" else "n"
        page.heading(f"{AXES[vary].capitalize()}, with {fixed} = {runs[0][fixed]:,}", level=3)
        page.table(
            [vary, *COLUMNS],
            [_row(value, same) for (value,), same in grouped(runs, vary).items()],
        )
        page.table(TARGET_COLUMNS, [row for w in NAMES for row in _exponents(vary, w, runs)])
    describe = "Seconds over points and over landmarks, with fitted lines"
    with panels(page, "growth", describe, len(sweeps)) as axes:
        for one, ((vary,), runs) in zip(axes, sweeps.items(), strict=True):
            _draw(one, vary, runs)


def _row(value: int, same: Sequence[Row]) -> list:
    by_part = {row["what"]: row for row in same}
    selection, pipeline = (by_part.get(what, {"error": "not run"}) for what in NAMES)
    line = [f"{value:,}", *_cost(selection)]
    line += [f"{selection[c]:,}" if c in selection else "-" for c in ("rows", "proposals")]
    return line + _cost(pipeline)


def _cost(row: Row) -> list:
    if reason := row.get("error"):
        return [reason, "-"]
    return [number(row["seconds"]), size(row["peak"])]


def _series(vary: str, what: str, runs: Sequence[Row]) -> tuple[list[int], list[float]]:
    good = [row for row in runs if row["what"] == what and "error" not in row]
    return [row[vary] for row in good], [row["seconds"] for row in good]


def _exponents(vary: str, what: str, runs: Sequence[Row]) -> Iterator[list]:
    sizes, seconds = _series(vary, what, runs)
    if len(sizes) < 2:
        return
    b = exponent(sizes, seconds)[0]
    yield target(f"{NAMES[what]}: exponent in {vary}", Cell(f"{b:.2f}", b), BOUND)
    last = [i for i, value in enumerate(sizes) if value >= sizes[-1] / 10.01]
    b = exponent([sizes[i] for i in last], [seconds[i] for i in last])[0]
    yield [f"{NAMES[what]}: the same, last decade", f"{b:.2f}", "-", "-"]


def _draw(axes: object, vary: str, runs: Sequence[Row]) -> None:
    for what, name in NAMES.items():
        sizes, seconds = _series(vary, what, runs)
        axes.plot(sizes, seconds, "o", color=COLOURS[what], label=name)
        if len(sizes) > 1:
            b, a = exponent(sizes, seconds)
            line = 10 ** (a + b * np.log10(sizes))
            axes.plot(sizes, line, "-", color=COLOURS[what], linewidth=1)
            place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
            note = f"{vary}$^{{{b:.2f}}}$"
            axes.annotate(note, (sizes[-1], line[-1]), color=COLOURS[what], **place)
    axes.margins(x=0.16)
    fixed = "k" if vary == "n" else "n"
    axes.set(xlabel=AXES[vary], ylabel="seconds", title=f"{fixed} = {runs[0][fixed]:,}")
    logarithmic(axes, "xy")


EXPERIMENT = Experiment("growth", "Growth", cases, run, show)
