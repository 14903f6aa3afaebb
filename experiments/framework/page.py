"""What experiments show: pages of text, lists, tables and pictures."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.framework.cells import Cell

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.markersize": 4,
}


class Page:
    """A page that grows from top to bottom, and the files beside it."""

    def __init__(self, folder: Path, name: str, title: str) -> None:
        self.folder, self.name = folder, name
        self._parts = [f"# {title}"]

    def heading(self, title: str, level: int = 2) -> None:
        """Add a heading."""
        self._parts.append(f"{'#' * level} {title}")

    def text(self, paragraph: str) -> None:
        """Add a paragraph, rewrapped."""
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
        """Add a table; columns after the first are aligned to the right.

        Parameters
        ----------
        columns : sequence of str, or mapping to `min`, `max` or None
            Headings. A column with `min` or `max` shows its best cells in bold.
        rows : sequence of sequences of str or Cell
        fill : str or None
            Fills rows that are too short, such as those of methods that failed.
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
    def picture(
        self,
        describe: str,
        file: str | None = None,
        style: Mapping[str, Any] | None = None,
        dpi: int = 130,
        **layout: Any,
    ) -> Iterator[Any]:
        """Axes of a new picture, as ``matplotlib.pyplot.subplots`` gives them for `layout`.

        Without a `file`, the picture has the name of the page.
        """
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        file = file or f"{self.name}.png"
        with matplotlib.rc_context({**_STYLE, **(style or {})}):
            # Not through pyplot: the caller's backend and open figures are left alone.
            figure = Figure(figsize=layout.pop("figsize", (9, 3.6)), layout="constrained")
            FigureCanvasAgg(figure)
            yield figure.subplots(**layout)
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(self.folder / file, dpi=dpi, metadata={"Software": None})
        self._parts.append(f"![{describe}]({file})")

    @contextmanager
    def details(self, summary: str) -> Iterator[None]:
        """Fold away what is added within, without headings, behind a line to press."""
        self._parts.append(f"<details>\n<summary>{summary}</summary>")
        yield
        self._parts.append("</details>")

    def write(self) -> Path:
        """Write the page."""
        path = self.folder / f"{self.name}.md"
        path.write_text("\n\n".join(self._parts) + "\n", encoding="utf-8")
        return path

    def write_into(self, path: Path) -> None:
        """Replace what another page has between two comments with the name of this one."""
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
    """Text of the best cell of a column; others with the same text are as good."""
    cells = [row[place] for row in rows if place < len(row)]
    cells = [cell for cell in cells if isinstance(cell, Cell) and cell.value is not None]
    return choose(cells, key=lambda cell: cell.value).text if choose and len(cells) > 1 else None


def _shown(cell: Any, best: str | None) -> str:
    text = cell.text if isinstance(cell, Cell) else str(cell)
    return f"**{text}**" if isinstance(cell, Cell) and text == best else text
