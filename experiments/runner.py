"""Run experiments, store their results, and write their pages.

An experiment yields cases. Each case is run once, and its row is stored as soon as it ends, so an
interrupted experiment resumes where it stopped. The page is written from all stored rows.
"""

import argparse
import csv
import io
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from experiments.pages import Page

# Text, number or None for each column.
Row = dict[str, Any]

# Packages whose versions are recorded with the results, if installed.
PACKAGES = ("trigpoint", "numpy", "scipy", "scikit-learn", "numba", "umap-learn", "pynndescent")
PACKAGES += ("phate", "geosketch", "faiss-cpu", "dppy", "openTSNE", "pacmap", "trimap")

# Significant digits of stored measurements; no page shows more.
DIGITS = 6


class MissingDataError(FileNotFoundError):
    """Error raised if the real data that an experiment needs is missing."""


@dataclass(frozen=True)
class Settings:
    """Options of a run: whether to use small sizes and few runs, and the folder of real data."""

    quick: bool = False
    data: Path | None = None

    def seeds(self, full: int, quick: int = 2) -> range:
        """Return the seeds of the repetitions of an experiment."""
        return range(quick if self.quick else full)

    def find(self, name: str) -> Path:
        """Return the path of a file or folder of real data."""
        if self.data is None:
            raise MissingDataError(
                f"it reads {name}: name the folder that holds it with DATA= or --data, or in "
                "TRIGPOINT_DATA"
            )
        if not (self.data / name).exists():
            raise MissingDataError(f"there is no {name} in {self.data}, the folder of the data")
        return self.data / name


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper, or one group of benchmarks."""

    name: str  # Name of its module.
    title: str  # Heading of its page.
    # Yields the cases to run, in order. A case is a row with everything that determines the result,
    # except for `parameters`.
    cases: Callable[[Settings], Iterable[Row]]
    # Returns the measurements as a row. A case is left out if its data or a package is missing.
    run: Callable[[Row, Settings], Row]
    # Writes text, tables and figures. A row has the columns of its case and of its result.
    show: Callable[[Sequence[Row], Settings, Page], None]
    # Parameters shared by all cases. Results with other parameters are rejected.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # Writes the table that the overview of all experiments shows.
    brief: Callable[[Sequence[Row], Settings, Page], None] | None = None


def load_experiment(package: str, name: str) -> Experiment:
    """Import the experiment defined in a module."""
    return import_module(f"{package}.{name}").EXPERIMENT


# Results --------------------------------------------------------------------------------------


class Results:
    """Rows of an experiment, in a CSV file that is replaced whenever a case ends.

    The first line of the file records the parameters and, for each version of the code that
    produced rows, the commit, the date, the versions of packages, and the machine. Empty cells are
    read as None.
    """

    def __init__(self, path: Path, parameters: Mapping[str, Any]) -> None:
        self.path = path
        # Convert the parameters as writing and reading a file would: tuples become lists, and names
        # become strings.
        self.parameters: Row = json.loads(json.dumps(dict(parameters)))
        self.states: list[Row] = []
        self.rows: list[Row] = []
        if path.exists():
            first, _, rest = path.read_text(encoding="utf-8").partition("\n")
            origin = json.loads(first.removeprefix("# "))
            if origin["parameters"] != self.parameters:
                raise ValueError(
                    f"{path} was run with the parameters {origin['parameters']}, and they are "
                    f"{self.parameters} now: move it away, or name another folder"
                )
            self.states = origin["states"]
            reader = csv.DictReader(io.StringIO(rest))
            self.rows = [{name: _parsed(row[name]) for name in row} for row in reader]

    def find(self, cases: Sequence[Row]) -> list[Row | None]:
        """Return the row of each case, or None for cases that were not run."""
        tables = {
            names: {_key(row, names): row for row in self.rows} for names in set(map(tuple, cases))
        }
        return [tables[tuple(case)].get(_key(case, tuple(case))) for case in cases]

    def add(self, row: Row, state: Row) -> Row:
        """Store a row produced by a version of the code, and return it rounded."""
        if not any({**one, "when": state["when"]} == state for one in self.states):
            self.states.append(state)
        self.rows.append({name: _rounded(value) for name, value in row.items()})
        origin = json.dumps({"parameters": self.parameters, "states": self.states})
        text = io.StringIO(f"# {origin}\n")
        text.seek(0, io.SEEK_END)
        columns = dict.fromkeys(name for row in self.rows for name in row)
        writer = csv.DictWriter(text, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.with_name(self.path.name + ".part")
        whole.write_text(text.getvalue(), encoding="utf-8")
        whole.replace(self.path)
        return self.rows[-1]


def _key(row: Row, names: Sequence[str]) -> str:
    return json.dumps([row.get(name) for name in names])


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _parsed(cell: str) -> str | int | float | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(cell)
    return cell or None


# Provenance of results ------------------------------------------------------------------------


def state_of_the_code() -> Row:
    """Return the commit, the date, the versions of packages, and the machine."""
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores of {_processor()} ({platform.system()} {platform.machine()})"
    return {
        "commit": _commit(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "versions": versions,
        "machine": machine,
    }


def _commit() -> str:
    """Return the commit of this checkout, marked if the code was changed since.

    For a copy without Git history, set the environment variable ``COMMIT``.
    """
    if "COMMIT" in os.environ:
        return os.environ["COMMIT"]
    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return f"trigpoint {version('trigpoint')}, not from a Git checkout"

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "experiments/*.py")
    return git("rev-parse", "--short=10", "HEAD") + (" with changes" if changed else "")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # Not Linux.
        return platform.processor() or "unknown"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


# Running and showing --------------------------------------------------------------------------


def run(experiment: Experiment, results: Results, cases: Sequence[Row], settings: Settings) -> int:
    """Run the cases that are missing from the results, and return their number."""
    found = results.find(cases)
    missing = [case for case, row in zip(cases, found, strict=True) if row is None]
    n_new, lacking, state = 0, [], state_of_the_code()
    for case in missing:
        start = time.perf_counter()
        try:
            result = experiment.run(case, settings)
        except (MissingDataError, ModuleNotFoundError) as error:
            lacking.append(str(error))
            continue
        n_new += 1
        seconds = round(time.perf_counter() - start, 3)
        row = results.add({**case, **result, "run_seconds": seconds}, state)
        done = f"{len(cases) - len(missing) + n_new:,}/{len(cases):,}"
        print(f"{experiment.name} {done}: {row}", file=sys.stderr, flush=True)
    if lacking and len(lacking) == len(cases):
        raise MissingDataError(lacking[0])
    for reason in dict.fromkeys(lacking):
        print(f"{experiment.name}: cases left out: {reason}", file=sys.stderr)
    return n_new


def show(experiment: Experiment, results: Results, settings: Settings, command: str) -> Path:
    """Write the page from the rows so far, and update the experiment's part of the overview.

    The overview, if there is one, is the page next to the folder of the results, with its name.
    """
    cases = list(experiment.cases(settings))
    rows = [row for row in results.find(cases) if row is not None]
    if not rows:
        raise ValueError(
            f"{results.path} has no run of this experiment with these settings: add or leave out "
            "--quick as it was run, or leave out --render"
        )
    folder = results.path.parent
    page = Page(folder, experiment.name, experiment.title)
    if settings.quick:
        page.text(
            """**Small sizes and few runs (`QUICK=1`): this page shows that the experiment works.
            Do not compare its numbers with others.**"""
        )
    complete = len(rows) == len(cases)
    done = f"{len(rows):,} runs" + ("" if complete else f" **of {len(cases):,}**")
    try:
        experiment.show(rows, settings, page)
    except KeyError as error:
        if complete:
            raise
        raise ValueError(f"{results.path} has too few runs for a page, {done}: run more") from error
    overview = folder.with_suffix(".md")
    if experiment.brief is not None and overview.exists():
        brief = Page(folder, experiment.name, experiment.title)
        experiment.brief(rows, settings, brief)
        brief.write_into(overview)
    seconds = [row.get("run_seconds") for row in rows]
    took = "" if None in seconds else f", {sum(seconds):,.0f} s in all"
    file, origin = results.path.name, _described(results.states)
    page.text(f"`{command}`: {done} in [{file}]({file}){took}, {origin}.")
    return page.write()


def _described(states: Sequence[Row]) -> str:
    """Describe the commits and dates, followed by the machines and versions."""
    commits = [f"at commit {state['commit']} ({state['when']})" for state in states]
    places = [
        ", ".join([f"on {state['machine']}", *map(" ".join, state["versions"].items())])
        for state in states
    ]
    return f"{' and '.join(commits)}, {'; '.join(dict.fromkeys(places))}"


# The command ----------------------------------------------------------------------------------


# Makefile target and package of each kind of experiment.
KINDS = {"paper": ("reproduce", "experiments.paper"), "bench": ("bench", "experiments.benchmarks")}


def names_of(package: str) -> Mapping[str, str]:
    """Return the experiments of a package, each with a short description."""
    return import_module(package).NAMES


def chosen(cases: Iterable[Row], where: Sequence[str]) -> list[Row]:
    """Return the cases that have one of the requested values in every named column."""
    wanted: dict[str, list[str]] = {}
    for condition in where:
        column, _, value = condition.partition("=")
        wanted.setdefault(column, []).append(value)
    found = [
        case
        for case in cases
        if all(str(case.get(column)) in values for column, values in wanted.items())
    ]
    if not found:
        raise ValueError(f"no case has {' '.join(where)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested experiments one after the other, and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    target, package = KINDS[options.kind]
    known = names_of(package)
    if unknown := set(options.names) - set(known):
        parser.error(f"{', '.join(sorted(unknown))} not among {', '.join(known)}")
    data = options.data or os.environ.get("TRIGPOINT_DATA")
    settings = Settings(options.quick, Path(data).expanduser().absolute() if data else None)
    failures = 0
    for name in options.names or known:
        command = f"make {target} ONLY={name}" + (" QUICK=1" if options.quick else "")
        try:
            experiment = load_experiment(package, name)
            results = Results(options.out / f"{name}.csv", experiment.parameters)
            n_new = 0
            if not options.render:
                cases = chosen(experiment.cases(settings), options.where)
                n_new = run(experiment, results, cases, settings)
            written = show(experiment, results, settings, command)
        except MissingDataError as error:
            # Running everything does not require the data of every experiment.
            print(f"{name}: left out: {error}", file=sys.stderr)
            failures += bool(options.names)
        except (OSError, ModuleNotFoundError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
        else:
            print(f"{name}: {written} ({n_new:,} new runs)", flush=True)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    names = "\n\n".join(
        f"{kind}:\n"
        + "\n".join(f"  {name:<12} {about}" for name, about in names_of(package).items())
        for kind, (_, package) in KINDS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run the paper's experiments or the benchmarks. Interrupted runs are resumed.",
        epilog=names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("kind", choices=KINDS, help="the paper's experiments, or the benchmarks")
    add("names", nargs="*", metavar="NAME", help="experiments to run (default: all)")
    where = "run only cases with this value, such as data=digits; may be repeated"
    add("--where", nargs="+", default=[], metavar="COLUMN=VALUE", help=where)
    add("--quick", action="store_true", help="use small sizes and few runs")
    add("--data", metavar="DIR", help="folder of the real data (default: TRIGPOINT_DATA)")
    add("--out", type=Path, default="reproduction", metavar="DIR", help="folder of the results")
    add("--render", action="store_true", help="only write the pages, without running anything")
    return parser
