"""Table 1: trace errors of five samplers on the Swiss roll and the fish bowl."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
    with_error,
)
from experiments.runner import Experiment, Row, Settings
from trigpoint import EfficientDPP, ExactDPP, KMeansLandmarks, KMeansPlusPlus, Uniform
from trigpoint.datasets import make_fish_bowl, make_swiss_roll
from trigpoint.metrics import nystrom_error, optimal_error

# The numbers of landmarks in the table, and its bandwidth.
COUNTS = (25, 50, 60, 70, 80, 90, 100)
BANDWIDTH = 1.0

UNIFORM, SEEDING = "uniform", "k-means++ seeding"
KMEANS, KMEANS_PP = "k-means uniform", "k-means++"
EFFICIENT = "efficient DPP"
THE_FIVE = (UNIFORM, KMEANS, SEEDING, KMEANS_PP, EFFICIENT)

# The table as printed.
PRINTED = {
    "roll": {
        UNIFORM: (70.384, 8.006, 4.838, 2.785, 1.676, 0.731, 0.442),
        KMEANS: (28.124, 3.848, 2.319, 1.393, 0.756, 0.403, 0.235),
        SEEDING: (50.114, 5.832, 3.033, 1.655, 1.013, 0.683, 0.347),
        KMEANS_PP: (24.954, 3.575, 1.915, 1.018, 0.711, 0.383, 0.222),
        EFFICIENT: (33.036, 3.371, 1.466, 0.844, 0.488, 0.312, 0.202),
    },
    "bowl": {
        UNIFORM: (44.026, 8.394, 6.512, 4.678, 1.025, 0.935, 0.758),
        KMEANS: (12.627, 1.230, 0.612, 0.393, 0.192, 0.119, 0.080),
        SEEDING: (22.841, 2.337, 1.436, 0.643, 0.252, 0.089, 0.045),
        KMEANS_PP: (11.503, 0.859, 0.402, 0.150, 0.096, 0.039, 0.021),
        EFFICIENT: (10.846, 0.657, 0.249, 0.095, 0.014, 0.005, 0.002),
    },
}

# Not in the paper.
OPTIMUM, REFINED = "optimum", "efficient DPP, own m and sigma, refined"
AUTOMATIC, K_DPP = "efficient DPP, own m and sigma", "k-DPP"
SNAPPED = "k-means++, nearest points"
FEW_STEPS = {KMEANS: "k-means uniform, 1 iteration", KMEANS_PP: "k-means++, 1 iteration"}

# Rows of the table that a variant is another reading of.
_READINGS = {name: name for name in THE_FIVE}
_READINGS |= {variant: name for name, variant in FEW_STEPS.items()} | {SNAPPED: KMEANS_PP}

# Refining takes a hundred times as long as drawing.
_MOST_REFINED = 20

Make = Callable[[int, int], Any]

# Samplers by the number of landmarks and the paper's m.
SAMPLERS: dict[str, Make] = {
    UNIFORM: lambda k, m: Uniform(k),
    KMEANS: lambda k, m: KMeansLandmarks(k, snap=False),
    FEW_STEPS[KMEANS]: lambda k, m: KMeansLandmarks(k, snap=False, max_iter=1),
    SEEDING: lambda k, m: KMeansPlusPlus(k),
    KMEANS_PP: lambda k, m: KMeansLandmarks(k, init="k-means++", snap=False),
    FEW_STEPS[KMEANS_PP]: lambda k, m: KMeansLandmarks(k, init="k-means++", snap=False, max_iter=1),
    EFFICIENT: lambda k, m: EfficientDPP(k, n_neighbors=m, bandwidth=BANDWIDTH),
    SNAPPED: lambda k, m: KMeansLandmarks(k, init="k-means++"),
    K_DPP: lambda k, m: ExactDPP(k, bandwidth=BANDWIDTH),
    AUTOMATIC: lambda k, m: EfficientDPP(k),
    REFINED: lambda k, m: EfficientDPP(k, refine=True, kernel_bandwidth=BANDWIDTH),
}


@dataclass(frozen=True)
class Surface:
    """A data set of the table.

    `printed` is the part of the table that it reproduces, and `maker` is a function of
    `trigpoint.datasets`. The table is made with `scale`; the calibration tries `other_scales`. The
    paper's m is `n_neighbors`, and `methods` is what is run on it.
    """

    title: str
    printed: str
    maker: Callable[..., tuple[np.ndarray, np.ndarray]]
    scale: float
    other_scales: tuple[float, ...]
    n_neighbors: int
    methods: tuple[str, ...]

    def make(self, n: int, scale: float, seed: int) -> np.ndarray:
        """Draw the points."""
        return self.maker(n, scale=scale, random_state=seed)[0]


_ROLL_BY_ANGLE = partial(make_swiss_roll, sampling="angle")
_BOWL = partial(make_fish_bowl, disc_radius=2.5)
_ALL, _SOME = (*SAMPLERS, OPTIMUM), (*THE_FIVE, *FEW_STEPS.values())
_ROLL_SCALES, _BOWL_SCALES = (0.105, 0.11, 0.12, 0.125), (1.3, 1.35, 1.45, 1.5)
_BY_ANGLE = "Swiss roll, uniform in the angle"
SURFACES = {
    "roll": Surface("Swiss roll", "roll", make_swiss_roll, 0.115, _ROLL_SCALES, 30, _ALL),
    "bowl": Surface("Fish bowl", "bowl", _BOWL, 1.4, _BOWL_SCALES, 150, _ALL),
    "angle": Surface(_BY_ANGLE, "roll", _ROLL_BY_ANGLE, 0.115, _ROLL_SCALES, 30, _SOME),
}


def cases(settings: Settings) -> Iterator[Row]:
    """Every sampler on every data set; for the calibration, uniform samples at other scales."""
    seeds = settings.seeds(50, quick=2)
    n, fewer = (400, 1) if settings.quick else (1000, _MOST_REFINED)
    for data, surface in SURFACES.items():
        shared: Row = {"data": data, "n": n}
        for method in surface.methods:
            for seed in seeds[:fewer] if method == REFINED else seeds:
                yield {**shared, "scale": surface.scale, "method": method, "seed": seed}
        for scale in surface.other_scales:
            for seed in seeds:
                yield {**shared, "scale": scale, "method": UNIFORM, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Trace errors of one method on one draw of the points, for each number of landmarks."""
    surface, seed = SURFACES[case["data"]], case["seed"]
    X = surface.make(case["n"], case["scale"], seed)
    if case["method"] == OPTIMUM:
        return error_columns(optimal_error(X, BANDWIDTH, COUNTS))
    make = SAMPLERS[case["method"]]
    return trace_errors(X, lambda k: make(k, surface.n_neighbors).set_params(random_state=seed))


