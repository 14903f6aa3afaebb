"""Running experiments: their cases, the results on disk, and the command.

An experiment yields cases. Each case is run once; its row is appended to the results as it ends, so
an interrupted experiment resumes where it stopped. The page is written from all rows.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.page import Page

Row = dict[str, Any]

# Recorded with the results, where they are installed.
PACKAGES = ("trigpoint", "numpy", "scipy", "scikit-learn", "numba", "umap-learn", "pynndescent")
PACKAGES += ("phate", "geosketch", "faiss-cpu", "dppy", "openTSNE", "pacmap")

# Significant digits of measurements: no page shows more.
DIGITS = 6


class MissingDataError(FileNotFoundError):
    """The real data that an experiment needs is missing."""


@dataclass(frozen=True)
class Settings:
    """Options of a run: small sizes and few runs, and the folder of the real data."""

    quick: bool = False
    data: Path | None = None

    def seeds(self, full: int, quick: int = 2) -> range:
        """Seeds of an experiment's repetitions."""
        return range(quick if self.quick else full)

    def has(self, name: str) -> bool:
        """Whether a file or folder of real data exists."""
        return self.data is not None and (self.data / name).exists()

    def find(self, name: str) -> Path:
        """Path of a file or folder of real data."""
        if self.data is None:
            raise MissingDataError(
                f"this experiment reads {name}: name the folder that holds it with DATA= or "
                "--data, or in TRIGPOINT_DATA"
            )
        if not self.has(name):
            raise MissingDataError(f"there is no {name} in {self.data}, the folder of the data")
        return self.data / name


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper, or one group of benchmarks.

    Attributes
    ----------
    name, title : str
        Name of its module, and the heading of its page.
    cases : function of Settings
        Yields what to run, in order. A case is a row with everything that decides the result,
        except for `parameters`.
    run : function of a case and Settings
        Returns what was measured, as a row; an empty row, or None, leaves the case out. It must be
        a function of its module, which other processes can import.
    show : function of the rows, Settings and a Page
        Writes text, tables and pictures. A row has the columns of its case and of its result.
    parameters : mapping
        What all cases share. Results with other parameters are refused.
    brief : function of the rows, Settings and a Page, or None
        Writes the table that the overview of all experiments shows.
    foregone : function of a case and the rows so far, or None
        Returns the result of a case that need not be run, and None for all others.
    """

    name: str
    title: str
    cases: Callable[[Settings], Iterable[Row]]
    run: Callable[[Row, Settings], Row | None]
    show: Callable[[Sequence[Row], Settings, Page], None]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    brief: Callable[[Sequence[Row], Settings, Page], None] | None = None
    foregone: Callable[[Row, Sequence[Row]], Row | None] | None = None


def load_experiment(package: str, name: str) -> Experiment:
    """Experiment of a module."""
    return import_module(f"{package}.{name}").EXPERIMENT


# Results --------------------------------------------------------------------------------------


class Results:
    """Rows of an experiment, in a file that gains a line as each case ends.

    ``NAME.csv`` has rows of text and numbers with the same columns throughout. ``NAME.json`` has a
    JSON object in each line, for rows of any shape. The first line of both is the `origin`: the
    parameters, and for each state of the code that rows come from, its commit, the date, the
    versions of packages and the machine. A half-written last line from a killed run is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.origin: Row = {"parameters": {}, "states": []}
        self.rows: list[Row] = []
        if path.exists():
            text = path.read_text(encoding="utf-8")
            first, _, rest = text[: text.rfind("\n") + 1].partition("\n")
            self.origin = json.loads(first.removeprefix("# "))
            self.rows = self._read(rest)

    def find(self, cases: Sequence[Row]) -> list[Row | None]:
        """Row of each case; None for those that were not run."""
        tables = {
            names: {_key(row, names): row for row in self.rows} for names in set(map(tuple, cases))
        }
        return [tables[tuple(case)].get(_key(case, tuple(case))) for case in cases]

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse rows that were run with other parameters."""
        if self.rows and self.origin["parameters"] != _as_json(parameters):
            raise ValueError(
                f"{self.path} was run with the parameters {self.origin['parameters']}, and they "
                f"are {_as_json(parameters)} now: move it away, or name another folder"
            )

    def begin(self, parameters: Mapping[str, Any], state: Row) -> None:
        """Prepare for more rows, from a state of the code."""
        self.check(parameters)
        states = self.origin["states"]
        if not any({**one, "when": ""} == {**state, "when": ""} for one in states):
            states = [*states, state]
        self.origin = {"parameters": _as_json(parameters), "states": states}
        lines = [json.dumps(self.origin), *self._lines(self.rows, with_columns=True)]
        lines[0] = "# " + lines[0] if self.path.suffix == ".csv" else lines[0]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.with_name(self.path.name + ".part")
        whole.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        whole.replace(self.path)

    def add(self, row: Row) -> None:
        """Append a row."""
        row = _rounded(row)
        if self.path.suffix == ".csv" and self.rows and list(row) != list(self.rows[0]):
            raise ValueError(
                f"{self.path} has the columns {', '.join(self.rows[0])} and the new row has "
                f"{', '.join(row)}: move it away, or name another folder"
            )
        lines = self._lines([row], with_columns=not self.rows)
        self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def _read(self, text: str) -> list[Row]:
        if self.path.suffix == ".json":
            return [json.loads(line) for line in text.splitlines()]
        reader = csv.DictReader(io.StringIO(text))
        return [{name: _parsed(cell) for name, cell in row.items()} for row in reader]

    def _lines(self, rows: Sequence[Row], with_columns: bool) -> list[str]:
        if self.path.suffix == ".json":
            return [json.dumps(row, separators=(",", ":")) for row in rows]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if rows and with_columns:
            writer.writerow(rows[0])
        writer.writerows(row.values() for row in rows)
        return text.getvalue().splitlines()


def _key(row: Row, names: Sequence[str]) -> str:
    return json.dumps([row.get(name) for name in names])


def _as_json(parameters: Mapping[str, Any]) -> Row:
    """Parameters as a file has them: tuples are lists, and names are strings."""
    return json.loads(json.dumps(dict(parameters)))


def _rounded(value: Any) -> Any:
    """The same value with few digits in its floats, those of lists and mappings included."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return value


