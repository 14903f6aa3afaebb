"""Scores of an embedding against the data, from comparing sampled rows with all rows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from trigpoint._common.checks import as_generator, check_choice, check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import (
    block_rows,
    one_blas_thread,
    row_blocks,
    thread_count,
    thread_map,
)
from trigpoint._spaces import Cosine
from trigpoint.metrics._checks import as_matrix, check_same_length

_FEWEST = 4

# Number of random pairs and triplets of rows whose distances are compared.
_PAIRS = 50_000

# Size in bytes of the squared distances from a group of rows to all rows, and of the rows to
# multiply at once.
_GROUP_BYTES = 2**27
_TILE_BYTES = 2**24

# Number of rows to compute the column medians from.
_MEDIAN_ROWS = 10_000

# Number of columns up to which distances are computed from differences.
_FEW_COLUMNS = 8

# Squared distances below this fraction of the squared norms lose digits in a matrix product and are
# recomputed from differences.
_CANCELED = 1e-3

# Number of bits of the mantissa of a float64 that are rounded off, so that distances that differ
# only by the rounding of a product are equal. The remaining 30 bits resolve one part in a billion.
_DROPPED_BITS = 22


@dataclass(frozen=True, eq=False)
class MapScores:
    """Scores of an embedding, as returned by `map_scores`.

    Attributes
    ----------
    n_neighbors : int
        Number of nearest neighbors that the first three scores consider.
    neighbors_preserved : float
        Fraction of the nearest neighbors in the embedding that are nearest neighbors in the data.
    trustworthiness, continuity : float
        1 if no row has false neighbors (trustworthiness) or missing neighbors (continuity) in the
        embedding; about 0.5 for a random embedding. Each false or missing neighbor is weighted by
        its excess rank.
    curve : float64 ndarray of shape (n - 2,)
        R_NX(K) for neighborhoods of K = 1, ..., n - 2 rows: the fraction of preserved neighbors,
        rescaled so that a random embedding scores 0 and a perfect one 1. NaN where ties make all
        rows neighbors of each other.
    area : float
        Mean of `curve` over log K, which gives small neighborhoods the most weight.
    rank_correlation : float
        Spearman correlation between distances in the data and in the embedding, over random pairs
        of rows.
    triplets : float
        Fraction of random triplets of rows in which the distances from the first row to the two
        others have the same order in the embedding and in the data; 0.5 for a random embedding.
    """

    n_neighbors: int
    neighbors_preserved: float
    trustworthiness: float
    continuity: float
    curve: np.ndarray
    area: float
    rank_correlation: float
    triplets: float


def map_scores(
    X: Any,
    embedding: Any,
    *,
    n_neighbors: int = 10,
    n_queries: int | None = 1000,
    metric: str = "euclidean",
    random_state: Any = 0,
    n_jobs: int | None = -1,
) -> MapScores:
    """Score how well an embedding preserves neighborhoods and large distances.

    A random sample of rows is compared with all rows, so the scores estimate those of all rows for
    data of any size.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    embedding : array-like of shape (n, l)
        Coordinates of the points in the embedding.
    n_neighbors : int, default=10
        Number of nearest neighbors, less than half the number of points.
    n_queries : int or None, default=1000
        Number of rows whose neighborhoods are compared; ``None`` for all rows.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between the points of `X`. The distance in the embedding is always Euclidean.
    random_state : None, int, RandomState or Generator, default=0
        Seed for the sample.
    n_jobs : int or None, default=-1
        Number of threads; -1 for all cores. It does not affect the result.

    Returns
    -------
    scores : MapScores
        A record with the fields `neighbors_preserved`, `trustworthiness`, `continuity`, `curve`,
        `area`, `rank_correlation` and `triplets`.

    See Also
    --------
    neighborhood_agreement : Area for small samples, by default with distances along the data.
    procrustes_r2 : Agreement of two embeddings.

    Notes
    -----
    Ties are never broken by the order of the rows. In the data, all rows at the distance of the
    k-th nearest are neighbors, and the rank of a row is one more than the number of nearer rows. In
    the embedding, ties are in random order, and scores are expectations over this order. An
    embedding that collapses to a point therefore scores no better than a random one, and the order
    of duplicate rows does not matter.

    Trustworthiness and continuity follow Venna and Kaski (2001). `curve` and `area` are R_NX and
    its area as defined by Lee, Peluffo-Ordóñez and Verleysen (2015), except that the level of a
    random embedding accounts for ties in the data.

    Distances come from float64 products centered at the column medians, or from differences where
    products lose digits. Memory beyond the arrays is limited to some hundred megabytes and a few
    numbers per row and thread.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, intrinsic = tp.datasets.make_swiss_roll(1000, random_state=0)
    >>> scores = tp.metrics.map_scores(X, intrinsic)
    >>> round(scores.neighbors_preserved, 2), round(scores.area, 2)
    (1.0, 0.81)
    """
    X, Y = as_matrix("X", X), as_matrix("embedding", embedding)
    check_same_length("X", X, "embedding", Y)
    n = len(X)
    if n < _FEWEST:
        raise ParameterValueError(f"X has {n} points: pass at least {_FEWEST}", "X")
    if check_choice("metric", metric, ("euclidean", "cosine")) == "cosine":
        X = Cosine()(X)
    most = (n - 1) // 2
    n_neighbors = check_count("n_neighbors", n_neighbors, high=most, why=f"X has {n} points")
    size = n if n_queries is None else min(n, check_count("n_queries", n_queries))
    rng, n_threads = as_generator(random_state), thread_count(n_jobs)
    parts = rng.integers(n, size=(3, _PAIRS))
    queries = np.sort(rng.choice(n, size, replace=False))
    with one_blas_thread():
        sums = _summed(X, Y, queries, n_neighbors, n_threads)
    curve = _rescaled(sums, size)
    worst = size * n_neighbors * (2 * n - 3 * n_neighbors - 1) / 2
    correlation, triplets = _of_pairs(X, Y, parts)
    return MapScores(
        n_neighbors,
        float(sums.shared[n_neighbors - 1] / (n_neighbors * size)),
        float(1 - sums.intruders / worst),
        float(1 - sums.missing / worst),
        curve,
        _area(curve),
        correlation,
        triplets,
    )


def procrustes_r2(embedding: Any, other: Any) -> float:
    """Fraction of the variance of one embedding that is explained by another.

    The other embedding is translated, rotated, reflected and scaled for the best fit (Procrustes
    analysis). The result is symmetric in the two embeddings.

    Parameters
    ----------
    embedding, other : array-like of shape (n, l)
        Coordinates of the same points, for example from two seeds.

    Returns
    -------
    r2 : float
        1 for embeddings of the same shape, near 0 for unrelated ones.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).normal(size=(100, 2))
    >>> round(procrustes_r2(Y, 3 - 2 * Y[:, ::-1]), 6)
    1.0
    """
    arrays = as_matrix("embedding", embedding), as_matrix("other", other)
    check_same_length("embedding", arrays[0], "other", arrays[1])
    centered = []
    for name, values in zip(("embedding", "other"), arrays, strict=True):
        if not np.ptp(values, axis=0).any():
            raise ParameterValueError(
                f"{name} has all points in one place: pass points that differ", name
            )
        away = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
        centered.append(away / np.linalg.norm(away))
    common = np.linalg.svd(centered[0].T @ centered[1], compute_uv=False).sum()
    return float(min(1.0, common**2))


# Neighborhoods --------------------------------------------------------------------------------


class _Sums(NamedTuple):
    """Sums over queries.

    `shared` (n - 1,) counts preserved neighbors and `near` (n - 1,) counts neighbors in the data,
    for neighborhoods of 1, ..., n - 1 rows. `intruders` and `missing` sum the excess ranks of false
    and of missing neighbors.
    """

    shared: np.ndarray
    near: np.ndarray
    intruders: float
    missing: float


def _summed(X: np.ndarray, Y: np.ndarray, queries: np.ndarray, k: int, n_threads: int) -> _Sums:
    n = len(X)
    spaces = [Squares(points) for points in (X, Y)]
    shared, near, intruders, missing = np.zeros(n - 1), np.zeros(n - 1), 0.0, 0.0
    for group in row_blocks(len(queries), block_rows(8 * n, _GROUP_BYTES)):
        rows = queries[group]
        in_x, in_y = (space(rows, n_threads) for space in spaces)

        def compare(
            q: int, rows: np.ndarray = rows, in_x: np.ndarray = in_x, in_y: np.ndarray = in_y
        ) -> _Sums:
            return _compared(np.delete(in_x[q], rows[q]), np.delete(in_y[q], rows[q]), k)

        for found in thread_map(compare, range(len(rows)), n_threads):
            shared += found.shared
            near += found.near
            intruders += found.intruders
            missing += found.missing
    return _Sums(shared, near, intruders, missing)


def _compared(in_x: np.ndarray, in_y: np.ndarray, k: int) -> _Sums:
    """Compare the neighborhoods of one row, from its squared distances (n - 1,) to the others."""
    n = len(in_x)
    order = np.argsort(in_x)
    nearer_x, _ = _tie_groups(in_x[order])
    in_y = in_y[order]
    order = np.argsort(in_y)
    nearer_y, ties = (np.empty(n, dtype=np.int64) for _ in range(2))
    nearer_y[order], ties[order] = _tie_groups(in_y[order])

    # Rows are sorted by distance in the data, so the neighbors come first.
    size = int(np.searchsorted(nearer_x, k))
    chosen = np.clip((k - nearer_y) / ties, 0, 1)
    intruders = chosen[size:] @ (nearer_x[size:] + 1.0 - k)
    missing = _excess(nearer_y[:size], ties[:size], size).sum() * k / size

    # A row is among the K nearest in the data if K > `nearer_x`. In the embedding, it is with a
    # probability that rises linearly from K = `nearer_y` + 1 and reaches 1 after as many steps as
    # there are ties.
    first = np.maximum(nearer_x, nearer_y) + 1
    last = nearer_y + ties
    jumps = np.bincount(first, np.minimum(1.0, (first - nearer_y) / ties), n + 2)
    grows = first < last
    if grows.any():
        slopes = np.bincount(first[grows] + 1, 1 / ties[grows], n + 2)
        slopes -= np.bincount(last[grows] + 1, 1 / ties[grows], n + 2)
        jumps += np.cumsum(slopes)
    near = np.cumsum(np.bincount(nearer_x + 1, minlength=n + 2)[1 : n + 1])
    return _Sums(np.cumsum(jumps)[1 : n + 1], near, float(intruders), float(missing))


def _tie_groups(ascending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each value the number of smaller values and of equal values, including itself."""
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    counts = np.diff(np.append(starts, len(ascending)))
    return np.repeat(starts, counts), np.repeat(counts, counts)


