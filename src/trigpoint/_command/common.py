"""Shared by the subcommands: arguments, checks before any work, and printing."""

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trigpoint._command.interruption import stopping
from trigpoint._common.checks import check_count
from trigpoint._common.progress import Report, progress_display, reporter
from trigpoint._common.words import printable
from trigpoint._estimators.output import LONG, Output
from trigpoint._files import PointSource, read_points, refuse_same_file
from trigpoint._sources.atomic import check_place
from trigpoint._sources.tables import is_table, table_columns
from trigpoint._files.contents import likely_points, stored_arrays
from trigpoint._sources.choosing import listed, listed_names

# Exit codes other than 0 and argparse's 2; the last is the shell's code for Ctrl-C.
FAILED, USAGE, INTERRUPTED = 1, 2, 130

Commands = Any  # argparse has no public name for this type.


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after some files had been written; names them."""

    def __init__(self, written: Sequence[Path]) -> None:
        super().__init__()
        self.written = list(written)


class CommandError(Exception):
    """An error that the user can fix; no traceback is shown for it."""


class UsageError(CommandError):
    """Arguments that do not go together; argparse rejects single wrong ones."""


@dataclass(frozen=True)
class Result:
    """Result of a subcommand.

    Attributes
    ----------
    text : str
        For people.
    values : mapping
        For scripts: what ``--json`` prints.
    """

    text: str
    values: Mapping[str, Any]

    def show(self, as_json: bool) -> None:
        """Print to standard output."""
        print(json.dumps(self.values, indent=2) if as_json else printable(self.text))


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], Result],
    *,
    help: str,
    examples: str,
    notes: str = "",
) -> argparse.ArgumentParser:
    """Add a subcommand whose help ends with examples."""
    lines = "\n".join(f"  {line.strip()}" for line in examples.strip().splitlines())
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=f"examples:\n{lines}" + (f"\n\n{notes.strip()}" if notes else ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    # No default here: it would override the option given before the subcommand.
    add_diagnostics(parser, default=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_diagnostics(parser: argparse.ArgumentParser, default: Any = False) -> None:
    """Add the options for finding errors."""
    for option, help in (
        ("--log", "log what is done to standard error"),
        ("--debug", "show the traceback of an error"),
    ):
        parser.add_argument(option, action="store_true", default=default, help=help)


def add_input(
    parser: argparse.ArgumentParser,
    what: str = "the points",
    columns: str = "columns to use, by name or number",
) -> None:
    """Add the file of points and its columns."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        help=f"{what}: .npy, .npz, .csv, .tsv, .txt, .parquet, .zarr, .h5 or .h5ad; write "
        "an array inside as FILE::KEY",
    )
    parser.add_argument("--columns", type=names_argument, metavar="A,B,...", help=columns)


def add_selection(parser: argparse.ArgumentParser, fewest: int) -> None:
    """Add the options for choosing landmarks, `fewest` or more of them."""
    parser.add_argument(
        "-k",
        "--landmarks",
        type=partial(_landmarks, fewest),
        metavar="N",
        help="number of landmarks, or auto (default: 1000, 10000 for a map, or every distinct "
        "point if there are fewer)",
    )
    parser.add_argument(
        "--metric",
        choices=["euclidean", "cosine", "seuclidean"],
        default="euclidean",
        help="cosine compares directions only, for embedding vectors and counts of words; "
        "seuclidean divides columns by their standard deviations first, for those that differ in "
        "units (default: euclidean)",
    )
    parser.add_argument(
        "--refine", action="store_true", help="improve the drawn landmarks by exchanges; slower"
    )
    add_run(parser)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the seed and the number of threads."""
    add_seed(parser, "seed for the landmarks")
    add_jobs(parser)


def add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the random seed."""
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help=f"{what} (default: 0)")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the number of threads."""
    parser.add_argument(
        "--jobs", type=_jobs, default=-1, metavar="N", help="threads (default: -1, all cores)"
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the GPU to compute on."""
    parser.add_argument(
        "--device",
        default="cpu",
        metavar="cuda|cpu|auto",
        help="cuda, or cuda:1 and so on, computes on that GPU, with PyTorch: the same landmarks; "
        "auto on one if there is one (default: cpu)",
    )


