"""What the import of an estimator costs."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from experiments.framework.cells import TARGET_COLUMNS, number, target
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page

# `import trigpoint` alone imports nothing else.
STATEMENTS = {
    "ours": "from trigpoint import LaplacianEigenmaps",
    "theirs": "import sklearn.manifold",
    "bare": "pass",
}


def cases(settings: Settings) -> Iterator[Row]:
    """All statements in turn, several times."""
    yield {"repeats": 3 if settings.quick else 9}


def run(case: Row, settings: Settings) -> Row:
    """Median seconds of a fresh interpreter for each statement, alternating."""
    seconds: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for turn in range(1 + case["repeats"]):
        for name, statement in STATEMENTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            if turn > 0:  # The first turn brings the files into the page cache.
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Medians and their ratio."""
    for row in rows:
        if reason := row.get("error"):
            page.text(f"Failed: {reason}.")
            continue
        page.text(f"Median of {row['repeats']} fresh interpreters each, in turn.")
        lines = [[f"`python -c '{s}'`", number(row[name])] for name, s in STATEMENTS.items()]
        page.table(["command", "seconds"], lines)
        ratio = number(row["ours"] / row["theirs"])
        page.table(TARGET_COLUMNS, [target("trigpoint / sklearn.manifold", ratio, 1.5)])


EXPERIMENT = Experiment("import_time", "Import", cases, run, show)
