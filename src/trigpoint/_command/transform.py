"""``trigpoint transform``: apply a saved model to other points."""

import argparse
import time
from pathlib import Path

from trigpoint._command import common
from trigpoint._command.common import Result
from trigpoint._common.words import counted, duration
from trigpoint._estimators import load
from trigpoint._estimators.output import write_coordinates
from trigpoint._files import open_writer


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "transform",
        run,
        help="embed other points with a saved model",
        examples="""
            trigpoint transform big.trig new.npy -o new_embedding.npy
            trigpoint transform scan.trig scan2.csv --columns x,y,z -o scan2_2d.csv
        """,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file written by --save")
    common.add_input(parser)
    common.add_output(parser, "coordinates: .npy, .csv, .parquet or .zarr")
    common.add_resume(parser)
    common.add_jobs(parser)
    common.add_device(parser)


def run(options: argparse.Namespace) -> Result:
    """Load, transform, write."""
    model = load(options.model)
    model.set_params(callback=common.progress(options), n_jobs=options.jobs, device=options.device)
    points = common.open_points(options, model)
    common.check_outputs(options, [points, options.model], options.output)
    open_writer(options.output, 1, 1)
    start = time.perf_counter()
    write_coordinates(model, points, common.output_of(options))
    seconds = time.perf_counter() - start
    n = points.shape[0]
    values = {
        "model": str(options.model),
        "input": {"name": points.name, "rows": n, "columns": points.shape[1]},
        "components": int(model.landmark_embedding_.shape[1]),
        "seconds": round(seconds, 3),
        "written": [str(options.output)],
    }
    coordinates = counted(model.landmark_embedding_.shape[1], "coordinate")
    text = f"{counted(n, 'point')} to {coordinates} in {duration(seconds)}"
    return Result(f"{text}\n  {options.output}", values)
