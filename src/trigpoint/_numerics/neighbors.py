"""Exact nearest neighbours of a few queries among many points.

Two indexes share one contract: of equally distant points those with lower rows are taken, and the
answer does not depend on the number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.threads import one_blas_thread, thread_map

# Above this dimension a k-d tree visits nearly every bucket and a matrix product is faster.
TREE_MAX_DIMENSION = 15

# Neighbours found by one call of a tree.
_QUERY_BYTES = 4 * 2**20

# So many neighbours are found by one thread as fast as by several.
_FEW_NEIGHBORS = 2**16

# Points that are multiplied at once, and their products.
SCAN_BYTES = 8 * 2**20

# Rows of a product are filled up to a multiple of this.
_PADDING = 32

# Fetching one point costs as much as multiplying so many; queries multiplied at once.
_FETCHING = 32
_MARKED_TOGETHER = 512

# Points that tell how far a query's neighbours reach.
_SAMPLE = 2048

# Squared distances this much larger than their error bound are not computed again. The bound is a
# worst case; what is seen of it is a hundred times less.
_TRUSTED = 100.0


class Neighborhoods(NamedTuple):
    """The nearest points of a few queries, in no particular order.

    Attributes
    ----------
    rows : int64 ndarray of shape (q, m)
    distances : float64 ndarray of shape (q, m)
        As precise as the points are, at least.
    """

    rows: np.ndarray
    distances: np.ndarray


class NeighborIndex(ABC):
    """What samplers and stages ask of an index over `points`.

    Attributes
    ----------
    name : str
        How neighbours are found.
    together : int
        Queries that are best asked together.
    rows_computed : int
        Number of queries answered so far.
    """

    name: str
    together: int

    def __init__(self, points: np.ndarray, n_threads: int = 1) -> None:
        self.points = np.ascontiguousarray(points)
        self.rows_computed = 0
        self._n_threads = n_threads

    def reach(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the distance (q,) to the `m`-th neighbour, where finding it takes much longer."""
        return None

    def neighborhoods(self, queries: np.ndarray, m: int) -> Iterator[Neighborhoods]:
        """Yield the `m` nearest points of the queries, a few queries at a time, in order."""
        self.rows_computed += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.points.dtype)
        yield from self._find(queries, m)

    @abstractmethod
    def _find(self, queries: np.ndarray, m: int) -> Iterator[Neighborhoods]: ...

    def covariances(self, queries: np.ndarray, neighbors: np.ndarray, mode: str) -> np.ndarray:
        """Covariances of the points in the rows (q, m) that were found around the queries.

        Of shape (q, d, d) for ``"full"``, or (q, d) for ``"diag"``, their diagonal.
        """
        from trigpoint._numerics.compiled.moments import covariance, variances

        measure = covariance if mode == "full" else variances
        pairs = zip(neighbors, np.asarray(queries, dtype=np.float64), strict=True)
        found = thread_map(lambda pair: measure(self.points, *pair), pairs, self._n_threads)
        return np.array(list(found))

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows, each of shape (q, m), nearest first, equal ones by the lower row."""
        distances = np.empty((len(queries), m))
        rows = np.empty((len(queries), m), dtype=np.int64)
        start = 0
        for found in self.neighborhoods(queries, m):
            part = slice(start, start + len(found.rows))
            exact = self._exact_distances(queries[part], found)
            order = np.lexsort((found.rows, exact))
            distances[part] = np.take_along_axis(exact, order, axis=1)
            rows[part] = np.take_along_axis(found.rows, order, axis=1)
            start = part.stop
        return distances, rows

    def _exact_distances(self, queries: np.ndarray, found: Neighborhoods) -> np.ndarray:
        return found.distances


def neighbor_index(points: np.ndarray, m: int, n_queries: int, n_threads: int = 1) -> NeighborIndex:
    """Index `points` in the way that suits their dimension.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    m : int
        About how many neighbours will be asked for.
    n_queries : int
        About how often.
    n_threads : int, default=1
    """
    if points.shape[1] <= TREE_MAX_DIMENSION:
        return TreeIndex(points, n_threads, bucket=bucket_size(m))
    # A power of two, of which a last, unfilled group wastes little.
    together = 2 ** min(max((n_queries // 8).bit_length(), 3), 7)
    return ScanIndex(points, n_threads, together=together)


def bucket_size(m: int) -> int:
    """Points in a bucket of a tree that is asked for `m` neighbours."""
    return min(max(m // 16, 8), 512)


def query_tree(
    tree: cKDTree, queries: np.ndarray, m: int, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows, each of shape (q, m), straight from SciPy's tree.

    On threads of our own: SciPy's workers go on after Ctrl-C, in memory that is freed by then.
    """
    distances = np.empty((len(queries), m))
    rows = np.empty((len(queries), m), dtype=np.int64)

    def fill(part: slice) -> None:
        found = tree.query(queries[part], k=m)
        distances[part], rows[part] = (np.reshape(values, (-1, m)) for values in found)

    for _ in thread_map(fill, _query_blocks(len(queries), m, n_threads), n_threads):
        pass
    return distances, rows


