"""Figure 2: the two repulsion functions, and whether it matters which is used."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from experiments.pages import (
    CORRECTED,
    PAIRED_TEST,
    Comparison,
    Page,
    column,
    compare,
    grouped,
    holm,
    standard_error,
    with_error,
)
from experiments.paper.table1 import BANDWIDTH, COUNTS, SURFACES, errors_of, trace_errors
from experiments.runner import Experiment, Row, Settings
from trigpoint import EfficientDPP

SURFACES_SHOWN = ("roll", "bowl")
REPULSIONS = ("welsch", "sin2")


def cases(settings: Settings) -> Iterator[Row]:
    """Both functions on both surfaces, with the paper's m and with all points as neighbors."""
    n = 400 if settings.quick else 1000
    for data in SURFACES_SHOWN:
        for m in (SURFACES[data].n_neighbors, n):
            for repulsion in REPULSIONS:
                for seed in settings.seeds(50, quick=6):
                    yield {"data": data, "n": n, "m": m, "repulsion": repulsion, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Trace errors of one draw of the points, for each number of landmarks."""
    surface = SURFACES[case["data"]]
    X = surface.make(case["n"], surface.scale, case["seed"])
    options = {"n_neighbors": case["m"], "repulsion": case["repulsion"]}
    options |= {"bandwidth": BANDWIDTH, "random_state": case["seed"]}
    return trace_errors(X, lambda k: EfficientDPP(k, **options))


def largest_gap() -> tuple[float, float]:
    """Where within a quarter period the functions differ most, and by how much.

    Distances are in units of ``sqrt(2) sigma``, in which the functions are ``sin(x)^2`` and
    ``1 - exp(-x^2)``.
    """
    x = np.linspace(0, np.pi / 2, 100_001)
    gap = np.square(np.sin(x)) + np.expm1(-np.square(x))
    widest = int(np.abs(gap).argmax())
    return float(x[widest]), float(gap[widest])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write the errors with either function, and draw the functions and the ratio of errors."""
    place, gap = largest_gap()
    page.text(
        """The paper derives sin²(x) for the repulsion and uses the Welsch function 1 - exp(-x²)
        instead, "very similar" to it. It shows no errors for sin²."""
    )
    groups = grouped(rows, "data", "m", "repulsion")
    _draw(groups, page)
    with page.details("How it was run"):
        page.text(
            f"""x is the distance over sqrt(2) sigma; beyond a quarter period the sine is held at 1.
            The functions agree to second order at 0 and differ most at x = {place:.3f}, where sin²
            is {gap:.3f} larger. Trace errors are of the data of table 1, with the same points and
            the same stream of random numbers for both functions, sigma = {BANDWIDTH:g}; ± is the
            standard error of the mean. The last column is the mean difference over the mean of the
            Welsch function's errors, and the p value of a {PAIRED_TEST}, {CORRECTED}."""
        )
    parts = dict.fromkeys((data, m) for data, m, _ in groups)
    found = {
        (*part, k): compare(groups[*part, "sin2"], groups[*part, "welsch"], f"error_{k}")
        for part in parts
        for k in COUNTS
    }
    found = dict(zip(found, holm(list(found.values())), strict=True))
    for data, m in parts:
        pair = [groups[data, m, repulsion] for repulsion in REPULSIONS]
        n = pair[0][0]["n"]
        page.heading(
            f"{SURFACES[data].title}, m = {m:,} ({'all points' if m == n else 'as in table 1'})"
        )
        lines = []
        for k in COUNTS:
            errors = [column(runs, f"error_{k}") for runs in pair]
            difference = _compared(found[data, m, k], float(errors[0].mean()))
            lines.append([str(k), *map(with_error, errors), difference])
        page.table(["k", "Welsch", "sin²", "sin² less Welsch"], lines)


def _compared(comparison: Comparison, mean: float) -> str:
    relative = f"{100 * comparison.difference / mean:+.1f} %"
    if not np.isfinite(comparison.p_value):
        return relative
    return f"{relative} (p = {comparison.p_value:.2g}) {comparison.stars}".rstrip()


# Colors that are safe for the color-blind (Okabe and Ito).
_BLUE, _ORANGE = "#0072b2", "#d55e00"
_COLOURS = {"roll": _BLUE, "bowl": _ORANGE}


def _draw(groups: dict[tuple[str, int, str], list[Row]], page: Page) -> None:
    describe = "The two functions, and the ratio of the errors that they lead to"
    with page.picture(describe, ncols=2, figsize=(9, 3.6)) as (curves, ratios):
        x = np.linspace(-np.pi / 2, np.pi / 2, 401)
        curves.plot(x, np.sin(x) ** 2, color=_BLUE, label="sin²(x)")
        curves.plot(x, 1 - np.exp(-(x**2)), "--", color=_ORANGE, label="1 - exp(-x²)")
        curves.set_xticks(
            [-np.pi / 2, -np.pi / 4, 0, np.pi / 4, np.pi / 2], ["-π/2", "-π/4", "0", "π/4", "π/2"]
        )
        curves.set(xlabel="x", ylabel="f", title="Repulsion functions")
        curves.legend(loc="lower right")
        lines = sorted({(data, m) for data, m, _ in groups})
        for shift, (data, m) in enumerate(lines):
            pair = [errors_of(groups[data, m, repulsion]) for repulsion in REPULSIONS]
            _draw_ratio(ratios, data, m, pair, 1.2 * (shift - (len(lines) - 1) / 2))
        ratios.axhline(1, color="#000000", linewidth=0.6)
        ratios.set(xticks=COUNTS, xlabel="landmarks, k", ylabel="error with sin² / with Welsch")
        ratios.set_title("Trace errors, 95 % intervals")
        ratios.legend(fontsize=8)


def _draw_ratio(ax: Any, data: str, m: int, pair: Sequence[np.ndarray], shift: float) -> None:
    """Ratio of mean errors of runs with the same seeds, with the interval of the difference."""
    plain, sine = pair
    means = sine.mean(axis=0) / plain.mean(axis=0)
    # Standard error of a ratio of two means, to first order.
    errors = [1.96 * standard_error(left) for left in (sine - means * plain).T]
    errors /= plain.mean(axis=0)
    wide = m > max(surface.n_neighbors for surface in SURFACES.values())
    ax.errorbar(
        np.array(COUNTS) + shift,
        means,
        errors,
        fmt="--o" if wide else "-o",
        mfc="white" if wide else None,
        color=_COLOURS[data],
        capsize=2,
        label=f"{SURFACES[data].title}, m = {m:,}",
    )


PARAMETERS = {"landmarks": COUNTS, "bandwidth": BANDWIDTH}

EXPERIMENT = Experiment(
    "repulsion", "Figure 2: sin² against the Welsch function", cases, run, show, PARAMETERS
)
