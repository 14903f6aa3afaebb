"""Benchmark of maps and eigenmaps of rows that are on a GPU. Requires CUDA."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.benchmarks.measuring import apart, measure
from experiments.pages import Page, number, percent, size
from experiments.runner import Experiment, MissingDataError, Row, Settings
from trigpoint.metrics import map_scores

# Method, number of rows and columns, and metric. The first case is the quick one.
CASES = (
    ("LandmarkMap", 200_000, 50, "euclidean"),
    ("LandmarkMap", 1_000_000, 50, "euclidean"),
    ("LandmarkMap", 1_000_000, 768, "cosine"),
    ("LandmarkMap", 10_000_000, 50, "euclidean"),
    ("LaplacianEigenmaps", 1_000_000_000, 3, "euclidean"),
)
WARM_UP_ROWS = 20_000
GROUPS, DIMENSION = 80, 4
NEIGHBORS, QUERIES = 10, 200


def cases(settings: Settings) -> Iterator[Row]:
    """Yield all cases, or the smallest map if the run is quick."""
    for method, n, d, metric in CASES[:1] if settings.quick else CASES:
        yield {"method": method, "n": n, "d": d, "metric": metric}


def rows_there(n: int, d: int) -> Any:
    """Return float32 rows on the GPU: a Swiss roll in three columns, and groups in more.

    Each group is a bent sheet of four dimensions, with noise in all columns.
    """
    import torch

    generator = torch.Generator("cuda").manual_seed(0)

    def normal(*shape: int) -> Any:
        return torch.randn(shape, generator=generator, device="cuda")

    X = torch.empty((n, d), device="cuda")
    centers, bends = 2 * normal(GROUPS, d), normal(GROUPS, DIMENSION, d)
    for start in range(0, n, 1_000_000):
        part = X[start : start + 1_000_000]
        along = torch.rand((len(part), DIMENSION), generator=generator, device="cuda")
        if d == 3:
            angle = 1.5 * np.pi * (1 + 2 * along[:, 0])
            columns = angle * angle.cos(), 21 * along[:, 1], angle * angle.sin()
            part[:] = torch.stack(columns, dim=1)
            continue
        groups = torch.randint(GROUPS, (len(part),), generator=generator, device="cuda")
        for group in range(GROUPS):
            rows = (groups == group).nonzero()[:, 0]
            part[rows] = centers[group] + torch.sin(1.5 * along[rows] @ bends[group])
        part += 0.1 * normal(*part.shape)
    return X


def run(case: Row, settings: Settings) -> Row:
    """Measure a fit and a transform after a warm-up, and the stages of the fit."""
    import torch

    if not torch.cuda.is_available():
        raise MissingDataError("it needs a GPU")
    options = {"landmarks": 2500} if case["method"] == "LaplacianEigenmaps" else {}
    emb = getattr(tp, case["method"])(metric=case["metric"], random_state=0, **options)
    X = rows_there(case["n"], case["d"])
    emb.fit_transform(X[:WARM_UP_ROWS])
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()

    def fit_and_transform() -> tuple[float, Any]:
        start = time.perf_counter()
        emb.fit(X)
        fitted = time.perf_counter() - start
        Y = emb.transform(X)
        torch.cuda.synchronize()
        return fitted, Y

    (fit, Y), cost = measure(fit_and_transform)
    result = {
        "seconds": cost["seconds"],
        "fit": fit,
        "memory": torch.cuda.max_memory_allocated() - before,
        "device": torch.cuda.get_device_name(),
        **{f"fit: {stage}": seconds for stage, seconds in emb.stage_seconds_.items()},
    }
    if case["method"] == "LandmarkMap":
        again = emb.fit_transform(X)
        result["repeated"] = int((again == Y).all())
        scores = map_scores(
            X.cpu().numpy(),
            Y.cpu().numpy(),
            n_neighbors=NEIGHBORS,
            n_queries=QUERIES,
            metric=case["metric"],
        )
        result["preserved"] = scores.neighbors_preserved
    return result


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Write one column for each case, with the stages of its fit."""
    done = [row for row in rows if not row.get("error")]
    for row in rows:
        if row.get("error"):
            page.text(f"{row['method']} of {row['n']:,} rows failed: {row['error']}.")
    if not done:
        return
    page.text(
        f"""Rows are on a GPU ({done[0]["device"]}) in float32: groups of {DIMENSION} local
        dimensions with noise in all columns, or a Swiss roll (three columns). Times are those of
        the second call in a process; the first call also compiles loops of the host. Times of
        stages are those of `fit`. *Preserved* is the share of the {NEIGHBORS} nearest neighbors
        among all rows that the map preserves ({QUERIES} sampled rows)."""
    )
    stages = list(dict.fromkeys(name for row in done for name in row if name.startswith("fit: ")))

    def cells(name: str, shown: Callable) -> list[Any]:
        return ["" if row.get(name) is None else shown(row[name]) for row in done]

    lines = [[name, *cells(name, number)] for name in stages]
    lines += [["fit", *cells("fit", number)]]
    lines += [["transform", *(number(row["seconds"] - row["fit"]) for row in done)]]
    lines += [["**all**", *cells("seconds", number)]]
    lines += [["memory besides the rows", *cells("memory", size)]]
    lines += [["preserved", *cells("preserved", percent)]]
    lines += [["bits of a repeated fit", *cells("repeated", {0: "different", 1: "same"}.get)]]
    heads = [f"{row['method']}, {row['n']:,} x {row['d']}, {row['metric']}" for row in done]
    page.table(["seconds", *heads], lines)


EXPERIMENT = Experiment("gpu", "Rows on a GPU", cases, apart(run), show)