def _query_blocks(n_queries: int, m: int, n_threads: int) -> Iterator[slice]:
    """Blocks small enough that an interrupt is answered at once, and several for each thread."""
    size = min(block_rows(16 * m, _QUERY_BYTES), -(-n_queries // (4 * n_threads)) or 1)
    return row_blocks(n_queries, size)


def coincident_rows(points: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Rows of `points` that equal `point` in every coordinate."""
    blocks = row_blocks(len(points), block_rows(points.shape[1]))
    return np.concatenate(
        [part.start + np.flatnonzero((points[part] == point).all(axis=1)) for part in blocks]
    )


class TreeIndex(NeighborIndex):
    """A k-d tree, for low dimension.

    It keeps a copy of the points in the order of its buckets. Buckets of a sixteenth of the
    neighbours asked for leave little to read beyond the neighbours themselves.

    Attributes
    ----------
    tree : Tree
    """

    name = "tree"
    together = 256

    def __init__(self, points: np.ndarray, n_threads: int = 1, *, bucket: int = 8) -> None:
        super().__init__(points, n_threads)
        from trigpoint._numerics.compiled.tree import build_tree

        self.tree = build_tree(self.points, bucket)

    def _find(self, queries: np.ndarray, m: int) -> Iterator[Neighborhoods]:
        from trigpoint._numerics.compiled.tree import neighborhoods

        def find(part: slice) -> Neighborhoods:
            squares = np.empty((part.stop - part.start, m))
            places = np.empty(squares.shape, dtype=np.int64)
            neighborhoods(self.tree, queries[part].astype(np.float64), squares, places)
            rows = self.tree.rows[places].astype(np.int64, copy=False)
            return Neighborhoods(rows, np.sqrt(squares, out=squares))

        # Threads of their own take longer to start than a few small neighbourhoods to find.
        n_threads = self._n_threads if len(queries) * m > _FEW_NEIGHBORS else 1
        yield from thread_map(find, _query_blocks(len(queries), m, n_threads), n_threads)


# Squared distances and rows.
_Candidates = tuple[np.ndarray, np.ndarray]


class ScanIndex(NeighborIndex):
    """Matrix products over all points, for high dimension.

    A product finds the candidates, with an error bound that lets no neighbour slip; distances are
    computed again from differences where rounding would be seen in them. Points are taken block by
    block, each with several queries, so that they may lie in a file: only the neighbours, and few
    more, are kept in memory. The blocks do not depend on the number of threads, nor does the last
    bit of any distance; and queries are filled up to whole tiles of a product, so that usually it
    does not depend on who is asked together either.
    """

    name = "products"

    def __init__(self, points: np.ndarray, n_threads: int = 1, *, together: int = 64) -> None:
        super().__init__(points, n_threads)
        self.together = together
        n, d = points.shape
        self._centre = _centre_if_far(points)
        self._block = block_rows((d + together) * points.itemsize, SCAN_BYTES)
        self._norms = np.empty(n)
        for part in self._blocks():
            self._norms[part] = _square_norms(self._shifted(points[part]))
        # Worst case of a rounded dot product of d terms and of two norms, and the sums around it.
        self._rounding = 2 * (d + 8) * float(np.finfo(points.dtype).eps)
        sample = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)
        self._sample = self._shifted(self.points[sample])
        self._sample_norms = self._norms[sample]

    def _shifted(self, points: np.ndarray) -> np.ndarray:
        return points if self._centre is None else points - self._centre

    def _find(self, queries: np.ndarray, m: int) -> Iterator[Neighborhoods]:
        for part in row_blocks(len(queries), self.together):
            # Blocks of points are what runs side by side: products keep to their thread.
            with one_blas_thread():
                found = self._nearest(queries[part], m)
            yield found

    def _nearest(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """Neighbourhoods of at most `together` queries."""
        padded, norms = self._padded(queries)
        rows = np.empty((len(queries), m), dtype=np.int64)
        squares = np.empty(rows.shape)
        # A guess how far the neighbours reach; too low a one shows, and is raised.
        share = m / len(self.points)
        waiting = np.arange(len(queries))
        while len(waiting):
            share = min(1.0, share + 4 * np.sqrt(share / len(self._sample)))
            cuts = np.full(len(queries), -np.inf)
            cuts[waiting] = self._quantile(padded, norms, share)[waiting]
            candidates = self._candidates(padded, norms, cuts)
            settle = partial(self._settle, queries, norms, cuts, candidates, m)
            complete = np.array(list(thread_map(settle, waiting.tolist(), self._n_threads)))
            for q in waiting[complete]:
                squares[q], rows[q] = (values[:m] for values in candidates[q])
            waiting = waiting[~complete]
            share *= 2
        return Neighborhoods(rows, np.sqrt(squares, out=squares))

    def _settle(
        self,
        queries: np.ndarray,
        norms: np.ndarray,
        cuts: np.ndarray,
        candidates: list[_Candidates],
        m: int,
        q: int,
    ) -> bool:
        """Put the nearest of a query's candidates in front; False if some may be missing."""
        from trigpoint._numerics.compiled.scan import settle

        complete: bool = settle(
            self.points,
            queries[q],
            self._norms,
            norms[q],
            self._rounding,
            _TRUSTED,
            cuts[q],
            *candidates[q],
            m,
        )
        return complete

    def _padded(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Queries around the centre, filled up with zeros, and their squared norms."""
        filled = -(-len(queries) // _PADDING) * _PADDING
        padded = np.zeros((filled, queries.shape[1]), dtype=self.points.dtype)
        padded[: len(queries)] = self._shifted(queries)
        return padded, _square_norms(padded[: len(queries)])

    def _exact_distances(self, queries: np.ndarray, found: Neighborhoods) -> np.ndarray:
        """Distances from differences: in products, equal ones may differ by a rounding error."""
        from trigpoint._numerics.compiled.moments import squares_to

        pairs = zip(found.rows, np.asarray(queries), strict=True)
        return np.sqrt([squares_to(self.points, rows, query) for rows, query in pairs])

    def reach(self, queries: np.ndarray, m: int) -> np.ndarray:
        """Guess the distance (q,) to the `m`-th neighbour from a sample of the points."""
        padded, norms = self._padded(queries)
        squares = self._quantile(padded, norms, m / len(self.points))
        return np.sqrt(np.maximum(squares, 0))

    def _quantile(self, padded: np.ndarray, norms: np.ndarray, share: float) -> np.ndarray:
        """Squared distance within which a share of the points lies for sure, as a sample has it."""
        if share >= 1:
            return np.full(len(norms), np.inf)
        products = (padded @ self._sample.T)[: len(norms)]
        squares = (1 + self._rounding) * (norms[:, None] + self._sample_norms) - 2 * products
        rank = int(share * squares.shape[1])
        return np.partition(squares, rank, axis=1)[:, rank]

    def _candidates(
        self, padded: np.ndarray, norms: np.ndarray, cuts: np.ndarray
    ) -> list[_Candidates]:
        """Squared distances and rows of points that may lie within the cut of each query."""
        from trigpoint._numerics.compiled.scan import sift

        def find(part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            products = padded @ self._shifted(self.points[part]).T
            squares, places, starts = sift(products, self._norms[part], norms, self._rounding, cuts)
            return squares, places + part.start, starts

        found = list(thread_map(find, self._blocks(), self._n_threads))

        def joined(values: int, q: int) -> np.ndarray:
            return np.concatenate([some[values][some[2][q] : some[2][q + 1]] for some in found])

        return [(joined(0, q), joined(1, q)) for q in range(len(norms))]

    def covariances(self, queries: np.ndarray, neighbors: np.ndarray, mode: str) -> np.ndarray:
        """Covariances as for every index; variances come from products with marked neighbours.

        These read each point once for many queries, where memory is too slow to fetch every
        query's neighbours.
        """
        m = neighbors.shape[1]
        # A product reads all points at many times the speed of fetching some of them.
        if mode == "full" or _FETCHING * m < len(self.points):
            return super().covariances(queries, neighbors, mode)
        if len(queries) > _MARKED_TOGETHER:
            parts = (
                self.covariances(queries[part], neighbors[part], mode)
                for part in row_blocks(len(queries), _MARKED_TOGETHER)
            )
            return np.concatenate(list(parts))
        sums, sums_of_squares = np.zeros((2, *queries.shape))
        width = (queries.shape[1] + len(queries)) * self.points.itemsize
        blocks = row_blocks(len(self.points), block_rows(width, SCAN_BYTES))
        with one_blas_thread():
            for some, some_of_squares in thread_map(
                partial(self._marked_sums, neighbors), blocks, self._n_threads
            ):
                sums += some
                sums_of_squares += some_of_squares
        mean_squares = sums_of_squares / m
        with np.errstate(invalid="ignore"):
            variances = np.maximum(mean_squares - np.square(sums / m), 0)
        # Far from the centre, beside their spread, sums of squares have too few digits.
        error = 16 * np.finfo(self.points.dtype).eps * mean_squares.max(axis=1)
        # Written so that overflow counts as none at all.
        poor = np.flatnonzero(~(error < 1e-3 * variances.mean(axis=1)))
        if len(poor):
            variances[poor] = super().covariances(queries[poor], neighbors[poor], mode)
        return variances

    def _marked_sums(self, neighbors: np.ndarray, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Sums (q, d) of each query's neighbours within a block of points, and of their squares."""
        from trigpoint._numerics.compiled.scan import mark

        block = self._shifted(self.points[part])
        marks = np.empty((len(neighbors), len(block)), dtype=block.dtype)
        mark(neighbors, part.start, marks)
        # Overflow shows in the variances, which are then computed from differences.
        with np.errstate(over="ignore"):
            return marks @ block, marks @ np.square(block)

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(len(self.points), self._block)


def _square_norms(points: np.ndarray) -> np.ndarray:
    """Squared norm of each point."""
    return np.einsum("ij,ij->i", points, points).astype(np.float64)


def _centre_if_far(points: np.ndarray) -> np.ndarray | None:
    """Centre of `points` where they lie far from the origin, else None.

    There the error bound of the products would let every point through.
    """
    centre = points.mean(axis=0, dtype=np.float64)
    spread = points[:: max(1, len(points) // 1000)].var(axis=0, dtype=np.float64).sum()
    return None if centre @ centre <= 4 * spread else centre.astype(points.dtype)
