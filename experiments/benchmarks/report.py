"""Measuring groups of benchmarks, and the page of all of them.

In the folder of the results, a group has ``results/NAME.json`` with every measurement, and
``RESULTS.md`` shows them all, with pictures in ``plots/``.
"""

import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from experiments.benchmarks import NAMES
from experiments.framework.environment import PACKAGES, machine, source_digest, versions
from experiments.framework.experiment import Row, Settings, load_experiment
from experiments.framework.page import Page
from experiments.framework.rows import JsonTable
from experiments.framework.runner import run_missing
from experiments.framework.worker import MEMORY_LIMIT, run_apart

PACKAGE = "experiments.benchmarks"
PEERS = ("umap-learn", "pynndescent", "phate", "graphtools")
PEERS += ("geosketch", "fbpca", "faiss-cpu", "dppy", "openTSNE", "pacmap")

FIT_LIMIT, QUICK_FIT_LIMIT = 600, 10  # seconds
ONE_SEED_FROM = 20.0  # seconds; longer runs are not repeated with other seeds


def default_folder(quick: bool) -> Path:
    """Folder of the results, unless another is named."""
    here = Path(__file__).parent
    return here / "quick" if quick else here


def table(folder: Path, name: str) -> JsonTable:
    """Measurements of a group."""
    return JsonTable(folder / "results" / f"{name}.json")


def run(name: str, out: Path, settings: Settings, *, quiet: bool = False) -> int:
    """Measure what is missing, every case in a process of its own; returns how many cases.

    Measurements with another state of the library or on another machine do not count, nor do those
    of a finished run: it starts over.
    """
    limit = QUICK_FIT_LIMIT if settings.quick else FIT_LIMIT
    group = load_experiment(PACKAGE, name)

    def cases(settings: Settings) -> Iterator[Row]:
        return ({"limit": limit, **case} for case in group.cases(settings))

    def measure(case: Row, rows: list[Row]) -> Row | None:
        if _slow(case, rows):
            return None
        reason = _hopeless(case, rows)
        return {"error": reason} if reason else run_apart(PACKAGE, name, case, settings)

    measured = table(out, name)
    measured.path.parent.mkdir(parents=True, exist_ok=True)
    measured.start(_minute(), _environment())
    count = run_missing(replace(group, cases=cases), settings, measured, measure, quiet)
    measured.finish(_minute(), source_digest())
    return count


def _hopeless(case: Row, rows: list[Row]) -> str | None:
    """Why a method is not tried, if so: it failed or was too slow on fewer points.

    Measurements of one method on growing data share a ``family``. A method is too slow if it would
    break the time limit even if time grew no faster than the number of points.
    """
    family = list(_family(case, rows))
    # The largest is the most informative.
    n = max((row["n"] for row in family), default=0)
    for row in family:
        if row["n"] != n:
            continue
        if error := row.get("error"):
            again = n == case["n"] or error.startswith("not tried")
            return error if again else f"not tried: {error} at n = {n:,}"
        if n < case["n"] and row["seconds"] * case["n"] / n > case["limit"]:
            return f"not tried: {row['seconds']:.0f} s at n = {n:,}"
    return None


def _slow(case: Row, rows: list[Row]) -> bool:
    """Whether another seed of the same case took so long that one must suffice."""
    return any(
        row["n"] == case["n"]
        and row.get("k") == case.get("k")
        and row.get("seconds", 0.0) > ONE_SEED_FROM
        for row in _family(case, rows)
    )


def _family(case: Row, rows: list[Row]) -> Iterator[Row]:
    return (row for row in rows if case.get("family") == row.get("family") is not None)


def _environment() -> Row:
    return {
        "python": platform.python_version(),
        "versions": versions(*PACKAGES, "threadpoolctl", *PEERS),
        "source": source_digest(),
        **machine(),
    }


