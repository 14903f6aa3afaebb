"""Searches for a few nearest neighbors of many queries, such as the landmarks nearest to points.

A search is a frozen record of arrays that can be pickled, has no state between calls, and gives a
query the same results in every block. Distances are computed from differences in float64; matrix
products only find candidates.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from trigpoint._neighbors.index import TREE_MAX_DIMENSION, neighbor_index
from trigpoint._neighbors.sparse import Points, stored
from trigpoint._numerics.blocks import (
    block_rows,
    one_blas_thread,
    row_blocks,
    thread_count,
    thread_map,
)

if TYPE_CHECKING:
    from trigpoint._kernels.landmark_search import LandmarkIndex

# Number of landmarks per bucket, by dimension. A search reads whole buckets. In high dimension,
# hardly any bucket can be skipped, and computing distances to all landmarks is faster than testing
# boxes.
_BUCKETS = ((4, 8), (7, 32), (TREE_MAX_DIMENSION, 512))

# Length of a landmark's neighbor list relative to the number of landmarks to find. For 2,500
# landmarks in a cube, a list of 32 contains the four nearest to a point in 95 % of cases, and on a
# surface in nearly all cases. Longer lists take longer to read.
_LISTED = 8
_MOST_LISTED = 64

# Number of landmarks to multiply at once, few enough for the products to fit in the cache.
_TILE = 512
# Maximum number of candidates, several times the usual number.
_ROOM = 256

# Maximum number of neighbors to keep sorted while products are read, and maximum number of columns
# for which a tree with small buckets is faster.
_FEW = 64
_FEW_COLUMNS = 7

# Number of rows in a product, chosen so that the bits of a row do not depend on its position.
# OpenBLAS multiplies tiles of 4 to 24 rows; with 64 or 128 rows, leftover rows are rounded
# differently.
ROWS_TOGETHER = 192


def product_rounding(d: int, dtype: Any) -> float:
    """Bound the error of a squared distance from a product of points with d columns.

    The bound is relative to the two squared norms. It covers rounding of the dot product, of the
    norms, of their sums, and of the points to `dtype`.
    """
    return 2 * (d + 8) * float(np.finfo(dtype).eps)


def rowwise_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ``A @ B`` in float64, where the bits of a row do not depend on the other rows.

    BLAS rounds rows beyond the last whole tile of its kernel differently. Here, all products have
    the same number of rows, which is a multiple of the usual tile sizes; the last one is padded.
    """
    result = np.empty((len(A), B.shape[1]))
    with one_blas_thread():
        for part in row_blocks(len(A), ROWS_TOGETHER):
            block = A[part]
            if len(block) < ROWS_TOGETHER:
                block = np.zeros((ROWS_TOGETHER, A.shape[1]))
                block[: len(A) - part.start] = A[part]
            result[part] = (block @ B)[: len(A) - part.start]
    return result


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Search by a tree of the landmarks and lists of their neighbors, for low dimension."""

    landmarks: np.ndarray  # (k, d), float64.
    index: "LandmarkIndex"

    # Bytes per query.
    row_bytes = 0

    def nearest(self, X: Points, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return landmarks and their squared distances, each of shape (b, count), nearest first."""
        from trigpoint._kernels.landmark_search import read_lists, search_tree

        assert isinstance(X, np.ndarray), "sparse points have more dimensions"
        X = np.ascontiguousarray(X, dtype=np.float64)
        found = np.empty((len(X), count), dtype=np.int64)
        squares = np.full(found.shape, np.inf)
        settled = np.zeros(len(X), dtype=bool)
        if count <= self.index.lists.shape[1]:
            read_lists(self.index, X, found, squares, settled)
        search_tree(self.index, X, np.flatnonzero(~settled), found, squares)
        return found, squares