def _excess(nearer: np.ndarray, ties: np.ndarray, size: int) -> np.ndarray:
    """Return the expected excess over `size` of ranks that are random among ties."""
    beyond = np.clip(nearer + ties - size, 0, ties)
    # Ranks beyond `size` are consecutive numbers, of which the count and the largest are known.
    return beyond * (nearer + ties - size - (beyond - 1) / 2) / ties


def _rescaled(sums: _Sums, n_queries: int) -> np.ndarray:
    """Return R_NX(K) for K = 1, ..., n - 2; NaN where no embedding is better than chance."""
    n_others = len(sums.shared)
    shares = sums.shared[:-1] / (n_queries * np.arange(1, n_others))
    chance = sums.near[:-1] / (n_queries * n_others)
    possible = chance < 1
    return np.where(possible, (shares - chance) / np.where(possible, 1 - chance, 1), np.nan)


def _area(curve: np.ndarray) -> float:
    known = np.flatnonzero(np.isfinite(curve))
    return float(np.average(curve[known], weights=1 / (known + 1))) if len(known) else 0.0


# Distances ------------------------------------------------------------------------------------


class Squares:
    """Squared distances from some rows to all rows."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = points
        step = -(-len(points) // _MEDIAN_ROWS)
        # Center at the median, since one distant row would shift the mean and cost all others
        # precision.
        self.center = np.median(points[::step].astype(np.float64), axis=0)
        self.tiles = list(row_blocks(len(points), block_rows(8 * points.shape[1], _TILE_BYTES)))

    def __call__(self, rows: np.ndarray, n_threads: int) -> np.ndarray:
        """Return squared distances (b, n), rounded so that rounding errors do not break ties."""
        found = np.empty((len(rows), len(self.points)))
        queries = self._away(rows)
        fill = self._from_differences if queries.shape[1] <= _FEW_COLUMNS else self._from_products
        for _ in thread_map(lambda tile: fill(queries, tile, found), self.tiles, n_threads):
            pass
        bits = found.view(np.int64)
        bits += 1 << (_DROPPED_BITS - 1)
        bits &= -1 << _DROPPED_BITS
        return found

    def _away(self, rows: Any) -> np.ndarray:
        away: np.ndarray = self.points[rows] - self.center
        return away

    def _from_differences(self, queries: np.ndarray, tile: slice, found: np.ndarray) -> None:
        found[:, tile] = cdist(queries, self._away(tile), "sqeuclidean")

    def _from_products(self, queries: np.ndarray, tile: slice, found: np.ndarray) -> None:
        others = self._away(tile)
        norms = np.add.outer(*(np.einsum("ij,ij->i", A, A) for A in (queries, others)))
        squares = norms - 2 * (queries @ others.T)
        near, far = (squares < _CANCELED * norms).nonzero()
        for part in row_blocks(len(near), block_rows(8 * queries.shape[1], _TILE_BYTES)):
            apart = queries[near[part]] - others[far[part]]
            squares[near[part], far[part]] = np.einsum("ij,ij->i", apart, apart)
        found[:, tile] = squares


def _of_pairs(X: np.ndarray, Y: np.ndarray, parts: np.ndarray) -> tuple[float, float]:
    """Return the rank correlation of distances, and the fraction of triplets in the same order.

    `parts` (3, m) holds row numbers. Distances are measured from the first row of a triplet to the
    second and to the third.
    """
    from scipy.stats import rankdata

    differ = (parts[0] != parts[1]) & (parts[0] != parts[2]) & (parts[1] != parts[2])
    first, *others = parts[:, differ]
    in_x, in_y = (
        np.stack([_distances(points, first, other) for other in others]) for points in (X, Y)
    )
    ranks = np.stack([rankdata(distances[0]) for distances in (in_x, in_y)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    spread = float(np.sqrt(np.prod(np.square(ranks).sum(axis=1))))
    correlation = float(np.clip(ranks[0] @ ranks[1] / spread, -1, 1)) if spread > 0 else 0.0
    true, shown = (np.sign(distances[0] - distances[1]) for distances in (in_x, in_y))
    ordered = true != 0
    agree = (1 + true[ordered] * shown[ordered]) / 2
    return correlation, float(agree.mean()) if ordered.any() else 0.5


def _distances(points: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    found = np.empty(len(first))
    for part in row_blocks(len(first), block_rows(8 * points.shape[1], _TILE_BYTES)):
        apart = points[first[part]].astype(np.float64) - points[second[part]]
        found[part] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return found
