"""Gallery: scripts in ``gallery/`` become plots with thumbnails, pages and notebooks.

The docstring of a script contains a title and a description in Markdown. The script defines either
`figure` or `page`, an HTML page.
"""

import contextlib
import json
import re
import runpy
import shutil
import time
from pathlib import Path
from typing import Any

import notebooks
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util import logging

import trigpoint

logger = logging.getLogger(__name__)

DPI = 120
THUMBNAIL = 480, 300


def read(script: Path) -> tuple[str, str, str]:
    """Return the title, description and code of a script."""
    _, text, code = script.read_text(encoding="utf-8").split('"""', 2)
    title, _, text = text.partition("\n")
    return title.rstrip("."), text.strip(), code.strip()


def draw(script: Path, folder: Path) -> None:
    """Run a script and save its figure or page."""
    import matplotlib

    # Works without a display.
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # Scripts read shipped data from the current folder, where readers of a notebook save it.
    with contextlib.chdir(script.parents[1] / "recipes" / "data"):
        made = runpy.run_path(str(script))
    if "figure" in made:
        made["figure"].savefig(folder / f"{script.stem}.png", dpi=DPI)
        shrink(made["figure"], folder / f"{script.stem}.png", folder / f"{script.stem}-small.png")
        plt.close("all")
    else:
        html = made["page"].html
        (folder / f"{script.stem}.html").write_text(html, encoding="utf-8")


def shrink(figure: Any, picture: Path, thumbnail: Path) -> None:
    """Save the last panel of a figure, without ticks and labels, as a thumbnail.

    The plot itself is saved again with a color palette, which takes a third of the size.
    """
    from PIL import Image, ImageOps

    panel = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"][-1]
    left, low, right, high = panel.get_window_extent().extents * DPI / figure.dpi
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    image.quantize().save(picture)
    box = left + 2, image.height - high + 2, right - 2, image.height - low - 2
    ImageOps.pad(image.crop(box), THUMBNAIL, color="white").quantize().save(thumbnail)


def write_page(script: Path, folder: Path) -> None:
    """Write the page and the notebook of a script."""
    title, text, code = read(script)
    shown = f"```{{image}} {script.stem}.png\n:alt: {title}\n```"
    if not (folder / f"{script.stem}.png").exists():
        shown = f"```{{report}} {script.stem}\n```"
    links = (
        f"{{download}}`Download the notebook <{script.stem}.ipynb>` · "
        f"{{download}}`the script <../{script.name}>`"
    )
    parts = [f"# {title}", text, shown, links, f"```python\n{code}\n```"]
    notebooks.write_if_changed(folder / f"{script.stem}.md", "\n\n".join(parts) + "\n")
    cells = notebooks.of_script(title, text, code)
    notebooks.write_if_changed(folder / f"{script.stem}.ipynb", json.dumps(cells, indent=1) + "\n")


def is_current(script: Path, folder: Path) -> bool:
    """Return whether the output of a script is newer than the script and the library."""
    made = [*folder.glob(f"{script.stem}.png"), *folder.glob(f"{script.stem}.html")]
    sources = [script, *Path(trigpoint.__file__).parent.rglob("*.py")]
    newest = max(path.stat().st_mtime for path in sources)
    return bool(made) and min(path.stat().st_mtime for path in made) > newest


def make_all(app: Sphinx) -> None:
    """Create all plots and pages that are missing or out of date."""
    scripts = Path(app.srcdir) / "gallery"
    folder = scripts / "generated"
    folder.mkdir(exist_ok=True)
    for script in sorted(scripts.glob("*.py")):
        if not is_current(script, folder):
            start = time.perf_counter()
            draw(script, folder)
            logger.info("ran %s in %.1f s", script.name, time.perf_counter() - start)
        write_page(script, folder)
    known = {script.stem for script in scripts.glob("*.py")}
    for page in folder.glob("*.md"):
        if page.stem not in known:
            page.unlink()


def copy_pages(app: Sphinx, error: Exception | None) -> None:
    """Copy the HTML pages of scripts to the output folder."""
    for page in (Path(app.srcdir) / "gallery" / "generated").glob("*.html"):
        shutil.copy(page, Path(app.outdir) / page.name)


class Report(Directive):
    """Embed the HTML page of a script in a frame."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the frame, scrolled to the plot if the browser allows access to its content."""
        name = self.arguments[0]
        depth = self.state.document.settings.env.docname.count("/")
        onload = (
            "const plot = this.contentDocument?.getElementById('explore');"
            "if (plot) this.contentWindow.scrollTo(0, plot.offsetTop - 12)"
        )
        html = (
            f'<iframe class="report" src="{"../" * depth}{name}.html" title="{name}" '
            f'loading="lazy" onload="{onload}"></iframe>'
        )
        return [nodes.raw("", html, format="html")]


class Cards(Directive):
    """Show thumbnails of the listed scripts, linked to their pages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the grid of thumbnails, parsed from Markdown."""
        folder = Path(self.state.document.settings.env.srcdir) / "gallery"
        items = []
        for name in self.content:
            title, text, _ = read(folder / f"{name}.py")
            first = re.split(r"(?<=[.])\s", " ".join(notebooks.plain(text).split()))[0]
            small = f"gallery/generated/{name}-small.png"
            if not (folder / "generated" / f"{name}-small.png").exists():
                small = "images/report.png"
            page = f"gallery/generated/{name}.md"
            items.append(f"- [![{title}]({small})]({page})\n\n  [{title}]({page})\n\n  {first}")
        grid = nodes.container(classes=["cards"])
        self.state.nested_parse(["\n\n".join(items)], self.content_offset, grid)
        return [grid]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the event handlers and register the directives."""
    app.connect("builder-inited", make_all)
    app.connect("build-finished", copy_pages)
    app.add_directive("gallery", Cards)
    app.add_directive("report", Report)
    return {"parallel_read_safe": True}