def _parsed(cell: str) -> str | int | float | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(cell)
    return cell or None


# Where results come from ----------------------------------------------------------------------


def state_of_the_code() -> Row:
    """Commit, date, versions and machine."""
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "commit": _commit(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "versions": versions,
        "machine": f"{cores} cores of {_processor()} ({platform.system()} {platform.machine()})",
    }


def _commit() -> str:
    """Commit of this checkout, and whether the code differs from it.

    A copy without its history takes the name from the environment variable ``COMMIT``.
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


def run(experiment: Experiment, results: Results, settings: Settings, processes: int = 1) -> int:
    """Run the cases that the results lack, and return how many these were.

    With several processes, their number of cases is run at the same time. Do not do so where cases
    measure time.
    """
    cases = list(experiment.cases(settings))
    found = results.find(cases)
    missing = [case for case, row in zip(cases, found, strict=True) if row is None]
    if not missing:
        return 0
    results.begin(experiment.parameters, state_of_the_code())
    known = [row for row in found if row is not None]
    n_new = 0
    for case, result, seconds in _finished(experiment, missing, known, settings, processes):
        if not result:
            continue
        row = {**case, **result, "run_seconds": round(seconds, 3)}
        results.add(row)
        known.append(row)
        n_new += 1
        place = f"{experiment.name} {len(known):,}/{len(cases):,}"
        print(f"{place}: {_brief(row)}", file=sys.stderr, flush=True)
    return n_new


def _finished(
    experiment: Experiment,
    cases: Sequence[Row],
    known: Sequence[Row],
    settings: Settings,
    processes: int,
) -> Iterator[tuple[Row, Row | None, float]]:
    """Cases with their results and seconds, as they end; `known` grows meanwhile."""
    if processes > 1:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            pending = {pool.submit(_timed, experiment.run, case, settings): case for case in cases}
            try:
                for future in as_completed(pending):
                    yield pending[future], *future.result()
            finally:
                pool.shutdown(cancel_futures=True)
        return
    for case in cases:
        result = experiment.foregone(case, known) if experiment.foregone else None
        if result is not None:
            yield case, result, 0.0
        else:
            yield case, *_timed(experiment.run, case, settings)


def _timed(run: Callable[[Row, Settings], Row | None], case: Row, settings: Settings) -> tuple:
    start = time.perf_counter()
    result = run(case, settings)
    return result, time.perf_counter() - start


def _brief(row: Row) -> str:
    flat = {name: value for name, value in row.items() if isinstance(value, (str, int, float))}
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in flat.items()
    )


def show(experiment: Experiment, results: Results, settings: Settings, command: str) -> Path:
    """Write the page of the rows so far, and the experiment's part of the overview.

    The overview is the page beside the folder of the results that has its name, if there is one.
    """
    cases = list(experiment.cases(settings))
    rows = [row for row in results.find(cases) if row is not None]
    if not rows:
        raise ValueError(
            f"{results.path} has no run of this experiment with these settings: add or leave out "
            "--quick as it was run, or leave out --render"
        )
    results.check(experiment.parameters)
    folder = results.path.parent
    page = Page(folder, experiment.name, experiment.title)
    if settings.quick:
        page.text(
            """**Small sizes and few runs (`QUICK=1`): this page shows that the experiment works.
            Its numbers are not to be compared with others.**"""
        )
    experiment.show(rows, settings, page)
    overview = folder.with_suffix(".md")
    if experiment.brief is not None and overview.exists():
        brief = Page(folder, experiment.name, experiment.title)
        experiment.brief(rows, settings, brief)
        brief.write_into(overview)
    missing = "" if len(rows) == len(cases) else f", **of {len(cases):,} when complete**"
    file, seconds = results.path.name, sum(row["run_seconds"] for row in rows)
    page.text(
        f"""`{command}`: {len(rows):,} runs in [{file}]({file}){missing}, {seconds:,.0f} s in all,
        {_described(results.origin["states"])}."""
    )
    return page.write()


def _described(states: Sequence[Row]) -> str:
    """Commits and dates, then the machines and versions."""
    commits = [f"at commit {state['commit']} ({state['when']})" for state in states]
    places = [
        ", ".join([f"on {state['machine']}", *map(" ".join, state["versions"].items())])
        for state in states
    ]
    return f"{' and '.join(commits)}, {'; '.join(dict.fromkeys(places))}"


# The command ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """The paper's experiments, or the benchmarks: their package and how they are kept."""

    package: str
    target: str
    suffix: str

    @property
    def names(self) -> Mapping[str, str]:
        """Names, with what each is about."""
        return import_module(self.package).NAMES


