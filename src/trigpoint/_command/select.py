"""``trigpoint select``: a diverse subsample of the rows of a file."""

import argparse
import time
from typing import Any

import numpy as np

from trigpoint._command import common
from trigpoint._command.common import CommandError, Result, UsageError
from trigpoint._common.words import counted, duration
from trigpoint._files import PointSource, open_writer, read_points
from trigpoint._sources.tables import is_table
from trigpoint._files.rows import can_copy_rows, copy_rows
from trigpoint._landmarks import (
    EfficientDPP,
    FarthestPoint,
    GreedyNystrom,
    KMeansLandmarks,
    KMeansPlusPlus,
    RPCholesky,
    Sampler,
    Uniform,
)
from trigpoint._landmarks.choice import default_n_landmarks

METHODS: dict[str, Any] = {
    "efficient-dpp": EfficientDPP,
    "farthest-point": FarthestPoint,
    "k-means++": KMeansPlusPlus,
    "k-means": KMeansLandmarks,
    "rp-cholesky": RPCholesky,
    "greedy-nystrom": GreedyNystrom,
    "uniform": Uniform,
}

# The one that improves its draw by exchanges, and can tell how many rows it takes.
_DEFAULT = "efficient-dpp"


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "select",
        run,
        help="choose a diverse subsample of the rows",
        examples="""
            trigpoint select points.npy -k 500 > rows.txt
            trigpoint select cells.parquet -k 2000 -o subsample.parquet
            trigpoint select cells.h5ad::obsm/X_pca -k 500 --method farthest-point > rows.txt
            trigpoint select scan.csv --columns x,y,z -k auto --refine -o scan_small.csv
        """,
        notes="Row numbers, counted from 0, go to standard output; with -o the rows themselves go "
        "to a file,\nboth in the order drawn. A table written to a table of the same kind, or "
        "Parquet to text, keeps all\nits columns, and so do arrays; otherwise only the columns "
        "compared are written.",
    )
    common.add_input(parser, columns="columns to compare, by name or number")
    common.add_output(
        parser,
        "the chosen rows: .npy, .csv, .parquet or .zarr; for text also .tsv and .txt",
        required=False,
    )
    common.add_selection(parser, fewest=1)
    common.add_device(parser)
    parser.add_argument(
        "--method",
        choices=list(METHODS),
        default=_DEFAULT,
        help=f"sampler (default: {_DEFAULT}); farthest-point takes the most of what is rare, and "
        "every outlier",
    )


def run(options: argparse.Namespace) -> Result:
    """Choose rows; print or write them."""
    check_choices(options)
    points = common.open_points(options)
    common.check_outputs(options, [points], options.output)
    if options.output is not None and not can_copy_rows(points, options.output):
        open_writer(options.output, 1, 1)
    sampler = make_sampler(options, points)
    start = time.perf_counter()
    sampler.fit(points)
    assert sampler.indices_ is not None
    rows = [int(row) for row in sampler.indices_]
    values = {
        "input": {"name": points.name, "rows": points.shape[0], "columns": points.shape[1]},
        "method": options.method,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - start, 3),
        "rows": rows,
    }
    if options.output is None:
        return Result("\n".join(map(str, rows)), values)
    n_columns = _write(options, points, sampler)
    values |= {"columns_written": n_columns, "written": [str(options.output)]}
    text = (
        f"{len(rows):,} of {points.shape[0]:,} rows, {counted(n_columns, 'column')}, in "
        f"{duration(time.perf_counter() - start)}"
    )
    return Result(f"{text}\n  {options.output}", values)


def check_choices(options: argparse.Namespace) -> None:
    """Reject options that have no effect with the method."""
    if options.method == _DEFAULT:
        return
    if options.device not in ("cpu", "auto"):
        raise UsageError(f"--device {options.device} does not apply to --method {options.method}")
    if options.refine:
        raise UsageError(f"--refine does not apply to --method {options.method}")
    if options.landmarks == "auto":
        raise UsageError(
            f"--landmarks auto does not apply to --method {options.method}: give a number"
        )


def make_sampler(options: argparse.Namespace, points: PointSource) -> Sampler:
    """Return the sampler that the options describe."""
    own = {}
    if options.method == _DEFAULT:
        own = {"refine": options.refine, "device": options.device}
    sampler: Sampler = METHODS[options.method](
        _n_rows(options, points),
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
        callback=common.progress(options),
        **own,
    )
    return sampler


def _n_rows(options: argparse.Namespace, points: PointSource) -> int | str:
    """How many rows to choose."""
    if options.landmarks is not None:
        asked: int | str = options.landmarks
        return asked
    n = points.shape[0]
    k = default_n_landmarks(n)
    if k == n:
        raise CommandError(
            f"{points.name} has {counted(n, 'row')}, and all would be chosen: set the number with "
            "--landmarks"
        )
    return k


def _write(options: argparse.Namespace, points: PointSource, sampler: Sampler) -> int:
    """Write the chosen rows, with all columns if possible; return the number of columns."""
    rows = np.asarray(sampler.indices_)
    if can_copy_rows(points, options.output):
        return copy_rows(points, rows.tolist(), options.output, replace=options.force)
    chosen, names = sampler.landmarks_, points.feature_names
    if options.metric != "euclidean":
        # The landmarks are scaled rows.
        chosen = points.take(rows)
    if options.columns is not None and points.path is not None and not is_table(points.path):
        whole = read_points(options.input)
        chosen, names = whole.take(rows), whole.feature_names
    k, d = chosen.shape
    out, replace = options.output, options.force
    with open_writer(out, k, d, chosen.dtype, names, replace=replace) as writer:
        writer.write(chosen)
    return d
