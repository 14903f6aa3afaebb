"""Exact nearest neighbors by matrix products over all points, for high dimension.

The points may be sparse. Distances that decide between candidates are bitwise the same as for dense
points.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._neighbors.nearest import product_rounding
from trigpoint._neighbors.sparse import squares_to_row, stored, stored_row_bytes, take_rows
from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks, thread_map

# Total size in bytes of a block of points and its products.
SCAN_BYTES = 8 * 2**20

# Rows of a product are padded to a multiple of this number.
_PADDING = 32

# Minimum number of values in the neighbors of a query for which threads are worthwhile.
_WORTH_A_THREAD = 2**13

# Number of points that can be multiplied in the time it takes to fetch one.
_FETCHING = 32
# Number of queries to multiply at once, and the maximum total number of their neighbors.
_MARKED_TOGETHER = 512
_MARKED = 2**22

# Sample size for guessing the radius of a query's neighborhood.
_SAMPLE = 2048

# Squared distances and rows of candidates.
_Candidates = tuple[np.ndarray, np.ndarray]


class ProductIndex(NeighborIndex):
    """Search by matrix products over all points, for high dimension.

    A product finds candidates, with an error bound that ensures that no neighbor is missed.
    Distances are recomputed from differences where rounding leaves open which points are neighbors.
    Points are read in blocks, each for several queries, so they may be in a file; only the
    neighbors and a few other points are kept in memory. Blocks do not depend on the number of
    threads.
    """

    name = "products"

    def __init__(self, points: np.ndarray, n_threads: int = 1, *, together: int = 64) -> None:
        self.points = points if issparse(points) else np.ascontiguousarray(points)
        self._n_threads, self.together = n_threads, together
        n, d = points.shape
        self._n = n
        self._prepare()
        self._rounding = product_rounding(d, self._multiplied)
        sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)
        self._sample = self._read(sample)
        self._sample_norms = self._norms[sample]

    @property
    def _multiplied(self) -> np.dtype:
        """Data type of the products."""
        return self.points.dtype

    def _prepare(self) -> None:
        """Compute the block size, the center (if points need one), and the squared norms."""
        width = (self.points.shape[1] + self.together) * self.points.itemsize
        self._block = block_rows(width, SCAN_BYTES)
        self._center = _center_if_far(self.points)
        self._norms = np.empty(self._n)
        for part in self._blocks():
            self._norms[part] = _square_norms(self._read(part))

    def _shifted(self, points: np.ndarray) -> np.ndarray:
        return points if self._center is None else points - self._center

    def _read(self, rows: slice | np.ndarray) -> Any:
        """Return points in the form that `_products` expects."""
        return self._shifted(self.points[rows])

    def _products(self, queries: np.ndarray, points: Any) -> np.ndarray:
        """Return inner products (q, b) of shifted queries and points."""
        return queries @ points.T

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        self.n_searches += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.points.dtype)
        parts = [Neighborhoods.none(queries, m)]
        for part in row_blocks(len(queries), self.together):
            # Blocks of points run in parallel, so each product uses one thread.
            with one_blas_thread():
                parts.append(self._nearest(queries[part], m))
        return Neighborhoods.joined(parts)

    def _nearest(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """Return the neighborhoods of at most `together` queries."""
        padded, norms = self._padded(queries)
        members: list[np.ndarray] = [np.empty(0, dtype=np.int64)] * len(queries)
        bounds: list[np.ndarray] = [np.empty(0)] * len(queries)
        squared_radii = np.empty(len(queries))
        last_rows = np.empty(len(queries), dtype=np.int64)
        # Guess the radii of the neighborhoods. Guesses that are too low are detected and raised.
        share = m / self._n
        waiting = np.arange(len(queries))
        while len(waiting):
            share = min(1.0, share + 4 * np.sqrt(share / len(self._sample_norms)))
            cuts = np.full(len(queries), -np.inf)
            cuts[waiting] = self._quantile(padded, norms, share)[waiting]
            candidates = self._candidates(padded, norms, cuts)
            settle = partial(self._settle, queries, norms, cuts, candidates, m)
            reached = list(thread_map(settle, waiting.tolist(), self._threads_for(m)))
            squared_radii[waiting], last_rows[waiting] = zip(*reached, strict=True)
            for q in waiting[last_rows[waiting] >= 0]:
                squares, rows = (values[:m] for values in candidates[q])
                members[q] = rows.copy()
                bounds[q] = squares + self._rounding * (norms[q] + self._norms[rows])
            waiting = waiting[last_rows[waiting] < 0]
            share *= 2
        return Neighborhoods(queries, m, squared_radii, last_rows, members, bounds)

    def _threads_for(self, m: int) -> int:
        """Return the number of threads for queries with `m` neighbors each."""
        return self._n_threads if m * self.points.shape[1] >= _WORTH_A_THREAD else 1

    def _settle(
        self,
        queries: np.ndarray,
        norms: np.ndarray,
        cuts: np.ndarray,
        candidates: list[_Candidates],
        m: int,
        q: int,
    ) -> tuple[float, int]:
        """Move the nearest of a query's candidates to the front; see `settle`."""
        return settle(
            lambda rows: self._squares_to(rows, queries[q]),
            self._norms,
            norms[q],
            self._rounding,
            cuts[q],
            *candidates[q],
            m,
        )

    def _padded(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return centered queries, padded with zero rows, and their squared norms.

        Padding to whole tiles makes the last bits of a product nearly independent of which queries
        are searched together.
        """
        filled = -(-len(queries) // _PADDING) * _PADDING
        padded = np.zeros((filled, queries.shape[1]), dtype=self._multiplied)
        padded[: len(queries)] = self._shifted(queries)
        return padded, _square_norms(padded[: len(queries)])

    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""
        if found.members is None:
            for part in row_blocks(len(found.points), self.together):
                yield from self._within(found.take(range(part.start, part.stop)))
            return
        pairs = zip(found.members, found.points, strict=True)
        n_threads = self._threads_for(found.size)
        yield from thread_map(lambda pair: (pair[0], self._squares_to(*pair)), pairs, n_threads)

    def _squares_to(self, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
        """Return exact squared distances from the points in `rows` to a query."""
        from trigpoint._kernels.distances import squares_to

        return squares_to(self.points, rows, query)

    def _within(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of the neighbors of a few queries."""
        padded, norms = self._padded(found.points)
        with one_blas_thread():
            candidates = self._candidates(padded, norms, found.squared_radii)
        for q, (_, rows) in enumerate(candidates):
            squares = self._squares_to(rows, found.points[q])
            inside = found.holds(q, squares, rows)
            yield rows[inside], squares[inside]

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        distances = np.empty((len(queries), m))
        rows = np.empty(distances.shape, dtype=np.int64)
        for part in row_blocks(len(queries), self.together):
            listed = zip(*self.members(self.search(queries[part], m)), strict=True)
            found, squares = map(np.array, listed)
            order = np.lexsort((found, squares))
            rows[part] = np.take_along_axis(found, order, axis=1)
            distances[part] = np.sqrt(np.take_along_axis(squares, order, axis=1))
        return distances, rows

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray:
        """Guess the distance (q,) to the `m`-th neighbor from a sample of the points."""
        padded, norms = self._padded(queries)
        squares = self._quantile(padded, norms, m / self._n)
        return np.sqrt(np.maximum(squares, 0))

    def _quantile(self, padded: np.ndarray, norms: np.ndarray, share: float) -> np.ndarray:
        """Estimate from a sample the squared distances within which a share of the points lies."""
        if share >= 1:
            return np.full(len(norms), np.inf)
        products = self._products(padded, self._sample)
        rank = int(share * products.shape[1])

        def reach(part: slice) -> np.ndarray:
            squares = (1 + self._rounding) * (norms[part, None] + self._sample_norms)
            squares -= 2 * products[part]
            return np.partition(squares, rank, axis=1)[:, rank]

        parts = row_blocks(len(norms), max(1, -(-len(norms) // self._n_threads)))
        return np.concatenate([np.empty(0), *thread_map(reach, parts, self._n_threads)])

    def _candidates(
        self, padded: np.ndarray, norms: np.ndarray, cuts: np.ndarray
    ) -> list[_Candidates]:
        """Return squared distances and rows of points that may lie within the cut of each query."""
        from trigpoint._kernels.candidates import sift

        def find(part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            products = self._products(padded, self._read(part))
            squares, places, starts = sift(products, self._norms[part], norms, self._rounding, cuts)
            return squares, places + part.start, starts

        found = list(thread_map(find, self._blocks(), self._n_threads))

        def joined(values: int, q: int) -> np.ndarray:
            return np.concatenate([some[values][some[2][q] : some[2][q + 1]] for some in found])

        return [(joined(0, q), joined(1, q)) for q in range(len(norms))]

    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Return covariances of the neighbors, using products with indicator rows for variances.

        The products read each point once for many queries, whereas fetching the neighbors of every
        query would be limited by memory bandwidth.
        """
        assert found.members is not None
        # Multiplying a point is many times faster than fetching it.
        if mode == "full" or _FETCHING * found.size < self._n:
            return self._fetched_covariances(found, mode)
        together = min(_MARKED_TOGETHER, max(_MARKED // found.size, 1))
        if len(found.points) > together:
            parts = (
                self.covariances(found.take(range(part.start, part.stop)), mode)
                for part in row_blocks(len(found.points), together)
            )
            return np.concatenate(list(parts))
        sums, sums_of_squares = np.zeros((2, *found.points.shape))
        # Sort, so that a block finds its neighbors without scanning all of them.
        neighbors = np.sort(np.array(found.members), axis=1)
        width = sum(found.points.shape) * self.points.itemsize
        blocks = row_blocks(self._n, block_rows(width, SCAN_BYTES))
        with one_blas_thread():
            for some, some_of_squares in thread_map(
                partial(self._marked_sums, neighbors), blocks, self._n_threads
            ):
                sums += some
                sums_of_squares += some_of_squares
        mean_squares = sums_of_squares / found.size
        with np.errstate(invalid="ignore"):
            variances = np.maximum(mean_squares - np.square(sums / found.size), 0)
        # Squares lose precision if neighbors are far from the center relative to their spread.
        error = 16 * np.finfo(self.points.dtype).eps * mean_squares.max(axis=1)
        # The negation makes overflow count as lost precision.
        poor = np.flatnonzero(~(error < 1e-3 * variances.mean(axis=1)))
        if len(poor):
            variances[poor] = self._fetched_covariances(found.take(poor.tolist()), mode)
        return variances

    def _fetched_covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Return covariances, fetching the neighbors of each query."""
        from trigpoint._kernels.tree_search import covariance, variances

        assert found.members is not None
        measure = covariance if mode == "full" else variances
        pairs = zip(found.members, found.points.astype(np.float64), strict=True)
        measured = thread_map(lambda pair: measure(self.points, *pair), pairs, self._n_threads)
        return np.array(list(measured))

    def _marked_sums(self, neighbors: np.ndarray, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return sums (q, d), over each query's neighbors in a block, of points and squares."""
        from trigpoint._kernels.candidates import mark

        block = self._read(part)
        marks = np.empty((len(neighbors), len(block)), dtype=block.dtype)
        mark(neighbors, part.start, marks)
        # Overflow is detected in the variances, which are then computed from differences.
        with np.errstate(over="ignore"):
            return marks @ block, marks @ np.square(block)

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self._n, self._block)


class SparseIndex(ProductIndex):
    """Search by products of sparse points with dense queries, in float64 without centering."""

    name = "sparse products"
    points: csr_array

    @property
    def _multiplied(self) -> np.dtype:
        return np.dtype(np.float64)

    def _prepare(self) -> None:
        from trigpoint._kernels.sparse_loops import sparse_norms

        # Centered points would not be sparse.
        self._center = None
        self._block = block_rows(stored_row_bytes(self.points) + 8 * self.together, SCAN_BYTES)
        self._norms = sparse_norms(*stored(self.points), np.zeros(self.points.shape[1]))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the points in some rows."""
        return take_rows(self.points, rows)

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Return the rows that equal a point in every coordinate."""
        columns = np.flatnonzero(point)
        X = self.points
        rows = np.flatnonzero(np.diff(X.indptr) == len(columns))
        same = []
        for part in row_blocks(len(rows), block_rows(16 * (len(columns) + 1))):
            places = X.indptr[rows[part], None] + np.arange(len(columns))
            equal = (X.indices[places] == columns) & (X.data[places] == point[columns])
            same.append(rows[part][equal.all(axis=1)])
        return np.concatenate([np.empty(0, dtype=np.int64), *same])

    def _read(self, rows: slice | np.ndarray) -> Any:
        if isinstance(rows, slice):
            # Slice only the row starts, which avoids a copy.
            return (*stored(self.points)[:2], self.points.indptr[rows.start : rows.stop + 1])
        return stored(self.points[rows])

    def _products(self, queries: np.ndarray, points: Any) -> np.ndarray:
        from trigpoint._kernels.sparse_loops import sparse_products

        products = np.empty((len(queries), len(points[2]) - 1))
        values, columns, starts = points
        sparse_products(values, columns, starts, queries, products.T)
        return products

    def _padded(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # No padding is needed, since the products of a query do not depend on other queries.
        doubles = np.ascontiguousarray(queries, dtype=np.float64)
        return doubles, np.einsum("ij,ij->i", doubles, doubles)

    def _squares_to(self, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
        return squares_to_row(self.points, rows, query)

    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        from trigpoint._kernels.sparse_loops import sparse_variances
        from trigpoint._kernels.tree_search import covariance

        assert found.members is not None

        def measure(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
            rows, query = pair
            if mode == "full":
                return covariance(self.take(rows), np.arange(len(rows)), query)
            return sparse_variances(*stored(self.points), rows, query)

        pairs = zip(found.members, found.points.astype(np.float64), strict=True)
        return np.array(list(thread_map(measure, pairs, self._n_threads)))


def settle(
    squares_to: Callable[[np.ndarray], np.ndarray],
    norms: np.ndarray,
    query_norm: float,
    rounding: float,
    cut: float,
    squares: np.ndarray,
    places: np.ndarray,
    m: int,
) -> tuple[float, int]:
    """Move the `m` nearest of one query's candidates to the front, and return their radius.

    Exact squared distances are computed with `squares_to` where rounding leaves open which points
    are nearest or farthest. Returns the largest squared distance and the last row at that distance,
    or -1 and -1 if neighbors may be missing.
    """
    from trigpoint._kernels.candidates import may_be_farthest, narrow

    bounds = norms, query_norm, rounding
    sure, kept = narrow(*bounds, cut, squares, places, m)
    if sure < 0:
        return -1.0, -1
    if sure < m:
        exact, doubtful = squares_to(places[sure:kept]), places[sure:kept].copy()
        # Candidates are in the order of their rows, which ties preserve.
        order = np.argsort(exact, kind="stable")
        squares[sure:kept], places[sure:kept] = exact[order], doubtful[order]
    last = may_be_farthest(*bounds, squares, places, sure, m)
    reach = np.concatenate([squares[sure:m], squares_to(last)])
    rows = np.concatenate([places[sure:m], last])
    return float(reach.max()), int(rows[reach == reach.max()].max())


def _square_norms(points: np.ndarray) -> np.ndarray:
    """Return the squared norm of each point."""
    return np.einsum("ij,ij->i", points, points).astype(np.float64)


def _center_if_far(points: np.ndarray) -> np.ndarray | None:
    """Return the center of `points` if they lie far from the origin, else None.

    Far from the origin, the error bound of products would not rule out any points.
    """
    center = points.mean(axis=0, dtype=np.float64)
    spread = points[:: max(1, len(points) // 1000)].var(axis=0, dtype=np.float64).sum()
    return None if center @ center <= 4 * spread else center.astype(points.dtype)
