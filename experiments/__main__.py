"""Run the paper's experiments or the benchmarks.

`make reproduce` and `make bench` call it. Every run is saved as it ends, and a second start
continues where the first one stopped.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments import benchmarks, paper
from experiments.benchmarks import report
from experiments.framework.experiment import MissingDataError, Settings
from experiments.paper import pages

FAILED, INTERRUPTED = 1, 130
KINDS = {"paper": (pages, paper.NAMES), "bench": (report, benchmarks.NAMES)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, one after the other; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    module, known = KINDS[options.kind]
    if unknown := set(options.names) - set(known):
        parser.error(f"{', '.join(sorted(unknown))} not among {', '.join(known)}")
    data = options.data or os.environ.get("TRIGPOINT_DATA")
    data = Path(data).expanduser().absolute() if data else None
    settings = Settings(options.quick, options.runs, options.seed, data)
    out = options.out or module.default_folder(options.quick)
    failures = 0
    for name in options.names or known:
        try:
            n_new = 0 if options.render else module.run(name, out, settings, quiet=options.quiet)
            written = module.show(name, out, settings)
        except MissingDataError as error:
            # Running everything does not require the data of every experiment.
            print(f"{name}: left out: {error}", file=sys.stderr)
            failures += bool(options.names)
        except (OSError, ModuleNotFoundError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
        except KeyboardInterrupt:
            print(f"\n{name}: interrupted; the same command goes on from here", file=sys.stderr)
            return INTERRUPTED
        else:
            print(f"{name}: {written} ({n_new:,} new runs)", flush=True)
            if options.render and module is report:
                break  # All benchmarks are on one page.
    return FAILED if failures else 0


def _parser() -> argparse.ArgumentParser:
    names = "\n\n".join(
        f"{kind}:\n" + "\n".join(f"  {name:<12} {about}" for name, about in known.items())
        for kind, (_, known) in KINDS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        epilog=names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("kind", choices=KINDS, help="the paper's experiments, or the benchmarks")
    add("names", nargs="*", metavar="NAME", help="which of them (default: all)")
    add("--quick", action="store_true", help="small sizes and few runs")
    add("--runs", type=_whole(1), metavar="N", help="repetitions, of the paper's experiments")
    add("--seed", type=_whole(0), default=0, metavar="N", help="seed of the first repetition")
    add("--data", metavar="DIR", help="folder of the real data (default: TRIGPOINT_DATA)")
    add("--out", type=Path, metavar="DIR", help="folder of the results")
    add("--render", action="store_true", help="run nothing, write the pages")
    add("--quiet", action="store_true", help="show no progress")
    return parser


def _whole(low: int) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, {low} or more")
        return int(text)

    return parsed


if __name__ == "__main__":
    sys.exit(main())
