"""RESULTS.md from the raw measurements: text, tables and plots."""

import statistics
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.benchmarks.groups import MODULES, group_module
from experiments.benchmarks.harness import FIT_LIMIT, MEMORY_LIMIT, QUICK_FIT_LIMIT
from experiments.benchmarks.journal import Journal, Record


@dataclass(frozen=True)
class Cell:
    """A table cell: what it shows, and the number behind it where columns are compared."""

    text: str
    value: float | None = None


def number(value: float) -> Cell:
    """Three digits."""
    if value == 0 or 5e-4 <= abs(value) < 1e4:
        decimals = (
            0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
        )
        return Cell(f"{value:,.{decimals}f}", value)
    return Cell(f"{value:,.0f}" if abs(value) >= 1 else f"{value:.1e}", value)


def duration(seconds: float) -> Cell:
    """Seconds."""
    return Cell("< 0.001", seconds) if seconds < 0.0005 else number(seconds)


def percent(share: float) -> Cell:
    """A share in percent."""
    return Cell(f"{number(100 * share).text} %", share)


def score(value: float) -> Cell:
    """R^2 and the like: three decimals."""
    return Cell(f"{value:.3f}", value)


def size(n_bytes: float) -> Cell:
    """Memory in MB or GB (powers of ten)."""
    n_bytes = max(n_bytes, 0)
    text = f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 999.5e6 else f"{n_bytes / 1e9:.2f} GB"
    return Cell("< 1 MB" if n_bytes < 0.5e6 else text, n_bytes)


def target(
    what: str, measured: Cell, bound: float, *, at_least: bool = False, unit: str = ""
) -> list:
    """Row of a table of targets."""
    met = measured.value >= bound if at_least else measured.value <= bound
    sign = "≥" if at_least else "≤"
    return [what, measured.text, f"{sign} {bound:g}{unit}", "yes" if met else "**no**"]


TARGET_COLUMNS = {"what": None, "measured": None, "target": None, "met": None}


def median(results: Sequence[dict], field: str) -> float:
    """Median of one field."""
    return statistics.median(result[field] for result in results)


def mean(results: Sequence[dict], field: str) -> float:
    """Mean of one field."""
    return statistics.fmean(result[field] for result in results)


def by_case(records: Sequence[Record], *fields: str) -> dict[tuple, list[Record]]:
    """Records grouped by fields of their spec, in the order of the run."""
    groups: dict[tuple, list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record["spec"][field] for field in fields), []).append(record)
    return groups


class Report:
    """The text of RESULTS.md as it grows, and the folder of its plots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts: list[str] = []

    def journal(self, group: str) -> Journal:
        """Raw measurements of a group."""
        return Journal(self.folder / "results" / f"{group}.json")

    def heading(self, title: str, level: int = 3) -> None:
        """Add a heading."""
        self._parts.append(f"{'#' * level} {title}")

    def text(self, paragraph: str) -> None:
        """Add a paragraph, wrapped anew."""
        words = " ".join(paragraph.split())
        self._parts.append(
            textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False)
        )

    def items(self, lines: Sequence[str]) -> None:
        """Add a list."""
        wrap = textwrap.TextWrapper(
            100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        self._parts.append("\n".join(wrap.fill(f"- {' '.join(line.split())}") for line in lines))

    def table(self, columns: dict[str, Callable | None], rows: Sequence[Sequence[Any]]) -> None:
        """Add a table; a column with `min` or `max` shows its best values in bold.

        A row that is too short, that of a method that failed, is filled up.
        """
        best = [_best(rows, place, choose) for place, choose in enumerate(columns.values())]
        lines = [list(columns), ["---", *("---:" for _ in list(columns)[1:])]]
        for row in rows:
            shown = [_shown(cell, best[place]) for place, cell in enumerate(row)]
            lines.append(shown + ["-"] * (len(columns) - len(row)))
        self._parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    @contextmanager
    def plot(self, name: str, describe: str, panels: int = 2) -> Iterator[Any]:
        """Axes to draw into, side by side; saved and linked at the end."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
        style |= {"axes.grid": True, "grid.color": "#e6e6e6", "axes.axisbelow": True}
        style |= {"legend.frameon": False, "lines.markersize": 5, "svg.hashsalt": name}
        with pyplot.rc_context(style):
            figure, axes = pyplot.subplots(
                1, panels, figsize=(4.6 * panels, 3.6), layout="constrained", squeeze=False
            )
            yield axes[0]
            handles = {
                label: handle
                for one in axes[0]
                for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
            }
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)
            path = self.folder / "plots" / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=120, metadata={"Software": None})
            pyplot.close(figure)
        self._parts.append(f"![{describe}](plots/{path.name})")

    def __str__(self) -> str:
        return "\n\n".join(self._parts) + "\n"


