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
from experiments.pages import Page, legend_below
from experiments.paper import classification
from experiments.paper.classification import (
    BHATTACHARYYA,
    DPP,
    KMEANS,
    KMEANS_ROWS,
    KMEANS_UNIFORM,
    KMEANS_UNIFORM_ROWS,
    LIBRARY,
    PUBLISHED,
    REFERENCE,
    SEEDING,
    UNIFORM,
    Table,
    Task,
)
from experiments.runner import Experiment, Row, Settings

RUNS, N_COMPONENTS = 20, 50
CLAIMS = {
    (SEEDING, UNIFORM): "above",
    (KMEANS_UNIFORM, UNIFORM): "clearly above",
    (KMEANS_UNIFORM_ROWS, UNIFORM): "clearly above",
    (KMEANS, SEEDING): "similar",
    (KMEANS_ROWS, SEEDING): "similar",
    (DPP, SEEDING): "above, significantly",
    (BHATTACHARYYA, DPP): "above",
}
QUICK_COUNTS, QUICK_COMPONENTS = (150,), 20
SCORES = {"accuracy": "accuracy", "mean_recall": "recall"}
# Of the patches for testing, which are in random order.
N_TEST = 10_000


@dataclass(frozen=True)
class Variant:
    """Which patches, how many, and how they are split."""

    title: str
    source: str
    split: str
    n_patches: int
    quick_patches: int
    counts: tuple[int, ...]

    def overlap(self, k: int = 0) -> float:
        """Size of a test set over that of a training set, in independent units, for any k.

        Patches of one patient are alike, so for whole patients it is the ratio of the two sides.
        """
        tested = (1 - TRAIN_SHARE) * self.n_patches
        if self.split == "patch":
            tested = min(N_TEST, tested)
        return tested / (TRAIN_SHARE * self.n_patches)


VARIANTS = (
    Variant(
        "24 patients, split by patch", "openkbp", "patch", 150_000, 6_000, (250, 500, 1000, 2000)
    ),
    Variant("24 patients, split by patient", "openkbp", "patient", 150_000, 6_000, (500, 2000)),
    Variant("one scan, full resolution, by patch", "rtog", "patch", 43_000, 6_000, (500, 2000)),
)


def cases(settings: Settings) -> Iterator[Row]:
    """Both pipelines with every scheme, variant and number of landmarks, and the raw data."""
    for seed in settings.seeds(RUNS):
        for variant in VARIANTS:
            patches = {"seed": seed, **_patches(variant, settings)}
            yield {"pipeline": LIBRARY, "scheme": REFERENCE, "k": None, **patches}
            for pipeline, schemes in classification.SCHEMES.items():
                for k in _counts(variant, settings):
                    for scheme in schemes:
                        yield {"pipeline": pipeline, "scheme": scheme, "k": k, **patches}


def _patches(variant: Variant, settings: Settings) -> Row:
    n_patches = variant.quick_patches if settings.quick else variant.n_patches
    return {"source_data": variant.source, "split": variant.split, "n_patches": n_patches}


def _counts(variant: Variant, settings: Settings) -> tuple[int, ...]:
    return QUICK_COUNTS if settings.quick else variant.counts


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
    return classification.scored(task, classification.predicted(task, case, n_components))


@lru_cache(maxsize=2)
def patch_task(folder: Path, source: str, split: str, n_patches: int, seed: int) -> Task:
    """Patches for training and for testing."""
    patches = load_patches(folder, source, n_patches)
    train, test = split_rows(patches, split, seed)
    test = test[:N_TEST]
    return Task(patches.X[train], patches.y[train], patches.X[test], patches.y[test])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies and the paper's claims for every variant, bars."""
    page.text(
        """The paper: on some 150,000 patches of 7 x 7 x 3 voxels of three scans, k-means++ seeding
        beats uniform landmarks, k-means improves a uniform start, efficient DPP sampling is
        significantly better than both, and the Bhattacharyya graph adds to that. It gives bars, no
        numbers."""
    )
    tables = _tables(rows, settings)
    found = classification.compared(tables, SCORES)
    shown = [[table for table in tables if table.pipeline == one] for one in (PUBLISHED, LIBRARY)]
    with page.picture(
        "Accuracy of every scheme by number of landmarks: the published pipeline above, the "
        "library's below, one panel for each set of patches",
        figsize=(13, 7),
        nrows=2,
        ncols=len(shown[0]),
        width_ratios=[len(table.counts) for table in shown[0]],
        squeeze=False,
    ) as axes:
        for line, panels in zip(shown, axes, strict=True):
            for table, panel in zip(line, panels, strict=True):
                classification.accuracy_bars(panel, table, found)
        legend_below(axes.ravel(), ncols=5)
    with page.details("How it was run"):
        _describe(settings, page)
    page.text(
        classification.tests_text(
            True, "hold for other splits of these patches, not for other patients"
        )
    )
    for table in tables:
        classification.show_table(table, found, CLAIMS, SCORES, page)


def _tables(rows: Sequence[Row], settings: Settings) -> list[Table]:
    tables = []
    for pipeline in (PUBLISHED, LIBRARY):
        for variant in VARIANTS:
            mine = classification.select(rows, pipeline, **_patches(variant, settings))
            title = f"{pipeline.capitalize()} pipeline: {variant.title}"
            tables.append(Table(title, pipeline, mine, _counts(variant, settings), variant.overlap))
    return tables


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies of all schemes on the patches of 24 patients, in both pipelines."""
    tables = [table for table in _tables(rows, settings) if "24 patients" in table.title]
    splits = ("by patch", "by patient")
    columns = {
        f"{table.pipeline}, {split}, k = {k:,}": (table, k)
        for table in tables
        for split in splits
        for k in (table.counts[-1],)
        if table.title.endswith(split)
    }
    classification.score_table(columns, page, {"accuracy": "accuracy"})


def _describe(settings: Settings, page: Page) -> None:
    low, high = WINDOW_HU
    n_patches = _patches(VARIANTS[0], settings)["n_patches"]
    m = classification.paper_neighbors(round(TRAIN_SHARE * n_patches))
    page.text(
        f"""Other patients, since the paper's are not public; {100 * ORGAN_SHARE:.0f} % of the
        patches are of the parotid glands and the brainstem, the others of the tissue around them.
        {100 * TRAIN_SHARE:.0f} % are used for training, and {N_TEST:,} others are classified. The
        test for
        repeated splits takes the ratio of patches classified to patches learned from,
        {VARIANTS[0].overlap():.3g} for 24 patients and {VARIANTS[2].overlap():.2g} for one
        scan; where whole patients are split, it takes the ratio of the two sides,
        {VARIANTS[1].overlap():.3g}, since patches of one patient are alike. *Recall* is the mean
        over the four classes of the share of their patches that are recognized, in which the
        surroundings count no more than a gland.
        Intensities are clipped to {low:g} ... {high:g} HU and given in units of {UNIT_HU:g} HU, so
        that sigma = {classification.BANDWIDTH_PAPER:g} is as large relative to the distances
        between patches as relative to those between digits; m = {m:,} (the paper's is
        {classification.N_NEIGHBORS_PAPER:,}). {classification.SETTING} The validation patches are
        training patches of the first split, and so are among the test patches of others."""
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
