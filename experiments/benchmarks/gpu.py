"""Benchmark of maps and eigenmaps of rows that are on a GPU. Requires CUDA."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.benchmarks.measuring import apart, measure, timed
from experiments.pages import Page, number, percent, size
from experiments.runner import Experiment, MissingDataError, Row, Settings

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
NEW_ROWS, MOST_FITTED = 100_000, 1_000_000
MEMORY_LIMIT = 64e9  # bytes of the host


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
    """Measure `fit_transform` after a warm-up, its stages, and `transform` of other rows."""
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

    Y, cost = measure(lambda: _finished(emb.fit_transform, X))
    result = {
        "seconds": cost["seconds"],
        "memory": torch.cuda.max_memory_allocated() - before,
        "device": torch.cuda.get_device_name(),
        **{f"fit: {stage}": seconds for stage, seconds in emb.stage_seconds_.items()},
    }
    if case["method"] == "LandmarkMap":
        result["repeated"] = int((_finished(emb.fit_transform, X) == Y).all())
        result["preserved"] = preserved_there(X, Y, case["metric"])
        if len(X) <= MOST_FITTED:
            some = X[:NEW_ROWS] + 0.01
            for name in ("first transform", "transform"):
                result[name] = timed(lambda: _finished(emb.transform, some))[0]
    return result


def _finished(function: Callable, X: Any) -> Any:
    """Call a function, and wait for the GPU."""
    import torch

    result = function(X)
    torch.cuda.synchronize()
    return result


def preserved_there(X: Any, Y: Any, metric: str) -> float:
    """Return the share of nearest neighbors among all rows that a map preserves, for a sample."""
    import torch

    some = torch.linspace(0, len(X) - 1, QUERIES, device="cuda").long()
    near = []
    for points in (X, Y):
        queries = points[some].double()
        norms = torch.linalg.vector_norm(queries, dim=1, keepdim=True)
        queries = queries / norms if metric == "cosine" and points is X else queries
        squares = torch.empty((QUERIES, len(points)), dtype=torch.float32, device="cuda")
        for start in range(0, len(points), 1_000_000):
            part = points[start : start + 1_000_000].double()
            if metric == "cosine" and points is X:
                part /= torch.linalg.vector_norm(part, dim=1, keepdim=True)
            squares[:, start : start + len(part)] = torch.cdist(queries, part).float()
        squares[torch.arange(QUERIES, device="cuda"), some] = np.inf
        near.append(squares.topk(NEIGHBORS, dim=1, largest=False).indices)
    return float((near[0][:, :, None] == near[1][:, None]).any(dim=2).double().mean())


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
        stages are those of `fit`. Of a map, `transform` is measured for {NEW_ROWS:,} new rows; the
        first one also computes local linear fits, on the host. *Preserved* is the share of the
        {NEIGHBORS} nearest neighbors among all rows that the map preserves ({QUERIES} sampled
        rows)."""
    )
    stages = list(dict.fromkeys(name for row in done for name in row if name.startswith("fit: ")))

    def cells(name: str, shown: Callable) -> list[Any]:
        return ["" if row.get(name) is None else shown(row[name]) for row in done]

    lines = [[name, *cells(name, number)] for name in stages]
    lines += [["**`fit_transform`**", *cells("seconds", number)]]
    lines += [[name, *cells(name, number)] for name in ("first transform", "transform")]
    lines += [["memory besides the rows", *cells("memory", size)]]
    lines += [["preserved", *cells("preserved", percent)]]
    lines += [["bits of a repeated fit", *cells("repeated", {0: "different", 1: "same"}.get)]]
    heads = [f"{row['method']}, {row['n']:,} x {row['d']}, {row['metric']}" for row in done]
    page.table(["seconds", *heads], lines)


EXPERIMENT = Experiment("gpu", "Rows on a GPU", cases, apart(run, memory_limit=MEMORY_LIMIT), show)