def _best(rows: Sequence[Sequence[Any]], place: int, choose: Callable | None) -> str | None:
    """What the best cell of a column shows; others that show the same are as good."""
    cells = [row[place] for row in rows if place < len(row)]
    cells = [cell for cell in cells if isinstance(cell, Cell) and cell.value is not None]
    return choose(cells, key=lambda cell: cell.value).text if choose and len(cells) > 1 else None


def _shown(cell: Any, best: str | None) -> str:
    text = cell.text if isinstance(cell, Cell) else str(cell)
    return f"**{text}**" if isinstance(cell, Cell) and text == best else text


def growth_lines(
    axes: Any, records: Sequence[Record], colours: dict[str, str], field: str, scale: float = 1.0
) -> None:
    """Draw one line per method over the number of points, both axes logarithmic."""
    for (name,), runs in by_case(records, "method").items():
        cases = by_case([r for r in runs if "error" not in r["result"]], "n")
        sizes = [n for (n,) in cases]
        values = [scale * median([r["result"] for r in same], field) for same in cases.values()]
        if sizes:
            axes.plot(sizes, values, "o-", color=colours[name], label=name)
    axes.set(xlabel="number of points n")
    logarithmic(axes, "xy")


def logarithmic(axes: Any, names: str) -> None:
    """Make axes logarithmic, labelled with plain numbers; a short one also at 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for name in names:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1,) if high > 30 * low else (1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
        axis.set_minor_formatter(NullFormatter())


def write_results(folder: Path, *, quick: bool) -> None:
    """Render every group that has been measured."""
    report = Report(folder)
    journals = {name: report.journal(name) for name in MODULES}
    journals = {name: journal for name, journal in journals.items() if journal.header}
    report.heading("Benchmarks", level=1)
    if not journals:
        return
    latest = max(journals.values(), key=lambda journal: journal.header["started"])
    _describe(report, latest, quick)
    for name, journal in journals.items():
        module = group_module(name)
        report.heading(module.TITLE, level=2)
        report.text(_when(name, journal, latest))
        module.render(journal.records, report)
    (folder / "RESULTS.md").write_text(str(report))


def _describe(report: Report, latest: Journal, quick: bool) -> None:
    at = latest.header["environment"]
    extra = (
        " These are the small sizes of `make bench QUICK=1`, for a first look only."
        if quick
        else ""
    )
    report.text(
        f"""Measured by `make bench` on {at["cores"]} cores of {at["cpu"]} with
        {at["memory"] / 1e9:.0f} GB of memory ({at["system"]}), and rendered from the raw
        measurements in `results/`. Figures vary with the machine: run it on yours.{extra}"""
    )
    limit = QUICK_FIT_LIMIT if quick else FIT_LIMIT
    sources = {
        journal["peak_from"]
        for name in MODULES
        for record in report.journal(name).records
        if "peak_from" in (journal := record["result"])
    }
    where = " or ".join(
        {"VmHWM": "`VmHWM`, reset before", "getrusage": "`getrusage`"}[s] for s in sorted(sources)
    )
    report.items(
        [
            "Every measurement is a fresh process of its own.",
            "Seconds are wall time of the fit alone. Every method is first called once on a small "
            "part of the same data (5,000 points for what numba compiles, trigpoint and umap-learn "
            "alike, 500 for the others), so that neither imports nor compilation are measured.",
            "Memory is the peak of resident memory during the fit above what it was before, that "
            f"is beyond the input (read from {where or 'the system'}). MB and GB are powers of "
            "ten.",
            f"A fit is stopped after {limit} s or beyond {MEMORY_LIMIT / 1e9:.0f} GB, and "
            "its row says so. What a method could not do on fewer points is not tried on more, nor "
            "what would break the limit if its time grew in proportion to the points.",
            "Peers are set up as their documentation recommends.",
        ]
    )
    versions = {"python": at["python"], **at["versions"]}
    names = [
        f"{name} {version}" if version else f"{name} (not installed)"
        for name, version in versions.items()
    ]
    report.text("Versions: " + ", ".join(names) + f" (library source {at['source']}).")


def _when(name: str, journal: Journal, latest: Journal) -> str:
    at, newest = journal.header["environment"], latest.header["environment"]
    text = f"`make bench ONLY={name}`, run {journal.header['started']}"
    if at["source"] != newest["source"]:
        text += f", with library source {at['source']}"
    older = {k: v for k, v in at["versions"].items() if newest["versions"].get(k) != v}
    if older:
        text += ", with " + ", ".join(f"{name} {version}" for name, version in older.items())
    if any(at[key] != newest[key] for key in ("cpu", "cores", "memory")):
        text += f", on {at['cores']} cores of {at['cpu']}"
    if not journal.finished:
        return f"{text}. **Interrupted: rows are missing.**"
    if journal.finished["source"] != at["source"]:
        text += "; **the library was changed during the run**"
    return f"{text}."