def trace_errors(X: np.ndarray, make: Callable[[int], Any]) -> Row:
    """Trace errors of the landmarks that a sampler chooses, for each number of landmarks."""
    return error_columns([nystrom_error(X, make(k).fit(X).landmarks_, BANDWIDTH) for k in COUNTS])


def error_columns(errors: Sequence[float] | np.ndarray) -> Row:
    """Cells for the errors, with as many digits as are meaningful."""
    return {f"error_{k}": float(f"{error:.5g}") for k, error in zip(COUNTS, errors, strict=True)}


def errors_of(rows: Sequence[Row]) -> np.ndarray:
    """Errors of some runs, of shape (runs, numbers of landmarks)."""
    return np.column_stack([column(rows, f"error_{k}") for k in COUNTS])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write the calibration, the table, which of the paper's claims hold, and the picture."""
    page.text(
        """The paper: errors of five samplers on two surfaces, of which the efficient DPP is the
        best for all but few landmarks."""
    )
    by_method = {data: _by_method(rows, data, surface.scale) for data, surface in SURFACES.items()}
    _draw({data: by_method[data] for data in PRINTED}, page)
    with page.details("How it was run"):
        page.text(
            f"""Trace error of the Nyström approximation (equation 1), of a Gaussian kernel with
            bandwidth {BANDWIDTH:g}, mean over the runs ± its standard error; in brackets, what the
            paper prints. Points and landmarks are drawn anew for every run. k-means is run until it
            converges unless the row says otherwise, and its landmarks are the centres; the paper
            does not say for how many iterations it ran, nor whether centres were moved to points.
            (After 1 iteration, the centres are the means of the clusters that it leaves.) The
            efficient DPP has the paper's m ({SURFACES["roll"].n_neighbors} on the roll,
            {SURFACES["bowl"].n_neighbors} on the bowl) and sigma = 1."""
        )
    found = _compared(by_method)
    _show_claims(by_method, found, page)
    _show_variants(by_method, found, page)
    for data, methods in by_method.items():
        _show_table(data, methods, page)
    page.text(
        """The last column compares a row with the printed one that it may stand for: the mean over
        k of log(ours / printed), and the root of the mean square."""
    )
    _show_calibration(rows, page)


