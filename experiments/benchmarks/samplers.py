"""Do diverse landmarks matter? Four samplers in the same pipeline, on many data sets."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

import trigpoint as tp
from experiments.benchmarks.collection import COLLECTION, load
from experiments.benchmarks.defaults import QUICK, QUICK_POINTS, Trial
from experiments.pages import Page, grouped
from experiments.runner import Experiment, Row, Settings

DPP, UNIFORM, FARTHEST, CHOLESKY = "EfficientDPP", "Uniform", "FarthestPoint", "RPCholesky"
SAMPLERS = {
    DPP: tp.EfficientDPP,
    UNIFORM: tp.Uniform,
    FARTHEST: tp.FarthestPoint,
    CHOLESKY: tp.RPCholesky,
}
COUNTS, COORDINATES = (100, 300, 1000), (2, 10)
SPLITS = 2

# Scores of all held-out points, and of the tenth of them that lie farthest from their neighbors.
EVERYWHERE, SPARSE = "all", "sparsest tenth"
_SPARSEST = 0.1

# Data sets whose points spread locally in fewer directions than this are counted as surfaces.
_SURFACE = 3.5

_DIGITS = 5


def cases(settings: Settings) -> Iterator[Row]:
    """Every split of every data set."""
    for seed in settings.seeds(SPLITS, quick=1):
        for name in QUICK if settings.quick else COLLECTION:
            yield {"data": name, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Scores of all samplers, by number of landmarks and of coordinates."""
    X, labels = load(case["data"], settings)
    if settings.quick:
        X, labels = X[:QUICK_POINTS], None if labels is None else labels[:QUICK_POINTS]
    trial = Trial.split(X, labels, case["seed"])
    distances = trial.distances()
    sparse = distances >= np.quantile(distances, 1 - _SPARSEST)
    scores: dict[str, dict[str, list[float]]] = {}
    dimension = np.nan
    for k in (k for k in COUNTS if 2 * k <= len(trial.train)):
        for count in (count for count in COORDINATES if count <= X.shape[1]):
            found = scores.setdefault(f"{count}, {k}", {})
            for name, kind in SAMPLERS.items():
                emb = tp.LaplacianEigenmaps(count, landmarks=kind(k, random_state=case["seed"]))
                hits = trial.hits(*trial.embedded(emb))
                found[name] = [round(float(part.mean()), _DIGITS) for part in (hits, hits[sparse])]
                dimension = emb.dimension_ if name == DPP else dimension
    dimension = round(float(dimension), 3)
    return {
        "d": X.shape[1],
        "dimension": dimension,
        "labeled": labels is not None,
        "scores": scores,
    }


class Difference(NamedTuple):
    """How much better `EfficientDPP` is than another sampler on a data set, in points."""

    data: str
    dimension: float
    mean: float


def differences(rows: Sequence[Row], key: str, other: str, part: int) -> list[Difference]:
    """Differences for a number of coordinates and landmarks, a mean over the splits."""
    found = []
    for (name,), runs in grouped(rows, "data").items():
        scores = [row["scores"][key] for row in runs if key in row["scores"]]
        if scores:
            gains = [100 * (one[DPP][part] - one[other][part]) for one in scores]
            dimension = float(np.mean([row["dimension"] for row in runs]))
            found.append(Difference(name, dimension, float(np.mean(gains))))
    return found


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Differences between samplers over the data sets, and the scores of each."""
    page.text(
        f"""`LaplacianEigenmaps` with default settings and landmarks by four samplers, on the data
        sets of [defaults](defaults.md). Of up to 10,000 points 70% are fitted, and up to 1,500
        others are scored: the share of them that have the class of the nearest fitted point in the
        embedding, or, without classes, the share of their 10 nearest fitted points that are among
        the 10 nearest in the embedding. Means over {SPLITS} splits. The sparsest tenth are the
        held-out points whose tenth neighbor is farthest."""
    )
    keys = [f"{count}, {k}" for count in COORDINATES for k in COUNTS]
    page.heading("EfficientDPP compared with the others")
    page.text(
        f"""Percentage points by which `EfficientDPP` is better: the mean over data sets with a 95 %
        interval for other data sets of these kinds (t distribution), and in brackets on how many
        of them it is ahead. *Surfaces* have a local dimension below {_SURFACE:g}."""
    )
    lines = []
    for key in keys:
        count, k = key.split(", ")
        for place, part in enumerate((EVERYWHERE, SPARSE)):
            for surface in (True, False):
                cells = [_summary(differences(rows, key, o, place), surface) for o in _OTHERS]
                kind = "surfaces" if surface else "others"
                lines.append([f"{count} coordinates, k = {int(k):,}", kind, part, *cells])
    page.table(["", "data", "points", *(f"less {other}" for other in _OTHERS)], lines)
    for key in keys:
        _show_scores(rows, key, page)


_OTHERS = (UNIFORM, FARTHEST, CHOLESKY)


def _summary(found: Sequence[Difference], surface: bool) -> str:
    means = np.array([one.mean for one in found if (one.dimension < _SURFACE) == surface])
    if len(means) < 2:
        return "-"
    half = t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means))
    return f"{means.mean():+.1f} ± {half:.1f} ({(means > 0).sum()} of {len(means)})"


def _show_scores(rows: Sequence[Row], key: str, page: Page) -> None:
    count, k = key.split(", ")
    lines: list[list[Any]] = []
    for (name,), runs in grouped(sorted(rows, key=lambda row: row["dimension"]), "data").items():
        scores = [row["scores"][key] for row in runs if key in row["scores"]]
        if scores:
            cells = [
                " / ".join(
                    f"{100 * np.mean([one[s][part] for one in scores]):.1f}" for part in (0, 1)
                )
                for s in SAMPLERS
            ]
            dimension = np.mean([row["dimension"] for row in runs])
            lines.append([name, f"{runs[0]['d']:,}", f"{dimension:.1f}", *cells])
    if lines:
        page.heading(f"{count} coordinates, {int(k):,} landmarks: all / sparsest tenth, %")
        page.table(["data", "columns", "local dimension", *SAMPLERS], lines)


EXPERIMENT = Experiment("samplers", "Do diverse landmarks matter?", cases, run, show)