KINDS = {
    "paper": Kind("experiments.paper", "reproduce", ".csv"),
    "bench": Kind("experiments.benchmarks", "bench", ".json"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, one after the other; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    kind = KINDS[options.kind]
    if unknown := set(options.names) - set(kind.names):
        parser.error(f"{', '.join(sorted(unknown))} not among {', '.join(kind.names)}")
    if options.kind == "bench" and options.processes > 1:
        parser.error("benchmarks measure time, one after the other: leave out --processes")
    data = options.data or os.environ.get("TRIGPOINT_DATA")
    settings = Settings(options.quick, Path(data).expanduser().absolute() if data else None)
    failures = 0
    for name in options.names or kind.names:
        command = f"make {kind.target} ONLY={name}" + (" QUICK=1" if options.quick else "")
        try:
            experiment = load_experiment(kind.package, name)
            results = Results(options.out / f"{name}{kind.suffix}")
            n_new = 0 if options.render else run(experiment, results, settings, options.processes)
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
        f"{short}:\n" + "\n".join(f"  {name:<12} {about}" for name, about in kind.names.items())
        for short, kind in KINDS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run the paper's experiments or the benchmarks. A second start resumes them.",
        epilog=names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("kind", choices=KINDS, help="the paper's experiments, or the benchmarks")
    add("names", nargs="*", metavar="NAME", help="which of them (default: all)")
    add("--quick", action="store_true", help="small sizes and few runs")
    add("--processes", type=int, default=1, metavar="N", help="cases at the same time (default: 1)")
    add("--data", metavar="DIR", help="folder of the real data (default: TRIGPOINT_DATA)")
    add("--out", type=Path, default="reproduction", metavar="DIR", help="folder of the results")
    add("--render", action="store_true", help="run nothing, write the pages")
    return parser
