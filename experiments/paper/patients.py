"""Head and neck with more patients: accuracy over the number of patients to learn from."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.data import UNIT_HU, WINDOW_HU, load_patches
from experiments.pages import Comparison, Page, compare, grouped, holm, mean
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
    Task,
    mean_and_spread,
)
from experiments.runner import Experiment, Row, Settings

RUNS, N_COMPONENTS, N_LANDMARKS = 10, 50, 500
QUICK_COMPONENTS, QUICK_LANDMARKS = 20, 150
N_PATCHES, QUICK_PATCHES = 150_000, 12_000
TRAINED, QUICK_TRAINED = (2, 4, 8, 16), (2, 8)
N_HELD_OUT = 8
COMPARED = (UNIFORM, SEEDING, DPP, BHATTACHARYYA, DEFAULTS, UNIFORM_DEFAULTS)
PAIRS = (
    (SEEDING, UNIFORM),
    (DPP, SEEDING),
    (BHATTACHARYYA, DPP),
    (DEFAULTS, BHATTACHARYYA),
    (DEFAULTS, UNIFORM_DEFAULTS),
    (BHATTACHARYYA, REFERENCE),
    (DEFAULTS, REFERENCE),
)
SCORES = {"accuracy": "Accuracy", "mean_recall": "Mean recall over the four classes"}


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
    counts = sorted({row["patients"] for row in rows})
    page.text(
        f"""The paper has three patients, split by patch. Here {N_HELD_OUT} of 24 patients are held
        out, drawn anew for every run, and {counts[0]} to {counts[-1]} of the others are to learn
        from."""
    )
    cells = grouped(rows, "scheme", "patients")
    with page.picture("Accuracy over the number of patients", figsize=(6, 4)) as axes:
        for name in (*COMPARED, REFERENCE):
            means = [100 * mean(cells[name, count], "accuracy") for count in counts]
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
    found = _compared(rows, counts)
    for score, title in SCORES.items():
        page.heading(title)
        _score_table(rows, score, page)
        lines = [
            [" - ".join(pair), *(found[score, pair, n].points for n in counts)] for pair in PAIRS
        ]
        page.table(["difference", *(f"{count} patients" for count in counts)], lines)


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies over the number of patients."""
    _score_table(rows, "accuracy", page)


def _score_table(rows: Sequence[Row], score: str, page: Page) -> None:
    cells, counts = grouped(rows, "scheme", "patients"), sorted({row["patients"] for row in rows})
    lines = [
        [name, *(mean_and_spread(cells[name, n], score) for n in counts)]
        for name in (*COMPARED, REFERENCE)
    ]
    page.table(["%", *(f"{count} patients" for count in counts)], lines)
    runs = classification.runs_text({len(found) for found in cells.values()})
    page.text(f"Mean ± standard deviation over {runs}.")


def _compared(
    rows: Sequence[Row], counts: Sequence[int]
) -> dict[tuple[str, tuple[str, str], int], Comparison]:
    cells = grouped(rows, "scheme", "patients")
    found = {
        (score, pair, count): compare(
            *(cells[name, count] for name in pair), score, overlap=N_HELD_OUT / count
        )
        for score in SCORES
        for pair in PAIRS
        for count in counts
    }
    return dict(zip(found, holm(list(found.values())), strict=True))


PARAMETERS = classification.PARAMETERS | {
    "n_components": N_COMPONENTS,
    "n_held_out": N_HELD_OUT,
    "unit_hu": UNIT_HU,
    "window_hu": list(WINDOW_HU),
}

EXPERIMENT = Experiment(
    "patients", "Head and neck: how many patients", cases, run, show, PARAMETERS, brief
)
