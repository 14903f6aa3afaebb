"""``trigpoint demo``: a Swiss roll of a million points, unrolled."""

import argparse
from pathlib import Path

from trigpoint._command import common, demonstration
from trigpoint._command.common import Commands, UsageError
from trigpoint._sources.problems import require

# The warm-up run before the timed one uses this many landmarks.
_FEWEST = 20


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "demo",
        help="unroll a Swiss roll of a million points",
        description="Unroll a Swiss roll and draw it.",
        epilog="examples:\n  trigpoint demo\n  trigpoint demo --points 100000 --landmarks 300",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option, default in (("--points", 1_000_000), ("--landmarks", 1_000)):
        parser.add_argument(
            option,
            type=common.count_argument,
            default=default,
            metavar="N",
            help=f"number of {option[2:]} (default: {default:,})",
        )
    common.add_seed(parser, "seed for the data and the landmarks")
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), metavar="DIR", help="folder for the picture"
    )
    # No default here: it would override the option given before the subcommand.
    common.add_diagnostics(parser, default=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the demonstration."""
    if not 3 <= options.landmarks < options.points or options.points <= _FEWEST:
        raise UsageError(
            f"--landmarks {options.landmarks} is too few or too many for --points "
            f"{options.points}: choose at least 3 landmarks, more points than landmarks, and more "
            f"than {_FEWEST} points"
        )
    # Checked before a million points are embedded.
    common.check_folder(options.out)
    require("matplotlib", "drawing the picture")
    demonstration.run(options.points, options.landmarks, options.seed, options.out)
    return 0
