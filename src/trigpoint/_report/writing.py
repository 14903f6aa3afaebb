"""The report of a fitted embedding, in a file or for a notebook."""

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._report.content import NEIGHBORHOODS, SAMPLE, gather
from trigpoint._report.page import page
from trigpoint._report.subject import Subject
from trigpoint._sources import Source
from trigpoint._sources.atomic import atomic_write
from trigpoint.metrics._comparison import Comparison

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
        size = len(self.html) / 2**20
        return f"<report of {size:.1f} MB: displayed in a notebook; save(path) writes it>"

    def _repr_html_(self) -> str:
        # In a frame of its own, which can reach neither the notebook nor its data.
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
    color: Any = None,
    images: Any = None,
    text: Any = None,
    title: str | None = None,
    sample: int = SAMPLE,
    coordinates: Any = None,
    neighborhoods: Sequence[int] | None = NEIGHBORHOODS,
    curve: bool = True,
    tried: Comparison | None = None,
    force: bool = True,
) -> Path | InlinePage:
    """Write an interactive page about a fitted embedding, in one HTML file.

    Parameters
    ----------
    subject : Subject
    path : path or None
        The file to write; ``None`` returns the page instead.
    source : Source or None, default=None
        The points to show; without them, only the landmarks are shown.
    color, images, text, title, sample, coordinates, neighborhoods, curve, tried, force
        As for `report` of the estimators.

    Returns
    -------
    Path or InlinePage
        The file that was written, or the page.
    """
    check_count("sample", sample)
    target = None if path is None else Path(path)
    if target is not None and target.exists():
        if not force:
            raise FileExistsError(f"{target} already exists: choose another name, or force=True")
        own = None if source is None else source.path
        if own is not None and own.exists() and own.samefile(target):
            raise ParameterValueError(
                f"{target} holds the points: write the page to another file", "path"
            )
    content = gather(
        subject,
        source,
        color=color,
        images=images,
        text=text,
        title=title,
        sample=sample,
        coordinates=coordinates,
        neighborhoods=neighborhoods,
        curve=curve,
        tried=tried,
    )
    made = InlinePage(page(content))
    return made if target is None else made.save(target)
