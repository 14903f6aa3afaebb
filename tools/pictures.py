"""Images of the documentation that the build cannot draw: digits, recipes, a scan, a report.

``python -m tools.pictures --data DIR`` runs the code of each recipe, as printed, in a folder with
the file that the recipe needs, and stores the image that the code saves. It also draws a slice of a
CT scan, and Chromium draws the report.
"""

import argparse
import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"

# Recipes, and the file of real data that each needs.
RECIPES = {
    "cells": "points/10x_pbmc68k_reduced.h5ad",
    "lidar": "points/lidar_lonestar.npz",
    "tables": "penguins.csv",
    "patches": None,
    "words": None,
}

# Small files that come with the documentation.
_SHIPPED = DOCS / "recipes" / "data"

_CODE = re.compile(r"(^<!-- not run[^\n]*\n)?^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def recipe_data(name: str, data: Path) -> Path:
    """Return the path of the file that a recipe assumes, given the folder of real data."""
    shipped = _SHIPPED / name
    return shipped if shipped.exists() else data / name


def draw_recipe(name: str, data: Path) -> Path:
    """Run a recipe, and store its image."""
    blocks = _CODE.findall((DOCS / "recipes" / f"{name}.md").read_text(encoding="utf-8"))
    namespace = {"__name__": "__main__"}
    with _elsewhere() as folder:
        if given := RECIPES[name]:
            (folder / Path(given).name).symlink_to(recipe_data(given, data))
        for left_out, language, code in blocks:
            if left_out:
                continue
            if language == "sh":
                subprocess.run(["sh", "-ec", code], check=True)
            else:
                exec(compile(code, name, "exec"), namespace)
        return _keep(folder / f"{name}.png", f"{name}.png")


def draw_digits(data: Path) -> Path:
    """Draw the map of MNIST that opens the README."""
    import matplotlib.pyplot as plt
    import numpy as np

    import trigpoint as tp
    from experiments.data import load_mnist

    parts = [load_mnist(data / "mnist", split=split) for split in ("train", "test")]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    Y = tp.LandmarkMap().fit_transform(X)
    figure, ax = plt.subplots(figsize=(9, 6), layout="constrained")
    tp.plot.embedding(Y, color=y, categories=True, ax=ax)
    with _elsewhere() as folder:
        figure.savefig(folder / "digits.png", dpi=130)
        return _keep(folder / "digits.png", "digits.png", width=1100)


def draw_report() -> Path:
    """Take a screenshot of the report in the gallery."""
    from playwright.sync_api import sync_playwright

    page = DOCS / "gallery" / "generated" / "report.html"
    if not page.exists():
        raise SystemExit(f"{page} is missing: make docs")
    with _elsewhere() as folder, sync_playwright() as started:
        found = next(iter(Path("/usr/bin").glob("chromium*")), None)
        browser = started.chromium.launch(executable_path=found)
        tab = browser.new_page(viewport={"width": 1200, "height": 750})
        tab.goto(page.as_uri())
        tab.wait_for_timeout(1000)
        tab.screenshot(path=folder / "report.png")
        browser.close()
        return _keep(folder / "report.png", "report.png", width=720)


def draw_slice(data: Path) -> Path:
    """Draw a slice of a CT scan around its parotid glands and brainstem, with their outlines."""
    import matplotlib.pyplot as plt
    import numpy as np

    from experiments.data import read_volumes

    (scan,) = read_volumes(data / "ct" / "rtog-0522c0002")
    organs = {1: "#f0e442", 2: "#009e73", 3: "#56b4e9"}
    # The slice whose smallest organ is largest, cropped like the patches, so that no face is shown.
    sizes = [[(part == organ).sum() for organ in organs] for part in scan.classes.T]
    across = int(np.min(sizes, axis=1).argmax())
    left, back = np.isin(scan.classes[:, :, across], list(organs)).nonzero()
    window = (
        slice(left.min() - 20, left.max() + 20),
        slice(back.min() - 20, back.max() + 20),
        across,
    )
    classes = scan.classes[window].T
    figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    ax.imshow(scan.hu[window].T, cmap="gray", vmin=-200, vmax=300)
    for organ, color in organs.items():
        ax.contour(classes == organ, levels=[0.5], colors=color, linewidths=1.5)
    ax.axis("off")
    with _elsewhere() as folder:
        figure.savefig(folder / "slice.png", dpi=120)
        return _keep(folder / "slice.png", "slice.png")


def _keep(drawn: Path, name: str, width: int = 1400) -> Path:
    """Store an image with the resolution and number of colors that it needs."""
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
    """Draw the requested images, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *RECIPES, "digits", "slice", "report"])
    parser.add_argument("--data", type=Path, default=os.environ.get("TRIGPOINT_DATA", "."))
    options = parser.parse_args()
    os.environ["MPLBACKEND"] = "Agg"
    data = Path(options.data).absolute()
    drawn = {"digits": lambda: draw_digits(data), "slice": lambda: draw_slice(data)}
    drawn["report"] = draw_report
    for name in options.names or [*RECIPES, *drawn]:
        made = draw_recipe(name, data) if name in RECIPES else drawn[name]()
        print(f"{made}: {made.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
