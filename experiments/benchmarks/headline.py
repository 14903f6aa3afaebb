"""Benchmark of ten million points: the whole pipeline against a minimal SciPy baseline."""

import time
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial import cKDTree

import trigpoint as tp
from experiments.benchmarks.measuring import apart, measure, timed
from experiments.benchmarks.sets import swiss_roll
from experiments.pages import Page, number, size
from experiments.runner import Experiment, Row, Settings

NEIGHBORS = 25
BLOCK = 1_000_000
SEED = 0

# Above 200,000 points, a different compiled loop draws the landmarks, so both are warmed up.
WARM_UP_ROWS = 5000, 250_000


def cases(settings: Settings) -> Iterator[Row]:
    """Yield a single case, with neighborhoods of twice the number of points per landmark."""
    n, k = (300_000, 500) if settings.quick else (10_000_000, 2500)
    yield {"n": n, "k": k, "m": 2 * n // k}


def estimator(k: int, m: int) -> tp.LaplacianEigenmaps:
    """Return the estimator of the measured pipeline."""
    return tp.LaplacianEigenmaps(
        landmarks=tp.EfficientDPP(k, n_neighbors=m), graph=tp.KNNGraph(NEIGHBORS), random_state=SEED
    )


def run(case: Row, settings: Settings) -> Row:
    """Time SciPy, the pipeline, SciPy again, and then the selection of landmarks alone."""
    X, _ = swiss_roll(case["n"])
    for rows in WARM_UP_ROWS:
        estimator(200, 100).fit(X[:rows]).transform(X[:rows])
    some = np.random.default_rng(SEED).choice(len(X), case["k"], replace=False)
    before = bare_minimum(X, X[some])
    emb = estimator(case["k"], case["m"])

    def fit_and_transform() -> float:
        start = time.perf_counter()
        emb.fit(X)
        fitted = time.perf_counter() - start
        emb.transform(X)
        return fitted

    fit, cost = measure(fit_and_transform)
    after = bare_minimum(X, emb.landmarks_)
    sampler = tp.EfficientDPP(case["k"], n_neighbors=case["m"], random_state=SEED)
    return {
        **{**cost, "fit": fit, "transform": cost["seconds"] - fit},
        **{f"fit: {stage}": seconds for stage, seconds in emb.stage_seconds_.items()},
        "selection": timed(lambda: sampler.fit(X))[0],
        **{"rows": sampler.n_distance_rows_, "proposals": sampler.n_proposals_},
        **{f"{part} before": seconds for part, seconds in before.items()},
        **{f"{part} after": seconds for part, seconds in after.items()},
    }


def bare_minimum(X: np.ndarray, landmarks: np.ndarray) -> Row:
    """Time building a tree of all points, and finding the nearest landmarks of every point."""
    build = timed(lambda: cKDTree(X, balanced_tree=False, compact_nodes=False))[0]
    tree = cKDTree(landmarks, balanced_tree=False, compact_nodes=False)

    def query() -> None:
        # Query in blocks, because gigabytes of results at once would only slow SciPy down.
        for start in range(0, len(X), BLOCK):
            tree.query(X[start : start + BLOCK], NEIGHBORS, workers=-1)

    return {"tree": build, "query": timed(query)[0]}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write the time of every stage, and of the baseline."""
    for row in rows:
        if row.get("error"):
            page.text(f"Failed: {row['error']}.")
            continue
        page.text(
            f"""The pipeline embeds a Swiss roll of {row["n"]:,} x 3 values in float32:
            `EfficientDPP(n_neighbors={row["m"]})` draws {row["k"]:,} landmarks,
            `LaplacianEigenmaps` embeds their Bhattacharyya graph with {NEIGHBORS} neighbors in 2-D,
            and `transform` embeds all points. The baseline is the least that one could do with
            SciPy: build a `cKDTree` of all points (neither balanced nor compact, which is fastest),
            and find the {NEIGHBORS} nearest of {row["k"]:,} landmarks for every point on all cores.
            It runs in the same process, before the pipeline (with random points as landmarks) and
            after it. Ratios refer to the mean of the two runs."""
        )
        parts = [*(name for name in row if name.startswith("fit: ")), "fit", "transform"]
        lines = [[name, number(row[name])] for name in parts]
        lines += [["**total**", f"**{number(row['seconds']).text}**"]]
        lines += [["selection alone", number(row["selection"])]]
        means = {}
        for part, what in (("tree", "tree of all points"), ("query", "nearest landmarks")):
            pair = [row[f"{part} {when}"] for when in ("before", "after")]
            means[part] = sum(pair) / 2
            shown = " / ".join(number(seconds).text for seconds in pair)
            lines.append([f"SciPy's {what}, before / after", shown])
        page.table(["what", "seconds"], lines)
        page.text(
            f"""The whole pipeline takes {number(row["seconds"] / sum(means.values())).text} times
            as long as both parts of the SciPy baseline, and the selection alone
            {number(row["selection"] / means["tree"]).text} times as long as SciPy's tree. Memory
            beyond the input peaks at {size(row["peak"]).text}. The selection computed
            {row["rows"]:,} neighborhoods and made {row["proposals"]:,} proposals."""
        )


EXPERIMENT = Experiment(
    "headline", "The whole pipeline against bare SciPy", cases, apart(run), show
)