class Centered(NamedTuple):
    """Landmarks (k, d) relative to a center (d,), for products with points.

    `norms` (k,) are the squared norms of the centered landmarks, and `offsets` (k,) are their
    products with the center.
    """

    landmarks: np.ndarray
    center: np.ndarray
    norms: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class ProductSearch:
    """Search among candidates found by float32 products, for high dimension."""

    landmarks: np.ndarray  # (k, d), in float32 if that is exact, else in float64.
    norms: np.ndarray  # Squared norms (k,) of the landmarks.
    center: np.ndarray  # Vector (d,) of float32 values near the mean of the landmarks.
    rounded: np.ndarray  # Landmarks (k, d) relative to the center, float32.
    rounded_norms: np.ndarray  # Squared norms (k,) of `rounded`.

    @property
    def row_bytes(self) -> int:
        """Bytes per query."""
        return 4 * min(_TILE, len(self.landmarks)) + 8 * _ROOM

    def nearest(self, X: Points, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return landmarks and their squared distances, each of shape (b, count), nearest first.

        Ties are in the order of the landmarks. Distances of sparse points come from float64
        products.
        """
        from trigpoint._kernels.landmark_sums import nearest_columns

        if isinstance(X, csr_array):
            found = np.empty((X.shape[0], count), dtype=np.int64)
            squares = np.empty(found.shape)
            nearest_columns(self.squares_of_sparse(X), found, squares)
            return found, squares
        X = np.ascontiguousarray(X)
        found, squares, crowded = self._nearest(X, count, np.float32)
        if len(crowded):
            # Far from the center, float32 products leave too many candidates.
            found[crowded], squares[crowded], _ = self._nearest(X[crowded], count, np.float64)
        return found, squares

    def _nearest(
        self, X: np.ndarray, count: int, dtype: type
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return landmarks, squared distances, and queries with too many candidates.

        Candidates are found by products in `dtype`.
        """
        from trigpoint._kernels.candidates import list_candidates, nearest_among

        room = max(_ROOM, 2 * count)
        smallest = np.full((len(X), count), np.inf)
        values: np.ndarray = np.empty((len(X), room), dtype=dtype)
        columns = np.empty((len(X), room), dtype=np.int32)
        counts = np.zeros(len(X), dtype=np.int64)
        # If float32 overflows, so does the bound, and every landmark is a candidate.
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            around = (X - self.center.astype(X.dtype)).astype(dtype, copy=False)
            own = np.einsum("ij,ij->i", around, around, dtype=np.float64)
            slacks = product_rounding(X.shape[1], dtype) * (own + self.rounded_norms.max())
            for part in row_blocks(len(self.landmarks), _TILE):
                landmarks, norms = self.rounded[part], self.rounded_norms[part]
                if dtype == np.float64:
                    landmarks = self.landmarks[part] - self.center
                    norms = np.einsum("ij,ij->i", landmarks, landmarks)
                list_candidates(
                    around @ landmarks.T,
                    norms.astype(dtype),
                    part.start,
                    slacks,
                    smallest,
                    values,
                    columns,
                    counts,
                )
        crowded = np.flatnonzero(counts > room)
        if len(crowded) and dtype == np.float32:
            counts[crowded] = 0
        found = np.empty((len(X), count), dtype=np.int64)
        squares = np.empty((len(X), count))
        limits = smallest[:, -1] + 2 * slacks
        nearest_among(limits, values, columns, counts, X, self.landmarks, found, squares)
        return found, squares, crowded

    def squares_of_sparse(self, X: csr_array) -> np.ndarray:
        """Return squared distances (b, k) from sparse points to all landmarks."""
        d, zeros = X.shape[1], np.zeros(len(self.norms))
        return squares_to_all(Centered(self.landmarks, np.zeros(d), self.norms, zeros), X)


def centered(landmarks: np.ndarray) -> Centered:
    """Subtract the center of landmarks (k, d)."""
    # Fix the memory order, since the rounding of products depends on it.
    landmarks = np.ascontiguousarray(landmarks, dtype=np.float64)
    center = landmarks.mean(axis=0)
    around = landmarks - center
    return Centered(around, center, np.einsum("ij,ij->i", around, around), around @ center)


def squares_to_all(landmarks: Centered, X: Points) -> np.ndarray:
    """Return squared distances (b, k) from points to all landmarks, by float64 products."""
    from trigpoint._kernels.landmark_sums import around_center, squares_from_products
    from trigpoint._kernels.sparse_loops import sparse_norms, sparse_products

    if isinstance(X, csr_array):
        squares, offsets = np.empty((X.shape[0], len(landmarks.norms))), landmarks.offsets
        sparse_products(*stored(X), landmarks.landmarks, squares)
        norms = sparse_norms(*stored(X), landmarks.center)
    else:
        around, norms = np.empty(X.shape), np.empty(len(X))
        around_center(np.ascontiguousarray(X), landmarks.center, around, norms)
        squares = rowwise_product(around, landmarks.landmarks.T)
        offsets = np.zeros(len(landmarks.norms))
    squares_from_products(squares, offsets, norms, landmarks.norms)
    return squares


def landmark_search(landmarks: np.ndarray, count: int) -> TreeSearch | ProductSearch:
    """Prepare a search for the `count` nearest landmarks among landmarks (k, d)."""
    landmarks = np.ascontiguousarray(landmarks, dtype=np.float64)
    if landmarks.shape[1] <= TREE_MAX_DIMENSION:
        return TreeSearch(landmarks, landmark_index(landmarks, count))
    # If float32 overflows, every landmark is a candidate.
    with np.errstate(over="ignore", invalid="ignore"):
        center = landmarks.mean(axis=0).astype(np.float32).astype(np.float64)
        if center @ center <= landmarks.var(axis=0).sum():
            # Do not center landmarks near the origin, since a single copy of them is better for the
            # cache.
            center = np.zeros_like(center)
        rounded = (landmarks - center).astype(np.float32)
        if (landmarks == landmarks.astype(np.float32)).all():
            landmarks = landmarks.astype(np.float32) if center.any() else rounded
        norms, rounded_norms = (
            np.einsum("ij,ij->i", rows, rows, dtype=np.float64) for rows in (landmarks, rounded)
        )
    return ProductSearch(landmarks, norms, center, rounded, rounded_norms)


def landmark_index(landmarks: np.ndarray, count: int) -> "LandmarkIndex":
    """Build the index of float64 landmarks (k, d) for searches of the `count` nearest."""
    from trigpoint._kernels.landmark_search import LandmarkIndex

    k, d = landmarks.shape
    # Use as few landmarks per leaf as possible, so that the first one a point reaches is close.
    leaves = 1 << (k.bit_length() - 1)
    starts = np.arange(leaves + 1) * k // leaves
    order = np.arange(k)
    axes, splits = np.zeros(leaves, dtype=np.int64), np.zeros(leaves)
    lower, upper = np.zeros((2 * leaves, d)), np.zeros((2 * leaves, d))
    level = 1
    while True:
        # Divide all nodes of a level at once.
        nodes, step = slice(level, 2 * level), leaves // level
        inside = landmarks[order]
        lower[nodes] = np.minimum.reduceat(inside, starts[:-1:step])
        upper[nodes] = np.maximum.reduceat(inside, starts[:-1:step])
        if level == leaves:
            break
        axes[nodes] = np.argmax(upper[nodes] - lower[nodes], axis=1)
        node_of = np.repeat(np.arange(level), np.diff(starts[::step]))
        along = inside[np.arange(k), axes[nodes][node_of]]
        order = order[np.lexsort((along, node_of))]
        splits[nodes] = landmarks[order[starts[step // 2 :: step]], axes[nodes]]
        level *= 2
    bucket = next(size for most, size in _BUCKETS if d <= most)
    index = LandmarkIndex(
        landmarks=order,
        coordinates=np.ascontiguousarray(landmarks[order].T),
        starts=starts,
        axes=axes,
        splits=splits,
        lower=lower,
        upper=upper,
        buckets=min(leaves, 1 << max(0, (k // bucket).bit_length() - 1)),
        lists=np.empty((k, 0), dtype=np.uint32),
        by_distance=np.empty((k, 0), dtype=np.uint8),
        reach=np.zeros(k),
    )
    m = _LISTED * count
    if min(m, k) > _MOST_LISTED:
        return index
    found, squares = TreeSearch(landmarks, index).nearest(landmarks[order], min(m + 1, k))
    places = np.empty(k, dtype=np.uint32)
    places[order] = np.arange(k)
    reach = np.full(k, np.inf) if k <= m else np.sqrt(squares[:, m])
    by_landmark = np.argsort(found[:, :m], axis=1)
    lists = places[np.take_along_axis(found, by_landmark, axis=1)]
    by_distance = np.argsort(by_landmark, axis=1).astype(np.uint8)
    return index._replace(lists=lists, by_distance=by_distance, reach=reach)


def nearest(
    points: np.ndarray, queries: np.ndarray, m: int, n_threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and rows of the exact `m` nearest points.

    A tree is used in low dimension, and matrix products in high dimension. Distances (q, m) from
    queries (q, d) to points (n, d) are in ascending order, and are computed from differences, so
    that duplicates are exactly 0 apart. Among equally distant points, lower rows come first.
    ``n_threads=None`` uses all cores.

    Examples
    --------
    >>> import numpy as np
    >>> distances, rows = nearest(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0]]), 2)
    >>> distances.tolist(), rows.tolist()
    ([[1.0, 3.0]], [[2, 1]])
    """
    n_threads = thread_count(n_threads)
    if m > _FEW or points.shape[1] <= _FEW_COLUMNS:
        dtype = np.promote_types(points.dtype, queries.dtype)
        index = neighbor_index(points.astype(dtype, copy=False), m, len(queries), n_threads)
        return index.query(queries.astype(dtype, copy=False), m)
    search = landmark_search(points, m)
    squares, rows = np.empty((len(queries), m)), np.empty((len(queries), m), dtype=np.int64)

    def fill(part: slice) -> None:
        rows[part], squares[part] = search.nearest(queries[part], m)

    width = search.row_bytes + 4 * points.shape[1]
    for _ in thread_map(fill, row_blocks(len(queries), block_rows(width, 2**22)), n_threads):
        pass
    return np.sqrt(squares), rows


def any_within(points: np.ndarray, queries: np.ndarray, reach: float) -> np.ndarray:
    """Return whether any point lies within `reach` of each query."""
    if points.shape[1] > TREE_MAX_DIMENSION:
        return nearest(points, queries, 1, 1)[0][:, 0] <= reach
    # SciPy's search excludes its upper bound.
    bound = np.nextafter(reach, np.inf)
    return np.asarray(cKDTree(points).query(queries, distance_upper_bound=bound)[0] <= reach)
