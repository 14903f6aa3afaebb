"""How maps are judged: on the same rows for every method, and by a few rows that are kept."""

import base64

import numpy as np

from experiments.benchmarks import point_sets
from experiments.runner import Row
from trigpoint.metrics import map_scores

NEIGHBORS = 10
# Sets with more rows than this have one seed, and fewer queries.
SEVERAL = 20_000
# Rows whose neighborhoods are compared, by the number of rows.
QUERIES = ((SEVERAL, 1000), (100_000, 500), (10**9, 200))
# Rows whose coordinates are kept, to compare maps from different seeds.
KEPT = 300


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
