"""``trigpoint select``: choose a diverse subsample of the rows of a file."""

import argparse
import sys
import time
from typing import Any

import numpy as np

import trigpoint
from trigpoint._cli.arguments import SAMPLERS
from trigpoint._cli.points import check_outputs, open_weighted, points_facts
from trigpoint._cli.results import CommandError, Result, progress, say
from trigpoint._common.words import counted, duration
from trigpoint._samplers import select
from trigpoint._sources import Output, Source, open_output, open_source
from trigpoint._sources.anndata import copy_cells
from trigpoint._sources.tables import copy_rows, is_table
from trigpoint._sources.values import as_dense

_DEFAULT_ROWS = 1_000


def run(options: argparse.Namespace) -> Result:
    """Choose rows, and print or write them."""
    sampler = _sampler(options)
    source = open_weighted(options)
    both = [path for path in (source.path, options.output) if path is not None]
    copies_cells = len(both) == 2 and all(path.name.lower().endswith(".h5ad") for path in both)
    copies_rows = copies_cells or (len(both) == 2 and all(map(is_table, both)))
    # Rows of tables may also be written as .tsv or .txt, which `Output` does not support.
    check_outputs(options, [source.path], {"rows" if copies_rows else "--output": options.output})
    if options.landmarks is None and source.n <= _DEFAULT_ROWS:
        raise CommandError(
            f"{source.name} has {counted(source.n, 'row')}, and all would be chosen: set the "
            "number with --landmarks"
        )
    start = time.perf_counter()
    chosen = select(source, sampler, metric=options.metric, callback=progress(options) or None)
    rows = np.asarray(chosen.indices).tolist()
    values = {
        "input": points_facts(source),
        "method": options.method,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - start, 3),
        "rows": rows,
    }
    if options.output is None:
        if sys.stderr is not None and sys.stderr.isatty():
            header = ", without the header" if source.columns.names is not None else ""
            say(options, f"row numbers, counted from 0{header}")
        return Result("\n".join(map(str, rows)), values)
    if copies_rows:
        copy = copy_cells if copies_cells else copy_rows
        n_columns = copy(both[0], rows, options.output, replace=options.force)
    else:
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
    if options.method == "efficient-dpp":
        own["refine"] = options.refine
    elif options.refine or options.landmarks == "auto":
        wrong = "--refine" if options.refine else "--landmarks auto"
        options.parser.error(f"{wrong} does not apply to --method {options.method}")
    k = _DEFAULT_ROWS if options.landmarks is None else options.landmarks
    return getattr(trigpoint, SAMPLERS[options.method])(k, random_state=options.seed, **own)


def _write(options: argparse.Namespace, source: Source, rows: list[int]) -> int:
    """Write the chosen rows of an array; return the number of columns."""
    # Array columns that were not compared are also numeric.
    whole = source if source.columns.names is not None else open_source(options.input)
    order = np.argsort(rows)
    chosen = as_dense(whole.take(np.asarray(rows)[order])[np.argsort(order)])
    output = Output(options.output, options.force, whole.columns.names)
    with open_output(output, chosen.shape, chosen.dtype, source.path) as writer:
        writer.write(chosen)
    return whole.columns.count
