"""How what the paper leaves open changes the ranking of the schemes, one thing at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.internals import knn_labels
from experiments.pages import Page, column, compare, grouped, holm, legend_below
from experiments.paper import headneck, mnist
from experiments.paper.classification import (
    BANDWIDTH_PAPER,
    BHATTACHARYYA,
    COLORS,
    DPP,
    GRAPH_NEIGHBORS,
    KMEANS_ROWS,
    PARAMETERS,
    PUBLISHED,
    SEEDING,
    UNIFORM,
    Task,
    estimator,
    mean_and_spread,
    runs_text,
    scored,
    tests_text,
)
from experiments.runner import Experiment, Row, Settings

RUNS, N_LANDMARKS, QUICK_LANDMARKS = 3, 1000, 150
COUNTS = (250, 500, 2000)
DATA = {"mnist": "MNIST", "ct": "CT patches"}
N_COMPONENTS, QUICK_COMPONENTS = {"mnist": 100, "ct": 50}, 20
SCHEMES = (UNIFORM, SEEDING, KMEANS_ROWS, DPP, BHATTACHARYYA)
PAIRS = ((SEEDING, UNIFORM), (DPP, SEEDING), (DPP, KMEANS_ROWS), (BHATTACHARYYA, DPP))


@dataclass(frozen=True)
class Reading:
    """One deviation from the published pipeline, of the graph, the extension or the data.

    Attributes
    ----------
    of_graph : dict
        Parameters of the graph that it changes.
    extension : str
    eigenvalue : str
        What the extension divides by: "lambda", as printed, or "1 - lambda".
    threshold : float or None
        Gray value above which pixels of digits are 1; ``None`` leaves them gray.
    k : int
        Number of landmarks.
    quick : bool
        Whether it belongs to the quick form.
    """

    of_graph: dict[str, Any] = field(default_factory=dict)
    extension: str = "published"
    eigenvalue: str = "lambda"
    threshold: float | None = mnist.THRESHOLD
    k: int = N_LANDMARKS
    quick: bool = False


AS_PRINTED = "as printed"
READINGS = {
    AS_PRINTED: Reading(quick=True),
    "20 graph neighbors": Reading({"n_neighbors": 20}, quick=True),
    "500 graph neighbors": Reading({"n_neighbors": 500}),
    "links that agree": Reading({"link": "agreed"}),
    "division by 1 - lambda": Reading(eigenvalue="1 - lambda", quick=True),
    "weights that add up to one": Reading(extension="all"),
    "a bandwidth for each landmark, weights that add up to one": Reading(
        {"bandwidth": None}, extension="all"
    ),
    "ridge 0.0001": Reading({"ridge": 1e-4}),
    "ridge 1": Reading({"ridge": 1.0}),
    "binary above 0.25": Reading(threshold=0.25),
    "binary above 0.75": Reading(threshold=0.75),
    "gray images": Reading(threshold=None, quick=True),
    **{f"{k:,} landmarks": Reading(k=k) for k in COUNTS},
}


def cases(settings: Settings) -> Iterator[Row]:
    """Every scheme in every reading that concerns it, on both data sets, draw by draw."""
    for seed in settings.seeds(RUNS):
        for data in DATA:
            for scheme in SCHEMES:
                for name, reading in READINGS.items():
                    if reading.quick >= settings.quick and _concerns(reading, data, scheme):
                        case = {"data": data, "scheme": scheme, "reading": name, "seed": seed}
                        yield case | {"k": QUICK_LANDMARKS if settings.quick else reading.k}


def _concerns(reading: Reading, data: str, scheme: str) -> bool:
    """Whether a reading changes anything."""
    if reading.threshold != mnist.THRESHOLD and data != "mnist":
        return False
    return "ridge" not in reading.of_graph or scheme == BHATTACHARYYA


def run(case: Row, settings: Settings) -> Row:
    """Embed and classify once."""
    data, reading, quick = case["data"], READINGS[case["reading"]], settings.quick
    task = _task(data, settings.find(data), reading.threshold, quick)
    wanted = QUICK_COMPONENTS if quick else N_COMPONENTS[data]
    emb = estimator(task, PUBLISHED, case["scheme"], case["k"], wanted, case["seed"])
    changed = {f"graph__{name}": value for name, value in reading.of_graph.items()}
    emb.set_params(extension=reading.extension, **changed).fit(task.train)
    train, test = emb.transform(task.train), emb.transform(task.test)
    if reading.eigenvalue == "1 - lambda":
        # The printed formula divides every coordinate by its lambda.
        factors = emb.eigenvalues_ / (1 - emb.eigenvalues_)
        train, test = train * factors, test * factors
    return scored(task, knn_labels(train, task.train_labels, test))


@lru_cache(maxsize=2)
def _task(data: str, folder: Path, threshold: float | None, quick: bool) -> Task:
    """The points of the other experiments, with at most 10,000 to test."""
    if data == "mnist":
        return mnist.digits(folder, *(mnist.QUICK_SIZES if quick else mnist.SIZES), threshold)
    variant = headneck.VARIANTS[0]
    n_patches = variant.quick_patches if quick else variant.n_patches
    return headneck.patch_task(folder, variant.source, variant.split, n_patches, 0)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracies and differences in every reading."""
    page.text(
        """The paper leaves parts of its pipeline open. Here one of them at a time is read
        otherwise than in the published pipeline of [digits](mnist.md) and of [CT
        patches](headneck.md)."""
    )
    _draw(rows, page)
    with page.details("How it was run"):
        page.text(
            f"""Unless the line says otherwise: {N_LANDMARKS:,} landmarks, sigma =
            {BANDWIDTH_PAPER:g}, {GRAPH_NEIGHBORS} graph neighbors with a link if either is among
            the nearest of the other, diagonal covariances with a ridge of 0.01, the printed
            extension, division by lambda, and images that are binary above {mnist.THRESHOLD:g}.
            60,000 and 10,000 digits, 80,000 and {headneck.N_TEST:,} patches of one split, which are
            the same for all draws."""
        )
    numbers = {len(runs) for runs in grouped(rows, "data", "scheme", "reading").values()}
    page.text(
        f"""Mean ± standard deviation of the accuracy in percent over {runs_text(numbers)}, and
        differences in percentage points. {tests_text(False, "hold for other draws of landmarks")}
        So few draws have little power: trust only what most lines agree on."""
    )
    names = {data: _names(rows, data) for data in DATA}
    found = {
        (data, name, pair): compare(*(_found(rows, data, name, s) for s in pair), "accuracy")
        for data in DATA
        for name in names[data]
        for pair in PAIRS
    }
    found = dict(zip(found, holm(list(found.values())), strict=True))
    for data, title in DATA.items():
        page.heading(title)
        page.table(
            ["reading", *SCHEMES],
            [
                [name, *(mean_and_spread(_found(rows, data, name, s), "accuracy") for s in SCHEMES)]
                for name in names[data]
            ],
        )
        page.table(
            ["reading", *map(" - ".join, PAIRS)],
            [[name, *(found[data, name, pair].points for pair in PAIRS)] for name in names[data]],
        )


