"""``trigpoint select``: a diverse subsample of the rows of a file."""

import argparse
import time

import numpy as np

from trigpoint.commands import common
from trigpoint.commands.common import Result
from trigpoint.files import open_writer
from trigpoint.landmarks import EfficientDPP


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
            trigpoint select scan.csv --columns x,y,z -k auto --refine -o scan_small.csv
        """,
        notes="Row numbers, counted from 0, go to standard output; with -o the rows themselves go "
        "to a file, in the order of the input.",
    )
    common.add_input(parser)
    common.add_output(parser, "the chosen rows: .npy, .csv, .parquet or .zarr", required=False)
    common.add_selection(parser)


def run(options: argparse.Namespace) -> Result:
    """Choose rows; print or write them."""
    points = common.open_points(options)
    common.check_outputs(options, [points], options.output)
    if options.output is not None:
        open_writer(options.output, 1, 1)
    sampler = EfficientDPP(
        common.n_landmarks(options, points),
        refine=options.refine,
        random_state=options.seed,
        n_jobs=options.jobs,
        callback=common.progress(options),
    )
    start = time.perf_counter()
    sampler.fit(points)
    seconds = time.perf_counter() - start
    assert sampler.indices_ is not None
    order = np.argsort(sampler.indices_)
    rows = [int(row) for row in sampler.indices_[order]]
    values = {
        "input": {"name": points.name, "rows": points.shape[0], "columns": points.shape[1]},
        "seed": options.seed,
        "seconds": round(seconds, 3),
        "rows": rows,
    }
    if options.output is None:
        return Result("\n".join(map(str, rows)), values)
    chosen = sampler.landmarks_[order]
    k, d = chosen.shape
    with open_writer(options.output, k, d, chosen.dtype, points.feature_names) as writer:
        writer.write(chosen)
    text = f"{len(rows):,} of {points.shape[0]:,} rows in {common.duration(seconds)}"
    return Result(f"{text}\n  {options.output}", values | {"written": [str(options.output)]})
