"""Pictures of the documentation that a build cannot draw: those of the recipes and of a report.

``python -m tools.pictures --data DIR`` runs the code of each recipe, as printed, in a folder with
the file that the recipe needs, and keeps the picture that the code saves. Chromium
draws the report.
"""

import argparse
import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"

# Recipes, and what each takes for given of the folder of real data.
RECIPES = {
    "cells": "points/10x_pbmc68k_reduced.h5ad",
    "lidar": "points/lidar_lonestar.npz",
    "patches": None,
    "words": None,
}

_PYTHON = re.compile(r"(^<!-- not run[^\n]*\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw_recipe(name: str, data: Path) -> Path:
    """Run a recipe, and keep its picture."""
    blocks = _PYTHON.findall((DOCS / "recipes" / f"{name}.md").read_text(encoding="utf-8"))
    with _elsewhere() as folder:
        if given := RECIPES[name]:
            (folder / Path(given).name).symlink_to(data / given)
        code = "\n".join(block for left_out, block in blocks if not left_out)
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
        return _keep(folder / f"{name}.png", f"{name}.png")


def draw_report() -> Path:
    """Take a picture of the report that the gallery shows."""
    from playwright.sync_api import sync_playwright

    page = DOCS / "gallery" / "generated" / "report.html"
    if not page.exists():
        raise SystemExit(f"{page} is missing: make docs")
    with _elsewhere() as folder, sync_playwright() as started:
        found = next(iter(Path("/usr/bin").glob("chromium*")), None)
        browser = started.chromium.launch(executable_path=found)
        tab = browser.new_page(viewport={"width": 1200, "height": 750})
        tab.goto(f"{page.as_uri()}#explore")
        tab.wait_for_timeout(1000)
        tab.screenshot(path=folder / "report.png")
        browser.close()
        return _keep(folder / "report.png", "report.png", width=720)


def _keep(drawn: Path, name: str, width: int = 1400) -> Path:
    """Put a picture in its place, with as many pixels and colors as it needs."""
    from PIL import Image

    target = DOCS / "images" / name
    with Image.open(drawn) as image:
        image.thumbnail((width, width))
        image.convert("RGB").quantize().save(target, optimize=True)
    return target


@contextlib.contextmanager
def _elsewhere() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def main() -> None:
    """Draw what is named, or everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *RECIPES, "report"])
    parser.add_argument("--data", type=Path, default=os.environ.get("TRIGPOINT_DATA", "."))
    options = parser.parse_args()
    os.environ["MPLBACKEND"] = "Agg"
    for name in options.names or [*RECIPES, "report"]:
        data = Path(options.data).absolute()
        made = draw_report() if name == "report" else draw_recipe(name, data)
        print(f"{made}: {made.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
