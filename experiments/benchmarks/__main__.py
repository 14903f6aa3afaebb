"""Measure and write RESULTS.md: ``python -m experiments.benchmarks [--quick] [group ...]``."""

import argparse
import time
from pathlib import Path

from experiments.benchmarks.groups import MODULES, group_module
from experiments.benchmarks.harness import FIT_LIMIT, QUICK_FIT_LIMIT, environment, run_worker
from experiments.benchmarks.journal import Journal
from experiments.benchmarks.report import write_results

HERE = Path(__file__).parent


def main() -> None:
    """Measure what was asked for; render whatever has been measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=f"of {', '.join(MODULES)}")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, into experiments/benchmarks/quick/"
    )
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(MODULES):
        parser.error(f"no such group: {', '.join(sorted(unknown))}; choose of {', '.join(MODULES)}")
    folder = HERE / "quick" if options.quick else HERE
    for name in [] if options.render else options.groups or MODULES:
        run_group(name, folder, quick=options.quick)
        write_results(folder, quick=options.quick)
    write_results(folder, quick=options.quick)
    print(f"written: {(folder / 'RESULTS.md').relative_to(HERE.parents[1])}")


def run_group(name: str, folder: Path, *, quick: bool) -> None:
    """Measure every spec of a group, each in its own process, and keep it at once."""
    journal = Journal(folder / "results" / f"{name}.json")
    journal.start(environment())
    start = time.perf_counter()
    limit = QUICK_FIT_LIMIT if quick else FIT_LIMIT
    for spec in group_module(name).specs(quick):
        spec = {"group": name, "limit": limit, **spec}
        if journal.result(spec) is not None or journal.slow(spec):
            continue
        hopeless = journal.hopeless(spec)
        result = {"error": hopeless} if hopeless else run_worker(spec)
        journal.add(spec, result)
        print(f"{name}: {_brief(spec)}: {_brief(result)}", flush=True)
    journal.finish(environment()["source"])
    print(f"{name}: {time.perf_counter() - start:.0f} s in all", flush=True)


def _brief(values: dict) -> str:
    skipped = ("group", "family", "limit", "anonymous_peak", "peak_from")
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in values.items()
        if key not in skipped and not isinstance(value, dict)
    )


if __name__ == "__main__":
    main()
