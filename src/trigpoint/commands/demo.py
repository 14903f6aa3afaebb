"""``trigpoint demo``: a Swiss roll of a million points, unrolled."""

import argparse

from trigpoint import demo
from trigpoint.commands.common import Commands


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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the demonstration."""
    demo.run(options)
    return 0
