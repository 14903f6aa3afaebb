"""The gallery: each script of ``gallery/`` leaves a `figure`, or a function to `write` a page."""

import runpy
import shutil
import time
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

import trigpoint

logger = logging.getLogger(__name__)


def draw(script: Path, folder: Path) -> None:
    """Run a script and save what it made."""
    import matplotlib

    # Draws to a file, also where there is no screen.
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = runpy.run_path(str(script))
    folder.mkdir(parents=True, exist_ok=True)
    if "figure" in made:
        made["figure"].savefig(folder / f"{script.stem}.png", dpi=120)
        plt.close("all")
    else:
        made["write"](folder / f"{script.stem}.html")


def is_current(script: Path, folder: Path) -> bool:
    """Whether what a script made is newer than the script and the library."""
    made = [path.stat().st_mtime for path in folder.glob(f"{script.stem}.*")]
    sources = [script, *Path(trigpoint.__file__).parent.rglob("*.py")]
    return bool(made) and min(made) > max(path.stat().st_mtime for path in sources)


def draw_all(app: Sphinx) -> None:
    """Make every picture and page that is missing or out of date."""
    scripts = Path(app.srcdir) / "gallery"
    for script in sorted(scripts.glob("*.py")):
        if not is_current(script, scripts / "generated"):
            start = time.perf_counter()
            draw(script, scripts / "generated")
            logger.info("ran %s in %.1f s", script.name, time.perf_counter() - start)


def copy_pages(app: Sphinx, error: Exception | None) -> None:
    """Put the pages that scripts wrote beside those of the documentation."""
    for page in (Path(app.srcdir) / "gallery" / "generated").glob("*.html"):
        shutil.copy(page, Path(app.outdir) / page.name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw before pages are read, and copy after they are written."""
    app.connect("builder-inited", draw_all)
    app.connect("build-finished", copy_pages)
    return {"parallel_read_safe": True}
