"""Ten million points: the whole pipeline against scipy's bare minimum."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial import cKDTree

import trigpoint as tp
from experiments.benchmarks import point_sets
from experiments.benchmarks.measuring import (
    TARGET_COLUMNS,
    apart,
    fit_and_transform,
    measure,
    memory_field,
    settle,
    stage_rows,
    target,
    timed,
    warm_up,
)
from experiments.pages import Cell, Page, number, size
from experiments.runner import Experiment, Row, Settings

NEIGHBORS = 25
BLOCK = 1_000_000
SEED = 0


def cases(settings: Settings) -> Iterator[Row]:
    """One size, with neighborhoods of twice the points per landmark."""
    n, k = (300_000, 500) if settings.quick else (10_000_000, 2500)
    yield {"n": n, "k": k, "m": 2 * n // k}


def estimator(k: int, m: int) -> tp.LaplacianEigenmaps:
    """The pipeline that is measured."""
    return tp.LaplacianEigenmaps(
        landmarks=tp.EfficientDPP(k, n_neighbors=m), graph=tp.KNNGraph(NEIGHBORS), random_state=SEED
    )


def run(case: Row, settings: Settings) -> Row:
    """Bare scipy, the pipeline, bare scipy again; then the selection by itself."""
    X, _ = point_sets.swiss_roll(case["n"])
    warm_up(estimator(200, 100), X)
    settle()
    # Taken before scipy runs, so memory that scipy leaves behind counts against the pipeline.
    before = memory_field("VmRSS")
    rows = np.random.default_rng(SEED).choice(len(X), case["k"], replace=False)
    first = bare_minimum(X, X[rows])
    emb = estimator(case["k"], case["m"])
    result = fit_and_transform(emb, X, X, before=before)[1]
    second = bare_minimum(X, emb.landmarks_)

    sampler = tp.EfficientDPP(case["k"], n_neighbors=case["m"], random_state=SEED)
    _, selection = measure(lambda: sampler.fit(X))
    counters = {"rows": sampler.n_distance_rows_, "proposals": sampler.n_proposals_}
    return {**result, "bare": [first, second], "selection": {**selection, **counters}}


def bare_minimum(X: np.ndarray, landmarks: np.ndarray) -> Row:
    """Seconds to build a tree of all points, and to find every point's nearest landmarks."""
    build, tree = timed(lambda: cKDTree(X, balanced_tree=False, compact_nodes=False))
    del tree
    of_landmarks = cKDTree(landmarks, balanced_tree=False, compact_nodes=False)

    def query() -> None:
        # In blocks: gigabytes of results at once would only make it slower.
        for start in range(0, len(X), BLOCK):
            of_landmarks.query(X[start : start + BLOCK], NEIGHBORS, workers=-1)

    return {"build": build, "query": timed(query)[0]}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Seconds of every stage, and what they are compared with."""
    for row in rows:
        if reason := row.get("error"):
            page.text(f"Failed: {reason}.")
            continue
        page.text(
            f"""Swiss roll of {row["n"]:,} x 3 in float32, {row["k"]:,} landmarks by
            `EfficientDPP(n_neighbors={row["m"]})`, Bhattacharyya graph with {NEIGHBORS}
            neighbors, `LaplacianEigenmaps` to 2-D, then `transform` of all points. It is compared
            with the least that anybody could do with scipy, in the same process, before and after:
            build a `cKDTree` of all points (neither balanced nor compact, the fastest), and find
            the {NEIGHBORS} nearest of {row["k"]:,} landmarks for every point on all cores (before,
            of as many points drawn at random). Ratios are to the mean of the two."""
        )
        _stages(row, page)
        _targets(row, page)


def _mean(row: Row, part: str) -> float:
    return sum(run[part] for run in row["bare"]) / len(row["bare"])


def _stages(row: Row, page: Page) -> None:
    rows = stage_rows(row)
    rows += [["selection alone", number(row["selection"]["seconds"])]]
    for part, what in (("build", "scipy tree of all points"), ("query", "scipy nearest landmarks")):
        before, after = (number(run[part]).text for run in row["bare"])
        rows.append([f"{what}, before / after", f"{before} / {after}"])
    page.table(["what", "seconds"], rows)
    page.text(
        f"""The selection computed {row["selection"]["rows"]:,} neighborhoods and made
        {row["selection"]["proposals"]:,} proposals."""
    )


def _targets(row: Row, page: Page) -> None:
    build, query = _mean(row, "build"), _mean(row, "query")
    share = number(row["seconds"] / (build + query))
    selection = number(row["selection"]["seconds"] / build)
    memory = Cell(size(row["peak"]).text, row["peak"] / 1e9)
    page.table(
        TARGET_COLUMNS,
        [
            target("total / (scipy build + query)", share, 1.0),
            target("selection / scipy build", selection, 1.5),
            target("peak memory beyond the input", memory, 1.5, unit=" GB"),
        ],
    )


EXPERIMENT = Experiment(
    "headline", "The whole pipeline against bare scipy", cases, apart(run), show
)
