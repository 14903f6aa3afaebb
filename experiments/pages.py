"""Result pages of experiments: text, tables and figures, and the statistics that they show."""

import statistics
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.markersize": 4,
}


class Page:
    """A Markdown page that is written from top to bottom, and the figure in the same folder."""

    def __init__(self, folder: Path, name: str, title: str) -> None:
        self.folder, self.name = folder, name
        self._parts = [f"# {title}"]

    def heading(self, title: str) -> None:
        """Add a heading."""
        self._parts.append(f"## {title}")

    def text(self, paragraph: str) -> None:
        """Add a paragraph, and wrap its lines."""
        self._parts.append(_wrapped(paragraph))

    def items(self, lines: Sequence[str]) -> None:
        """Add a list."""
        self._parts.append("\n".join(_wrapped(f"- {line}", indent="  ") for line in lines))

    def table(
        self,
        columns: Sequence[str] | Mapping[str, Callable | None],
        rows: Sequence[Sequence[Any]],
        fill: str | None = None,
    ) -> None:
        """Add a table of text or cells; all columns but the first are right-aligned.

        If a column heading is mapped to `min` or `max`, the best cells of the column are bold. Rows
        that are too short, such as those of failed methods, are padded with `fill`.
        """
        best = [None] * len(columns)
        if isinstance(columns, Mapping):
            best = [_best(rows, place, choose) for place, choose in enumerate(columns.values())]
        lines = [list(columns), ["---", *("---:" for _ in list(columns)[1:])]]
        for row in rows:
            short = len(columns) - len(row)
            if short < 0 or (short and fill is None):
                raise ValueError(f"every row needs {len(columns)} cells: {row}")
            lines.append([*map(_shown, row, best), *([fill or ""] * short)])
        self._parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    @contextmanager
    def picture(self, describe: str, dpi: int = 130, **layout: Any) -> Iterator[Any]:
        """Add a figure, and yield its axes, as ``matplotlib.pyplot.subplots`` returns them."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with matplotlib.rc_context(_STYLE):
            # Avoid pyplot, which would change the caller's backend and open figures.
            figure = Figure(figsize=layout.pop("figsize", (9, 3.6)), layout="constrained")
            FigureCanvasAgg(figure)
            yield figure.subplots(**layout)
            file = f"{self.name}.png"
            figure.savefig(self.folder / file, dpi=dpi, metadata={"Software": None})
        self._parts.append(f"![{describe}]({file})")

    @contextmanager
    def details(self, summary: str) -> Iterator[None]:
        """Hide everything added in this context behind a summary line; it may not have headings."""
        self._parts.append(f"<details>\n<summary>{summary}</summary>")
        yield
        self._parts.append("</details>")

    def write(self) -> Path:
        """Write the page to its file."""
        path = self.folder / f"{self.name}.md"
        path.write_text("\n\n".join(self._parts) + "\n", encoding="utf-8")
        return path

    def write_into(self, path: Path) -> None:
        """Replace the part of another page between the two comments that name this page."""
        text = path.read_text(encoding="utf-8")
        first, last = f"<!-- {self.name} -->", f"<!-- end of {self.name} -->"
        before, found, rest = text.partition(first)
        _, ended, after = rest.partition(last)
        if not (found and ended):
            raise ValueError(f"{path} has no lines {first} and {last}")
        parts = "\n\n".join([first, *self._parts[1:], last])
        path.write_text(before + parts + after, encoding="utf-8")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()),
        100,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _best(rows: Sequence[Sequence[Any]], place: int, choose: Callable | None) -> str | None:
    """Return the text of the best cell of a column; cells with the same text are equally good."""
    cells = [row[place] for row in rows if place < len(row)]
    cells = [cell for cell in cells if isinstance(cell, Cell) and cell.value is not None]
    return choose(cells, key=lambda cell: cell.value).text if choose and len(cells) > 1 else None


def _shown(cell: Any, best: str | None) -> str:
    text = cell.text if isinstance(cell, Cell) else str(cell)
    return f"**{text}**" if isinstance(cell, Cell) and text == best else text


def legend_below(panels: Sequence[Any], **options: Any) -> None:
    """Draw one legend for all panels of a figure below them."""
    by_label: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    figure = panels[0].figure
    figure.legend(by_label.values(), by_label, loc="outside lower center", **options)


# Cells of tables ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A table cell: its text, and its exact value if the cells of the column are compared."""

    text: str
    value: float | None = None


def number(value: float) -> Cell:
    """Format a number with three significant digits."""
    if value == 0 or 5e-4 <= abs(value) < 1e4:
        decimals = (
            0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
        )
        return Cell(f"{value:,.{decimals}f}", value)
    return Cell(f"{value:,.0f}" if abs(value) >= 1 else f"{value:.1e}", value)


def duration(seconds: float) -> Cell:
    """Format a duration in seconds."""
    return Cell("< 0.001", seconds) if seconds < 0.0005 else number(seconds)


