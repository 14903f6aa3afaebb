"""Running an experiment: every case in turn, kept as it ends, then the page."""

import hashlib
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments.paper.catalogue import load_experiment
from experiments.paper.experiment import Experiment, Row, Settings
from experiments.paper.page import Page
from experiments.paper.rows import RowFile, alone
from trigpoint._common.progress import Report

_PACKAGES = ("trigpoint", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")

# What draws and prints decides no result.
_NO_PART_OF_RESULTS = ("plot", "_command", "_report", "__main__")


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction left on the disk.

    Attributes
    ----------
    rows, page, record : Path
        CSV of every run; the Markdown page with its picture beside it; JSON of seeds, parameters,
        versions and times.
    n_runs, n_new : int
        Runs that the page shows, and how many of them are new.
    """

    rows: Path
    page: Path
    record: Path
    n_runs: int
    n_new: int


def reproduce(
    name: str, out: Path, settings: Settings | None = None, report: Report | None = None
) -> Reproduction:
    """Run an experiment of the paper and write what came out to the folder `out`.

    Each run is written as it ends, and runs that are already there are not repeated: what was
    interrupted goes on where it stopped.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    out : Path
        Folder for ``NAME.csv``, ``NAME.md``, ``NAME.png`` and ``NAME.json``.
    settings : Settings or None
    report : callable or None
        Told ``(name, done, total)`` at the start and after every run.

    Returns
    -------
    Reproduction
    """
    experiment = load_experiment(name)
    settings = settings or Settings()
    cases = _cases(experiment, settings)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file: name a folder")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.csv"
    with alone(path):
        file = RowFile(path)
        rows, n_new = _run_missing(experiment, settings, file, cases, report)
    return _present(experiment, settings, file, rows, n_new)


def _run_missing(
    experiment: Experiment,
    settings: Settings,
    file: RowFile,
    cases: Sequence[Row],
    report: Report | None,
) -> tuple[list[Row], int]:
    """Rows of all cases, and how many of them had to be run."""
    source = source_digest()
    found = [file.find(case) for case in cases]
    n_found = len(cases) - found.count(None)
    if report is not None:
        # Before the first run, so that the speed is that of new runs alone.
        report(experiment.name, n_found, len(cases))
    rows: list[Row] = []
    n_new = 0
    for case, row in zip(cases, found, strict=True):
        if row is None:
            start = time.perf_counter()
            measured = experiment.run(case, settings)
            seconds = round(time.perf_counter() - start, 3)
            row = {**case, **measured, "run_seconds": seconds, "source": source, "when": _now()}
            file.add(row)
            n_new += 1
            if report is not None:
                report(experiment.name, n_found + n_new, len(cases))
        rows.append(row)
    return rows, n_new


def render(name: str, out: Path, settings: Settings | None = None) -> Reproduction:
    """Write the page of the runs that are there, of an experiment that is not finished, say."""
    experiment = load_experiment(name)
    settings = settings or Settings()
    file = RowFile(out / f"{name}.csv")
    found = [file.find(case) for case in _cases(experiment, settings)]
    rows = [row for row in found if row is not None]
    if not rows:
        raise ValueError(
            f"{file.path} has no run of this experiment with these settings: add --quick, --runs "
            "or --seed as it was run, or leave out --render"
        )
    return _present(experiment, settings, file, rows, 0)


def _cases(experiment: Experiment, settings: Settings) -> list[Row]:
    """All cases, with a digest of the parameters: rows of other parameters are other rows."""
    described = json.dumps(dict(experiment.parameters), sort_keys=True)
    setting = "p" + hashlib.sha256(described.encode()).hexdigest()[:7]
    return [{**case, "parameters": setting} for case in experiment.cases(settings)]


def _present(
    experiment: Experiment, settings: Settings, file: RowFile, rows: Sequence[Row], n_new: int
) -> Reproduction:
    folder, name = file.path.parent, experiment.name
    page = Page(folder, name, experiment.title)
    if settings.quick:
        page.text(
            """**Small sizes and few runs (`--quick`): this page shows that the experiment works.
            Its numbers are not to be compared with the paper's.**"""
        )
    experiment.show(rows, settings, page)
    page.text(_provenance(experiment, settings, rows))
    written = page.write()
    record = folder / f"{name}.json"
    record.write_text(json.dumps(_record(experiment, settings, rows), indent=2) + "\n", "utf-8")
    return Reproduction(file.path, written, record, len(rows), n_new)


def _provenance(experiment: Experiment, settings: Settings, rows: Sequence[Row]) -> str:
    """How to get this page again, and what it rests on."""
    command = f"python -m experiments.paper {experiment.name}"
    if settings.quick:
        command += " --quick"
    if settings.runs:
        command += f" --runs {settings.runs}"
    if settings.seed:
        command += f" --seed {settings.seed}"
    total = sum(1 for _ in experiment.cases(settings))
    table, record = (f"{experiment.name}.{kind}" for kind in ("csv", "json"))
    text = f"`{command}`: {len(rows):,} runs in [{table}]({table})"
    if len(rows) < total:
        text += f", **of {total:,} that it takes to be complete**"
    seconds = sum(float(row["run_seconds"] or 0.0) for row in rows)
    text += f", {seconds:,.0f} s in all"
    sources = sorted({str(row["source"]) for row in rows})
    if len(sources) > 1:
        text += f", from {len(sources)} states of the library ({', '.join(sources)})"
    return f"{text}. Seeds, parameters and versions: [{record}]({record})."


def _record(experiment: Experiment, settings: Settings, rows: Sequence[Row]) -> dict[str, object]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "quick": settings.quick,
        "complete": len(rows) == sum(1 for _ in experiment.cases(settings)),
        "runs": len(rows),
        "seeds": sorted({int(row["seed"] or 0) for row in rows}),
        "parameters": dict(experiment.parameters),
        "versions": {"python": platform.python_version()} | {p: _version(p) for p in _PACKAGES},
        "sources": sorted({str(row["source"]) for row in rows}),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "first_run": min(str(row["when"]) for row in rows),
        "last_run": max(str(row["when"]) for row in rows),
        "seconds": round(sum(float(row["run_seconds"] or 0.0) for row in rows), 1),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def source_digest() -> str:
    """Short digest of the sources that decide results."""
    import trigpoint

    root = Path(str(trigpoint.__file__)).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0].removesuffix(".py") not in _NO_PART_OF_RESULTS:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
