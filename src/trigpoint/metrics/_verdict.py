"""Grade of an embedding, the change most likely to improve it, and a sentence that states both.

The grade compares the fraction of neighbors preserved, corrected for chance, with an expected
fraction. With as many coordinates as the local dimension of the points, all neighbors can be
preserved; with fewer coordinates, the expected fraction is the square root of the ratio. In two
dimensions, t-SNE, which is designed to preserve neighbors, reached 0.88 of the expectation on 700
cells of 45 dimensions, 0.94 on a table of 30 columns, 1.0 on 698 faces and 1.2 on 1,500 digits; PCA
reached 0.2 to 0.5. An embedding that preserves clearly less than PCA with the same number of
components is graded one step lower.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from trigpoint.metrics._quality import Quality

# Share of neighbors that the map of a metric to Euclidean rows preserves, below which the verdict
# says so.
_LEAST_BY_METRIC = 0.8

# Minimum score for each grade.
GRADES = {"excellent": 0.75, "good": 0.5, "fair": 1 / 3, "poor": 0.0}

_EXPECTED_POWER = 0.5

# PCA is better if it preserves more neighbors by at least this difference and this ratio. Smaller
# differences are noise, or do not justify changing the method.
_PCA_MORE, _PCA_TIMES = 0.01, 1.1

# Number of coordinates up to which redundant ones should be skipped, and an extension over all
# landmarks loses more than it gains.
_FEW_COORDINATES = 3
# Fraction of suspected shortcuts above which another graph is suggested.
_SHORTCUT_SHARE = 0.01
# Number of neighbors below which graphs split into several connected components.
_FEW_NEIGHBORS = 7
# Number of rows up to which maps lay out all rows by default, and up to which a layout of all rows
# is suggested, although it takes minutes.
_LAID_OUT, _MOST_LAID_OUT = 400_000, 1_000_000


def score(quality: "Quality", kept: float | None = None) -> float:
    """Return neighbors preserved above chance, relative to the expectation; may exceed 1."""
    kept = quality.neighbors_kept if kept is None else kept
    chance = quality.n_neighbors / (quality.n_sampled - 1)
    above = (kept - chance) / (1 - chance)
    # The dimension is NaN if most points coincide, in which case all neighbors are expected.
    share = quality.n_components / quality.dimension if quality.dimension > 0 else 1.0
    return max(0.0, above / min(1.0, share) ** _EXPECTED_POWER)


def pca_is_better(quality: "Quality") -> bool:
    """Return whether PCA with the same number of components preserves clearly more neighbors.

    PCA with as many components as columns preserves everything, so it does not count as better.
    """
    if quality.n_components >= quality.n_features:
        return False
    kept, by_pca = quality.neighbors_kept, quality.pca_kept
    return by_pca > kept + _PCA_MORE and by_pca > _PCA_TIMES * kept


def grade_of(quality: "Quality") -> str:
    """Return the grade, one of `GRADES`."""
    words = list(GRADES)
    place = words.index(_word(score(quality)))
    return words[min(place + pca_is_better(quality), len(words) - 1)]


def _word(share: float) -> str:
    return next(word for word, least in GRADES.items() if share >= least)


class Remedy(NamedTuple):
    """Condition on the quality, and the change to suggest, with the exact parameter."""

    applies: Callable[["Quality"], bool]
    change: Callable[["Quality"], str]


def _below(word: str, quality: "Quality") -> bool:
    return list(GRADES).index(quality.grade) > list(GRADES).index(word)


def _named_graph(quality: "Quality") -> bool:
    return isinstance(quality.parameters.get("graph"), str)


def _neighbors(quality: "Quality") -> int:
    """Return the mean number of edges per landmark."""
    return round(2 * (quality.n_edges or 0) / quality.n_landmarks)


def _many_shortcuts(quality: "Quality") -> bool:
    if not quality.n_edges or not quality.shortcuts:
        return False
    suspected = quality.shortcuts > _SHORTCUT_SHARE * quality.n_edges
    return suspected and quality.pieces == 1 and _named_graph(quality)


def _interpolates(quality: "Quality") -> bool:
    """Return whether only some of the rows were laid out in a map."""
    landmarks = quality.parameters.get("landmarks")
    if "init" not in quality.parameters or (isinstance(landmarks, str) and landmarks == "all"):
        return False
    return landmarks is not None or quality.n_points > _LAID_OUT


def _principal(quality: "Quality") -> str:
    components = f"(n_components={quality.n_components})"
    # With few coordinates, KernelPCA may preserve less than PCA.
    ours = "KernelPCA" not in quality.unhelpful and quality.n_components > _FEW_COORDINATES
    return f"scikit-learn's PCA{components}" + (f" or KernelPCA{components}" if ours else "")


# The verdict names the first remedy that applies. Nothing else depends on the order.
REMEDIES: Sequence[Remedy] = (
    # The points are close to a plane.
    Remedy(
        lambda q: pca_is_better(q) and score(q, q.pca_kept) >= GRADES["good"],
        _principal,
    ),
    # With several connected components, the first coordinate distinguishes them, and all others are
    # functions of it; skipping these did not help.
    Remedy(
        lambda q: (
            bool(q.redundant)
            and q.n_components <= _FEW_COORDINATES
            and q.pieces == 1
            and q.parameters.get("eigenvectors") == "leading"
        ),
        lambda q: 'eigenvectors="independent"',
    ),
    Remedy(
        lambda q: (
            _below("excellent", q)
            and q.smoothed
            and q.n_components <= _FEW_COORDINATES
            and "graph" in q.parameters
        ),
        lambda q: 'extension="graph"',
    ),
    Remedy(pca_is_better, _principal),
    Remedy(
        lambda q: _many_shortcuts(q) and q.parameters["graph"] == "euclidean",
        lambda q: 'graph="bhattacharyya"',
    ),
    Remedy(
        lambda q: _many_shortcuts(q) and _neighbors(q) > _FEW_NEIGHBORS,
        lambda q: f"graph=KNNGraph({max(_FEW_NEIGHBORS, _neighbors(q) // 2)})",
    ),
    # The map was the best 2-D embedding on all 22 data sets with more than two local dimensions;
    # Isomap was the best on most surfaces.
    Remedy(
        lambda q: (
            _below("excellent", q)
            and q.n_components <= _FEW_COORDINATES
            and q.dimension > q.n_components + 0.5
            and "LandmarkMap" not in q.unhelpful
        ),
        lambda q: f"LandmarkMap(n_components={q.n_components})",
    ),
    Remedy(
        lambda q: (
            _below("excellent", q)
            and q.n_components <= _FEW_COORDINATES
            and q.pieces in (1, None)
            and "Isomap" not in q.unhelpful
        ),
        lambda q: f"Isomap(n_components={q.n_components})",
    ),
    # A map has at most three coordinates, but can be laid out for all rows.
    Remedy(
        lambda q: _below("excellent", q) and q.n_points <= _MOST_LAID_OUT and _interpolates(q),
        lambda q: 'landmarks="all"',
    ),
    Remedy(
        lambda q: (
            _below("excellent", q)
            and q.dimension > q.n_components + 0.5
            and "n_components" not in q.unhelpful
        ),
        lambda q: f"n_components={math.ceil(q.dimension)}",
    ),
    Remedy(
        lambda q: _below("good", q) and q.n_landmarks < q.n_points // 4,
        lambda q: f"landmarks={min(4 * q.n_landmarks, q.n_points)}",
    ),
)


def remedy_for(quality: "Quality") -> str:
    """Return the change of the first remedy that applies, or an empty string."""
    for remedy in REMEDIES:
        if remedy.applies(quality):
            return remedy.change(quality)
    return ""


def verdict_on(quality: "Quality") -> str:
    """Describe the embedding's quality and the change most likely to help, in one sentence."""
    by_pca = f"PCA of the same dimension keeps {_percent(quality.pca_kept)}"
    clauses = [
        f"{quality.grade.capitalize()}: {_percent(quality.neighbors_kept)} of the nearest "
        f"{quality.n_neighbors} neighbors are kept"
        + (f" while {by_pca}" if pca_is_better(quality) else f" ({by_pca})")
    ]
    if quality.metric_kept < _LEAST_BY_METRIC:
        clauses.append(
            f"Euclidean rows keep {_percent(quality.metric_kept)} of the neighbors by the metric"
        )
    if quality.redundant:
        clauses.append(_functions(quality.redundant, quality.n_components))
    remedy = quality.remedy
    advice = f"; most likely to help: {remedy}" if remedy else ""
    return f"{', and '.join(clauses)}{advice}."


def _functions(redundant: Sequence[int], n_components: int) -> str:
    if len(redundant) == 1:
        before = "coordinate 1" if redundant[0] == 2 else "those before"
        return f"coordinate {redundant[0]} is a function of {before}"
    return f"{len(redundant)} of {n_components} coordinates are functions of earlier ones"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
