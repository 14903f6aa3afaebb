"""Figure 1: standard, geodesic and efficient sampling of the Swiss roll."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from experiments.pages import (
    CORRECTED,
    PAIRED_TEST,
    Comparison,
    Page,
    column,
    compare,
    grouped,
    holm,
    mean,
    standard_error,
    with_error,
)
from experiments.paper.table1 import SURFACES
from experiments.runner import Experiment, Row, Settings
from trigpoint import EfficientDPP, ExactDPP, Uniform
from trigpoint.datasets import make_swiss_roll

# The roll of table 1, whose bandwidth is 1.
SCALE = SURFACES["roll"].scale
NEIGHBORS = 20
TABLE_1_BANDWIDTH = 1.0

# Bandwidths, and how many landmarks a standard DPP draws with each, on average and rounded.
COUNTS = {0.5: 75, 1.0: 30, 2.0: 13, 4.0: 6}

UNIFORM, STANDARD, GEODESIC, EFFICIENT = "uniform", "standard", "geodesic", "efficient"
METHODS = (UNIFORM, STANDARD, GEODESIC, EFFICIENT)

# Up to this angle, a turn before the end, another layer of the roll lies outside.
_INNER_ANGLE = 2.5 * np.pi


def points(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on the roll, where they lie on the unrolled plane, and which lie on its inner part.

    The inner part is the first half turn of one and a half: everything with another layer of the
    roll around it.
    """
    X, plane = make_swiss_roll(n, scale=SCALE, random_state=seed)
    # The spiral is Archimedean: its radius is its angle.
    angle = np.hypot(X[:, 0], X[:, 2]) / SCALE
    return X, plane, angle <= _INNER_ANGLE


def make_sampler(method: str, bandwidth: float, n_landmarks: int | None, seed: int) -> Any:
    """A sampler of one of the kinds; without a number of landmarks, a DPP that draws its own."""
    options: Row = {"bandwidth": bandwidth, "random_state": seed}
    if method == UNIFORM:
        return Uniform(n_landmarks, random_state=seed)
    if method == EFFICIENT:
        return EfficientDPP(n_landmarks, n_neighbors=NEIGHBORS, **options)
    return ExactDPP(n_landmarks, kernel="geodesic" if method == GEODESIC else "gaussian", **options)


