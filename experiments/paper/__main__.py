"""Run experiments of the paper: ``python -m experiments.paper [--quick] [NAME ...]``."""

import argparse
import os
import sys
from pathlib import Path

from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Settings
from experiments.paper.reproduction import render, reproduce


def main() -> int:
    """Run experiments one after the other; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs")
    parser.add_argument("--runs", type=int, help="runs of every case (default: the paper's)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run")
    parser.add_argument("--data", type=Path, default=os.environ.get("TRIGPOINT_DATA"))
    parser.add_argument("--out", type=Path, default=Path("reproduction"))
    parser.add_argument("--render", action="store_true", help="run nothing")
    options = parser.parse_args()
    if unknown := set(options.names) - set(EXPERIMENTS):
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    data = None if options.data is None else Path(options.data).expanduser()
    settings = Settings(options.quick, options.runs, options.seed, data)
    failed = False
    for name in options.names or EXPERIMENTS:
        try:
            result = (render if options.render else reproduce)(name, options.out, settings)
        except (OSError, ModuleNotFoundError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"{name}: {result.page} ({result.n_runs:,} runs, {result.n_new:,} of them new)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
