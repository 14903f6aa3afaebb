"""MNIST: selection against k-means, and the pipeline against the matrix products it needs."""

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.base import clone

import trigpoint as tp
from experiments.benchmarks import data, pipeline
from experiments.benchmarks.peers import SELECTORS, warm_up
from experiments.framework.cells import TARGET_COLUMNS, number, percent, size, target
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.measuring import measure, timed
from experiments.framework.page import Page
from experiments.framework.summary import median
from trigpoint.metrics import knn_accuracy

OURS, SEEDING, KMEANS = (
    "trigpoint EfficientDPP",
    "scikit-learn kmeans++, 1 trial",
    "scikit-learn KMeans",
)
PIPELINE = "pipeline"
BLOCK = 250

# The paper's bandwidth for this data, and the sampler's default.
BANDWIDTHS = (5.0, None)


def cases(settings: Settings) -> Iterator[Row]:
    """The sampler three times, its rivals once, the pipeline once."""
    if data.missing("mnist", settings):
        return
    n, n_test, k, m = (10_000, 2_000, 200, 1000) if settings.quick else (60_000, 10_000, 1000, 5000)
    sizes = {"n": n, "n_test": n_test, "k": k, "m": m}
    for bandwidth in BANDWIDTHS[:1] if settings.quick else BANDWIDTHS:
        for name, repeats in ((OURS, 1 if settings.quick else 3), (PIPELINE, 1)):
            for seed in range(repeats):
                yield {"method": name, **sizes, "seed": seed, "bandwidth": bandwidth}
    for name in (SEEDING, KMEANS):
        yield {"method": name, **sizes, "seed": 0}


def run(case: Row, settings: Settings) -> Row:
    """Choose landmarks, or run the whole pipeline."""
    X, digits = data.mnist(settings, "train", case["n"])
    if case["method"] == PIPELINE:
        return _pipeline(X, digits, case, settings)
    method, k = SELECTORS[case["method"]], case["k"]
    options = {}
    if case["method"] == OURS:
        options = {"n_neighbors": case["m"], "bandwidth": case["bandwidth"]}
    warm_up(method, X, k, **options)
    return measure(lambda: method.run(X, k, case["seed"], **options))[1]


def _pipeline(X: np.ndarray, digits: np.ndarray, case: Row, settings: Settings) -> Row:
    new, new_digits = data.mnist(settings, "test", case["n_test"])
    both = np.concatenate([X, new])
    k, m, seed = case["k"], case["m"], case["seed"]
    sampler = tp.EfficientDPP(k, n_neighbors=m, bandwidth=case["bandwidth"], random_state=seed)
    pipeline.warm_up(_estimator(clone(sampler).set_params(n_neighbors=m // 4), seed), X)
    Y, cost = pipeline.fit_and_transform(_estimator(sampler, seed), X, both)
    # The estimator draws from a copy; the same seed computes as many rows.
    rows = sampler.fit(X).n_distance_rows_
    return {
        **cost,
        "n_distance_rows": rows,
        "products": _products(rows, X) + _products(k, both),
        "accuracy": knn_accuracy(Y[: len(X)], digits, Y[len(X) :], new_digits),
    }


def _estimator(landmarks: tp.EfficientDPP, seed: int) -> tp.LaplacianEigenmaps:
    return tp.LaplacianEigenmaps(n_components=100, landmarks=landmarks, random_state=seed)


def _products(rows: int, X: np.ndarray) -> float:
    """Seconds of the bare product of `rows` rows with all of `X`, a block at a time."""
    left = np.resize(X, (rows, X.shape[1]))
    out = np.empty((BLOCK, len(X)), dtype=X.dtype)

    def multiply() -> None:
        for start in range(0, rows, BLOCK):
            block = left[start : start + BLOCK]
            np.matmul(block, X.T, out=out[: len(block)])

    multiply()  # Touches the memory.
    return timed(multiply)[0]


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Selection and pipeline, with the target ratios."""
    if not rows:
        page.text(f"*{data.NO_MNIST}*")
        return
    first = rows[0]
    page.text(
        f"""{first["n"]:,} training images of 784 pixels in float32, k = {first["k"]:,} landmarks,
        m = {first["m"]:,}. EfficientDPP is the median of three seeds, with the paper's bandwidth
        and with its default; the others are one run each: scikit-learn's
        `kmeans_plusplus(n_local_trials=1)` and `KMeans(n_init=1)`."""
    )
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(_label(row), []).append(row)
    failed = {name: rs[0]["error"] for name, rs in runs.items() if "error" in rs[0]}
    runs = {name: rs for name, rs in runs.items() if name not in failed}
    lines: list[list] = [
        [name, number(median(rs, "seconds")), size(median(rs, "peak"))]
        for name, rs in runs.items()
        if not name.startswith(PIPELINE)
    ]
    lines += [[name, reason] for name, reason in failed.items()]
    page.table({"selection": None, "seconds": min, "memory": min}, lines, fill="-")
    page.text(
        f"""The whole pipeline is `LaplacianEigenmaps(n_components=100)` with these landmarks,
        `fit` on the {first["n"]:,} and `transform` of all {first["n"] + first["n_test"]:,} images.
        Bare products are the least it needs in float32: its rows of distances
        (`n_distance_rows_`) times {first["n"]:,} images, and {first["k"]:,} landmarks times
        {first["n"] + first["n_test"]:,}, {BLOCK} rows at a time, in the same process. Accuracy is
        that of the nearest training image in 100 dimensions, for {first["n_test"]:,} test
        images."""
    )
    for name, (row, *_) in runs.items():
        if name.startswith(PIPELINE):
            _show_pipeline(name, row, page)
    _targets(runs, page)


def _label(row: Row) -> str:
    if "bandwidth" not in row:
        return row["method"]
    bandwidth = row["bandwidth"]
    return f"{row['method']}, {'default' if bandwidth is None else f'bandwidth {bandwidth:g}'}"


def _show_pipeline(name: str, row: Row, page: Page) -> None:
    rows = pipeline.stage_rows(row)
    rows += [["bare products", number(row["products"])]]
    rows += [["rows of distances", f"{row['n_distance_rows']:,}"]]
    rows += [["1-NN accuracy", percent(row["accuracy"])]]
    page.table([name, "seconds"], rows)


def _targets(runs: dict[str, list[Row]], page: Page) -> None:
    rows = []
    for ours, own in runs.items():
        if ours.startswith(OURS):
            for rival, bound in ((SEEDING, 10), (KMEANS, 20)):
                if rival in runs:
                    ratio = median(runs[rival], "seconds") / median(own, "seconds")
                    rows.append(target(f"{rival} / {ours}", number(ratio), bound, at_least=True))
    for name, (row, *_) in runs.items():
        if name.startswith(PIPELINE):
            ratio = row["seconds"] / row["products"]
            rows.append(target(f"{name} / bare products", number(ratio), 5))
    page.table(TARGET_COLUMNS, rows)


EXPERIMENT = Experiment("mnist", "MNIST", cases, run, show)
