"""Benchmark of maps against UMAP, t-SNE, PaCMAP, TriMap and PCA, on many data sets.

``--where data=digits method=PCA seed=0`` runs only some of the cases. To measure cases again,
delete their lines from the results.
"""

import base64
from collections.abc import Iterator

import numpy as np

from experiments.benchmarks.measuring import apart, measure
from experiments.benchmarks.methods import DETERMINISTIC, MAPPERS, warm_up
from experiments.benchmarks.peers_page import KEPT, NEIGHBORS, QUERIES, SEVERAL, show
from experiments.benchmarks.sets import SETS, mapped_rows, sample_rows
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import map_scores

SEEDS = 3
QUICK = "digits", 1_000


def cases(settings: Settings) -> Iterator[Row]:
    """Yield every method on every data set, from small to large, for one seed after the other."""
    sizes = [(name, entry.n) for name, entry in SETS.items() if entry.n]
    listed = [QUICK] if settings.quick else sorted(sizes, key=lambda item: item[1])
    for seed in settings.seeds(SEEDS, 1):
        for name, n in listed:
            for method, entry in MAPPERS.items():
                once = method in DETERMINISTIC or n > SEVERAL
                if n <= entry.most_rows and (seed == 0 or not once):
                    yield {"data": name, "n": n, "method": method, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Measure the time, memory and scores of a map; scores use the same rows for every method."""
    metric, method = SETS[case["data"]].metric, MAPPERS[case["method"]]
    X = mapped_rows(case["data"], settings)[: case["n"]]
    if not settings.quick:
        warm_up(method, X, metric=metric)
    Y, cost = measure(lambda: method.run(X, case["seed"], metric=metric))
    n_queries = next(count for most, count in QUERIES if len(X) <= most)
    found = map_scores(X, Y, n_neighbors=NEIGHBORS, n_queries=n_queries, metric=metric)
    return {
        "seconds": cost["seconds"],
        "memory": cost["peak"],
        "preserved": found.neighbors_preserved,
        "area": found.area,
        "distances": found.rank_correlation,
        "triplets": found.triplets,
        "trustworthiness": found.trustworthiness,
        "continuity": found.continuity,
        "shape": packed(Y),
    }


def packed(Y: np.ndarray) -> str:
    """Encode the coordinates of some rows as text, with about three digits."""
    some = Y[sample_rows(len(Y), KEPT)].astype(np.float64)
    some -= some.mean(axis=0)
    some /= np.abs(some).max() or 1.0
    return base64.b64encode(some.astype("<f2").tobytes()).decode()


EXPERIMENT = Experiment("peers", "Maps", cases, apart(run), show)
