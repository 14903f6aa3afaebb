"""The figure of ten million points: Euclidean against Bhattacharyya graphs of the landmarks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from experiments.internals import (
    LandmarkGraph,
    Landmarks,
    Pool,
    laplacian_eigenmaps,
    local_covariances,
    thread_count,
)
from experiments.pages import Page, column, grouped, standard_error
from experiments.runner import Experiment, Row, Settings
from trigpoint import EfficientDPP, KNNGraph
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics import coordinate_recovery, neighbor_recall, shortcut_rate

RUNS = 3
N_POINTS, N_LANDMARKS, NEIGHBORS = 10_000_000, 2500, (25, 60, 200, 500)
QUICK_POINTS, QUICK_LANDMARKS, QUICK_NEIGHBORS = 100_000, 400, (10, 25, 60, 120)

# The neighborhoods of the paper's other experiment on the roll, of a thousand points.
SMALL_M = 30

METRICS = ("euclidean", "bhattacharyya")

# Neighbors by the choice of either landmark, as in the paper, or only those that agree.
PLAIN, AGREED = "plain", "agreed"
LINKS = {PLAIN: "any", AGREED: "agreed"}

# At least this rank correlation of the first coordinate with arc length counts as unrolled.
ORDERED = 0.99


def cases(settings: Settings) -> Iterator[Row]:
    """Both metrics and both ways to link with every number of neighbors, for every draw."""
    n, k, counts = N_POINTS, N_LANDMARKS, NEIGHBORS
    if settings.quick:
        n, k, counts = QUICK_POINTS, QUICK_LANDMARKS, QUICK_NEIGHBORS
    for seed in settings.seeds(RUNS):
        for m, linking in ((_default_m(n, k), PLAIN), (_default_m(n, k), AGREED), (SMALL_M, PLAIN)):
            for metric in METRICS:
                for count in counts:
                    case = {"n_points": n, "n_landmarks": k, "m": m, "linking": linking}
                    yield case | {"metric": metric, "n_neighbors": count, "seed": seed}


def _default_m(n: int, k: int) -> int:
    """The default of `EfficientDPP`: four times the points per landmark."""
    return 4 * n // k


def run(case: Row, settings: Settings) -> Row:
    """Build one graph, embed it, and compare both with the truth."""
    landmarks, intrinsic = _landmarks_of(case)
    graph = _graph_of(case, landmarks)
    count = case["n_neighbors"]
    leading = laplacian_eigenmaps(graph.weights, 2).coordinates
    independent = laplacian_eigenmaps(graph.weights, 2, "independent").coordinates
    arc, height = coordinate_recovery(leading, intrinsic)
    independent_arc, independent_height = coordinate_recovery(independent, intrinsic)
    shares = {
        "shortcuts": shortcut_rate(graph.weights, intrinsic, count),
        "recall": neighbor_recall(graph.weights, intrinsic, count),
        "order": abs(spearmanr(leading[:, 0], intrinsic[:, 0]).statistic),
        "leading_arc": arc,
        "leading_height": height,
        "independent_arc": independent_arc,
        "independent_height": independent_height,
    }
    return {
        **{name: round(float(share), 6) for name, share in shares.items()},
        "degree": round(graph.lengths.nnz / len(intrinsic), 3),
        "bridges": len(graph.bridges),
    }


def _landmarks_of(case: Row) -> tuple[Landmarks, np.ndarray]:
    names = "n_points", "n_landmarks", "m", "seed"
    return draw_landmarks(*(case[name] for name in names))


@cache
def draw_landmarks(n_points: int, n_landmarks: int, m: int, seed: int) -> tuple[Landmarks, Any]:
    """Landmarks of a new roll with their covariances, and their arc lengths and heights.

    Drawn once for all graphs; the points themselves are not kept.
    """
    X, intrinsic = make_swiss_roll(n_points, dtype=np.float32, random_state=seed)
    pool = Pool(X)
    landmarks = EfficientDPP(n_landmarks, n_neighbors=m, random_state=seed).select(pool)
    radii, covariances = local_covariances(pool, landmarks, "full", thread_count(-1))
    landmarks = replace(landmarks, radii=radii, covariances=covariances, neighborhoods=None)
    return landmarks, intrinsic[landmarks.indices]


def _graph_of(case: Row, landmarks: Landmarks) -> LandmarkGraph:
    link = LINKS[case["linking"]]
    graph = KNNGraph(case["n_neighbors"], metric=case["metric"], link=link)
    return graph.build(landmarks, thread_count(-1))


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """The claim, graphs and embeddings in numbers, and the eight pictures."""
    n, k = rows[0]["n_points"], rows[0]["n_landmarks"]
    m = _default_m(n, k)
    page.text(
        f"""The paper takes {N_LANDMARKS:,} landmarks out of ten million points of the Swiss roll,
        embeds them by Laplacian eigenmaps and varies the neighbors of the graph from
        {NEIGHBORS[0]} to {NEIGHBORS[-1]}. It shows eight pictures and no numbers, and says that
        Bhattacharyya neighbors are "much more robust with respect to the number of neighbors",
        and that Euclidean embeddings cluster along stripes, the others much less."""
    )
    by_part = grouped(rows, "m", "linking")
    _show_pictures(by_part[m, PLAIN], page)
    with page.details("How it was run, and what the columns are"):
        page.text(
            f"""{k:,} landmarks of {n:,} points in float32, drawn by Algorithm 2. The paper
            does not say how large the neighborhoods were that repel and that covariances come from.
            Here they have m = {m:,} points, the default of `EfficientDPP`: four times the points
            per landmark, so that a covariance describes the roll as far as the next landmarks. The
            last table has m = {SMALL_M}, the paper's value for a roll of a thousand points. Weights
            are Gaussian with the library's bandwidths."""
        )
        page.text(
            """Tables have Euclidean / Bhattacharyya, means over the runs: the share of edges that
            are shortcuts (`shortcut_rate`); the share of the true neighbors that are linked
            (`neighbor_recall`); the rank correlation of the first coordinate with arc length; R² of
            arc length read off the two leading coordinates; and R² of height read off the first two
            coordinates that are no functions of one another (`eigenvectors="independent"`). The two
            leading ones, which the paper shows, lose the height where all goes well: the roll is
            four times as long as it is high, and the first four eigenvectors are functions of its
            length alone."""
        )
    parts = {
        "Plain nearest neighbors, as in the paper": (m, PLAIN),
        "Neighbors that agree, as in the library": (m, AGREED),
        f"Plain nearest neighbors and m = {SMALL_M}": (SMALL_M, PLAIN),
    }
    for title, part in parts.items():
        page.heading(title)
        if part[1] == AGREED:
            page.text(
                """`KNNGraph` links two landmarks when each is among the other's nearest, or when
                one is in the nearer half of the other's. That leaves out much of what landmarks at
                a border choose for want of anything nearer."""
            )
        _show_numbers(by_part[part], page)


