"""Running an experiment: every case that its table lacks, saved as it ends."""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from experiments.framework.environment import source_digest
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.rows import Table

# Takes a case and the rows so far; returns None to leave the case out.
Measure = Callable[[Row, list[Row]], Row | None]

_BETWEEN_LINES = 1.0  # seconds


def all_cases(experiment: Experiment, settings: Settings) -> list[Row]:
    """All cases, with a digest of the parameters that tells rows of other parameters apart."""
    if not experiment.parameters:
        return list(experiment.cases(settings))
    described = json.dumps(dict(experiment.parameters), sort_keys=True)
    digest = "p" + hashlib.sha256(described.encode()).hexdigest()[:7]
    return [{**case, "parameters": digest} for case in experiment.cases(settings)]


def found_rows(experiment: Experiment, settings: Settings, table: Table) -> list[Row]:
    """Rows of the cases that were run, in the order of the cases."""
    found = map(table.find, all_cases(experiment, settings))
    return [row for row in found if row is not None]


def run_missing(
    experiment: Experiment,
    settings: Settings,
    table: Table,
    measure: Measure | None = None,
    quiet: bool = False,
) -> int:
    """Run the cases that the table has no row for.

    Parameters
    ----------
    experiment : Experiment
    settings : Settings
    table : Table
        Gets a row as each run ends, so an interrupted experiment continues where it stopped.
    measure : callable or None
        How to run a case; ``None`` calls the experiment in this process.
    quiet : bool, default=False
        Show no progress.

    Returns
    -------
    int
        How many cases were run.
    """
    source, last_line, n_new = source_digest(), 0.0, 0
    cases = all_cases(experiment, settings)
    missing = [case for case in cases if table.find(case) is None]
    for done, case in enumerate(missing, start=1 + len(cases) - len(missing)):
        start = time.perf_counter()
        result = measure(case, table.rows) if measure else experiment.run(case, settings)
        if result is None:
            continue
        seconds = round(time.perf_counter() - start, 3)
        table.add(case, {**result, "run_seconds": seconds, "source": source, "when": now()})
        n_new += 1
        if not quiet and time.monotonic() - last_line > _BETWEEN_LINES:
            last_line = time.monotonic()
            what = f"{_brief(case)}: {_brief(result)}"
            print(f"{experiment.name} {done:,}/{len(cases):,}: {what}", file=sys.stderr, flush=True)
    return n_new


def _brief(row: Row) -> str:
    def shown(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    flat = {k: v for k, v in row.items() if isinstance(v, (str, int, float)) and k != "parameters"}
    return ", ".join(f"{name} {shown(value)}" for name, value in flat.items())


def now() -> str:
    """Date and time to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
