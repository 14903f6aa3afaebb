"""A file too large to load: fitted and embedded from disk to disk."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import trigpoint as tp
from experiments.benchmarks.measuring import (
    TARGET_COLUMNS,
    WARM_UP_ROWS,
    apart,
    fit_and_transform,
    memory_field,
    stage_rows,
    target,
    warm_up,
)
from experiments.pages import Cell, Page, size
from experiments.runner import Experiment, Row, Settings

BLOCK = 1_000_000
K = 1000
LIMIT = 3600  # seconds; nothing is compared here


def cases(settings: Settings) -> Iterator[Row]:
    """One large file."""
    yield {"n": 1_000_000 if settings.quick else 100_000_000}


def run(case: Row, settings: Settings) -> Row:
    """Make the file in a temporary folder (TMPDIR), which is removed at the end, and embed it."""
    with tempfile.TemporaryDirectory() as folder:
        few, path = Path(folder, "few.npy"), Path(folder, "points.npy")
        write_roll(few, max(WARM_UP_ROWS))
        warm_up(estimator(200), np.load(few))
        estimator(200).fit(few).transform(few, out=few.with_name("few_embedded.npy"))
        write_roll(path, case["n"])
        return _embed(path)


def write_roll(path: Path, n: int) -> None:
    """Write a Swiss roll of `n` points in float32, block by block."""
    points = np.lib.format.open_memmap(path, "w+", np.float32, (n, 3))
    for start in range(0, n, BLOCK):
        rows = points[start : start + BLOCK]
        rows[:], _ = tp.datasets.make_swiss_roll(len(rows), dtype=np.float32, random_state=start)
    points.flush()


def estimator(k: int) -> tp.LaplacianEigenmaps:
    """The pipeline that is measured."""
    return tp.LaplacianEigenmaps(landmarks=k, random_state=0)


def _embed(path: Path) -> Row:
    out = path.with_name("embedding.npy")
    before = memory_field("RssAnon")
    written, cost = fit_and_transform(estimator(K), path, path, out=out)
    embedding = np.load(written, mmap_mode="r")
    return {
        **cost,
        "anonymous_before": before,
        "input": path.stat().st_size,
        "output": out.stat().st_size,
        "shape": embedding.shape,
        "finite": bool(np.isfinite(embedding[:: max(1, len(embedding) // 100_000)]).all()),
    }


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """What it took, and the bound on memory."""
    for row in rows:
        if reason := row.get("error"):
            page.text(f"n = {row['n']:,}: failed, {reason}.")
        else:
            _show_embedding(row, page)


def _show_embedding(row: Row, page: Page) -> None:
    page.text(
        f"""A Swiss roll of {row["n"]:,} x 3 in float32 in a `.npy` file of
        {size(row["input"]).text}, made for this run: `fit(path)` with {K:,} landmarks, then
        `transform(path, out=...)` into another file of {size(row["output"]).text}. Memory is the
        highest `RssAnon` of the process, looked at every 50 ms: what is resident and is not page
        cache, the interpreter and its libraries included."""
    )
    page.table(["what", "seconds"], stage_rows(row))
    memory = Cell(size(row["anonymous_peak"]).text, row["anonymous_peak"] / 1e9)
    page.table(TARGET_COLUMNS, [target("peak anonymous memory", memory, 4, unit=" GB")])
    if not row["finite"]:
        page.text("**The embedding has values that are not finite.**")


EXPERIMENT = Experiment("memory_map", "A file on disk", cases, apart(run, LIMIT, LIMIT), show)
