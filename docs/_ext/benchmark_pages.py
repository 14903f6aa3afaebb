"""The results of the benchmarks, a page for each group, from the page that `make bench` writes."""

import re
from pathlib import Path

from notebooks import write_if_changed
from sphinx.application import Sphinx

RESULTS = Path(__file__).parents[2] / "experiments" / "benchmarks" / "RESULTS.md"


def groups(results: str) -> dict[str, str]:
    """Names of groups, and their text with headings one level up."""
    found = {}
    for part in results.split("\n## ")[1:]:
        name = re.search(r"`make bench ONLY=(\w+)`", part)
        assert name, f"a group without its command: {part[:80]}"
        # Plots come before the tables. They stay where they are; Sphinx copies them.
        title, first, *rest = part.split("\n\n")
        plots = [paragraph for paragraph in rest if paragraph.startswith("![")]
        rest = [paragraph for paragraph in rest if paragraph not in plots]
        part = "\n\n".join([title, first, *plots, *rest])
        part = part.replace("](plots/", "](../../../experiments/benchmarks/plots/")
        found[name[1]] = "# " + re.sub("^#(#+ )", r"\1", part, flags=re.MULTILINE).strip() + "\n"
    return found


def conditions(results: str) -> str:
    """How everything was measured: what precedes the groups."""
    return "# How it was measured\n" + results.partition("\n## ")[0].partition("\n")[2] + "\n"


def make_all(app: Sphinx) -> None:
    """Write the pages, and remove those of groups that are gone."""
    folder = Path(app.srcdir) / "benchmarks" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    results = RESULTS.read_text(encoding="utf-8")
    pages = {"conditions": conditions(results), **groups(results)}
    for page in folder.glob("*.md"):
        if page.stem not in pages:
            page.unlink()
    for name, text in pages.items():
        write_if_changed(folder / f"{name}.md", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make them before pages are read."""
    app.connect("builder-inited", make_all)
    return {"parallel_read_safe": True}