def _names(rows: Sequence[Row], data: str) -> list[str]:
    """Readings that were tried on a data set, in order."""
    tried = {row["reading"] for row in rows if row["data"] == data}
    return [name for name in READINGS if name in tried]


def _found(rows: Sequence[Row], data: str, reading: str, scheme: str) -> list[Row]:
    """Rows of a scheme in a reading, which is as printed for those it does not concern."""
    if not _concerns(READINGS[reading], data, scheme):
        reading = AS_PRINTED
    wanted = (data, reading, scheme)
    return [row for row in rows if (row["data"], row["reading"], row["scheme"]) == wanted]


def _draw(rows: Sequence[Row], page: Page) -> None:
    """Accuracy of every scheme in every reading."""
    with page.picture(
        "Accuracy of every scheme in every reading", figsize=(11, 5.5), ncols=len(DATA)
    ) as axes:
        for panel, data in zip(axes, DATA, strict=True):
            names = _names(rows, data)
            for scheme in SCHEMES:
                found = [column(_found(rows, data, name, scheme), "accuracy") for name in names]
                means = [100 * values.mean() for values in found]
                lines = [name.replace(", ", ",\n") for name in names]
                panel.plot(means, lines, "o", color=COLORS[scheme], label=scheme)
            panel.invert_yaxis()
            panel.grid(axis="y", alpha=0.3)
            panel.set(xlabel="accuracy, %", title=DATA[data])
        legend_below(axes, ncols=3)


EXPERIMENT = Experiment(
    "readings",
    "What the paper leaves open",
    cases,
    run,
    show,
    PARAMETERS | {"n_landmarks": N_LANDMARKS, "n_components": N_COMPONENTS},
)
