"""Ten million points: the whole pipeline against SciPy's bare minimum."""

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

# Few points are drawn by one compiled loop, more than 200,000 by another.
WARM_UP_ROWS = 5000, 250_000


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
    """Bare SciPy, the pipeline, bare SciPy again; then the selection by itself."""
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
    """Seconds to build a tree of all points, and to find every point's nearest landmarks."""
    build = timed(lambda: cKDTree(X, balanced_tree=False, compact_nodes=False))[0]
    tree = cKDTree(landmarks, balanced_tree=False, compact_nodes=False)

    def query() -> None:
        # In blocks: gigabytes of results at once would only make it slower.
        for start in range(0, len(X), BLOCK):
            tree.query(X[start : start + BLOCK], NEIGHBORS, workers=-1)

    return {"tree": build, "query": timed(query)[0]}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Seconds of every stage, and what they are compared with."""
    for row in rows:
        if row.get("error"):
            page.text(f"Failed: {row['error']}.")
            continue
        page.text(
            f"""Swiss roll of {row["n"]:,} x 3 in float32, {row["k"]:,} landmarks by
            `EfficientDPP(n_neighbors={row["m"]})`, Bhattacharyya graph with {NEIGHBORS}
            neighbors, `LaplacianEigenmaps` to 2-D, then `transform` of all points. It is compared
            with the least that anybody could do with SciPy, in the same process, before and after:
            build a `cKDTree` of all points (neither balanced nor compact, the fastest), and find
            the {NEIGHBORS} nearest of {row["k"]:,} landmarks for every point on all cores (before,
            of as many points drawn at random). Ratios are to the mean of the two."""
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
            as long as both parts of SciPy's minimum, and the selection alone
            {number(row["selection"] / means["tree"]).text} times as long as SciPy's tree. Memory
            beyond the input peaks at {size(row["peak"]).text}. The selection computed
            {row["rows"]:,} neighborhoods and made {row["proposals"]:,} proposals."""
        )


EXPERIMENT = Experiment(
    "headline", "The whole pipeline against bare SciPy", cases, apart(run), show
)
