"""What an experiment shows: a page of text, tables and one picture."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WIDTH = 100

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

    def heading(self, title: str) -> None:
        """Add a heading."""
        self._parts.append(f"## {title}")

    def text(self, paragraph: str) -> None:
        """Add a paragraph, wrapped anew."""
        words = " ".join(paragraph.split())
        self._parts.append(
            textwrap.fill(words, _WIDTH, break_long_words=False, break_on_hyphens=False)
        )

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table; columns after the first are aligned to the right."""
        if any(len(row) != len(columns) for row in rows):
            raise ValueError(f"every row needs {len(columns)} cells")
        lines = [list(columns), ["---", *("---:" for _ in columns[1:])], *rows]
        self._parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    @contextmanager
    def picture(self, describe: str, **layout: Any) -> Iterator[Any]:
        """Axes of a new picture, as ``matplotlib.pyplot.subplots`` gives them for `layout`."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with matplotlib.rc_context(_STYLE):
            # Not through pyplot: the caller's backend and open figures are left alone.
            figure = Figure(figsize=layout.pop("figsize", (9, 3.6)), layout="constrained")
            FigureCanvasAgg(figure)
            yield figure.subplots(**layout)
            path = self.folder / f"{self.name}.png"
            figure.savefig(path, dpi=130, metadata={"Software": None})
        self._parts.append(f"![{describe}]({path.name})")

    def write(self) -> Path:
        """Write the page."""
        path = self.folder / f"{self.name}.md"
        path.write_text("\n\n".join(self._parts) + "\n", encoding="utf-8")
        return path
