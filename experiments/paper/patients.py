"""Head and neck with more patients: accuracy over the number of patients to learn from."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.data import UNIT_HU, WINDOW_HU, load_patches
from experiments.pages import Page, mean
from experiments.paper import classification
from experiments.paper.classification import (
    BHATTACHARYYA,
    COLORS,
    DEFAULTS,
    DPP,
    LIBRARY,
    REFERENCE,
    SEEDING,
    UNIFORM,
    UNIFORM_DEFAULTS,
    Table,
    Task,
)
from experiments.paper.headneck import CLAIMS
from experiments.runner import Experiment, Row, Settings

RUNS, N_COMPONENTS, N_LANDMARKS = 10, 50, 500
QUICK_COMPONENTS, QUICK_LANDMARKS = 20, 150
N_PATCHES, QUICK_PATCHES = 150_000, 12_000
TRAINED, QUICK_TRAINED = (2, 4, 8, 16), (2, 8)
N_HELD_OUT = 8
COMPARED = (UNIFORM, SEEDING, DPP, BHATTACHARYYA, DEFAULTS, UNIFORM_DEFAULTS)
SCORES = {"accuracy": "accuracy", "mean_recall": "recall"}


def cases(settings: Settings) -> Iterator[Row]:
    """Every scheme with every number of patients, for several choices of those held out."""
    k = QUICK_LANDMARKS if settings.quick else N_LANDMARKS
    n_patches = QUICK_PATCHES if settings.quick else N_PATCHES
    for seed in settings.seeds(RUNS):
        for count in QUICK_TRAINED if settings.quick else TRAINED:
            for scheme in (REFERENCE, *COMPARED):
                own = None if scheme == REFERENCE else k
                base = {"pipeline": LIBRARY, "scheme": scheme, "k": own, "patients": count}
                yield base | {"seed": seed, "n_patches": n_patches}


def run(case: Row, settings: Settings) -> Row:
    """Embed and classify once."""
    task = _task(settings.find("ct"), case["n_patches"], case["patients"], case["seed"])
    n_components = QUICK_COMPONENTS if settings.quick else N_COMPONENTS
    return classification.scored(task, classification.predicted(task, case, n_components))


@lru_cache(maxsize=1)
def _task(folder: Path, n_patches: int, count: int, seed: int) -> Task:
    patches = load_patches(folder, "openkbp", n_patches)
    train, test = held_out_rows(patches.patients, count, seed)
    return Task(patches.X[train], patches.y[train], patches.X[test], patches.y[test])


def held_out_rows(patients: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of `count` patients, and of eight others, the same for every count."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.unique(patients))
    held_out, trained = order[:N_HELD_OUT], order[N_HELD_OUT:][:count]
    train, test = (np.flatnonzero(np.isin(patients, mine)) for mine in (trained, held_out))
    return rng.permutation(train), test


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracy over the number of patients."""
    table = _table(rows)
    counts = table.counts
    page.text(
        f"""The paper has three patients, split by patch. Here {N_HELD_OUT} of 24 patients are held
        out, drawn anew for every run, and {counts[0]} to {counts[-1]} of the others are to learn
        from."""
    )
    with page.picture("Accuracy over the number of patients", figsize=(6, 4)) as axes:
        for name in table.schemes:
            means = [100 * mean(table.runs(name, count), "accuracy") for count in counts]
            axes.plot(counts, means, "-o", color=COLORS.get(name, "black"), label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.set(xlabel="patients to learn from", ylabel="accuracy, %")
        axes.legend()
    page.text(
        classification.tests_text(
            True, "hold for these 24 patients; a run is a choice of those held out"
        )
    )
    found = classification.compared([table], SCORES)
    classification.show_table(table, found, CLAIMS, SCORES, page)


def _table(rows: Sequence[Row]) -> Table:
    counts = sorted({row["patients"] for row in rows})
    title = f"{rows[0]['n_patches']:,} patches, library pipeline"
    return Table(title, LIBRARY, rows, counts, lambda count: N_HELD_OUT / count, "patients")


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies over the number of patients."""
    table = _table(rows)
    columns = {table.head(count): (table, count) for count in table.counts}
    classification.score_table(columns, page, {"accuracy": "accuracy"})


PARAMETERS = classification.PARAMETERS | {
    "n_components": N_COMPONENTS,
    "n_held_out": N_HELD_OUT,
    "unit_hu": UNIT_HU,
    "window_hu": list(WINDOW_HU),
}

EXPERIMENT = Experiment(
    "patients", "Head and neck: how many patients", cases, run, show, PARAMETERS, brief
)
