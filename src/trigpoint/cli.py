"""The command ``trigpoint``: reads its arguments, calls the library, prints what came out."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import trigpoint
from trigpoint.checks import check_count
from trigpoint.paper.catalogue import EXPERIMENTS
from trigpoint.paper.experiment import Settings
from trigpoint.progress import TerminalReport

# Exit codes beside 0: what argparse has for wrong arguments, and the shell's for Ctrl-C.
USAGE, FAILED, INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trigpoint", description="Embed millions of points from a few diverse landmarks."
    )
    parser.add_argument("--version", action="version", version=f"trigpoint {trigpoint.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_reproduce(commands)
    return parser


def _add_reproduce(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
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
    parser.add_argument("--runs", type=_count, help="runs of every case (default: the paper's)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run (default: 0)")
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
    parser.set_defaults(run=_reproduce)


def _count(text: str) -> int:
    try:
        return check_count("runs", int(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs, 1 or more") from error


def _reproduce(options: argparse.Namespace) -> int:
    from trigpoint.paper.reproduction import render, reproduce

    data = None if options.data is None else Path(options.data).expanduser()
    settings = Settings(options.quick, options.runs, options.seed, data)
    names = list(EXPERIMENTS) if options.name == "all" else [options.name]
    failures = 0
    for name in names:
        try:
            if options.render:
                result = render(name, options.out, settings)
            else:
                result = reproduce(name, options.out, settings, TerminalReport(sys.stderr))
        except (OSError, ModuleNotFoundError, ValueError) as error:
            print(f"trigpoint: {name}: {error}", file=sys.stderr)
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


if __name__ == "__main__":
    sys.exit(main())
