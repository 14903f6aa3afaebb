"""Do diverse landmarks matter? Four samplers in the same pipeline, on many data sets."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

import trigpoint as tp
from experiments.benchmarks.collection import COLLECTION, load
from experiments.benchmarks.defaults import QUICK, QUICK_POINTS, Trial
from experiments.pages import Page, grouped, mean, standard_error
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


class Scores(NamedTuple):
    """Mean scores of every sampler on a data set, in percent: of all points, and of the sparse."""

    data: str
    columns: int
    dimension: float
    means: dict[str, np.ndarray]


def scores_of(rows: Sequence[Row], key: str) -> list[Scores]:
    """Scores with a number of coordinates and of landmarks, by local dimension."""
    found = []
    for (name,), runs in grouped(sorted(rows, key=lambda row: row["dimension"]), "data").items():
        scores = [row["scores"][key] for row in runs if key in row["scores"]]
        if scores:
            means = {s: 100 * np.mean([one[s] for one in scores], axis=0) for s in SAMPLERS}
            found.append(Scores(name, runs[0]["d"], mean(runs, "dimension"), means))
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
    found = {
        f"{count} coordinates, {{}}{k:,}": scores_of(rows, f"{count}, {k}")
        for count in COORDINATES
        for k in COUNTS
    }
    page.heading("EfficientDPP compared with the others")
    page.text(
        f"""Percentage points by which `EfficientDPP` is better: the mean over data sets with a 95 %
        interval for other data sets of these kinds (t distribution), and in brackets on how many
        of them it is ahead. *Surfaces* have a local dimension below {_SURFACE:g}."""
    )
    others = [name for name in SAMPLERS if name != DPP]
    lines = []
    for setting, scores in found.items():
        for place, part in enumerate((EVERYWHERE, SPARSE)):
            for kind, surface in (("surfaces", True), ("others", False)):
                some = [one.means for one in scores if (one.dimension < _SURFACE) == surface]
                cells = [_summary([m[DPP][place] - m[o][place] for m in some]) for o in others]
                lines.append([setting.format("k = "), kind, part, *cells])
    page.table(["", "data", "points", *(f"less {other}" for other in others)], lines)
    for setting, scores in found.items():
        page.heading(f"{setting.format('')} landmarks: all / sparsest tenth, %")
        page.table(
            ["data", "columns", "local dimension", *SAMPLERS],
            [
                [
                    one.data,
                    f"{one.columns:,}",
                    f"{one.dimension:.1f}",
                    *(
                        f"{everywhere:.1f} / {sparse:.1f}"
                        for everywhere, sparse in one.means.values()
                    ),
                ]
                for one in scores
            ],
        )


def _summary(gains: Sequence[float]) -> str:
    """Mean over the data sets, with its interval, and on how many it is above zero."""
    if len(gains) < 2:
        return "-"
    half = t.ppf(0.975, len(gains) - 1) * standard_error(np.array(gains))
    ahead = f"{sum(gain > 0 for gain in gains)} of {len(gains)}"
    return f"{np.mean(gains):+.1f} ± {half:.1f} ({ahead})"


EXPERIMENT = Experiment("samplers", "Do diverse landmarks matter?", cases, run, show)
