"""How many neighbors the landmark graph should have, on data of low and of high local dimension."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

import trigpoint as tp
from experiments.benchmarks import data
from experiments.framework.cells import percent
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page
from experiments.framework.summary import grouped, mean

# Numbers of neighbors by their name in the table.
CHOICES: dict[str, Callable[[int], int]] = {
    "10 neighbors": lambda k: 10,
    "20 (default)": lambda k: 20,
    "50": lambda k: 50,
    "100": lambda k: 100,
    "k / 4": lambda k: k // 4,
}
# Title, numbers of landmarks, numbers of coordinates.
CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "roll": ("Swiss roll, 20,000 points", (1000,), (2, 10)),
    "faces": ("Isomap faces, 698", (200, 400), (2, 10)),
    "coil": ("COIL-20, 1,440 views", (300, 600), (2, 10)),
    "patches": ("CT patches, 24,000", (250, 1000), (10, 50)),
    "mnist": ("MNIST, 24,000 digits", (250, 1000), (10, 100)),
}
SIZE = 24_000


def cases(settings: Settings) -> Iterator[Row]:
    """Every data set that is available, with few and many landmarks and coordinates."""
    for kind in ("roll",) if settings.quick else CASES:
        if data.missing(kind, settings):
            continue
        _, counts, dimensions = CASES[kind]
        for k in (200,) if settings.quick else counts:
            for n_components in dimensions:
                for seed in range(1 if settings.quick else 3):
                    yield {"data": kind, "k": k, "n_components": n_components, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Score of the embedding with every number of neighbors, with the same landmarks."""
    X, wanted = labelled(case["data"], settings)
    k, seed = case["k"], case["seed"]
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[len(X) // 6 :], order[: len(X) // 6]
    scores = {}
    for name, number in CHOICES.items():
        emb = tp.LaplacianEigenmaps(
            case["n_components"], landmarks=k, n_neighbors=number(k), random_state=seed
        ).fit(X[train])
        known, asked = emb.transform(X[train]), emb.transform(X[test])
        if wanted.ndim == 1:
            scores[name] = tp.metrics.knn_accuracy(known, wanted[train], asked, wanted[test])
        else:
            near = KNeighborsRegressor(5).fit(known, wanted[train])
            scores[name] = float(near.score(asked, wanted[test]))
    return scores


def labelled(kind: str, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Points, and classes (n,) or coordinates (n, c) that an embedding should keep."""
    if kind == "roll":
        return tp.datasets.make_swiss_roll(20_000, noise=0.2, random_state=0)
    if kind == "mnist":
        return data.mnist(settings, "train", SIZE)
    if kind == "patches":
        return data.patches(settings, SIZE)
    return data.images(settings, kind)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Scores by number of neighbors."""
    page.text(
        """Laplacian eigenmaps with all else left to the defaults: accuracy of the nearest neighbor
        in the embedding, for points that were not fitted (a sixth of all); for the faces and the
        roll, the variance of pose and light, or of the place on the roll, that the nearest five
        explain. Mean of three draws. Few directions ask for few neighbors, many for many."""
    )
    lines = []
    for (kind, k, n_components), runs in grouped(rows, "data", "k", "n_components").items():
        if good := [row for row in runs if "error" not in row]:
            cells = [percent(mean(good, name)) for name in CHOICES]
            lines.append([CASES[kind][0], f"{k:,}", n_components, *cells])
    page.table(["data", "landmarks", "coordinates", *CHOICES], lines)


EXPERIMENT = Experiment("neighbors", "Neighbors in the graph", cases, run, show)
