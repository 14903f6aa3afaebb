"""Notebooks for download, generated from pages and gallery scripts at build time."""

import ast
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# Pages, and folders of pages, that are offered as notebooks.
PAGES = "tutorial", "paper/line-by-line"
FOLDERS = "guide/", "recipes/"

_FENCE = re.compile(r"^(```+|:::+)(?P<kind>[^\n]*)\n(?P<body>.*?)^\1$\n?", re.MULTILINE | re.DOTALL)


_INCLUDE = re.compile(
    r"^```{literalinclude} (?P<file>\S+)\n:pyobject: (?P<name>\w+)\n```$", re.MULTILINE
)


def expand(page: str, folder: Path) -> str:
    """Replace each ``literalinclude`` of a function by the code of the function."""

    def block(found: re.Match[str]) -> str:
        code = (folder / found["file"]).read_text(encoding="utf-8")
        (node,) = (
            node
            for node in ast.parse(code).body
            if isinstance(node, ast.FunctionDef) and node.name == found["name"]
        )
        return f"```python\n{ast.get_source_segment(code, node)}\n```"

    return _INCLUDE.sub(block, page)


def plain(text: str) -> str:
    """Return Markdown without roles, comments and links between pages."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"\{[\w:]+\}`~?([^`<]+?)(\s<[^`]*>)?`", r"`\1`", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def of_page(page: str) -> dict[str, Any]:
    """Return a notebook with the text and the Python blocks of a page, without outputs."""
    cells, end = [], 0
    for block in _FENCE.finditer(page):
        cells.append(_markdown(plain(page[end : block.start()])))
        end = block.end()
        if block["kind"] == "python":
            cells.append(_code(block["body"]))
        elif block["kind"] == "sh":
            cells.append(_markdown(block[0]))
    cells.append(_markdown(plain(page[end:])))
    return _notebook([cell for cell in cells if cell["source"]])


def of_script(title: str, text: str, code: str) -> dict[str, Any]:
    """Return a notebook with the description, the imports and the remaining code of a script."""
    body = ast.parse(code).body
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    last = imports[-1].end_lineno or 0
    # A notebook displays figures automatically, but a page only as the value of the last line.
    lines = code.split("\n") + ["page"] * code.startswith("page = ", code.rfind("\n") + 1)
    cells = [_markdown(f"# {title}\n\n{plain(text)}")]
    cells += [_code("\n".join(part)) for part in (lines[:last], lines[last:])]
    return _notebook(cells)


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def _code(text: str) -> dict[str, Any]:
    made = {"execution_count": None, "outputs": [], "metadata": {}}
    return {"cell_type": "code", "source": text.strip(), **made}


def _notebook(cells: list[dict[str, Any]]) -> dict[str, Any]:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def write_if_changed(path: Path, text: str) -> None:
    """Write a file only if its text changes, so that Sphinx does not read unchanged pages again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def offer(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the notebook of a page that has code, and pass its name to the template."""
    if doctree is None or not (name in PAGES or name.startswith(FOLDERS)):
        return
    page = app.env.doc2path(name)
    made = of_page(expand(page.read_text(encoding="utf-8"), page.parent))
    if any(cell["cell_type"] == "code" for cell in made["cells"]):
        target = Path(app.outdir) / f"{name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        context["notebook"] = f"{name.rpartition('/')[2]}.ipynb"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the event handler."""
    app.connect("html-page-context", offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
