"""What subcommands share: arguments, refusals before any work, and what they print."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trigpoint.checks import check_count
from trigpoint.files import PointSource, read_points
from trigpoint.progress import Report, TerminalReport, reporter

# Exit codes beside 0, and 2 of argparse for wrong arguments; the last is the shell's for Ctrl-C.
FAILED, USAGE, INTERRUPTED = 1, 2, 130

Commands = Any  # argparse has no public name for what holds subcommands.


class CommandError(Exception):
    """Something that the person at the terminal can put right; no traceback is shown for it."""


@dataclass(frozen=True)
class Result:
    """What a subcommand came to.

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
        print(json.dumps(self.values, indent=2) if as_json else self.text)


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
    parser.set_defaults(run=run)
    return parser


def add_input(parser: argparse.ArgumentParser, what: str = "the points") -> None:
    """Add the file of points, and what to take of it."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        help=f"{what}: .npy, .npz, .csv, .tsv, .txt, .parquet, .zarr, .h5 or .h5ad; an array "
        "inside as FILE::KEY",
    )
    parser.add_argument(
        "--columns", type=_names, metavar="A,B,...", help="columns to take, by name or number"
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add how landmarks are chosen."""
    parser.add_argument(
        "-k",
        "--landmarks",
        type=_landmarks,
        default=1000,
        metavar="N",
        help="number of landmarks, or auto (default: 1000)",
    )
    parser.add_argument(
        "--refine", action="store_true", help="better landmarks by exchanges after the draw; slower"
    )
    add_run(parser)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add what decides speed and repetition, not the method."""
    parser.add_argument("--seed", type=int, default=0, help="seed of the landmarks (default: 0)")
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="threads (default: all cores)"
    )


def add_output(parser: argparse.ArgumentParser, help: str, *, required: bool = True) -> None:
    """Add the file to write."""
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", required=required, help=help)
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def _names(text: str) -> list[str | int]:
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name: write A,B,C")
    return [int(name) if name.isdecimal() else name for name in names]


def _landmarks(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return check_count("landmarks", int(text), low=2)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of landmarks, 2 or more, nor auto"
        ) from error


def count_argument(text: str) -> int:
    """Whole number, 1 or more."""
    try:
        return check_count("number", int(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more") from error


def open_points(options: argparse.Namespace) -> PointSource:
    """Open the points that were asked for; columns given as numbers may also be names."""
    columns = options.columns
    if columns is None:
        return read_points(options.input)
    try:
        return read_points(options.input, columns=columns)
    except ValueError:
        # A table may well have a column that is called 1990.
        as_names = [str(column) for column in columns]
        if as_names == columns:
            raise
        try:
            return read_points(options.input, columns=as_names)
        except ValueError:
            pass
        raise


def refuse_existing(options: argparse.Namespace, *paths: Path | None) -> None:
    """Refuse to replace files that exist, unless that was asked for; and folders that do not."""
    given = [path for path in paths if path is not None]
    for path in given:
        if path.exists() and not options.force:
            raise CommandError(f"{path} exists: name another file, or add --force to replace it")
        if not path.parent.is_dir():
            raise CommandError(f"{path} cannot be written: there is no folder {path.parent}")
    if len({path.resolve() for path in given}) < len(given):
        raise CommandError("two of the files to write are the same: name different ones")


def progress(options: argparse.Namespace) -> Report:
    """Bars on a terminal, lines elsewhere, or nothing."""
    return reporter(False) if options.quiet else TerminalReport(sys.stderr)


def listing(values: Mapping[str, Any]) -> str:
    """Two columns: names, and what they stand for."""
    width = max(map(len, values), default=0)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in values.items())


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, as a person would say it."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def size(n_bytes: float) -> str:
    """Bytes in units of a thousand."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5 or unit == "GB":
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    raise AssertionError("unreachable")
