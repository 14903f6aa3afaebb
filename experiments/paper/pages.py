"""Running an experiment of the paper, and writing its page.

In the folder of the results, an experiment has ``NAME.csv`` with every run, ``NAME.md`` and
``NAME.png``, and ``NAME.json`` with seeds, parameters, versions and times. An overview, the page
beside the folder that has its name, gets the most important table of each.
"""

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from experiments.framework.environment import PACKAGES, machine, versions
from experiments.framework.experiment import Experiment, Row, Settings, load_experiment
from experiments.framework.page import Page
from experiments.framework.rows import CsvTable
from experiments.framework.runner import all_cases, found_rows, run_missing


def default_folder(quick: bool) -> Path:
    """Folder of the results, unless another is named."""
    return Path("reproduction")


def run(name: str, out: Path, settings: Settings, *, quiet: bool = False) -> int:
    """Run what is missing, and return how many runs that took."""
    out.mkdir(parents=True, exist_ok=True)
    return run_missing(_load(name), settings, CsvTable(out / f"{name}.csv"), quiet=quiet)


def show(name: str, out: Path, settings: Settings) -> Path:
    """Write the page of the runs so far, and the record beside it."""
    experiment = _load(name)
    path = out / f"{name}.csv"
    rows = found_rows(experiment, settings, CsvTable(path))
    if not rows:
        raise ValueError(
            f"{path} has no run of this experiment with these settings: add --quick, --runs or "
            "--seed as it was run, or leave out --render"
        )
    n_cases = len(all_cases(experiment, settings))
    page = Page(out, name, experiment.title)
    if settings.quick:
        page.text(
            """**Small sizes and few runs (`QUICK=1`): this page shows that the experiment works.
            Its numbers are not to be compared with the paper's.**"""
        )
    experiment.show(rows, settings, page)
    overview = out.with_suffix(".md")
    if experiment.brief is not None and overview.exists():
        brief = Page(out, name, experiment.title)
        experiment.brief(rows, settings, brief)
        brief.write_into(overview)
    page.text(_provenance(experiment, settings, rows, n_cases))
    record = _record(experiment, settings, rows, n_cases)
    (out / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return page.write()


def _load(name: str) -> Experiment:
    return load_experiment("experiments.paper", name)


def _provenance(
    experiment: Experiment, settings: Settings, rows: Sequence[Row], n_cases: int
) -> str:
    """How to make this page again, and what it is based on."""
    command = f"make reproduce ONLY={experiment.name}" + (" QUICK=1" if settings.quick else "")
    if settings.runs or settings.seed:
        command = f"python -m experiments paper {experiment.name}"
        command += " --quick" if settings.quick else ""
        command += f" --runs {settings.runs}" if settings.runs else ""
        command += f" --seed {settings.seed}" if settings.seed else ""
    table, record = (f"{experiment.name}.{kind}" for kind in ("csv", "json"))
    text = f"`{command}`: {len(rows):,} runs in [{table}]({table})"
    if len(rows) < n_cases:
        text += f", **of {n_cases:,} that it takes to be complete**"
    text += f", {sum(row['run_seconds'] for row in rows):,.0f} s in all"
    if devices := _devices(rows):
        text += f", on {' and '.join(devices)}"
    sources = sorted({str(row["source"]) for row in rows})
    if len(sources) > 1:
        text += f", from {len(sources)} states of the library ({', '.join(sources)})"
    told = "Seeds and parameters" if devices else "Seeds, parameters and versions"
    return f"{text}. {told}: [{record}]({record})."


def _devices(rows: Sequence[Row]) -> list[str]:
    """Processors that rows name; experiments on the host alone name none."""
    return sorted({str(row["device"]) for row in rows if row.get("device")})


def _record(experiment: Experiment, settings: Settings, rows: Sequence[Row], n_cases: int) -> Row:
    here = {
        "versions": {"python": platform.python_version()} | versions(*PACKAGES, "matplotlib"),
        "cores": os.cpu_count(),
        "system": machine()["system"],
    }
    return {
        "name": experiment.name,
        "title": experiment.title,
        "quick": settings.quick,
        "complete": len(rows) == n_cases,
        "runs": len(rows),
        "seeds": sorted({row["seed"] for row in rows}),
        "parameters": dict(experiment.parameters),
        "sources": sorted({str(row["source"]) for row in rows}),
        # A machine that has a device is not always the one that writes the page.
        **({"devices": _devices(rows)} if _devices(rows) else here),
        "first_run": min(row["when"] for row in rows),
        "last_run": max(row["when"] for row in rows),
        "seconds": round(sum(row["run_seconds"] for row in rows), 1),
    }
