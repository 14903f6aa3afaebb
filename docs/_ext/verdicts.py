"""Insertion of the verdicts in ``paper.md`` into the pages of the experiments."""

import re
from pathlib import Path

from sphinx.application import Sphinx

# The only page of the folder that does not belong to an experiment.
LINE_BY_LINE = "paper/line-by-line"


def verdicts(paper: str) -> dict[str, str]:
    """Return the paragraph that begins with "Here" for each experiment that a section links to."""
    found = {}
    for section in paper.split("\n## ")[1:]:
        name = re.search(r"\[All numbers\]\(paper/(\w+)\.md\)", section)
        verdict = re.search(r"^\*\*Here:\*\*.*?(?=\n\n)", section, re.MULTILINE | re.DOTALL)
        if name and verdict:
            found[name[1]] = verdict[0]
    return found


def insert(app: Sphinx, name: str, source: list[str]) -> None:
    """Insert the verdict below the figure of the page."""
    if name.startswith("paper/") and name != LINE_BY_LINE:
        paper = Path(app.srcdir, "paper.md")
        app.env.note_dependency(str(paper))
        verdict = verdicts(paper.read_text(encoding="utf-8"))[name.removeprefix("paper/")]
        picture = re.search(r"^!\[.*?\)\n\n", source[0], re.MULTILINE | re.DOTALL)
        place = picture.end() if picture else len(source[0])
        source[0] = f"{source[0][:place]}{verdict}\n\n{source[0][place:]}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the event handler."""
    app.connect("source-read", insert)
    return {"parallel_read_safe": True}
