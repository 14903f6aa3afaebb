"""Figure 3: two candidates between which k-means++ is indifferent and Algorithm 2 is not."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from experiments.pages import Page, column, grouped
from experiments.runner import Experiment, Row, Settings
from trigpoint import EfficientDPP, ExactDPP, KMeansPlusPlus

# The landmarks chosen before (the blue and the black cross), and the candidates (the discs): both
# are at distance 1 from the blue landmark, the nearest to both, and one is nearer to the black one.
BLUE, BLACK, GREEN, RED = range(4)
POINTS = np.array([[0.0, 0.0], [1.8, 0.0], [-0.8, 0.6], [0.8, 0.6]])

SEEDING, EFFICIENT, EXACT = "k-means++", "Algorithm 2", "exact DPP"
BANDWIDTHS = (0.5, 1.0, 2.0)
CONFIDENCE = 0.95


def probability_of_green(method: str, bandwidth: float | None) -> float:
    """Probability of the green candidate as the third landmark, by the method's definition.

    Given that the blue and the black landmarks were chosen, k-means++ draws with the squared
    distance to the nearest landmark; Algorithm 2 with the product of the repulsions of both; a DPP
    with the determinant of the kernel matrix of all three.
    """
    weights = [_weight(method, bandwidth, candidate) for candidate in (GREEN, RED)]
    return weights[0] / sum(weights)


def _weight(method: str, bandwidth: float | None, candidate: int) -> float:
    distances = cdist(POINTS[[BLUE, BLACK]], POINTS[[candidate]])
    if method == SEEDING:
        return float(distances.min() ** 2)
    assert bandwidth is not None
    if method == EFFICIENT:
        return float(np.prod(1 - np.exp(-(distances**2) / (2 * bandwidth**2))))
    chosen = POINTS[[BLUE, BLACK, candidate]]
    return float(np.linalg.det(np.exp(-cdist(chosen, chosen, "sqeuclidean") / (2 * bandwidth**2))))


def cases(settings: Settings) -> Iterator[Row]:
    """Each method, with several bandwidths where it has one."""
    drawn = 150 if settings.quick else 1000
    # It costs five times as much, and twice as many of its sets hold both landmarks.
    fewer = drawn // 3
    methods = [(SEEDING, None, drawn)]
    methods += [(EFFICIENT, bandwidth, drawn) for bandwidth in BANDWIDTHS]
    methods += [(EXACT, bandwidth, fewer) for bandwidth in BANDWIDTHS]
    for method, bandwidth, sets in methods:
        for seed in settings.seeds(20, quick=4):
            yield {"method": method, "bandwidth": bandwidth, "sets": sets, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Draw sets of three of the four points; count those with both landmarks, and the third."""
    method = case["method"]
    sampler = _sampler(method, case["bandwidth"])
    sampler.set_params(random_state=np.random.default_rng(case["seed"]))
    thirds = [
        third
        for _ in range(case["sets"])
        if (third := third_landmark(sampler.fit(POINTS).indices_, method)) is not None
    ]
    return {"held_both": len(thirds), "green": thirds.count(GREEN)}


def _sampler(method: str, bandwidth: float | None) -> Any:
    if method == SEEDING:
        return KMeansPlusPlus(3)
    if method == EFFICIENT:
        # All points are neighbors: the paper compares the two for a maximal neighborhood.
        return EfficientDPP(3, n_neighbors=len(POINTS), bandwidth=bandwidth)
    return ExactDPP(3, bandwidth=bandwidth)


