"""The nearest points of many queries, from blocks of rounded distances."""

import numpy as np

from trigpoint._numerics.compiled.jit import compiled
from trigpoint._numerics.compiled.selection import largest, select


@compiled
def sift(
    products: np.ndarray,
    norms: np.ndarray,
    query_norms: np.ndarray,
    rounding: float,
    cuts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of a block that may lie within the cut of each query.

    Parameters
    ----------
    products : ndarray of shape (q, b)
        Inner products of the queries, and perhaps of others after them, and the points.
    norms : ndarray of shape (b,)
        Squared norms of the points.
    query_norms : ndarray of shape (q,)
    rounding : float
        A squared distance is off by at most this share of the two squared norms.
    cuts : ndarray of shape (q,)
        Squared distances up to which points are wanted.

    Returns
    -------
    squares, places : ndarray of shape (found,)
        Squared distances of those found and their places in the block, query after query.
    starts : ndarray of shape (q + 1,)
        Where each query's begin.
    """
    starts = np.zeros(len(cuts) + 1, dtype=np.int64)
    room = 4 * len(norms)
    squares, places = np.empty(room), np.empty(room, dtype=np.int64)
    found = 0
    for q in range(len(cuts)):
        if found + len(norms) > room:
            room *= 2
            squares, places = longer(squares, room), longer(places, room)
        for i in range(len(norms)):
            both = query_norms[q] + norms[i]
            square = both - 2.0 * products[q, i]
            if square - rounding * both <= cuts[q]:
                squares[found] = square
                places[found] = i
                found += 1
        starts[q + 1] = found
    return squares[:found], places[:found], starts


@compiled
def longer(values: np.ndarray, room: int) -> np.ndarray:
    """Copy of an array with room for more values."""
    longer = np.empty(room, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


@compiled
def narrow(
    norms: np.ndarray,
    query_norm: float,
    rounding: float,
    cut: float,
    squares: np.ndarray,
    places: np.ndarray,
    m: int,
) -> tuple[int, int]:
    """Put those of one query's candidates in front that may be among the `m` nearest.

    Returns how many of them surely are, which come first, and how many there are in all; -1 and -1
    if neighbors may be missing.
    """
    count = len(places)
    uppers = np.empty(count)
    within = 0
    for i in range(count):
        uppers[i] = squares[i] + rounding * (query_norm + norms[places[i]])
        within += uppers[i] <= cut
    if within < m:
        return -1, -1
    order = np.arange(count)
    # The m-th smallest upper bound: points surely above it are not among the m.
    select(uppers, order, places, count, m)
    limit = largest(uppers, m)
    kept = m
    for i in range(m, count):
        if uppers[i] - 2.0 * rounding * (query_norm + norms[places[order[i]]]) <= limit:
            uppers[kept], order[kept] = uppers[i], order[i]
            kept += 1
    squares[:kept], places[:kept] = squares[order[:kept]], places[order[:kept]]
    return _sure(uppers[:kept], norms, query_norm, rounding, squares, places, m), kept


@compiled
def rank(
    squares: np.ndarray, places: np.ndarray, exact: np.ndarray, sure: int, kept: int, m: int
) -> None:
    """Put the nearest of the doubtful candidates, by their `exact` distances, after the sure."""
    doubtful, order = places[sure:kept].copy(), np.arange(kept - sure)
    select(exact, order, doubtful, kept - sure, m - sure)
    squares[sure:kept], places[sure:kept] = exact, doubtful[order]


@compiled
def may_be_farthest(
    norms: np.ndarray,
    query_norm: float,
    rounding: float,
    squares: np.ndarray,
    places: np.ndarray,
    sure: int,
    m: int,
) -> np.ndarray:
    """Places of those among the `sure` neighbors that may be farther than all others of the `m`.

    Squared distances of the sure ones are rounded, the others exact.
    """
    least = -1.0
    for i in range(sure, m):
        least = max(least, squares[i])
    for i in range(sure):
        least = max(least, squares[i] - rounding * (query_norm + norms[places[i]]))
    found = np.empty(sure, dtype=np.int64)
    count = 0
    for i in range(sure):
        if squares[i] + rounding * (query_norm + norms[places[i]]) >= least:
            found[count] = places[i]
            count += 1
    return found[:count]


@compiled
def _sure(
    uppers: np.ndarray,
    norms: np.ndarray,
    query_norm: float,
    rounding: float,
    squares: np.ndarray,
    places: np.ndarray,
    m: int,
) -> int:
    """Put those surely among the `m` nearest in front; return their number."""
    count = len(uppers)
    if count == m:
        return m
    lowers, order = np.empty(count), np.arange(count)
    for i in range(count):
        lowers[i] = uppers[i] - 2.0 * rounding * (query_norm + norms[places[i]])
    # A point surely nearer than the (m + 1)-th smallest lower bound has at most m - 1 others that
    # may be nearer.
    select(lowers, order, places, count, m + 1)
    limit = largest(lowers, m + 1)
    sure = 0
    for i in range(count):
        if uppers[i] < limit:
            uppers[i], uppers[sure] = uppers[sure], uppers[i]
            squares[i], squares[sure] = squares[sure], squares[i]
            places[i], places[sure] = places[sure], places[i]
            sure += 1
    return sure


@compiled
def mark(neighbors: np.ndarray, first: int, marks: np.ndarray) -> None:
    """Set the (q, b) `marks` of a block's points to 1 for the (q, m) `neighbors`, others to 0.

    The block begins at row `first`. Each query's neighbors are in ascending order.
    """
    marks[:] = 0
    m, b = neighbors.shape[1], marks.shape[1]
    for q in range(len(neighbors)):
        j = np.searchsorted(neighbors[q], first)
        while j < m and neighbors[q, j] < first + b:
            marks[q, neighbors[q, j] - first] = 1
            j += 1
