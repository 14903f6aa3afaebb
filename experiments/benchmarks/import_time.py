"""What `import trigpoint` costs."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from experiments.benchmarks.report import TARGET_COLUMNS, Report, number, target

TITLE = "Import"
STATEMENTS = {"ours": "import trigpoint", "theirs": "import sklearn.manifold", "bare": "pass"}


def specs(quick: bool) -> Iterator[dict]:
    """All statements in turn, several times."""
    yield {"repeats": 3 if quick else 9}


def work(spec: dict) -> dict:
    """Median seconds of a fresh interpreter for each statement, alternating."""
    seconds: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for turn in range(1 + spec["repeats"]):
        for name, statement in STATEMENTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            if turn > 0:  # The first turn brings the files into the page cache.
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def render(records: list[dict], report: Report) -> None:
    """Medians and their ratio."""
    for record in records:
        result = record["result"]
        if reason := result.get("error"):
            report.text(f"Failed: {reason}.")
            continue
        report.text(f"Median of {record['spec']['repeats']} fresh interpreters each, in turn.")
        rows = [[f"`python -c '{s}'`", number(result[name])] for name, s in STATEMENTS.items()]
        report.table({"command": None, "seconds": None}, rows)
        ratio = number(result["ours"] / result["theirs"])
        report.table(TARGET_COLUMNS, [target("trigpoint / sklearn.manifold", ratio, 1.5)])
