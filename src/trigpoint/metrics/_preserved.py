"""Comparison of the neighborhoods of some rows, among all rows, in the data and in embeddings."""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

from trigpoint._neighbors.index import neighbor_index
from trigpoint._neighbors.nearest import nearest
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import thread_map

NEAREST = 10

# Neighbors in one space count as torn or false if at least this fraction of all points is closer in
# the other space.
FAR = 0.05
# In small data, at least this many times the number of compared neighbors must be closer.
_FAR_TIMES = 3

# Up to this many columns, a grid lists the queries near each row. It has this many cells along each
# of the first two columns, between these quantiles of the queries.
_FEW_COLUMNS, _GRID, _CELL_RANGE = 7, 128, (0.01, 0.99)
# First, one in this many rows is compared with all queries.
_SPARED = 32

# Relative tolerance within which distances count as equal, so that rounding does not break ties.
ROUNDING = 1e-9

# Number of rows to compute principal components from, as a minimum and per column.
PCA_ROWS = 2_000
_PCA_ROWS_PER_COLUMN = 2

Space = Callable[[Points], np.ndarray]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Nearest distinct rows of q queries in one space, with their distances in another space.

    Duplicates count as one row, and duplicates of the query do not count.
    """

    own: (
        np.ndarray
    )  # Distances (q, m) in the space of the search, ascending; inf if there are less.
    other: np.ndarray  # Distances (q, m) of the same rows in the other space.


class _Search(ABC):
    """Running search for the nearest distinct rows of queries in one of two spaces."""

    def __init__(
        self, queries: Sequence[np.ndarray], own: int, other: int, keys: np.ndarray, m: int
    ) -> None:
        self.spaces, self.query_keys, self.m = (own, other), keys, m
        self.queries = tuple(np.ascontiguousarray(queries[space]) for space in self.spaces)
        self.own, self.other = np.full((2, len(keys), m), np.inf)
        self.keys = np.zeros((len(keys), m), dtype=np.uint64)
        self.lock = threading.Lock()

    @abstractmethod
    def add(self, own: Points, other: Points, keys: np.ndarray) -> None:
        """Add rows, given in both spaces. Ties are in the order of their keys, which is random."""

    @abstractmethod
    def found(self) -> Neighbors:
        """Return the neighbors."""


class _GridSearch(_Search):
    """Search in few columns, where each row is near few queries; `own` are squared distances."""

    def add(self, own: Points, other: Points, keys: np.ndarray) -> None:
        with self.lock:
            if np.isinf(self.own).any():
                # A few rows bound the distances, so that others are compared with few queries.
                few = slice(None, None, _SPARED)
                self._add(own[few], other[few], keys[few])
            self._add(own, other, keys)

    def _add(self, own: Points, other: Points, keys: np.ndarray) -> None:
        from trigpoint._kernels.query_grid import add_rows, list_queries

        assert isinstance(own, np.ndarray), "sparse rows have many columns"
        queries, others = self.queries
        axes = [0, min(1, own.shape[1] - 1)]
        along = queries[:, axes]
        margins = np.sqrt(self.own[:, -1:]) * (1 + ROUNDING) + ROUNDING * np.abs(along)
        # Single rows that are far away would make the cells of all others too large.
        first, last = np.quantile(along, _CELL_RANGE, axis=0)
        size = _GRID if np.isfinite(margins).all() else 1

        def cells(values: np.ndarray) -> np.ndarray:
            with np.errstate(over="ignore"):
                steps = (values - first) * (size / np.where(last > first, last - first, 1.0))
            return np.asarray(np.clip(steps, 0, size - 1).astype(np.int64))

        starts, listed = np.empty(size**2 + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
        low, high = cells(along - margins), cells(along + margins)
        list_queries(low, high, size, starts, listed)
        listed = np.empty(starts[-1], dtype=np.int32)
        list_queries(low, high, size, starts, listed)
        rows = np.full(self.keys.shape, -1)
        places = cells(own[:, axes]) @ [size, 1]
        found = self.own, self.keys, self.other, rows
        own = np.ascontiguousarray(own)
        add_rows(own, keys, places, queries, self.query_keys, starts, listed, *found)
        q, place = (rows >= 0).nonzero()
        self.other[q, place] = _distances(other, rows[q, place], others, q)

    def found(self) -> Neighbors:
        return Neighbors(np.sqrt(self.own), self.other)


class _WideSearch(_Search):
    """Search in many columns, or among sparse rows; `own` are distances."""

    def add(self, own: Points, other: Points, keys: np.ndarray) -> None:
        queries, others = self.queries
        keys, numbers = np.unique(keys, return_index=True)
        own, other = own[numbers], other[numbers]
        # The query itself may be among the rows.
        found, rows = _nearest(own, queries, min(self.m + 1, own.shape[0]))
        near = (found <= self.own[:, -1:]) & (keys[rows] != self.query_keys[:, None])
        q, place = near.nonzero()
        if not len(q):
            return
        distances = np.full((2, *found.shape), np.inf)
        distances[0, q, place] = found[near]
        distances[1, q, place] = _distances(other, rows[near], others, q)
        with self.lock:
            distances = np.concatenate([(self.own, self.other), distances], axis=2)
            keys = np.concatenate([self.keys, np.where(near, keys[rows], 0)], axis=1)
            order = np.lexsort((keys, distances[0]), axis=-1)
            keys = np.take_along_axis(keys, order, axis=1)
            distances = np.take_along_axis(distances, order[None], axis=2)
            distances[:, :, 1:][:, keys[:, 1:] == keys[:, :-1]] = np.inf
            order = np.argsort(distances[0], axis=1, kind="stable")[:, : self.m]
            self.keys = np.take_along_axis(keys, order, axis=1)
            self.own, self.other = np.take_along_axis(distances, order[None], axis=2)

    def found(self) -> Neighbors:
        return Neighbors(self.own, self.other)


def search_all(
    parts: Iterable[Points],
    queries: Sequence[Points],
    spaces: Sequence[Space],
    pairs: Sequence[tuple[int, int]],
    m: int,
    n_threads: int,
) -> list[Neighbors]:
    """Search the `m` nearest distinct rows of queries among all rows, in several spaces.

    `parts` hold all Euclidean rows, and each of `spaces` maps such rows to its own points; number 0
    of a pair stands for the Euclidean rows themselves. `queries` are the same rows in all spaces.
    For each pair (own, other) of `pairs`, neighbors in one space are returned with their distances
    in the other.
    """
    keys, mapped = row_keys(queries[0]), [_dense(some).astype(np.float64) for some in queries]

    def search_in(own: int, other: int) -> _Search:
        wide = mapped[own].shape[1] > _FEW_COLUMNS or isinstance(queries[own], csr_array)
        return (_WideSearch if wide else _GridSearch)(mapped, own, other, keys, m)

    searches = [search_in(*pair) for pair in pairs]

    def add(points: Points) -> None:
        keys, points_in = row_keys(points), [points, *(space(points) for space in spaces)]
        for search in searches:
            own, other = (points_in[space] for space in search.spaces)
            search.add(own, other, keys)

    for _ in thread_map(add, parts, n_threads):
        pass
    return [search.found() for search in searches]


def row_keys(points: Points) -> np.ndarray:
    """Return 64-bit hashes (n,) of rows; equal rows have equal hashes."""
    from trigpoint._kernels.hashing import hash_rows

    if isinstance(points, csr_array):
        ends = points.indptr
        rows = (slice(*ends[row : row + 2]) for row in range(points.shape[0]))
        texts = (points.indices[row].tobytes() + points.data[row].tobytes() for row in rows)
        digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
        return np.frombuffer(digests, dtype=np.uint64)
    keys = np.empty(len(points), dtype=np.uint64)
    hash_rows(np.ascontiguousarray(points).view(f"u{points.itemsize}"), keys)
    return keys


def preserved_shares(in_x: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return the share (q,) of neighbors in the embedding that are neighbors in the data.

    `in_x` (q, m) holds the distances, in the data, of neighbors in the embedding, and `radii` (q,)
    the distance of the m-th neighbor in the data. All rows at this distance are neighbors.
    """
    shares: np.ndarray = (in_x <= radii[:, None] * (1 + ROUNDING)).mean(axis=1)
    return shares