ByMethod = Mapping[str, Mapping[str, list[Row]]]
# By data, by the two methods, and by k.
Compared = Mapping[tuple[str, str, str, int], Comparison]


def _compared(by_method: ByMethod) -> Compared:
    """All comparisons of the page, corrected for how many these are."""
    pairs = [(variant, EFFICIENT) for variant in (AUTOMATIC, K_DPP)]
    for better, worse in _CLAIMS.values():
        for names in ([better, *worse], _stopped([better, *worse])):
            pairs += [(names[0], name) for name in names[1:]]
    found = {
        (data, *pair, k): compare(*(methods[name] for name in pair), f"error_{k}")
        for data, methods in by_method.items()
        for pair in dict.fromkeys(pairs)
        if methods.keys() >= set(pair)
        for k in COUNTS
    }
    return dict(zip(found, holm(list(found.values())), strict=True))


def _stopped(names: Sequence[str]) -> list[str]:
    """The same methods, k-means after one iteration."""
    return [FEW_STEPS.get(name, name) for name in names]


def _show_variants(by_method: ByMethod, compared: Compared, page: Page) -> None:
    page.heading("Other parameters, and an exact DPP")
    page.text(
        """Mean error less that of the efficient DPP with the paper's m and sigma, relative to it.
        The library's m is 4 n / k, 160 points at k = 25 and 40 at k = 100, and its sigma is the
        radius of a typical neighborhood of that size. The paper says that larger m and sigma help
        where there are few landmarks. A k-DPP with the kernel of the table is what Algorithm 2
        approximates. Brackets as above."""
    )
    lines = []
    for data, methods in by_method.items():
        means = errors_of(methods[EFFICIENT]).mean(axis=0)
        for name in (name for name in (AUTOMATIC, K_DPP) if name in methods):
            cells = []
            for k, mean in zip(COUNTS, means, strict=True):
                found = compared[data, name, EFFICIENT, k]
                relative = f"{100 * found.difference / mean:+.0f} %"
                cells.append(relative if found.stars else f"({relative})")
            lines.append([f"{SURFACES[data].title}: {name}", *cells])
    page.table(["sampler", *(f"k = {k}" for k in COUNTS)], lines)


def _by_method(rows: Sequence[Row], data: str, scale: float) -> dict[str, list[Row]]:
    found = [row for row in rows if row["data"] == data and row["scale"] == scale]
    return {method: runs for (method,), runs in grouped(found, "method").items()}


def _show_table(data: str, methods: Mapping[str, list[Row]], page: Page) -> None:
    surface = SURFACES[data]
    printed = PRINTED[surface.printed]
    page.heading(f"{surface.title}, n = {methods[UNIFORM][0]['n']:,}")
    lines = []
    for name in surface.methods:
        cells = [with_error(values) for values in errors_of(methods[name]).T]
        if name in printed:
            cells = [
                f"{cell} ({value:g})" for cell, value in zip(cells, printed[name], strict=True)
            ]
        agreement = ""
        if name in _READINGS:
            ratios = log_ratios(methods[name], printed[_READINGS[name]])
            agreement = f"{ratios.mean():+.2f}, {_root_mean_square(ratios):.2f}"
        lines.append([name, str(len(methods[name])), *cells, agreement])
    page.table(["sampler", "runs", *(f"k = {k}" for k in COUNTS), "log-ratio"], lines)


