"""What `trigpoint.forecast` said, and what was measured in other groups."""

from collections.abc import Iterator

import trigpoint as tp
from experiments.benchmarks import headline, memory_map
from experiments.benchmarks.report import Report, number, size

TITLE = "Forecast"
BOUND = 2.0


def specs(quick: bool) -> Iterator[dict]:
    """The cases of the other groups."""
    case = next(iter(headline.specs(quick)))
    yield {"of": "headline", "n": case["n"], "d": 3, "k": case["k"]} | {
        "options": {"n_neighbors": case["m"]}
    }
    n, k, m = (10_000, 200, 1000) if quick else (60_000, 1000, 5000)
    yield {"of": "mnist", "n": n, "d": 784, "k": k} | {
        "options": {"n_components": 100, "n_neighbors": m}
    }
    case = next(iter(memory_map.specs(quick)))
    yield {"of": "memory_map", "n": case["n"], "d": 3, "k": memory_map.K, "options": {}}


def work(spec: dict) -> dict:
    """Ask for a forecast."""
    said = tp.forecast(spec["n"], spec["d"], spec["k"], **spec["options"])
    return {"seconds": float(said.seconds), "bytes": float(said.bytes)}


def measured(records: list[dict]) -> dict | None:
    """Seconds and bytes of the pipeline, from the results of its group."""
    for record in records:
        result = record["result"]
        if "transform" in result:
            beyond = result["peak"]
            if before := result.get("anonymous_before"):  # The rest is page cache of the file.
                beyond = result["anonymous_peak"] - before
            return {"seconds": result["seconds"], "bytes": beyond}
    return None


def render(records: list[dict], report: Report) -> None:
    """Forecast and measurement side by side."""
    report.text(
        f"""`trigpoint.forecast` before the run, against what the groups above measured: seconds of
        the whole pipeline, and peak memory beyond the input. Good is a ratio within
        {BOUND:g} in either direction."""
    )
    rows = []
    for record in records:
        spec, result = record["spec"], record["result"]
        what = f"{spec['of']}, n = {spec['n']:,}"
        actual = measured(report.journal(spec["of"]).records)
        if reason := result.get("error") or ("not measured" if actual is None else None):
            rows.append([what, reason])
            continue
        for unit, show in (("seconds", number), ("bytes", size)):
            ratio = result[unit] / max(actual[unit], 1e-9)
            good = "yes" if 1 / BOUND <= ratio <= BOUND else "**no**"
            cells = [show(result[unit]), show(actual[unit]), number(ratio), good]
            rows.append([f"{what}: {'memory' if unit == 'bytes' else unit}", *cells])
    report.table(
        dict.fromkeys(["case", "forecast", "measured", "ratio", f"within {BOUND:g}"]), rows
    )
