"""MNIST: selection against k-means, and the pipeline against the matrix products it needs."""

from collections.abc import Iterator

import numpy as np

import trigpoint as tp
from benchmarks import data, pipeline
from benchmarks.harness import measure, timed
from benchmarks.peers import SELECTORS, warm_up
from benchmarks.report import (
    TARGET_COLUMNS,
    Report,
    by_case,
    median,
    number,
    percent,
    size,
    target,
)
from trigpoint.metrics import knn_accuracy

TITLE = "MNIST"
OURS, SEEDING, KMEANS = (
    "trigpoint EfficientDPP",
    "scikit-learn kmeans++, 1 trial",
    "scikit-learn KMeans",
)
PIPELINE = "pipeline"
BLOCK = 250


def specs(quick: bool) -> Iterator[dict]:
    """The sampler three times, its rivals once, the pipeline once."""
    if data.mnist_folder() is None:
        return
    n, n_test, k, m = (10_000, 2_000, 200, 1000) if quick else (60_000, 10_000, 1000, 5000)
    for name, repeats in ((OURS, 3), (SEEDING, 1), (KMEANS, 1), (PIPELINE, 1)):
        for seed in range(repeats):
            yield {"method": name, "n": n, "n_test": n_test, "k": k, "m": m, "seed": seed}


def work(spec: dict) -> dict:
    """Choose landmarks, or run the whole pipeline."""
    X, digits = data.mnist("train", spec["n"])
    if spec["method"] == PIPELINE:
        return _pipeline(X, digits, spec)
    method, k = SELECTORS[spec["method"]], spec["k"]
    options = {"n_neighbors": spec["m"]} if spec["method"] == OURS else {}
    warm_up(method, X, k, **options)
    return measure(lambda: method.run(X, k, spec["seed"], **options))[1]


def _pipeline(X: np.ndarray, digits: np.ndarray, spec: dict) -> dict:
    new, new_digits = data.mnist("test", spec["n_test"])
    both = np.concatenate([X, new])
    k, m, seed = spec["k"], spec["m"], spec["seed"]
    pipeline.warm_up(_estimator(k, m // 4, seed), X)
    Y, cost = pipeline.fit_and_transform(_estimator(k, m, seed), X, both)
    # The estimator draws from a copy; the same seed computes as many rows.
    sampler = tp.EfficientDPP(k, n_neighbors=m, random_state=seed).fit(X)
    rows = sampler.n_distance_rows_
    return {
        **cost,
        "n_distance_rows": rows,
        "products": _products(rows, X) + _products(k, both),
        "accuracy": knn_accuracy(Y[: len(X)], digits, Y[len(X) :], new_digits),
    }


def _estimator(k: int, m: int, seed: int) -> tp.LaplacianEigenmaps:
    landmarks = tp.EfficientDPP(k, n_neighbors=m)
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


def render(records: list[dict], report: Report) -> None:
    """Selection and pipeline, with the ratios to reach."""
    if not records:
        report.text(f"*{data.NO_MNIST}*")
        return
    spec = records[0]["spec"]
    report.text(
        f"""{spec["n"]:,} training images of 784 pixels in float32, k = {spec["k"]:,} landmarks,
        m = {spec["m"]:,}. EfficientDPP is the median of three seeds, the others are one run each:
        scikit-learn's `kmeans_plusplus(n_local_trials=1)` and `KMeans(n_init=1)`."""
    )
    runs = {name: [r["result"] for r in rs] for (name,), rs in by_case(records, "method").items()}
    failed = {name: rs[0]["error"] for name, rs in runs.items() if "error" in rs[0]}
    runs = {name: rs for name, rs in runs.items() if name not in failed}
    rows = [
        [name, number(median(rs, "seconds")), size(median(rs, "peak"))]
        for name, rs in runs.items()
        if name != PIPELINE
    ]
    rows += [[name, reason] for name, reason in failed.items()]
    report.table({"selection": None, "seconds": min, "memory": min}, rows)
    if PIPELINE in runs:
        _render_pipeline(runs[PIPELINE][0], spec, report)
    _targets(runs, report)


def _render_pipeline(result: dict, spec: dict, report: Report) -> None:
    report.text(
        f"""The whole pipeline is `LaplacianEigenmaps(n_components=100)` with these landmarks,
        `fit` on the {spec["n"]:,} and `transform` of all {spec["n"] + spec["n_test"]:,} images.
        Bare products are the least it needs in float32: {result["n_distance_rows"]:,} rows of
        distances (`n_distance_rows_`) times {spec["n"]:,} images, and {spec["k"]:,} landmarks
        times {spec["n"] + spec["n_test"]:,}, {BLOCK} rows at a time, in the same process."""
    )
    rows = pipeline.stage_rows(result)
    rows += [["bare products", number(result["products"])]]
    report.table({"pipeline": None, "seconds": None}, rows)
    report.text(
        f"""Accuracy of the nearest training image in 100 dimensions, for {spec["n_test"]:,} test
        images: {percent(result["accuracy"]).text}."""
    )


def _targets(runs: dict[str, list[dict]], report: Report) -> None:
    rows = []
    for rival, bound in ((SEEDING, 10), (KMEANS, 20)):
        if rival in runs and OURS in runs:
            ratio = median(runs[rival], "seconds") / median(runs[OURS], "seconds")
            rows.append(target(f"{rival} / EfficientDPP", number(ratio), bound, at_least=True))
    if PIPELINE in runs:
        result = runs[PIPELINE][0]
        ratio = result["seconds"] / result["products"]
        rows.append(target("pipeline / bare products", number(ratio), 5))
    report.table(TARGET_COLUMNS, rows)
