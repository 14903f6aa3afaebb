"""Classification of handwritten digits from 100 coordinates, for every way to choose landmarks."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from experiments.data import load_mnist
from experiments.page import Page, legend_below
from experiments.paper import classification
from experiments.paper.classification import REFERENCE, Reading, Task
from experiments.runner import Experiment, Row, Settings

RUNS, COUNTS, N_COMPONENTS = 20, (250, 500, 1000, 2000), 100
QUICK_COUNTS, QUICK_COMPONENTS = (150, 300), 30
CLAIMS = ("above", "-", "no better", "above, significantly", "-", "above", "-")
SIZES, QUICK_SIZES = (60_000, 10_000), (3_000, 1_000)


def cases(settings: Settings) -> Iterator[Row]:
    """Every scheme with every number of landmarks, 20 times; the digits themselves once."""
    n_train, n_test = QUICK_SIZES if settings.quick else SIZES
    sizes: Row = {"n_train": n_train, "n_test": n_test}
    yield {"scheme": REFERENCE, "k": None, "seed": 0, **sizes}
    counts = QUICK_COUNTS if settings.quick else COUNTS
    for scheme, seed in classification.ordered_schemes(settings.seeds(RUNS)):
        for k in counts:
            yield {"scheme": scheme, "k": k, "seed": seed, **sizes}


def run(case: Row, settings: Settings) -> Row:
    """Embed and classify once."""
    task = digits(settings.find("mnist"), case["n_train"], case["n_test"])
    n_components = QUICK_COMPONENTS if settings.quick else N_COMPONENTS
    return classification.run_scheme(task, case, n_components)


@lru_cache(maxsize=2)
def digits(folder: Path, n_train: int, n_test: int) -> Task:
    """The digits in the order of their files: all of them, or the first ones."""
    train, train_labels = load_mnist(folder, split="train")
    test, test_labels = load_mnist(folder, split="test")
    return Task(train[:n_train], train_labels[:n_train], test[:n_test], test_labels[:n_test])


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies, the paper's claims, bars."""
    counts = QUICK_COUNTS if settings.quick else COUNTS
    n_train, n_test = QUICK_SIZES if settings.quick else SIZES
    page.text(
        """The paper: k-means++ seeding beats uniform landmarks and k-means++ gains nothing over
        its seeding; efficient DPP sampling beats the seeding significantly, and the Bhattacharyya
        graph adds to that. It gives bars, no numbers."""
    )
    reading = Reading(counts, CLAIMS)
    with page.picture("Accuracy of every scheme by number of landmarks", figsize=(10, 4)) as axes:
        classification.accuracy_bars(axes, rows, reading, f"MNIST, {n_test:,} test digits")
        legend_below([axes], ncols=4)
    with page.details("How it was run"):
        page.text(
            f"""{n_train:,} digits to learn from, {n_test:,} to classify by their nearest neighbor
            in the embedding, with m = {classification.paper_neighbors(n_train):,} (the paper's is
            {classification.N_NEIGHBORS_PAPER:,}) and sigma = {classification.BANDWIDTH_PAPER:g}.
            {classification.COMMON_SETTING}"""
        )
    classification.show_scheme_rows(rows, reading, page)


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies of all schemes."""
    counts = QUICK_COUNTS if settings.quick else COUNTS
    classification.accuracy_table({f"k = {k:,}": (rows, k) for k in counts}, page)


PARAMETERS = classification.PARAMETERS | {"n_components": N_COMPONENTS}

EXPERIMENT = Experiment(
    "mnist", "MNIST: classification by landmarks", cases, run, show, PARAMETERS, brief
)