def cases(settings: Settings) -> Iterator[Row]:
    """Every method with every bandwidth; the two exact ones also with their own count."""
    n = 300 if settings.quick else 1000
    for bandwidth, k in COUNTS.items():
        if settings.quick and bandwidth < TABLE_1_BANDWIDTH:
            continue
        fixed = [(method, k) for method in METHODS]
        for method, count in [*fixed, (STANDARD, None), (GEODESIC, None)]:
            setting = {"n": n, "method": method, "bandwidth": bandwidth, "n_landmarks": count}
            for seed in settings.seeds(50, quick=4):
                yield {**setting, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """How well the landmarks of one draw cover the roll and its inner part."""
    X, plane, inner = points(case["n"], case["seed"])
    bandwidth = case["bandwidth"]
    sampler = make_sampler(case["method"], bandwidth, case["n_landmarks"], case["seed"])
    rows = sampler.fit(X).indices_
    return {
        "drawn": len(rows),
        "inner_points": round(float(inner.mean()), 4),
        **coverage(plane, inner, rows, share_radius(plane, COUNTS[bandwidth])),
    }


def share_radius(plane: np.ndarray, n_landmarks: int) -> float:
    """Radius of a disc whose area is one landmark's share of the roll."""
    return float(np.sqrt(np.prod(np.ptp(plane, axis=0)) / (np.pi * n_landmarks)))


def coverage(plane: np.ndarray, inner: np.ndarray, rows: np.ndarray, reach: float) -> Row:
    """How landmarks, rows of `plane`, cover the points, by distances on the unrolled plane.

    `inner` marks the points of the inner part. A point is reached by a landmark within `reach`.
    """
    if len(rows) == 0:
        return {"inner_landmarks": 0, "radius": None, "inner_radius": None, "inner_reached": 0.0}
    nearest = cdist(plane, plane[rows]).min(axis=1)
    return {
        "inner_landmarks": int(inner[rows].sum()),
        "radius": round(float(nearest.max()), 4),
        "inner_radius": round(float(nearest[inner].max()), 4),
        "inner_reached": round(float(np.mean(nearest[inner] <= reach)), 4),
    }


# By bandwidth, by method, and by whether the number of landmarks is the same for all methods.
Groups = Mapping[tuple[float, str, bool], list[Row]]


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write what each method reaches of the roll, and draw the first run."""
    by_count = grouped(rows, "bandwidth", "method", "n_landmarks")
    groups = {(key[0], key[1], key[2] is not None): runs for key, runs in by_count.items()}
    n = rows[0]["n"]
    page.text(
        """The paper says that the standard DPP almost entirely neglects the inner part of the roll,
        and that geodesic and efficient sampling do not."""
    )
    _draw(groups, n, page)
    with page.details("How it was run, and what the columns are"):
        _describe(n, page)
    _show_summary(groups, page)
    # The block with the bandwidth of table 1 comes first.
    shown = sorted({key[0] for key in groups}, key=lambda b: (b != TABLE_1_BANDWIDTH, b))
    reached = {
        (bandwidth, method): compare(
            groups[bandwidth, method, True], groups[bandwidth, STANDARD, True], "inner_reached"
        )
        for bandwidth in shown
        for method in (GEODESIC, EFFICIENT)
    }
    reached = dict(zip(reached, holm(list(reached.values())), strict=True))
    for bandwidth in shown:
        _show_block(bandwidth, groups, page)
        sentences = [
            f"{method} {_compared(reached[bandwidth, method])}" for method in (GEODESIC, EFFICIENT)
        ]
        page.text(
            f"""Inner part reached, less what the standard DPP reaches with as many landmarks
            ({PAIRED_TEST}, {CORRECTED}): {"; ".join(sentences)}."""
        )


def _describe(n: int, page: Page) -> None:
    page.text(
        f"""{n:,} points on the Swiss roll of table 1 (scale {SCALE:g}), drawn anew for every run,
        and landmarks from a DPP with Euclidean distances ("standard"), from one with geodesic
        distances, and from Algorithm 2 with {NEIGHBORS} neighbors ("efficient"). Unrolling keeps
        lengths, so distances on the manifold are those on the unrolled plane."""
    )
    page.items(
        [
            "Inner part: the first half turn of the one and a half, which is all that has another "
            "layer of the roll around it.",
            "Reached: share of its points that have a landmark on the manifold within the radius "
            "of a disc whose area is one landmark's share of the roll, the same for all methods in "
            "a block.",
            "Radius: largest distance on the manifold from a point to its nearest landmark, over "
            "the whole roll and over the inner part.",
        ]
    )
    page.text(
        f"""The paper gives no bandwidth. The picture and the first block take that of its other
        experiment on a roll, sigma = {TABLE_1_BANDWIDTH:g} in table 1; the other blocks show what
        depends on it. A DPP draws a random number of landmarks, which decides how much they cover.
        So each block has both: rows with the same number for all methods (the DPPs fixed to that
        size, `ExactDPP(k)`; it is the mean number of the standard DPP of 1,000 points, rounded),
        and the two DPPs as in Algorithm 1, with the number that they draw (`ExactDPP()`). Algorithm
        2 has the same sigma as the kernels. The picture shows the first run in both ways (where the
        DPPs have their own number, Algorithm 2 is given that of the geodesic one), with the inner
        part shaded."""
    )


def _show_summary(groups: Groups, page: Page) -> None:
    page.heading("Landmarks in the inner part")
    page.text(
        """Share of the landmarks that lie there, where all methods have the same number; and how
        many of those that the DPPs draw by themselves. The paper's picture has almost none: in
        brackets, in how many of the runs there was at most one."""
    )
    lines = []
    for bandwidth in sorted({key[0] for key in groups}):
        everything = [row for key, runs in groups.items() if key[0] == bandwidth for row in runs]
        line = [f"{bandwidth:g}", f"{mean(everything, 'inner_points'):.3f}"]
        line += [_share(groups[bandwidth, method, True]) for method in METHODS]
        for method in (STANDARD, GEODESIC):
            runs = groups[bandwidth, method, False]
            inside, drawn = column(runs, "inner_landmarks"), column(runs, "drawn")
            few = 100 * np.mean(inside <= 1)
            line.append(f"{inside.mean():.1f} of {drawn.mean():.1f} ({few:.0f} %)")
        lines.append(line)
    headings = [*METHODS, "standard, own number", "geodesic, own number"]
    page.table(["sigma", "points", *headings], lines)


def _show_block(bandwidth: float, groups: Groups, page: Page) -> None:
    page.heading(f"sigma = {bandwidth:g}, {COUNTS[bandwidth]} landmarks")
    lines = [[method, *_cells(groups[bandwidth, method, True])] for method in METHODS]
    lines += [
        [f"{method}, own number", *_cells(groups[bandwidth, method, False])]
        for method in (STANDARD, GEODESIC)
    ]
    headings = ["landmarks", "of them in inner part", "share", "share of points"]
    page.table(["sampling", *headings, "reached", "radius", "radius in inner part"], lines)


def _cells(runs: Sequence[Row]) -> list[str]:
    drawn = column(runs, "drawn")
    number = f"{drawn.mean():.0f}" if np.ptp(drawn) == 0 else with_error(drawn)
    inside = with_error(column(runs, "inner_landmarks"))
    reached = [
        with_error(column(runs, name)) for name in ("inner_reached", "radius", "inner_radius")
    ]
    return [number, inside, _share(runs), f"{mean(runs, 'inner_points'):.3f}", *reached]


def _share(runs: Sequence[Row]) -> str:
    """Share of all landmarks that lie on the inner part, and its standard error."""
    drawn, inside = column(runs, "drawn"), column(runs, "inner_landmarks")
    share = float(inside.sum() / drawn.sum())
    # Standard error of a ratio of two sums, to first order.
    error = standard_error(inside - share * drawn) / float(drawn.mean())
    return f"{share:.3f} ± {error:.3f}"


def _compared(found: Comparison) -> str:
    return f"{found.difference:+.3f} (p = {found.p_value:.2g} {found.stars}".rstrip() + ")"


# Colors that are safe for the color-blind (Okabe and Ito).
_COLOURS = {UNIFORM: "#7f7f7f", STANDARD: "#0072b2", GEODESIC: "#009e73", EFFICIENT: "#d55e00"}
_MARKERS = {UNIFORM: "s", STANDARD: "o", GEODESIC: "^", EFFICIENT: "D"}


def _draw(groups: Groups, n: int, page: Page) -> None:
    describe = "Landmarks on the unrolled plane, and what they reach of its inner part"
    layout = {"nrows": 4, "ncols": 2, "height_ratios": [1, 1, 1, 1.7], "figsize": (9, 7)}
    with page.picture(describe, **layout) as axes:
        _draw_first_run(axes[:3], n)
        own, same = axes[3]
        for method in (STANDARD, GEODESIC):
            _draw_line(own, groups, method, True)
        for method in METHODS:
            _draw_line(same, groups, method, False)
        own.set(ylabel="landmarks in the inner part", ylim=(0, None))
        same.set(ylabel="inner part reached", ylim=(0, 1))
        for ax in (own, same):
            ax.set_xscale("log", base=2)
            ax.set_xticks(list(COUNTS), [f"{bandwidth:g}" for bandwidth in COUNTS])
            ax.set_xlabel("bandwidth, sigma")
            ax.grid(axis="y", color="#dddddd", linewidth=0.6)
            ax.legend(fontsize=8, ncols=2)


def _draw_first_run(axes: Any, n: int) -> None:
    """Left, each DPP with its own number of landmarks; right, all with the same number."""
    for ax, heading in zip(axes[0], ("Their own number", "The same number"), strict=True):
        ax.text(0.5, 1.32, heading, transform=ax.transAxes, ha="center", fontsize=11)
    X, plane, inner = points(n, seed=0)
    border = plane[inner, 0].max()
    sigma = TABLE_1_BANDWIDTH
    for place, fixed in enumerate((None, COUNTS[sigma])):
        count = fixed
        for ax, method in zip(axes[:, place], (STANDARD, GEODESIC, EFFICIENT), strict=True):
            rows = make_sampler(method, sigma, count, 0).fit(X).indices_
            if fixed is None and method == GEODESIC:
                # Algorithm 2 has no number of its own.
                count = len(rows)
            inside = inner[rows].sum()
            ax.axvspan(-0.1, border, color="#f3ead3", linewidth=0)
            ax.scatter(*plane.T, s=2, color="#aaaaaa", linewidth=0)
            ax.scatter(*plane[rows].T, s=14, color=_COLOURS[method], marker=_MARKERS[method])
            ax.set(aspect="equal", xticks=[], yticks=[])
            ax.set_title(f"{method}: {len(rows)} landmarks, {inside} in the inner part", fontsize=9)
            for spine in ax.spines.values():
                spine.set_visible(False)


def _draw_line(ax: Any, groups: Groups, method: str, own: bool) -> None:
    name = "inner_landmarks" if own else "inner_reached"
    shown = sorted({key[0] for key in groups})
    found = [column(groups[bandwidth, method, not own], name) for bandwidth in shown]
    ax.errorbar(
        shown,
        [values.mean() for values in found],
        [1.96 * standard_error(values) for values in found],
        color=_COLOURS[method],
        marker=_MARKERS[method],
        capsize=2,
        label=method,
    )


PARAMETERS = {
    "scale": SCALE,
    "neighbors": NEIGHBORS,
    "landmarks": {str(k): v for k, v in COUNTS.items()},
}

EXPERIMENT = Experiment(
    "sampling",
    "Figure 1: standard, geodesic and efficient sampling of the roll",
    cases,
    run,
    show,
    PARAMETERS,
)
