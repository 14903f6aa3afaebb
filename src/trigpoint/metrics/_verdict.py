"""Grade of an embedding relative to what is attainable, and the sentences that explain it.

Embeddings are compared with the best known embeddings of many data sets, computed by several
methods. The log odds of the share of neighbors that these preserve are nearly linear in the
logarithm of the local dimension of the data, and in that of the number of rows divided by the
number of coordinates. The benchmark ``attainable`` derives the coefficients from the data sets that
were used to choose defaults, and checks them on the others. What PCA preserves is attainable for
any data.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trigpoint._common.words import percent

if TYPE_CHECKING:
    from trigpoint.metrics._quality import Quality

# Minimum share of the attainable for each grade.
GRADES = {"excellent": 0.85, "good": 0.6, "fair": 0.35, "poor": 0.0}

# Coefficients of the reference and its standard error, a compromise between the errors on the data
# sets used to derive the coefficients and on held-out data sets.
COEFFICIENTS = (2.896, -0.968, -0.209)
SPREAD = 0.3

# Embeddings with fewer true neighbors, or more torn or false ones, mislead readers, and are never
# excellent. If there are about as many coordinates as local dimensions, readers do not expect any
# tears, and the share of landmarks at tears counts as well. If most neighbors are torn or false,
# an embedding is not even good.
_MOSTLY = 0.5
_FAR, _FAR_ON_MANIFOLDS = 0.1, 0.005
_TEARS = 0.002
_MANIFOLD = 0.5

# The verdict mentions the map of a metric to Euclidean rows if it preserves a smaller share of
# neighbors.
_LEAST_BY_METRIC = 0.8

# Embeddings with at most this many coordinates are meant to be looked at.
MOST_LOOKED_AT = 3


class Advice(NamedTuple):
    """A change to an embedding, with its expected gain and cost."""

    change: str  # The change, with the exact parameters.
    gain: float  # Expected increase of the share of neighbors preserved.
    seconds: float  # Expected time to fit and transform the rows.
    megabytes: float  # Expected size of the fitted model.


def terms(dimension: float, n: int, n_components: int) -> list[float]:
    """Return the terms in which the log odds of the attainable share are linear."""
    return [1.0, math.log(max(dimension, 1.0)), math.log(n) / n_components]


def log_odds(share: float) -> float:
    """Return the logarithm of the odds of a share."""
    return math.log(share / (1 - share))


def share_at(odds: float) -> float:
    """Return the share for given log odds."""
    return 1 / (1 + math.exp(-odds))


def reference(dimension: float, n: int, n_components: int) -> float:
    """Return the log odds of the share that the best known embeddings preserve."""
    values = terms(dimension, n, n_components)
    return sum(a * b for a, b in zip(COEFFICIENTS, values, strict=True))


def attainable(quality: "Quality") -> tuple[float, float]:
    """Return the range of the shares that the best known embeddings of such data preserve."""
    # The dimension is NaN if all distances are equal; then the number of columns is the dimension.
    dimension = quality.n_features if math.isnan(quality.dimension) else quality.dimension
    odds = reference(dimension, quality.n_points, quality.n_components)
    # The reference excludes neighbors that are preserved by chance.
    shares = (share_at(odds + shift) for shift in (-SPREAD, SPREAD))
    low, high = (share + (1 - share) * quality.chance for share in shares)
    return max(low, quality.by_pca), max(high, quality.by_pca)


def score(quality: "Quality") -> float:
    """Return neighbors preserved above chance, relative to the attainable; may exceed 1."""
    if quality.chance == 1:
        return 0.0
    kept, best = (
        max(0.0, share - quality.chance) / (1 - quality.chance)
        for share in (quality.preserved, sum(quality.attainable) / 2)
    )
    return kept / best if best > 0 else 0.0


def is_manifold(dimension: float, n_components: int) -> bool:
    """Return whether the number of coordinates is about the local dimension or more."""
    return dimension < n_components + _MANIFOLD


def grade_of(quality: "Quality") -> str:
    """Return the grade, one of `GRADES`."""
    words, value = list(GRADES), score(quality)
    place = next(place for place, least in enumerate(GRADES.values()) if value >= least)
    if max(quality.torn, quality.false_neighbors) > _MOSTLY:
        return words[max(place, 2)]
    return words[max(place, 1)] if any(cautions(quality)) else words[place]


def cautions(quality: "Quality") -> Iterator[str]:
    """Yield a sentence for each way in which the embedding misleads; excellent ones have none."""
    manifold = is_manifold(quality.dimension, quality.n_components)
    limit = _FAR_ON_MANIFOLDS if manifold else _FAR
    if quality.chance > _MOSTLY:
        yield "Most rows are equally far from each other, so the data has no neighborhoods"
    elif quality.preserved < _MOSTLY:
        yield (
            "Most points that are drawn around a point are not its nearest neighbors in the data, "
            "so do not read single neighbors from the embedding"
        )
    if quality.metric_kept < _LEAST_BY_METRIC:
        share = _percent(quality.metric_kept)
        yield f"Euclidean rows preserve {share} of the neighbors by the metric"
    if quality.torn > limit:
        yield (
            f"{_percent(quality.torn)} of the true neighbors are far apart in the embedding, so a "
            "gap may be a tear"
        )
    elif quality.tears is not None and quality.tears > _TEARS:
        yield "The embedding is torn at some points, so ends and gaps may not exist in the data"
    if quality.false_neighbors > limit:
        yield (
            f"{_percent(quality.false_neighbors)} of the neighbors in the embedding are far apart "
            "in the data, so different parts of the data may lie on top of each other"
        )
    if quality.redundant:
        yield _functions(quality)


def verdict_on(quality: "Quality") -> str:
    """Describe the quality of an embedding, its reasons, and the change most likely to help."""
    (low, high), m = quality.attainable, quality.n_neighbors
    known = "maps" if quality.n_components <= MOST_LOOKED_AT else "embeddings"
    dimension = (
        "" if math.isnan(quality.dimension) else f"{quality.dimension:.0f} local dimensions, "
    )
    sentences = [
        f"{quality.grade.capitalize()}: {_percent(quality.preserved)} of the {m} nearest neighbors "
        f"are preserved; the best known {known} of such data ({dimension}{quality.n_points:,} "
        f"rows) preserve {_between(low, high)}, and PCA preserves {_percent(quality.by_pca)}",
        *cautions(quality),
    ]
    advice = quality.advice
    if advice is not None:
        sentences.append(
            f"Most likely to help: {advice.change}, which should preserve about "
            f"{_percent(quality.preserved + advice.gain)} (in about {_seconds(advice.seconds)}, "
            f"with a model of {_megabytes(advice.megabytes)})"
        )
    return ". ".join(sentences) + "."


def _functions(quality: "Quality") -> str:
    redundant = quality.redundant
    if len(redundant) == 1:
        before = "coordinate 1" if redundant[0] == 2 else "those before"
        return f"Coordinate {redundant[0]} is a function of {before}"
    count = f"{len(redundant)} of {quality.n_components}"
    return f"{count} coordinates are functions of earlier ones"


def _percent(share: float) -> str:
    return percent(share, 1 if 0 < share < 0.1 else 0)


def _between(low: float, high: float) -> str:
    first, last = (_percent(share) for share in (low, high))
    return first if first == last else f"{first.removesuffix(' %')} to {last}"


def _seconds(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} s" if seconds >= 1.5 else "1 s"


def _megabytes(megabytes: float) -> str:
    return f"{megabytes:.0f} MB" if megabytes >= 1.5 else f"{max(megabytes, 0.1):.1f} MB"
