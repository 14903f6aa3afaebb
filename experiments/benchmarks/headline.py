"""Ten million points: the whole pipeline against scipy's bare minimum."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

import trigpoint as tp
from experiments.benchmarks import data
from experiments.benchmarks.harness import measure, resident, settle, timed
from experiments.benchmarks.pipeline import fit_and_transform, stage_rows, warm_up
from experiments.benchmarks.report import TARGET_COLUMNS, Cell, Report, number, size, target

TITLE = "The whole pipeline against bare scipy"
NEIGHBORS = 25
BLOCK = 1_000_000
SEED = 0


def specs(quick: bool) -> Iterator[dict]:
    """One size, with neighbourhoods of twice the points per landmark."""
    n, k = (300_000, 500) if quick else (10_000_000, 2500)
    yield {"n": n, "k": k, "m": 2 * n // k}


def estimator(k: int, m: int) -> tp.LaplacianEigenmaps:
    """The pipeline that is measured."""
    return tp.LaplacianEigenmaps(
        landmarks=tp.EfficientDPP(k, n_neighbors=m),
        graph="bhattacharyya",
        n_neighbors=NEIGHBORS,
        random_state=SEED,
    )


def work(spec: dict) -> dict:
    """Bare scipy, the pipeline, bare scipy again; then the selection by itself."""
    X, _ = data.swiss_roll(spec["n"])
    warm_up(estimator(200, 100), X)
    settle()
    # Taken before scipy runs: what that leaves behind counts against the pipeline.
    before = resident()
    rows = np.random.default_rng(SEED).choice(len(X), spec["k"], replace=False)
    first = bare_minimum(X, X[rows])
    emb = estimator(spec["k"], spec["m"])
    result = fit_and_transform(emb, X, X, before=before)[1]
    second = bare_minimum(X, emb.landmarks_)

    sampler = tp.EfficientDPP(spec["k"], n_neighbors=spec["m"], random_state=SEED)
    _, selection = measure(lambda: sampler.fit(X))
    counters = {"rows": sampler.n_distance_rows_, "proposals": sampler.n_proposals_}
    return {**result, "bare": [first, second], "selection": {**selection, **counters}}


def bare_minimum(X: np.ndarray, landmarks: np.ndarray) -> dict:
    """Seconds to build a tree of all points, and to find every point's nearest landmarks."""
    build, tree = timed(lambda: cKDTree(X, balanced_tree=False, compact_nodes=False))
    del tree
    of_landmarks = cKDTree(landmarks, balanced_tree=False, compact_nodes=False)

    def query() -> None:
        # In blocks: gigabytes of results at once would only make it slower.
        for start in range(0, len(X), BLOCK):
            of_landmarks.query(X[start : start + BLOCK], NEIGHBORS, workers=-1)

    return {"build": build, "query": timed(query)[0]}


def render(records: list[dict], report: Report) -> None:
    """Seconds of every stage, and what they are compared with."""
    for record in records:
        spec, result = record["spec"], record["result"]
        if reason := result.get("error"):
            report.text(f"Failed: {reason}.")
            continue
        report.text(
            f"""Swiss roll of {spec["n"]:,} x 3 in float32, {spec["k"]:,} landmarks by
            `EfficientDPP(n_neighbors={spec["m"]})`, Bhattacharyya graph with {NEIGHBORS}
            neighbours, `LaplacianEigenmaps` to 2-D, then `transform` of all points. It is compared
            with the least that anybody could do with scipy, in the same process, before and after:
            build a `cKDTree` of all points (neither balanced nor compact, the fastest), and find
            the {NEIGHBORS} nearest of {spec["k"]:,} landmarks for every point on all cores (before,
            of as many points drawn at random). Ratios are to the mean of the two."""
        )
        _stages(result, report)
        _targets(result, report)


def _mean(result: dict, part: str) -> float:
    return sum(run[part] for run in result["bare"]) / len(result["bare"])


def _stages(result: dict, report: Report) -> None:
    rows = stage_rows(result)
    rows += [["selection alone (no covariances)", number(result["selection"]["seconds"])]]
    for part, what in (("build", "scipy tree of all points"), ("query", "scipy nearest landmarks")):
        before, after = (number(run[part]).text for run in result["bare"])
        rows.append([f"{what}, before / after", f"{before} / {after}"])
    report.table({"what": None, "seconds": None}, rows)
    report.text(
        f"""The selection computed {result["selection"]["rows"]:,} neighbourhoods and made
        {result["selection"]["proposals"]:,} proposals."""
    )


def _targets(result: dict, report: Report) -> None:
    build, query = _mean(result, "build"), _mean(result, "query")
    share = number(result["seconds"] / (build + query))
    selection = number(result["selection"]["seconds"] / build)
    memory = Cell(size(result["peak"]).text, result["peak"] / 1e9)
    report.table(
        TARGET_COLUMNS,
        [
            target("total / (scipy build + query)", share, 1.0),
            target("selection / scipy build", selection, 1.5),
            target("peak memory beyond the input", memory, 1.5, unit=" GB"),
        ],
    )