def third_landmark(rows: np.ndarray, method: str) -> int | None:
    """The landmark other than the blue and the black one; ``None`` if they were not chosen first.

    A DPP chooses a set, not one landmark after the other: there it is enough that both are in it.
    """
    before = rows if method == EXACT else rows[:2]
    if not {BLUE, BLACK} <= set(before.tolist()):
        return None
    return next(int(row) for row in rows if row not in (BLUE, BLACK))


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write and plot the probabilities and the observed shares."""
    page.text(
        """Two landmarks (crosses) have been chosen, and one of two candidates (discs) is to be the
        third. The paper: k-means++ selects both equally likely, Algorithm 2 more likely the green
        one, which is far from both landmarks."""
    )
    found = [
        (method, bandwidth, _counts(runs))
        for (method, bandwidth), runs in grouped(rows, "method", "bandwidth").items()
    ]
    _draw(found, page)
    with page.details("How it was run"):
        page.text(
            f"""Lengths are in units of the distance r of both candidates from the blue landmark;
            the green one is {_distance(GREEN):.2f} and the red one {_distance(RED):.2f} from the
            black landmark. Probabilities of the green candidate are from the definitions, and as
            drawn by `KMeansPlusPlus`, `EfficientDPP` (all four points are neighbors) and
            `ExactDPP(3)`, the process that Algorithm 2 approximates. Sets of three of the four
            points are drawn, and those are counted in which the two landmarks came first (for the
            DPP, which has no order, those that contain both). In brackets is Wilson's
            {100 * CONFIDENCE:.0f} % interval; p is from binomial tests of the draws against the
            definition, and against indifference."""
        )
    page.table(
        ["method", "sigma / r", "defined", "drawn", "sets", "p", "p of 1/2"],
        [_line(*what) for what in found],
    )


def _distance(candidate: int) -> float:
    return float(np.linalg.norm(POINTS[candidate] - POINTS[BLACK]))


def _counts(runs: Sequence[Row]) -> tuple[int, int]:
    return int(column(runs, "green").sum()), int(column(runs, "held_both").sum())


def _line(method: str, bandwidth: float | None, counts: tuple[int, int]) -> list[str]:
    from scipy.stats import binomtest

    green, total = counts
    defined = probability_of_green(method, bandwidth)
    cells = [method, "" if bandwidth is None else f"{bandwidth:g}", f"{defined:.4f}"]
    low, high = interval(green, total)
    p_values = [binomtest(green, total, chance).pvalue for chance in (defined, 0.5)]
    return [
        *cells,
        f"{green / total:.4f} ({low:.4f} to {high:.4f})",
        f"{total:,}",
        *(f"{p:.2g}" for p in p_values),
    ]


def interval(hits: int, total: int) -> tuple[float, float]:
    """Wilson's interval for a probability."""
    from scipy.stats import binomtest

    found = binomtest(hits, total).proportion_ci(CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)


# Colors that are safe for the color-blind (Okabe and Ito).
_COLOURS = {GREEN: "#009e73", RED: "#d55e00", BLUE: "#0072b2", BLACK: "#000000"}
_BARS = {SEEDING: "#7f7f7f", EFFICIENT: "#d9a441", EXACT: "#8fb8d8"}


def _draw(found: Sequence[tuple[str, float | None, tuple[int, int]]], page: Page) -> None:
    from matplotlib.patches import Circle

    describe = "The landmarks and candidates, and the probability of the green candidate"
    layout = {"ncols": 2, "width_ratios": [1, 1.5], "figsize": (9, 3.4)}
    with page.picture(describe, **layout) as (plan, bars):
        plan.add_patch(Circle((0, 0), 1, fill=False, linestyle="--", color=_COLOURS[BLUE]))
        for row in (BLUE, BLACK):
            plan.scatter(*POINTS[row], marker="x", s=70, linewidth=2.5, color=_COLOURS[row])
        for row, marker in ((GREEN, "o"), (RED, "s")):
            plan.plot(*POINTS[[BLUE, row]].T, color=_COLOURS[BLUE], linewidth=1)
            plan.plot(*POINTS[[BLACK, row]].T, ":", color=_COLOURS[BLACK], linewidth=1)
            plan.scatter(*POINTS[row], marker=marker, s=70, color=_COLOURS[row], zorder=3)
        labels = {
            BLUE: ("landmark", (0, -18), "center"),
            BLACK: ("landmark", (0, -18), "center"),
            GREEN: ("green", (-9, 4), "right"),
            RED: ("red", (9, 4), "left"),
        }
        for row, (name, offset, side) in labels.items():
            plan.annotate(name, POINTS[row], offset, textcoords="offset points", ha=side)
        plan.set(aspect="equal", xlim=(-1.4, 2.3), ylim=(-1.2, 1.2))
        plan.set_axis_off()

        for place, (method, bandwidth, (green, total)) in enumerate(found):
            defined = probability_of_green(method, bandwidth)
            bars.bar(place, defined, color=_BARS[method], width=0.7)
            share, (low, high) = green / total, interval(green, total)
            away = [[share - low], [high - share]]
            bars.errorbar(place, share, away, fmt="o", color="black", capsize=3)
        bars.axhline(0.5, color="#000000", linewidth=0.8, linestyle="--")
        bars.set_xticks(
            range(len(found)),
            [f"{method}\n{width:g} r" if width else method for method, width, _ in found],
            fontsize=8,
        )
        bars.set(ylabel="probability of the green candidate", ylim=(0, 1))
        bars.set_xlabel("method, and its bandwidth")
        bars.set_title("bars: defined, dots: drawn, 95 % intervals", fontsize=9)


PARAMETERS = {"points": POINTS.tolist(), "bandwidths": BANDWIDTHS}

EXPERIMENT = Experiment(
    "kmeanspp",
    "Figure 3: where k-means++ is indifferent and Algorithm 2 is not",
    cases,
    run,
    show,
    PARAMETERS,
)