# What the paper reads off its table: the first has a lower error than each of the others.
_CLAIMS = {
    "the efficient DPP is the best of the five": (EFFICIENT, THE_FIVE[:-1]),
    "seeding is better than uniform": (SEEDING, (UNIFORM,)),
    "k-means improves a uniform start": (KMEANS, (UNIFORM,)),
    "k-means improves the seeding": (KMEANS_PP, (SEEDING,)),
}


def _show_claims(by_method: ByMethod, compared: Compared, page: Page) -> None:
    page.heading("What the paper reads off the table")
    page.text(
        f"""For each claim, the k at which the mean errors bear it out: those printed, and ours with
        k-means converged and after 1 iteration. In brackets where the difference may be chance
        ({PAIRED_TEST}, {CORRECTED}, p ≥ 0.05, against any of those that should be worse)."""
    )
    lines = []
    for data in by_method:
        printed = PRINTED[SURFACES[data].printed]
        for claim, (better, worse) in _CLAIMS.items():
            below = np.all([np.less(printed[better], printed[name]) for name in worse], axis=0)
            cells = [_listed([str(k) for k, yes in zip(COUNTS, below, strict=True) if yes])]
            converged, stopped = [better, *worse], _stopped([better, *worse])
            cells.append(_held(compared, data, *converged))
            cells.append(_held(compared, data, *stopped) if stopped != converged else "")
            lines.append([f"{SURFACES[data].title}: {claim}", *cells])
    page.table(["claim", "paper", "ours", "ours, 1 iteration"], lines)


def _held(compared: Compared, data: str, better: str, *worse: str) -> str:
    """The k at which the first method is below all others."""
    counts = []
    for k in COUNTS:
        found = [compared[data, better, name, k] for name in worse]
        if all(comparison.difference < 0 for comparison in found):
            certain = all(comparison.stars for comparison in found)
            counts.append(f"{k}" if certain else f"({k})")
    return _listed(counts)


def _listed(counts: Sequence[str]) -> str:
    if len(counts) == len(COUNTS) and all(count.isdigit() for count in counts):
        return "all"
    return ", ".join(counts) or "none"


def log_ratios(rows: Sequence[Row], printed: Sequence[float]) -> np.ndarray:
    """Logarithm of mean error over printed error, for each number of landmarks."""
    return np.log(errors_of(rows).mean(axis=0) / np.asarray(printed))


def _show_calibration(rows: Sequence[Row], page: Page) -> None:
    page.heading("The scale of the data")
    page.text(
        """The paper does not give the scale of its data, on which all errors depend. Ours is set
        by the row of uniform samples alone, which involves no parameter of a sampler. For each
        scale: mean over k of log(our error / printed error) ± its standard error (of our runs; the
        printed ones have their own, of about the same size), and the root of the mean square. The
        bowl is a uniform disc of radius 2.5, in the plane through the centre of a sphere of radius
        1, projected onto that sphere (a radius of 5 in the plane that touches it) and scaled."""
    )
    lines, sentences = [], []
    for data, surface in SURFACES.items():
        printed = PRINTED[surface.printed][UNIFORM]
        uniform = [row for row in rows if (row["data"], row["method"]) == (data, UNIFORM)]
        scales = {scale: runs for (scale,), runs in sorted(grouped(uniform, "scale").items())}
        for scale, runs in scales.items():
            ratios = log_ratios(runs, printed)
            mark = " (used)" if scale == surface.scale else ""
            lines.append(
                [
                    f"{surface.title}, {scale:g}{mark}",
                    *(f"{value:.3g}" for value in errors_of(runs).mean(axis=0)),
                    f"{ratios.mean():+.3f} ± {_jackknife(runs, printed):.3f}",
                    f"{_root_mean_square(ratios):.3f}",
                ]
            )
        lines.append([f"{surface.title}, printed", *(f"{value:.3g}" for value in printed), "", ""])
        sentences.append(_judged(surface, scales))
    page.table(
        ["data, scale", *(f"k = {k}" for k in COUNTS), "mean log-ratio", "rms log-ratio"], lines
    )
    for sentence in sentences:
        page.text(sentence)


