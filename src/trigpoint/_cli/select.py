"""``trigpoint select``: a diverse subsample of the rows of a file."""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._cli.points import check_outputs, described, open_points
from trigpoint._cli.results import CommandError, Result, UsageError, progress
from trigpoint._common.words import counted, duration
from trigpoint._report.sample import dense
from trigpoint._samplers import (
    EfficientDPP,
    FarthestPoint,
    GreedyNystrom,
    KMeansLandmarks,
    KMeansPlusPlus,
    RPCholesky,
    Uniform,
    select,
)
from trigpoint._sources import Output, Source, open_output, open_source
from trigpoint._sources.tables import copy_rows, is_table

_SAMPLERS: dict[str, Any] = {
    "efficient-dpp": EfficientDPP,
    "farthest-point": FarthestPoint,
    "k-means++": KMeansPlusPlus,
    "k-means": KMeansLandmarks,
    "rp-cholesky": RPCholesky,
    "greedy-nystrom": GreedyNystrom,
    "uniform": Uniform,
}

_DEFAULT_ROWS = 1_000


def run(options: argparse.Namespace) -> Result:
    """Choose rows; print or write them."""
    sampler = _sampler(options)
    source = open_points(options)
    copies = _copies_rows(source, options.output)
    # Rows of tables may also be copied to other kinds of text.
    check_outputs(options, [source.path], {"rows" if copies else "--output": options.output})
    if options.landmarks is None and source.n <= _DEFAULT_ROWS:
        raise CommandError(
            f"{source.name} has {counted(source.n, 'row')}, and all would be chosen: set the "
            "number with --landmarks"
        )
    start = time.perf_counter()
    chosen = select(source, sampler, metric=options.metric, callback=progress(options) or None)
    rows = np.asarray(chosen.indices).tolist()
    values = {
        "input": described(source),
        "method": options.method,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - start, 3),
        "rows": rows,
    }
    if options.output is None:
        return Result("\n".join(map(str, rows)), values)
    n_columns = _write(options, source, rows)
    values |= {"columns_written": n_columns, "written": [str(options.output)]}
    text = (
        f"{len(rows):,} of {source.n:,} rows, {counted(n_columns, 'column')}, in "
        f"{duration(time.perf_counter() - start)}"
    )
    return Result(f"{text}\n  {options.output}", values)


def _sampler(options: argparse.Namespace) -> Any:
    """Return the sampler that the options describe."""
    own: dict[str, Any] = {}
    if _SAMPLERS[options.method] is EfficientDPP:
        own["refine"] = options.refine
    elif options.refine:
        raise UsageError(f"--refine does not apply to --method {options.method}")
    elif options.landmarks == "auto":
        raise UsageError(f"--landmarks auto does not apply to --method {options.method}")
    k = _DEFAULT_ROWS if options.landmarks is None else options.landmarks
    return _SAMPLERS[options.method](k, random_state=options.seed, **own)


def _copies_rows(source: Source, out: Path | None) -> bool:
    """Return whether whole rows are copied from one table to another."""
    return out is not None and source.path is not None and is_table(source.path) and is_table(out)


def _write(options: argparse.Namespace, source: Source, rows: list[int]) -> int:
    """Write the chosen rows, with all columns if possible; return the number of columns."""
    out, replace = options.output, options.force
    if _copies_rows(source, out):
        assert source.path is not None
        return copy_rows(source.path, rows, out, replace=replace)
    # An array has numbers in its other columns, too.
    whole = source if source.columns.names is not None else open_source(options.input)
    order = np.argsort(rows)
    chosen = dense(whole.take(np.asarray(rows)[order])[np.argsort(order)])
    output = Output(out, replace, whole.columns.names)
    with open_output(output, chosen.shape, chosen.dtype, source.path) as writer:
        writer.write(chosen)
    return whole.columns.count
