"""What `trigpoint.forecast` predicts, beside what other groups measured."""

from collections.abc import Iterator, Sequence

import trigpoint as tp
from experiments.benchmarks import headline, memory_map, report
from experiments.framework.cells import number, size
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page

BOUND = 2.0


def cases(settings: Settings) -> Iterator[Row]:
    """The cases of the other groups."""
    case = next(iter(headline.cases(settings)))
    yield {"of": "headline", "n": case["n"], "d": 3, "k": case["k"]} | {
        "options": {"n_neighbors": case["m"]}
    }
    n, k, m = (10_000, 200, 1000) if settings.quick else (60_000, 1000, 5000)
    yield {"of": "mnist", "n": n, "d": 784, "k": k} | {
        "options": {"n_components": 100, "n_neighbors": m}
    }
    case = next(iter(memory_map.cases(settings)))
    yield {"of": "memory_map", "n": case["n"], "d": 3, "k": memory_map.K, "options": {}}


def run(case: Row, settings: Settings) -> Row:
    """Ask for a forecast."""
    said = tp.forecast(case["n"], case["d"], case["k"], **case["options"])
    return {"seconds": float(said.seconds), "bytes": float(said.bytes)}


def measured(rows: Sequence[Row]) -> Row | None:
    """Seconds and bytes of the pipeline, from the results of its group."""
    for row in rows:
        if "transform" in row:
            beyond = row["peak"]
            if before := row.get("anonymous_before"):  # The rest is page cache of the file.
                beyond = row["anonymous_peak"] - before
            return {"seconds": row["seconds"], "bytes": beyond}
    return None


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Forecast and measurement side by side."""
    page.text(
        f"""`trigpoint.forecast` before the run, against what the groups above measured: seconds of
        the whole pipeline, and peak memory beyond the input. Good is a ratio within
        {BOUND:g} in either direction."""
    )
    lines: list[list] = []
    for row in rows:
        what = f"{row['of']}, n = {row['n']:,}"
        actual = measured(report.table(page.folder, row["of"]).rows)
        if reason := row.get("error") or ("not measured" if actual is None else None):
            lines.append([what, reason])
            continue
        for unit, show in (("seconds", number), ("bytes", size)):
            ratio = row[unit] / max(actual[unit], 1e-9)
            good = "yes" if 1 / BOUND <= ratio <= BOUND else "**no**"
            cells = [show(row[unit]), show(actual[unit]), number(ratio), good]
            lines.append([f"{what}: {'memory' if unit == 'bytes' else unit}", *cells])
    columns = ["case", "forecast", "measured", "ratio", f"within {BOUND:g}"]
    page.table(columns, lines, fill="-")


EXPERIMENT = Experiment("forecast", "Forecast", cases, run, show)