def _minute() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def show(name: str, out: Path, settings: Settings) -> Path:
    """Write the page of every group that has been measured, whichever was measured last."""
    tables = {other: table(out, other) for other in NAMES}
    tables = {other: measured for other, measured in tables.items() if measured.header}
    if not tables:
        raise ValueError(f"{out / 'results'} has no measurements: leave out --render")
    page = Page(out, "RESULTS", "Benchmarks")
    usual = _usual(list(tables.values()))
    rows = [row for measured in tables.values() for row in measured.rows]
    _describe(page, usual, rows, settings.quick)
    for other, measured in tables.items():
        group = load_experiment(PACKAGE, other)
        page.heading(group.title)
        page.text(_when(other, measured, usual))
        group.show(measured.rows, settings, page)
    return page.write()


def _usual(tables: Sequence[JsonTable]) -> JsonTable:
    """The latest group of those on the machine that measured most of them."""
    machines = Counter(_machine(measured) for measured in tables)
    return max(
        tables, key=lambda measured: (machines[_machine(measured)], measured.header["started"])
    )


def _machine(measured: JsonTable) -> tuple[str, int, int]:
    at = measured.header["environment"]
    return at["cpu"], at["cores"], at["memory"]


def _describe(page: Page, usual: JsonTable, rows: Sequence[Row], quick: bool) -> None:
    at = usual.header["environment"]
    extra = (
        " These are the small sizes of `make bench QUICK=1`, for a first look only."
        if quick
        else ""
    )
    page.text(
        f"""Measured by `make bench` on {at["cores"]} cores of {at["cpu"]} with
        {at["memory"] / 1e9:.0f} GB of memory ({at["system"]}), and rendered from the raw
        measurements in `results/`. Figures vary with the machine: run it on yours.{extra}"""
    )
    limit = QUICK_FIT_LIMIT if quick else FIT_LIMIT
    known = {"VmHWM": "`VmHWM`, reset before", "getrusage": "`getrusage`"}
    sources = sorted({row["peak_from"] for row in rows if "peak_from" in row})
    where = " or ".join(known[source] for source in sources) or "the system"
    page.items(
        [
            "Every measurement of time or memory is a fresh process of its own.",
            "Seconds are wall time of the fit alone. Every method is first called once on a small "
            "part of the same data (5,000 points for what numba compiles, trigpoint and umap-learn "
            "alike, 500 for the others), so that neither imports nor compilation are measured.",
            "Memory is the peak of resident memory during the fit above what it was before, that "
            f"is beyond the input (read from {where}). MB and GB are powers of ten.",
            f"A fit is stopped after {limit} s or beyond {MEMORY_LIMIT / 1e9:.0f} GB, and "
            "its row says so. What a method could not do on fewer points is not tried on more, nor "
            "what would break the limit if its time grew in proportion to the points.",
            "Peers are set up as their documentation recommends.",
        ]
    )
    names = [
        f"{name} {version}" if version else f"{name} (not installed)"
        for name, version in {"python": at["python"], **at["versions"]}.items()
    ]
    page.text("Versions: " + ", ".join(names) + f" (library source {at['source']}).")


def _when(name: str, measured: JsonTable, usual: JsonTable) -> str:
    at, most = measured.header["environment"], usual.header["environment"]
    text = f"`make bench ONLY={name}`, run {measured.header['started']}"
    if at["source"] != most["source"]:
        text += f", with library source {at['source']}"
    others = [
        f"{package} {version}"
        for package, version in at["versions"].items()
        if version not in (None, most["versions"].get(package))
    ]
    if others:
        text += ", with " + ", ".join(others)
    if _machine(measured) != _machine(usual):
        text += f", on {at['cores']} cores of {at['cpu']}"
    if not measured.finished:
        return f"{text}. **Interrupted: rows are missing.**"
    if measured.finished["source"] != at["source"]:
        text += "; **the library was changed during the run**"
    return f"{text}."