def percent(share: float) -> Cell:
    """Format a share as a percentage."""
    return Cell(f"{number(100 * share).text} %", share)


def score(value: float) -> Cell:
    """Format a score, such as R^2, with three decimals."""
    return Cell(f"{value:.3f}", value)


def size(n_bytes: float) -> Cell:
    """Format an amount of memory in MB or GB (powers of ten)."""
    n_bytes = max(n_bytes, 0)
    text = f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 999.5e6 else f"{n_bytes / 1e9:.2f} GB"
    return Cell("< 1 MB" if n_bytes < 0.5e6 else text, n_bytes)


# Statistics of runs ---------------------------------------------------------------------------


def grouped(rows: Sequence[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by their values in some columns, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    return groups


def column(rows: Sequence[Row], name: str) -> np.ndarray:
    """Return one column as floats, with NaN for empty cells."""
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def median(rows: Sequence[Row], name: str) -> float:
    """Return the median of one column."""
    return float(np.median(column(rows, name)))


def mean(rows: Sequence[Row], name: str) -> float:
    """Return the mean of one column."""
    return statistics.fmean(column(rows, name))


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean, or NaN for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def with_error(values: np.ndarray, scale: float = 1.0) -> str:
    """Format a mean and its standard error, with as many digits as the error permits."""
    mean, error = scale * float(np.mean(values)), scale * standard_error(values)
    if not np.isfinite(error) or error == 0:
        return f"{mean:.3g}"
    decimals = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


# Differences between methods ------------------------------------------------------------------

# Significance levels, as in the figures of the paper.
_LEVELS = {"***": 0.001, "**": 0.01, "*": 0.05}

PAIRED_TEST = "paired t-test, two-sided"
CORRECTED = "with Holm's correction for all comparisons of the page"


@dataclass(frozen=True)
class Comparison:
    """Comparison of two methods on runs with the same seeds.

    `difference` is the mean of the first method minus that of the second. `p_value` is that of a
    two-sided paired t-test, or NaN if there are too few pairs. If runs are repeated splits of the
    same points, `resampled` is the p-value with the variance corrected for their overlap.
    """

    n_pairs: int
    difference: float
    p_value: float
    resampled: float | None = None

    @property
    def stars(self) -> str:
        """Stars for the significance level, as in the paper; empty if not below 0.05."""
        return _stars(self.p_value)

    @property
    def points(self) -> str:
        """Difference of two shares in percentage points, with the stars of one or both tests."""
        if not self.n_pairs:
            return "-"
        stars = self.stars
        if self.resampled is not None:
            stars = f"{stars or '-'} / {_stars(self.resampled) or '-'}".removeprefix("- / -")
        return f"{100 * self.difference:+.2f} {stars}".strip().replace("*", "\\*")


def _stars(p_value: float) -> str:
    return next((stars for stars, level in _LEVELS.items() if p_value < level), "")


def compare(
    first: Sequence[Row], second: Sequence[Row], name: str, overlap: float | None = None
) -> Comparison:
    """Compare one column of two methods over the seeds that both were run with.

    If runs are repeated splits of the same points, they overlap and are not independent. `overlap`
    is then the ratio of test points to training points, which increases the variance of the mean
    (Nadeau and Bengio, "Inference for the generalization error", 2003).
    """
    from scipy.stats import t

    by_seed = [{row["seed"]: row[name] for row in rows} for rows in (first, second)]
    seeds = [seed for seed in by_seed[0] if seed in by_seed[1]]
    a, b = (np.array([values[seed] for seed in seeds], dtype=np.float64) for values in by_seed)
    difference = float(np.mean(a - b)) if seeds else np.nan

    def p_value(overlap: float) -> float:
        if len(seeds) < 2 or np.ptp(a - b) == 0:
            return np.nan
        variance = np.var(a - b, ddof=1) * (1 / len(seeds) + overlap)
        return float(2 * t.sf(abs(difference) / np.sqrt(variance), len(seeds) - 1))

    resampled = None if overlap is None else p_value(overlap)
    return Comparison(len(seeds), difference, p_value(0.0), resampled)


def holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values corrected for multiple testing."""
    plain, resampled = (
        _holm([getattr(found, name) for found in comparisons]) for name in ("p_value", "resampled")
    )
    return [
        replace(found, p_value=p, resampled=None if found.resampled is None else q)
        for found, p, q in zip(comparisons, plain, resampled, strict=True)
    ]


def _holm(found: Sequence[float | None]) -> list[float]:
    """Correct p-values (S. Holm, "A simple sequentially rejective multiple test procedure", 1979).

    Missing p-values remain NaN.
    """
    p_values = np.array(found, dtype=np.float64)
    order = np.argsort(p_values)[: np.isfinite(p_values).sum()]
    factors = np.arange(len(order), 0, -1)
    # Once a test fails, all tests with larger p-values fail too.
    p_values[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1)
    return p_values.tolist()
