"""Maps beside UMAP, t-SNE, PaCMAP, TriMap and PCA, on many data sets.

``SETS`` and ``METHODS`` in the environment name the data sets and methods to run; all others are
left for another time. To measure rows again, delete their lines from the results.
"""

import os
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.benchmarks.judging import SEVERAL, judged, packed
from experiments.benchmarks.map_sets import MAP_SETS, load
from experiments.benchmarks.measuring import apart, measure
from experiments.benchmarks.methods import DETERMINISTIC, MAPPERS, warm_up
from experiments.benchmarks.peers_page import show
from experiments.runner import Experiment, Row, Settings

SEEDS = 3
QUICK_LIMIT = 120  # seconds, in which methods also compile
QUICK = "digits", 1_000

# Methods that would break the limit on sets larger than this, with the reason.
LEFT_OUT = {"openTSNE": (100_000, "left out: about two minutes for 70,000 rows")}


def cases(settings: Settings) -> Iterator[Row]:
    """Every method on every set, small ones first, and once before any is repeated."""
    sizes = {name: entry.n for name, entry in MAP_SETS.items()}
    listed = [QUICK] if settings.quick else sorted(sizes.items(), key=lambda item: item[1])
    for seed in settings.seeds(SEEDS, 1):
        for name, n in listed:
            for method in MAPPERS:
                once = method in DETERMINISTIC or n > SEVERAL
                if seed == 0 or not once:
                    yield {"data": name, "n": n, "method": method, "seed": seed}


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
    X = load(case["data"], settings)[: case["n"]]
    if not settings.quick:
        warm_up(method, X, metric=entry.metric)
    Y, cost = measure(lambda: method.run(X, case["seed"], metric=entry.metric))
    return {**cost, **judged(X, Y, entry.metric), "shape": packed(Y)}


EXPERIMENT = Experiment(
    "peers", "Maps", cases, apart(run, quick_limit=QUICK_LIMIT), show, foregone=foregone
)
