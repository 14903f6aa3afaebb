"""Write the report of a fitted embedding to a file, or display it in a notebook."""

import os
from html import escape
from pathlib import Path
from typing import Any, TypedDict

from trigpoint._common.errors import ParameterValueError
from trigpoint._report.content import gather
from trigpoint._report.page import page
from trigpoint._report.subject import Subject
from trigpoint._sources import Source
from trigpoint._sources.atomic import atomic_write

_HEIGHT = 720


class ReportOptions(TypedDict, total=False):
    """Keyword arguments of `report`."""

    color: Any
    text: Any
    images: Any
    title: str | None
    sample: int | None
    coordinates: Any
    force: bool


class InlinePage:
    """Report page displayed in notebooks; `html` is the whole page."""

    def __init__(self, html: str) -> None:
        self.html = html

    def __repr__(self) -> str:
        size = len(self.html) / 2**20
        return f"<report of {size:.1f} MB: displayed in a notebook; save(path) writes it>"

    def _repr_html_(self) -> str:
        # A sandboxed frame cannot access the notebook or its data.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        with atomic_write(path) as partial:
            partial.write_text(self.html, encoding="utf-8")
        return Path(path)


def write_report(
    subject: Subject,
    path: str | os.PathLike[str] | None,
    source: Source | None = None,
    *,
    force: bool = True,
    **options: Any,
) -> Path | InlinePage:
    """Write an interactive page about a fitted embedding to a file, or return it without a path.

    Without a source, it shows the landmarks only. Further options are those of `gather`.
    """
    target = None if path is None else Path(path)
    if target is not None and target.exists():
        if not force:
            raise FileExistsError(f"{target} already exists: choose another name, or force=True")
        own = None if source is None else source.path
        if own is not None and own.exists() and own.samefile(target):
            raise ParameterValueError(
                f"{target} holds the points: write the page to another file", "path"
            )
    made = InlinePage(page(gather(subject, source, **options)))
    return made if target is None else made.save(target)
