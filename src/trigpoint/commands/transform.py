"""``trigpoint transform``: a saved model, applied to other points."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from trigpoint.commands import common
from trigpoint.commands.common import Result
from trigpoint.files import PointSource, open_writer, read_points, refuse_same_file
from trigpoint.manifold import load


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
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file that --save wrote")
    common.add_input(parser)
    common.add_output(parser, "coordinates: .npy, .csv, .parquet or .zarr")
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="threads (default: all cores)"
    )


def run(options: argparse.Namespace) -> Result:
    """Load, transform, write."""
    common.refuse_existing(options, options.output)
    model = load(options.model)
    model.set_params(verbose=common.progress(options), n_jobs=options.jobs)
    points = _open_points(options, getattr(model, "feature_names_in_", None))
    open_writer(options.output, 1, 1)
    refuse_same_file(points, options.output)
    start = time.perf_counter()
    model.transform(points, out=options.output)
    seconds = time.perf_counter() - start
    n = points.shape[0]
    values = {
        "model": str(options.model),
        "input": {"name": points.name, "rows": n, "columns": points.shape[1]},
        "components": int(model.embedding_.shape[1]),
        "seconds": round(seconds, 3),
        "written": [str(options.output)],
    }
    text = f"{n:,} points to {values['components']} coordinates in {common.duration(seconds)}"
    return Result(f"{text}\n  {options.output}", values)


def _open_points(options: argparse.Namespace, names: Sequence[str] | None) -> PointSource:
    """Open the points, of a table the columns that the model was fitted to, in their order."""
    if options.columns is not None or names is None:
        return common.open_points(options)
    try:
        return read_points(options.input, columns=list(names))
    except ValueError as error:
        # Columns without names are taken as they come.
        try:
            return read_points(options.input)
        except ValueError:
            raise error from None