def add_output(parser: argparse.ArgumentParser, help: str, *, required: bool = True) -> None:
    """Add the file to write."""
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", required=required, help=help)
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Add the choice to keep what a run has done."""
    parser.add_argument(
        "--resume",
        action="store_true",
        help="if the run is killed or interrupted, keep what is done, so that the same command "
        f"goes on from there (default: from {LONG:,} points on)",
    )


def output_of(options: argparse.Namespace) -> Output:
    """Where coordinates go."""
    return Output(options.output, replace=options.force, resume=options.resume)


def split_names(text: str) -> list[str]:
    """Names, separated by commas; those with commas in quotes, as in a CSV."""
    names = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [""])]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} contains an empty name: write A,B,C")
    return names


def names_argument(text: str) -> list[str | int]:
    """Names or numbers, separated by commas."""
    names = split_names(text)
    return [int(name) if name.isdecimal() else name for name in names]


def _landmarks(fewest: int, text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return check_count("landmarks", int(text), low=fewest)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of landmarks, {fewest} or more, nor auto"
        ) from error


def count_argument(text: str) -> int:
    """Whole number, 1 or more."""
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _jobs(text: str) -> int:
    return -1 if text == "-1" else _whole(text, 1, ", or -1 for all cores")


def _whole(text: str, low: int, otherwise: str = "") -> int:
    try:
        return check_count("number", int(text), low=low)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number, {low} or more{otherwise}"
        ) from error


def say(options: argparse.Namespace, text: str) -> None:
    """Write a line to standard error, unless --quiet was given."""
    if not options.quiet and sys.stderr is not None:
        print(printable(f"trigpoint: {text}"), file=sys.stderr)


def open_points(
    options: argparse.Namespace, model: Any = None, named: Sequence[str] = ()
) -> PointSource:
    """Open the requested points; columns given as numbers may also be names.

    Without --columns, a table gives the columns that `model` was fitted to, in their order. Without
    a model it gives those that hold numbers and are not `named` by other options.
    """
    columns, fitted = options.columns, getattr(model, "feature_names_in_", None)
    if columns is None:
        path = Path(options.input)
        if model is None and path.exists():
            return _open_numbers(options, path, named)
        return _open_for(options.input, fitted)
    points = _open_columns(options.input, columns)
    if fitted is not None and points.feature_names not in (None, list(fitted)):
        raise CommandError(
            f"--columns selects {listed_names(points.feature_names or ())}, but the model was "
            f"fitted to {listed_names(fitted)}: omit it, and they are found by name"
        )
    return points


def _open_numbers(options: argparse.Namespace, path: Path, named: Sequence[str]) -> PointSource:
    """Open the columns of numbers of a table, or an array, and say what was taken."""
    if not is_table(path):
        return _open_array(options, path)
    columns = [
        (number, column.name or str(number), column)
        for number, column in enumerate(table_columns(path))
        if column.kind != "row label"
    ]
    left_out = [f"{name} ({of.described()})" for _, name, of in columns if of.kind != "number"]
    numbers = {number: name for number, name, of in columns if of.kind == "number"}
    left_out += [f"{name} (for the page)" for name in numbers.values() if name in named]
    taken = [number for number, name in numbers.items() if name not in named]
    if not left_out or not numbers:
        return read_points(options.input)
    if not taken:
        raise CommandError(
            f"no column of {path} is left for the points: choose them with --columns"
        )
    points = read_points(options.input, columns=taken)
    say(
        options,
        f"points are the columns {listed_names(numbers[number] for number in taken)}; left out: "
        f"{listed(left_out)}",
    )
    return points


def _open_array(options: argparse.Namespace, path: Path) -> PointSource:
    points = read_points(options.input)
    if path.name.lower().endswith(".h5ad"):
        arrays = stored_arrays(path)
        better = likely_points(arrays)
        if better not in (None, "X"):
            say(
                options,
                f"points are X, {points.shape[1]:,} columns; {better}, "
                f"{arrays[better][0][1]:,} columns, is what embeddings are usually made of: give "
                f"{path}::{better}",
            )
    return points


def _open_columns(name: str, columns: Sequence[str | int]) -> PointSource:
    try:
        return _unambiguous(read_points(name, columns=columns), columns)
    except ValueError:
        # A table may have a column called 1990.
        as_names = [str(column) for column in columns]
        if as_names == columns:
            raise
        try:
            return read_points(name, columns=as_names)
        except ValueError:
            pass
        raise


def _unambiguous(points: PointSource, columns: Sequence[str | int]) -> PointSource:
    """Reject column numbers that are also names of other columns."""
    for column, name in zip(columns, points.feature_names or [], strict=False):
        if isinstance(column, int) and name != str(column):
            try:
                read_points(points.path, columns=[str(column)])
            except ValueError:
                continue
            raise CommandError(
                f"{points.name} has a column {column}, named {name!r}, and another column named "
                f"{str(column)!r}: rename one of them"
            )
    return points


def _open_for(name: str, columns: Sequence[str] | None) -> PointSource:
    if columns is None:
        return read_points(name)
    try:
        return read_points(name, columns=list(columns))
    except ValueError as error:
        try:
            points = read_points(name)
        except ValueError:
            raise error from None
        # Columns without names are taken in order.
        if points.feature_names is not None:
            raise
        return points


def check_outputs(
    options: argparse.Namespace, read: Sequence[PointSource | Path], *paths: Path | None
) -> None:
    """Reject, before any work, files that cannot or should not be written.

    Existing files are rejected unless --force was given; files being `read`, always.
    """
    given = [path for path in paths if path is not None]
    for path in given:
        if path.is_dir() and path.suffix != ".zarr":
            raise CommandError(f"{path} is a folder: name a file")
        if path.exists() and not options.force:
            raise CommandError(f"{path} exists: name another file, or add --force to replace it")
        check_place(path, str(path))
        for source in read:
            if isinstance(source, PointSource):
                refuse_same_file(source, path)
            elif path.resolve() == source.resolve():
                raise CommandError(f"{source} is being read: write to another file")
    if len({path.resolve() for path in given}) < len(given):
        raise CommandError("two of the files to write are the same: name different ones")


def check_folder(path: Path) -> None:
    """Reject, before any work, a folder that cannot be created or written to."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not there.is_dir():
        raise CommandError(f"{there} is a file: name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CommandError(f"{path} cannot be written: no permission to write in {there}")


def progress(options: argparse.Namespace) -> Report:
    """Bars on a terminal, lines elsewhere, or nothing; closed by `main`."""
    if options.quiet or sys.stderr is None:
        return stopping(reporter(False))
    if getattr(options, "display", None) is None:
        options.display = progress_display(sys.stderr)
    return stopping(options.display)


def listing(values: Mapping[str, Any]) -> str:
    """Two columns: names and values."""
    width = max(map(len, values), default=0)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in values.items())
