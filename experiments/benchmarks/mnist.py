"""MNIST: selection against k-means, and the pipeline against the matrix products it needs."""

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

import trigpoint as tp
from experiments.benchmarks import data, pipeline
from experiments.benchmarks.harness import measure, timed
from experiments.benchmarks.peers import SELECTORS, warm_up
from experiments.benchmarks.report import (
    TARGET_COLUMNS,
    Report,
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

# The paper's bandwidth for these data, and the sampler's default.
BANDWIDTHS = (5.0, None)


def specs(quick: bool) -> Iterator[dict]:
    """The sampler three times, its rivals once, the pipeline once."""
    if data.mnist_folder() is None:
        return
    n, n_test, k, m = (10_000, 2_000, 200, 1000) if quick else (60_000, 10_000, 1000, 5000)
    sizes = {"n": n, "n_test": n_test, "k": k, "m": m}
    for bandwidth in BANDWIDTHS[:1] if quick else BANDWIDTHS:
        for name, repeats in ((OURS, 1 if quick else 3), (PIPELINE, 1)):
            for seed in range(repeats):
                yield {"method": name, **sizes, "seed": seed, "bandwidth": bandwidth}
    for name in (SEEDING, KMEANS):
        yield {"method": name, **sizes, "seed": 0}


def work(spec: dict) -> dict:
    """Choose landmarks, or run the whole pipeline."""
    X, digits = data.mnist("train", spec["n"])
    if spec["method"] == PIPELINE:
        return _pipeline(X, digits, spec)
    method, k = SELECTORS[spec["method"]], spec["k"]
    options = {}
    if spec["method"] == OURS:
        options = {"n_neighbors": spec["m"], "bandwidth": spec["bandwidth"]}
    warm_up(method, X, k, **options)
    return measure(lambda: method.run(X, k, spec["seed"], **options))[1]


def _pipeline(X: np.ndarray, digits: np.ndarray, spec: dict) -> dict:
    new, new_digits = data.mnist("test", spec["n_test"])
    both = np.concatenate([X, new])
    k, m, seed = spec["k"], spec["m"], spec["seed"]
    sampler = tp.EfficientDPP(k, n_neighbors=m, bandwidth=spec["bandwidth"], random_state=seed)
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


def render(records: list[dict], report: Report) -> None:
    """Selection and pipeline, with the ratios to reach."""
    if not records:
        report.text(f"*{data.NO_MNIST}*")
        return
    spec = records[0]["spec"]
    report.text(
        f"""{spec["n"]:,} training images of 784 pixels in float32, k = {spec["k"]:,} landmarks,
        m = {spec["m"]:,}. EfficientDPP is the median of three seeds, with the paper's bandwidth and
        with its default; the others are one run each: scikit-learn's
        `kmeans_plusplus(n_local_trials=1)` and `KMeans(n_init=1)`."""
    )
    runs = {}
    for record in records:
        runs.setdefault(_label(record["spec"]), []).append(record["result"])
    failed = {name: rs[0]["error"] for name, rs in runs.items() if "error" in rs[0]}
    runs = {name: rs for name, rs in runs.items() if name not in failed}
    rows = [
        [name, number(median(rs, "seconds")), size(median(rs, "peak"))]
        for name, rs in runs.items()
        if not name.startswith(PIPELINE)
    ]
    rows += [[name, reason] for name, reason in failed.items()]
    report.table({"selection": None, "seconds": min, "memory": min}, rows)
    report.text(
        f"""The whole pipeline is `LaplacianEigenmaps(n_components=100)` with these landmarks,
        `fit` on the {spec["n"]:,} and `transform` of all {spec["n"] + spec["n_test"]:,} images.
        Bare products are the least it needs in float32: its rows of distances
        (`n_distance_rows_`) times {spec["n"]:,} images, and {spec["k"]:,} landmarks times
        {spec["n"] + spec["n_test"]:,}, {BLOCK} rows at a time, in the same process. Accuracy is
        that of the nearest training image in 100 dimensions, for {spec["n_test"]:,} test images."""
    )
    for name, (result, *_) in runs.items():
        if name.startswith(PIPELINE):
            _render_pipeline(name, result, report)
    _targets(runs, report)


def _label(spec: dict) -> str:
    if "bandwidth" not in spec:
        return spec["method"]
    bandwidth = spec["bandwidth"]
    return f"{spec['method']}, {'default' if bandwidth is None else f'bandwidth {bandwidth:g}'}"


def _render_pipeline(name: str, result: dict, report: Report) -> None:
    rows = pipeline.stage_rows(result)
    rows += [["bare products", number(result["products"])]]
    rows += [["rows of distances", f"{result['n_distance_rows']:,}"]]
    rows += [["1-NN accuracy", percent(result["accuracy"])]]
    report.table({name: None, "seconds": None}, rows)


def _targets(runs: dict[str, list[dict]], report: Report) -> None:
    rows = []
    for ours, own in runs.items():
        if ours.startswith(OURS):
            for rival, bound in ((SEEDING, 10), (KMEANS, 20)):
                if rival in runs:
                    ratio = median(runs[rival], "seconds") / median(own, "seconds")
                    rows.append(target(f"{rival} / {ours}", number(ratio), bound, at_least=True))
    for name, (result, *_) in runs.items():
        if name.startswith(PIPELINE):
            ratio = result["seconds"] / result["products"]
            rows.append(target(f"{name} / bare products", number(ratio), 5))
    report.table(TARGET_COLUMNS, rows)