def far_shares(distances: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return the share (q,) of neighbors in one space that lie beyond the radii in the other."""
    shares: np.ndarray = (distances > radii[:, None] * (1 + ROUNDING)).mean(axis=1)
    return shares


def far_radii(distances: np.ndarray, m: int, n: int) -> np.ndarray:
    """Return the radii (q,) beyond which neighbors are far, from distances (q, s) to a sample."""
    share = min(max(FAR, _FAR_TIMES * m / n), 0.5)
    # The sample may contain the query itself, which does not matter for samples of this size.
    radii: np.ndarray = np.quantile(distances, share, axis=1, method="higher")
    return radii


def chance_level(distances: np.ndarray, radii: np.ndarray) -> float:
    """Return the share of neighbors that a random embedding preserves.

    `distances` (q, s) are those from queries to a sample of the rows. Where rows are tied, there
    are more than m neighbors within the distance of the m-th one.
    """
    others = distances > 0
    near = others & (distances <= radii[:, None] * (1 + ROUNDING))
    counts = others.sum(axis=1)
    return float(near.sum() / counts.sum()) if counts.any() else 1.0


def local_dimension(distances: np.ndarray) -> float:
    """Estimate the local dimension from distances (q, m) to the nearest rows; NaN if unknown.

    This is the maximum likelihood estimate of Levina and Bickel (2004), with the mean taken over
    inverses.
    """
    inverse = np.log(distances[:, -1:] / distances[:, :-1]).mean(axis=1)
    inverse = inverse[np.isfinite(inverse)]
    return float(1 / inverse.mean()) if inverse.sum() > 0 else float("nan")


def principal_axes(X: np.ndarray, n_components: int) -> np.ndarray:
    """Return the leading principal axes (d, l) of centered points, at most all of them."""
    r, d = X.shape
    if n_components >= d:
        return np.eye(d)
    some = X[: max(PCA_ROWS, _PCA_ROWS_PER_COLUMN * d)] if d <= r else X[:PCA_ROWS]
    if d <= len(some):
        return _leading_eigenvectors(some.T @ some, n_components)[1]
    # With fewer rows than columns, the axes are linear combinations of the rows.
    values, vectors = _leading_eigenvectors(some @ some.T, min(n_components, len(some) - 1))
    usable = values > len(some) * np.finfo(np.float64).eps * values.max()
    axes: np.ndarray = some.T @ (vectors[:, usable] / np.sqrt(values[usable]))
    return axes


def _leading_eigenvectors(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    size = len(matrix)
    if count > size // 8:
        return eigh(matrix, subset_by_index=[size - count, size - 1])
    return eigsh(matrix, count, which="LA", v0=np.ones(size))


def _nearest(points: Points, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(points, csr_array):
        return neighbor_index(points, m, len(queries)).query(queries, m)
    return nearest(points, queries, m, 1)


def _distances(
    points: Points, rows: np.ndarray, queries: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Return the distances (f,) between pairs of points and queries."""
    apart = _dense(points[rows]).astype(np.float64) - queries[numbers]
    return np.sqrt(np.einsum("ij,ij->i", apart, apart))


def _dense(points: Points) -> np.ndarray:
    return points.toarray() if isinstance(points, csr_array) else points
