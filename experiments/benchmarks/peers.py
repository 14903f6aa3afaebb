"""Maps beside UMAP, t-SNE, PaCMAP, TriMap and PCA, on many data sets.

``SETS`` and ``METHODS`` in the environment name the data sets and methods to run, all others are
left for another time. To measure rows again, delete their lines from the results.
"""

import base64
import os
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.benchmarks import point_sets
from experiments.benchmarks.map_sets import MAP_SETS, load
from experiments.benchmarks.measuring import apart, measure
from experiments.benchmarks.methods import COMPILED, MAPPERS, warm_up
from experiments.pages import Page
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import map_scores

SEEDS = 3
# Larger sets have one seed.
SEVERAL = 20_000
DETERMINISTIC = ("PCA", "random")
LIMIT, QUICK_LIMIT = 900, 60  # seconds
QUICK = ("digits",)

NEIGHBORS = 10
# Rows whose neighborhoods are compared, by the number of rows.
QUERIES = ((SEVERAL, 1000), (100_000, 500), (10**9, 200))
# Rows of the call before the measured one, for sets that need no others.
FEW = 500
# Rows whose coordinates are kept, to compare maps from different seeds.
KEPT = 300

# Methods that would break the limit on sets larger than this, with the reason.
LEFT_OUT = {"openTSNE": (100_000, "left out: about two minutes for 70,000 rows")}


def cases(settings: Settings) -> Iterator[Row]:
    """Every method on every set, small ones first, and once before any is repeated."""
    names = QUICK if settings.quick else sorted(MAP_SETS, key=lambda name: MAP_SETS[name].n)
    for seed in settings.seeds(SEEDS, 1):
        for name in names:
            for method in MAPPERS:
                once = method in DETERMINISTIC or MAP_SETS[name].n > SEVERAL
                if seed == 0 or not once:
                    yield {"data": name, "n": MAP_SETS[name].n, "method": method, "seed": seed}


def foregone(case: Row, rows: Sequence[Row]) -> Row | None:
    """Cases that were not asked for, or that would take too long."""
    for column, wanted in (("data", "SETS"), ("method", "METHODS")):
        names = os.environ.get(wanted, "").split()
        if names and case[column] not in names:
            return {}
    most, reason = LEFT_OUT.get(case["method"], (np.inf, ""))
    return {"error": reason} if case["n"] > most else None


def run(case: Row, settings: Settings) -> Row:
    """Time, memory and scores of a map."""
    entry, method = MAP_SETS[case["data"]], MAPPERS[case["method"]]
    X = load(case["data"], settings)
    # Smaller sets take other functions in some methods, which are compiled on a few rows.
    warm_up(method, X if len(X) >= COMPILED else X[:FEW], metric=entry.metric)
    Y, cost = measure(lambda: method.run(X, case["seed"], metric=entry.metric))
    return {**cost, **judged(X, Y, entry.metric), "shape": packed(Y)}


def judged(X: np.ndarray, Y: np.ndarray, metric: str) -> Row:
    """Scores of a map, on the same rows for every method."""
    n_queries = next(count for most, count in QUERIES if len(X) <= most)
    found = map_scores(X, Y, n_neighbors=NEIGHBORS, n_queries=n_queries, metric=metric)
    return {
        "kept": found.neighbors_preserved,
        "area": found.area,
        "distances": found.rank_correlation,
        "triplets": found.triplets,
        "trustworthiness": found.trustworthiness,
        "continuity": found.continuity,
    }


def packed(Y: np.ndarray) -> str:
    """Coordinates of some rows as text, with three digits."""
    some = Y[point_sets.sample_rows(len(Y), KEPT)].astype(np.float64)
    some -= some.mean(axis=0)
    some /= np.abs(some).max() or 1.0
    return base64.b64encode(some.astype("<f2").tobytes()).decode()


def unpacked(text: str) -> np.ndarray:
    """Coordinates of some rows."""
    return np.frombuffer(base64.b64decode(text), "<f2").reshape(-1, 2).astype(np.float64)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Nothing yet."""


EXPERIMENT = Experiment(
    "peers", "Maps beside others", cases, apart(run, LIMIT, QUICK_LIMIT), show, foregone=foregone
)
