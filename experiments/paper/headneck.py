"""Classification of CT patches of the head and neck from 50 coordinates.

The paper's three scans are not public. They are replaced by 24 patients of OpenKBP, with voxels of
about 3.9 x 3.9 x 2.5 mm, and one planning scan of RTOG 0522 at full resolution.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from experiments.data import (
    ORGAN_SHARE,
    TRAIN_SHARE,
    UNIT_HU,
    WINDOW_HU,
    load_patches,
    split_rows,
)
from experiments.page import Page, legend_below
from experiments.paper import classification
from experiments.paper.classification import REFERENCE, Reading, Task
from experiments.runner import Experiment, Row, Settings

RUNS, N_COMPONENTS = 20, 50
CLAIMS = ("above", "clearly above", "similar", "above, significantly", "-", "above", "-")
QUICK_COUNTS, QUICK_COMPONENTS = (150, 300), 20


@dataclass(frozen=True)
class Variant:
    """Which patches, how many, and how they are split."""

    title: str
    source: str
    split: str
    n_patches: int
    quick_patches: int
    counts: tuple[int, ...]


VARIANTS = (
    Variant(
        "24 patients, split by patch", "openkbp", "patch", 150_000, 6_000, (250, 500, 1000, 2000)
    ),
    Variant("24 patients, split by patient", "openkbp", "patient", 150_000, 6_000, (500, 2000)),
    Variant("one scan, full resolution, by patch", "rtog", "patch", 43_000, 6_000, (500, 2000)),
)


def cases(settings: Settings) -> Iterator[Row]:
    """Every scheme on every variant with every number of landmarks, 20 times."""
    seeds = settings.seeds(RUNS)
    for variant in VARIANTS:
        yield {"scheme": REFERENCE, "k": None, "seed": 0, **_patches(variant, settings)}
    for scheme, seed in classification.ordered_schemes(seeds):
        for variant in VARIANTS:
            for k in _counts(variant, settings):
                yield {"scheme": scheme, "k": k, "seed": seed, **_patches(variant, settings)}


def _patches(variant: Variant, settings: Settings) -> Row:
    n_patches = variant.quick_patches if settings.quick else variant.n_patches
    return {"source_data": variant.source, "split": variant.split, "n_patches": n_patches}


def _counts(variant: Variant, settings: Settings) -> tuple[int, ...]:
    return QUICK_COUNTS if settings.quick else variant.counts


def _reading(variant: Variant, settings: Settings) -> Reading:
    return Reading(_counts(variant, settings), CLAIMS, overlap=1 / TRAIN_SHARE - 1)


def run(case: Row, settings: Settings) -> Row:
    """Split, embed and classify once."""
    task = patch_task(
        settings.find("ct"),
        case["source_data"],
        case["split"],
        case["n_patches"],
        case["seed"],
    )
    n_components = QUICK_COMPONENTS if settings.quick else N_COMPONENTS
    return classification.run_scheme(task, case, n_components)


@lru_cache(maxsize=2)
def patch_task(folder: Path, source: str, split: str, n_patches: int, seed: int) -> Task:
    """Patches for training and for testing."""
    patches = load_patches(folder, source, n_patches)
    train, test = split_rows(patches, split, seed)
    return Task(patches.X[train], patches.y[train], patches.X[test], patches.y[test])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies and the paper's claims for every variant, bars."""
    page.text(
        """The paper: on some 150,000 patches of 7 x 7 x 3 voxels of three scans, k-means++ seeding
        beats uniform landmarks, k-means improves a uniform start, efficient DPP sampling is
        significantly better than both, and the Bhattacharyya graph adds to that. It gives bars, no
        numbers."""
    )
    shown = []
    for variant in VARIANTS:
        mine = [row for row in rows if _patches(variant, settings).items() <= row.items()]
        if mine:
            shown.append((variant, mine))
    with page.picture(
        "Accuracy of every scheme by number of landmarks, one panel for each set of patches",
        figsize=(13, 4),
        ncols=len(shown),
        width_ratios=[len(_counts(variant, settings)) for variant, _ in shown],
        squeeze=False,
    ) as axes:
        for panel, (variant, mine) in zip(axes[0], shown, strict=True):
            reading = _reading(variant, settings)
            classification.accuracy_bars(panel, mine, reading, variant.title)
        legend_below(axes[0], ncols=4)
    with page.details("How it was run"):
        _describe(settings, page)
    for variant, mine in shown:
        page.heading(variant.title[0].upper() + variant.title[1:])
        classification.show_scheme_rows(mine, _reading(variant, settings), page)


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies of all schemes on the patches of 24 patients, for few and many landmarks."""
    columns = {}
    for variant in VARIANTS[:2]:
        mine = [row for row in rows if _patches(variant, settings).items() <= row.items()]
        for k in _counts(VARIANTS[1], settings):
            columns[f"by {variant.split}, k = {k:,}"] = mine, k
    classification.accuracy_table(columns, page)


def _describe(settings: Settings, page: Page) -> None:
    low, high = WINDOW_HU
    n_patches = _patches(VARIANTS[0], settings)["n_patches"]
    m = classification.paper_neighbors(round(TRAIN_SHARE * n_patches))
    page.text(
        f"""Other patients, since the paper's are not public; {ORGAN_SHARE:.0%} of the patches are
        of the parotid glands and the brainstem, the others of the tissue around them,
        {TRAIN_SHARE:.0%} are to learn from. Intensities are clipped to {low:g} ... {high:g} HU and
        given in units of {UNIT_HU:g} HU, so that sigma = {classification.BANDWIDTH_PAPER:g} is as
        large beside the distances between patches as beside those between digits; m = {m:,} (the
        paper's is {classification.N_NEIGHBORS_PAPER:,}). {classification.COMMON_SETTING} The
        validation patches are training patches of the first split, and so are among the test
        patches of others."""
    )


PARAMETERS = classification.PARAMETERS | {
    "n_components": N_COMPONENTS,
    "unit_hu": UNIT_HU,
    "window_hu": list(WINDOW_HU),
}

EXPERIMENT = Experiment(
    "headneck",
    "Head and neck: classification of CT patches by landmarks",
    cases,
    run,
    show,
    PARAMETERS,
    brief,
)
