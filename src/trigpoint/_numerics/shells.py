"""Counting and listing the points of an index between two distances from a few queries.

Where points are in several places, each with an index of its own, how far the nearest of all reach
is found by counting. Squared distances are canonical, so counts are exact.
"""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from trigpoint._numerics.blocks import row_blocks
from trigpoint._numerics.neighbors import NeighborIndex, TreeIndex
from trigpoint._numerics.threads import thread_map

# Rows and squared distances.
Shell = tuple[np.ndarray, np.ndarray]

# Smaller neighborhoods have sums of products below what a float64 can hold.
_LEAST_EXPONENT = -400

# Points that there is room for before they are counted.
_ROOM = 1024


@runtime_checkable
class Lister(Protocol):
    """An index that lists all points within a distance: by products, here or on a device.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    name : str
    together : int
        Queries that are asked at once.
    """

    points: Any
    name: str
    together: int

    def up_to(self, queries: np.ndarray, squared_radii: np.ndarray) -> Iterator[Shell]:
        """Yield rows and exact squared distances within a radius, and maybe a few more."""

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""


def shells(
    index: NeighborIndex | Lister,
    queries: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    n_threads: int = 1,
) -> Iterator[Shell]:
    """Yield rows and squared distances of the points above `lower` and up to `upper` (q,).

    They come in no particular order.
    """
    if isinstance(index, TreeIndex):
        return _with_rows(index, _in_tree(index, queries, lower, upper, n_threads))
    assert isinstance(index, Lister)
    return _by_products(index, queries, lower, upper)


def _in_tree(
    index: TreeIndex, queries: np.ndarray, lower: np.ndarray, upper: np.ndarray, n_threads: int
) -> Iterator[Shell]:
    """Yield places in the tree, instead of rows, and squared distances."""
    from trigpoint._numerics.compiled.shell import shell

    most = _ROOM

    def find(q: int) -> Shell:
        nonlocal most
        query = queries[q].astype(np.float64)
        while True:
            # Later queries start with the room that earlier ones needed.
            room = most
            squares, places = np.empty(room), np.empty(room, dtype=np.int64)
            count = shell(index.tree, query, lower[q], upper[q], squares, places)
            if count <= room:
                return places[:count], squares[:count]
            most = max(most, count + count // 4)

    return thread_map(find, range(len(queries)), n_threads)


def _with_rows(index: TreeIndex, found: Iterator[Shell]) -> Iterator[Shell]:
    for places, squares in found:
        yield index.tree.rows[places].astype(np.int64, copy=False), squares


def _by_products(
    index: Lister, queries: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> Iterator[Shell]:
    for part in row_blocks(len(queries), index.together):
        for q, (rows, squares) in enumerate(index.up_to(queries[part], upper[part]), part.start):
            inside = (squares > lower[q]) & (squares <= upper[q])
            yield rows[inside], squares[inside]


def edges_between(first: np.ndarray, last: np.ndarray, count: int) -> np.ndarray:
    """Edges (q, count + 1) from the first (q,) to the last, ascending and about equidistant."""
    steps = np.arange(count + 1) / count
    edges = first[:, None] + (last - first)[:, None] * steps
    edges[:, -1] = last
    return np.asarray(np.maximum.accumulate(edges, axis=1))


def counts_up_to(
    index: NeighborIndex | Lister, queries: np.ndarray, edges: np.ndarray, n_threads: int = 1
) -> np.ndarray:
    """Count points by squared distance: up to the first of ascending edges, or between two.

    Parameters
    ----------
    index : NeighborIndex or Lister
    queries : ndarray of shape (q, d)
    edges : ndarray of shape (q, b + 1)
        Those of each query; the upper of two belongs between them.
    n_threads : int, default=1

    Returns
    -------
    int64 ndarray of shape (q, b + 1)
    """
    counts = np.zeros(edges.shape, dtype=np.int64)
    if isinstance(index, TreeIndex):
        from trigpoint._numerics.compiled.shell import counts_within

        doubles = queries.astype(np.float64)

        def count(part: slice) -> None:
            counts_within(index.tree, doubles[part], edges[part], counts[part])

        size = max(1, len(queries) // (4 * n_threads))
        for _ in thread_map(count, row_blocks(len(queries), size), n_threads):
            pass
        return counts
    below = np.full(len(queries), -1.0)
    for q, (_, squares) in enumerate(shells(index, queries, below, edges[:, -1])):
        places = np.searchsorted(edges[q], squares, side="left")
        counts[q] = np.bincount(places, minlength=edges.shape[1])
    return counts


def sum_exponents(squared_radii: np.ndarray) -> np.ndarray:
    """Exponents (q,) of powers of two that no difference within a radius exceeds."""
    exponents = np.frexp(np.sqrt(squared_radii))[1].astype(np.int64) + 1
    return np.maximum(exponents, _LEAST_EXPONENT)


def neighborhood_sums(
    index: NeighborIndex | Lister,
    queries: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    with_products: bool,
    n_threads: int = 1,
) -> np.ndarray:
    """Sums (q, v, 2) of the points within the reach of queries: see `exact_sums`.

    A point at the radius itself belongs to it up to the last row.
    """
    from trigpoint._numerics.compiled.shell import exact_sums

    d = queries.shape[1]
    sums = np.zeros((len(queries), d + (d * (d + 1) // 2 if with_products else d), 2), np.int64)
    exponents = sum_exponents(squared_radii)
    below = np.full(len(queries), -1.0)
    doubles = queries.astype(np.float64)

    def add(item: tuple[int, Shell]) -> None:
        q, (places, squares) = item
        rows = places if tree is None else tree.rows[places]
        places = places[(squares < squared_radii[q]) | (rows <= last_rows[q])]
        exact_sums(points, places, doubles[q], exponents[q], with_products, sums[q])

    if isinstance(index, TreeIndex):
        # Points of a tree are read where neighbors lie side by side.
        tree, points = index.tree, index.tree.points
        found = _in_tree(index, queries, below, squared_radii, n_threads)
    else:
        tree, points = None, index.points
        found = shells(index, queries, below, squared_radii)
    for _ in thread_map(add, enumerate(found), n_threads):
        pass
    return sums


def covariances_of_sums(
    sums: np.ndarray, squared_radii: np.ndarray, m: int, d: int, full: bool
) -> np.ndarray:
    """Covariances (q, d, d) or variances (q, d) of `m` points, from sums over all of them."""
    exponents = sum_exponents(squared_radii)[:, None]

    def means(part: np.ndarray, exponents: np.ndarray) -> np.ndarray:
        coarse = np.ldexp(part[..., 0].astype(np.float64), exponents - 31)
        fine = np.ldexp(part[..., 1].astype(np.float64), exponents - 62)
        return np.asarray((coarse + fine) / m)

    mean, products = means(sums[:, :d], exponents), means(sums[:, d:], 2 * exponents)
    if not full:
        return np.maximum(products - np.square(mean), 0)
    below, above = np.tril_indices(d)
    covariances = np.empty((len(sums), d, d))
    values = products - mean[:, below] * mean[:, above]
    covariances[:, below, above] = covariances[:, above, below] = values
    return covariances
