"""``trigpoint reproduce``: the experiments of the paper."""

import argparse
import os
import sys
import traceback
from pathlib import Path

from trigpoint._command import common
from trigpoint._command.common import FAILED, INTERRUPTED, Commands
from trigpoint._command.messages import explain
from trigpoint.paper.catalogue import EXPERIMENTS
from trigpoint.paper.experiment import Settings


def add(commands: Commands) -> None:
    """Add the subcommand."""
    listed = "\n".join(f"  {name:<11} {about}" for name, about in EXPERIMENTS.items())
    parser = commands.add_parser(
        "reproduce",
        help="run the experiments of the paper",
        description="Run an experiment of the paper (Wachinger and Golland, 2015), beside its "
        "own numbers.",
        epilog=f"experiments:\n{listed}\n  {'all':<11} every one of them\n\nexamples:\n"
        "  trigpoint reproduce table1 --runs 10\n"
        "  trigpoint reproduce mnist --data ~/data --out reproduction\n\n"
        "Every run is kept as it ends, and a second start goes on where the first one stopped.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", metavar="NAME", choices=[*EXPERIMENTS, "all"], help="experiment, or all"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs, for a look")
    parser.add_argument(
        "--runs", type=common.count_argument, help="runs of every case (default: the paper's)"
    )
    common.add_seed(parser, "seed of the first run")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TRIGPOINT_DATA"),
        help="folder of the real data, with mnist/ and ct/ in it (default: TRIGPOINT_DATA)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("reproduction"),
        help="folder for tables, pictures and runs (default: reproduction)",
    )
    parser.add_argument(
        "--render", action="store_true", help="run nothing: write the pages of the runs so far"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    # Without a default, which would undo what was said before the command.
    common.add_diagnostics(parser, default=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run experiments one after the other; returns the exit code."""
    from trigpoint.paper.reproduction import render, reproduce

    common.check_folder(options.out)
    data = None if options.data is None else Path(options.data).expanduser()
    settings = Settings(options.quick, options.runs, options.seed, data)
    names = list(EXPERIMENTS) if options.name == "all" else [options.name]
    failures = 0
    for name in names:
        try:
            if options.render:
                result = render(name, options.out, settings)
            else:
                result = reproduce(name, options.out, settings, common.progress(options))
        except (OSError, ModuleNotFoundError, ValueError) as error:
            if options.debug:
                traceback.print_exc()
            print(f"trigpoint: {name}: {explain(error)}", file=sys.stderr)
            failures += 1
            continue
        except KeyboardInterrupt:
            print(
                f"\ninterrupted: runs so far are in {options.out / f'{name}.csv'}, and the same "
                "command goes on from there",
                file=sys.stderr,
            )
            return INTERRUPTED
        print(f"{name}: {result.page} ({result.n_runs:,} runs, {result.n_new:,} of them new)")
    return FAILED if failures else 0
