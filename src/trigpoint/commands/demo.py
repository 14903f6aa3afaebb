"""``trigpoint demo``: a Swiss roll of a million points, unrolled."""

import argparse

from trigpoint import demo
from trigpoint.commands.common import Commands, UsageError, add_diagnostics, check_folder

# What the roll is tried on before it is timed takes as many landmarks.
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
    demo.add_arguments(parser)
    # Without a default, which would undo what was said before the command.
    add_diagnostics(parser, default=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the demonstration."""
    if options.seed < 0:
        raise UsageError(f"--seed {options.seed} is not a whole number, 0 or more")
    if not 3 <= options.landmarks < options.points or options.points <= _FEWEST:
        raise UsageError(
            f"--landmarks {options.landmarks} of --points {options.points} are too few or too "
            f"many: choose at least 3, and more points than those and than {_FEWEST}"
        )
    # Before a million points are embedded.
    check_folder(options.out)
    demo.run(options)
    return 0
