"""A report that notebooks show in place."""

from html import escape
from pathlib import Path

from trigpoint._sources.atomic import atomic_write

_HEIGHT = 900


class InlinePage:
    """The page of a report, shown below the cell of a notebook that ends with it.

    Attributes
    ----------
    html : str
        The whole page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def __repr__(self) -> str:
        return (
            f"<report of {len(self.html) / 2**20:.1f} MB: notebooks show it; save(path) keeps it>"
        )

    def _repr_html_(self) -> str:
        # In a frame of its own, which can reach neither the notebook nor its data.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        target = Path(path)
        with atomic_write(target) as partial:
            partial.write_text(self.html, encoding="utf-8")
        return target