# Columns of the tables, with what they are multiplied by and their decimals.
_COLUMNS = {
    "shortcuts": ("shortcuts, %", 100.0, 2),
    "recall": ("true neighbors, %", 100.0, 1),
    "order": ("order", 1.0, 3),
    "leading_arc": ("arc length", 1.0, 3),
    "independent_height": ("height", 1.0, 3),
}


def _show_numbers(rows: Sequence[Row], page: Page) -> None:
    """Means over the runs for Euclidean and Bhattacharyya graphs, and the reach of each metric."""
    cells = grouped(rows, "n_neighbors", "metric")
    counts = sorted({row["n_neighbors"] for row in rows})
    lines, errors = [[str(count)] for count in counts], []
    for name, (_, scale, digits) in _COLUMNS.items():
        found = {at: scale * column(runs, name) for at, runs in cells.items()}
        for count, line in zip(counts, lines, strict=True):
            means = (f"{found[count, metric].mean():.{digits}f}" for metric in METRICS)
            line.append(" / ".join(means))
        largest = (max(standard_error(found[c, metric]) for c in counts) for metric in METRICS)
        errors.append(" / ".join(f"{error:.{digits}f}" for error in largest))
    page.table(
        ["neighbors", *(title for title, _, _ in _COLUMNS.values())],
        [*lines, ["largest standard error", *errors]],
    )
    euclidean, bhattacharyya = (
        ", ".join(str(c) for c in counts if column(cells[c, metric], "order").min() >= ORDERED)
        for metric in METRICS
    )
    page.text(
        f"""Numbers of neighbors with which the first coordinate follows arc length in every run
        (rank correlation of {ORDERED} and more): Euclidean {euclidean or "none"}; Bhattacharyya
        {bhattacharyya or "none"}."""
    )


def _show_pictures(rows: Sequence[Row], page: Page) -> None:
    """Embeddings of the first run, from landmarks drawn again with its seed."""
    seed = rows[0]["seed"]
    counts = sorted({row["n_neighbors"] for row in rows})
    by_panel = {(row["metric"], row["n_neighbors"]): row for row in rows if row["seed"] == seed}
    with page.picture(
        "Embeddings of the landmarks, Euclidean above and Bhattacharyya below, by neighbors",
        figsize=(10, 5),
        nrows=len(METRICS),
        ncols=len(counts),
        squeeze=False,
    ) as axes:
        for panels, metric in zip(axes, METRICS, strict=True):
            for panel, count in zip(panels, counts, strict=True):
                row = by_panel[metric, count]
                drawn = _show_embedding(panel, row)
                label = f"{100 * row['shortcuts']:.1f} % shortcuts"
                panel.set(xticks=[], yticks=[], xlabel=label)
            panels[0].set_ylabel(metric.title())
        for panel, count in zip(axes[0], counts, strict=True):
            panel.set_title(f"{count} neighbors")
        axes[0][0].figure.colorbar(drawn, ax=axes, label="arc length", aspect=40, pad=0.01)


def _show_embedding(panel: Any, row: Row) -> Any:
    landmarks, intrinsic = _landmarks_of(row)
    embedding = laplacian_eigenmaps(_graph_of(row, landmarks).weights, 2).coordinates
    arc = intrinsic[:, 0]
    # Signs of eigenvectors mean nothing: all pictures run from left to right, and open upwards.
    middle = np.abs(arc - np.median(arc)) < np.ptp(arc) / 4
    x = embedding[:, 0] * np.sign(np.corrcoef(embedding[:, 0], arc)[0, 1])
    y = embedding[:, 1] * np.sign(embedding[~middle, 1].mean() - embedding[middle, 1].mean())
    return panel.scatter(x, y, c=arc, s=3, linewidths=0, cmap="viridis", rasterized=True)


PARAMETERS = {
    "data": "make_swiss_roll, float32, defaults",
    "n_components": 2,
    "sigma": "EfficientDPP's default",
    "bandwidth": "KNNGraph's default",
}

EXPERIMENT = Experiment(
    "neighbors",
    "Ten million points: Euclidean against Bhattacharyya graphs",
    cases,
    run,
    show,
    PARAMETERS,
)
