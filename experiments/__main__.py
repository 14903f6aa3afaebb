"""Run the paper's experiments or the benchmarks: ``python -m experiments paper|bench [NAME ...]``.

`make reproduce` and `make bench` call it. Every run is kept as it ends, and a second start goes on
where the first one stopped.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from experiments import benchmarks, paper
from experiments.benchmarks import report
from experiments.framework.experiment import MissingDataError, Settings
from experiments.paper import pages

FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, one after the other; returns the exit code."""
    options = _parser().parse_args(arguments)
    out = options.out or options.module.default_folder(options.quick)
    settings = Settings(options.quick, options.runs, options.seed, _data_folder(options.data))
    if out.exists() and not out.is_dir():
        print(f"--out {out} is a file: name a folder", file=sys.stderr)
        return FAILED
    names = options.chosen or list(options.names)
    if options.render and options.module.ONE_PAGE:
        names = names[:1]
    failures = 0
    for name in names:
        try:
            n_new = 0
            if not options.render:
                n_new = options.module.run(name, out, settings, quiet=options.quiet)
            written = options.module.show(name, out, settings)
        except MissingDataError as error:
            # Whoever runs everything does not have to have everything.
            print(f"{name}: left out: {error}", file=sys.stderr)
            failures += bool(options.chosen)
        except (OSError, ModuleNotFoundError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
        except KeyboardInterrupt:
            print(
                f"\n{name}: interrupted: the runs so far are kept in {out}, and the same command "
                "goes on from there",
                file=sys.stderr,
            )
            return INTERRUPTED
        else:
            print(f"{name}: {written} ({n_new:,} new runs)", flush=True)
    return FAILED if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="paper|bench")
    paper_parser = _add_kind(kinds, "paper", "the paper's experiments", paper.NAMES, pages)
    paper_parser.add_argument(
        "--runs", type=_whole(1), metavar="N", help="repetitions (default: the paper's)"
    )
    paper_parser.add_argument(
        "--seed", type=_whole(0), default=0, metavar="N", help="seed of the first (default: 0)"
    )
    bench = _add_kind(kinds, "bench", "the benchmarks", benchmarks.NAMES, report)
    bench.set_defaults(runs=None, seed=0)
    return parser


def _add_kind(
    kinds: "argparse._SubParsersAction[argparse.ArgumentParser]",
    kind: str,
    what: str,
    names: dict[str, str],
    module: ModuleType,
) -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<12} {about}" for name, about in names.items())
    parser = kinds.add_parser(
        kind,
        help=what,
        epilog=f"names:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def known(name: str) -> str:
        if name not in names:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(names)}")
        return name

    parser.add_argument(
        "chosen", nargs="*", type=known, metavar="NAME", help="which to run (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs")
    parser.add_argument(
        "--data", type=Path, help="folder of the real data (default: TRIGPOINT_DATA)"
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--render", action="store_true", help="run nothing, write the pages")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(names=names, module=module)
    return parser


def _whole(low: int) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, {low} or more")
        return int(text)

    return parsed


def _data_folder(given: Path | None) -> Path | None:
    folder = given or os.environ.get("TRIGPOINT_DATA")
    return Path(folder).expanduser().absolute() if folder else None


if __name__ == "__main__":
    sys.exit(main())