def _judged(surface: Surface, scales: Mapping[float, list[Row]]) -> str:
    """How the scale that is used compares with the best ones."""
    printed = PRINTED[surface.printed][UNIFORM]
    ratios = np.array([log_ratios(runs, printed) for runs in scales.values()])
    # Both are smooth in the logarithm of the scale.
    square = np.polyfit(np.log([*scales]), np.square(ratios).mean(axis=1), 2)
    line = np.polyfit(np.log([*scales]), ratios.mean(axis=1), 1)
    least, zero = np.exp(-square[1] / (2 * square[0])), np.exp(-line[1] / line[0])
    off = surface.scale / zero - 1
    mean = float(log_ratios(scales[surface.scale], printed).mean())
    return f"""{surface.title}: fitted over these scales, the errors are on average those printed
        at {zero:.3g}, and the mean square is least at {least:.3g}. {surface.scale:g} is
        {100 * abs(off):.1f} % {"above" if off > 0 else "below"} the former; there our uniform
        errors are {np.exp(mean):.2f} times the printed ones."""


def _jackknife(rows: Sequence[Row], printed: Sequence[float]) -> float:
    """Standard error of the mean log-ratio, from leaving out one run at a time."""
    errors = errors_of(rows)
    without = (errors.sum(axis=0) - errors) / (len(rows) - 1)
    means = np.log(without / np.asarray(printed)).mean(axis=1)
    return float(np.std(means) * np.sqrt(len(rows) - 1))


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.square(values).mean()))


# Colors that are safe for the color-blind (Okabe and Ito), and the paper's markers.
COLORS = {
    UNIFORM: ("#7f7f7f", "s"),
    KMEANS: ("#e69f00", "^"),
    SEEDING: ("#56b4e9", "D"),
    KMEANS_PP: ("#009e73", "v"),
    EFFICIENT: ("#d55e00", "o"),
}
# Matplotlib types its line styles one by one, hence Any.
_OTHER_LINES: dict[str, tuple[str, Any]] = {
    K_DPP: ("#0072b2", "-."),
    REFINED: ("#cc79a7", "--"),
    OPTIMUM: ("#000000", ":"),
}


def _draw(by_method: ByMethod, page: Page) -> None:
    from matplotlib.lines import Line2D

    with page.picture("Trace errors over the number of landmarks", ncols=2, figsize=(9, 4.6)) as (
        axes
    ):
        for ax, (data, methods) in zip(axes, by_method.items(), strict=True):
            for name, (colour, marker) in COLORS.items():
                ax.plot(COUNTS, PRINTED[data][name], marker, color=colour, mfc="none", ms=5)
                ax.plot(COUNTS, errors_of(methods[name]).mean(axis=0), color=colour)
            for name, (colour, style) in _OTHER_LINES.items():
                ax.plot(COUNTS, errors_of(methods[name]).mean(axis=0), style, color=colour)
            ax.set(yscale="log", xticks=COUNTS, xlabel="landmarks, k", title=SURFACES[data].title)
            ax.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes[0].set_ylabel("trace error")
        handles = [
            Line2D([], [], color=colour, marker=marker, mfc="none", ms=5, label=name)
            for name, (colour, marker) in COLORS.items()
        ]
        handles += [
            Line2D([], [], color=colour, linestyle=style, label=name)
            for name, (colour, style) in _OTHER_LINES.items()
        ]
        axes[0].figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=3,
            title="lines: ours, markers: the paper",
        )


PARAMETERS = {
    "landmarks": COUNTS,
    "bandwidth": BANDWIDTH,
    "neighbors": {data: surface.n_neighbors for data, surface in SURFACES.items()},
    "disc_radius": 2.5,
}

EXPERIMENT = Experiment(
    "table1",
    "Table 1: errors of five samplers on the roll and the bowl",
    cases,
    run,
    show,
    PARAMETERS,
)
