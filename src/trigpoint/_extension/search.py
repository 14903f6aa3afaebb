"""The landmarks nearest to points: by a tree in low dimension, by products in high dimension.

Both searches are frozen records of arrays: they can be pickled, keep nothing between calls, and
give the same answer for a point in any block (products up to rounding error).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trigpoint._numerics.blocks import row_blocks
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION
from trigpoint._numerics.sparse import Points, stored

if TYPE_CHECKING:
    from trigpoint._numerics.compiled.landmark_search import LandmarkIndex

# Allowed error of squared distances, relative to the squared bandwidth.
_TOLERANCE = 1e-4

# Fewest landmarks in a leaf: few enough that the first one a point reaches is close to it.
_LEAF = 1

# Landmarks in a bucket, all of which a search reads, by dimension. In many dimensions hardly any
# bucket can be skipped, and distances to all landmarks take less time than boxes.
_BUCKETS = ((4, 8), (7, 32), (15, 512))

# Landmarks in each list, per landmark wanted. With 2,500 landmarks in a cube, a list of 32 holds
# the four nearest to a point in 95 cases of 100, and on a surface in nearly all; longer lists take
# longer to read.
_LISTED = 8

# Landmarks multiplied at once, few enough that the products stay in the processor's cache; and room
# for candidates, several times as many as a search usually meets.
_TILE = 512
_ROOM = 256
_MOST_LISTED = 64


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Exact search for the nearest landmarks, from differences of coordinates in float64.

    Attributes
    ----------
    coordinates : float64 ndarray of shape (d, k)
        Coordinates of the landmarks.
    index : LandmarkIndex
    """

    coordinates: np.ndarray
    index: "LandmarkIndex"

    # Bytes held for each point.
    row_bytes = 0

    def nearest(self, X: Points, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Landmarks and their squared distances, each of shape (b, count), nearest first."""
        assert isinstance(X, np.ndarray), "sparse points have more dimensions"
        return _nearest(self.index, X, count)

    def coarse(self, X: Points) -> np.ndarray:
        """Rows whose distances need more precision than `X` has: there are none."""
        return np.zeros(X.shape[0], dtype=bool)


class Centered(NamedTuple):
    """Landmarks (k, d) moved to their center (d,), and their squared norms (k,)."""

    center: np.ndarray
    landmarks: np.ndarray
    norms: np.ndarray


@dataclass(frozen=True, eq=False)
class ProductSearch:
    """Squared distances to all landmarks by a matrix product, in the precision of the points.

    Attributes
    ----------
    single, double : Centered
        The landmarks in float32 and float64.
    tolerance : float
        By how much a squared distance may be off.
    """

    single: Centered
    double: Centered
    tolerance: float

    @property
    def row_bytes(self) -> int:
        """Bytes held for each point."""
        return 4 * len(self.double.landmarks)

    def squares(self, X: Points) -> np.ndarray:
        """Squared distances (b, k) from each point to all landmarks."""
        from trigpoint._numerics.compiled.landmark_sums import squares_from_products

        if isinstance(X, csr_array):
            return self._squares_of_sparse(X)
        centered = self.single if X.dtype == np.float32 else self.double
        around = X - centered.center
        norms = np.einsum("ij,ij->i", around, around)
        squares = around @ centered.landmarks.T
        squares_from_products(squares, norms, centered.norms)
        return squares

    def _squares_of_sparse(self, X: csr_array) -> np.ndarray:
        """The same for sparse points, in float64: the center is subtracted from the sums."""
        from trigpoint._numerics.compiled.landmark_sums import squares_from_products
        from trigpoint._numerics.compiled.sparse_loops import sparse_norms, sparse_products

        center, landmarks, norms = self.double
        squares = np.empty((X.shape[0], len(landmarks)))
        sparse_products(*stored(X), landmarks, squares)
        squares -= landmarks @ center
        squares_from_products(squares, sparse_norms(*stored(X), center), norms)
        return squares

    def coarse(self, X: Points) -> np.ndarray:
        """Rows in float32 whose rounding would matter compared with the bandwidth.

        These are far from the center, as all points are in well-separated clusters. Products with
        sparse points are in float64 in any case.
        """
        if X.dtype != np.float32 or isinstance(X, csr_array):
            return np.zeros(X.shape[0], dtype=bool)
        around = X - self.single.center
        norms = np.einsum("ij,ij->i", around, around)
        rounding = 8 * np.finfo(np.float32).eps * (norms + self.single.norms.max())
        return np.asarray(rounding > self.tolerance)

    @staticmethod
    def nearest(to_all: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Landmarks and their squared distances, each of shape (b, count), from those to all."""
        from trigpoint._numerics.compiled.landmark_sums import nearest_columns

        landmarks = np.empty((len(to_all), count), dtype=np.int64)
        squares = np.empty(landmarks.shape)
        nearest_columns(to_all, landmarks, squares)
        return landmarks, squares


def landmark_search(
    landmarks: np.ndarray, bandwidths: np.ndarray, count: int
) -> TreeSearch | ProductSearch:
    """Prepare the search for the `count` nearest of the landmarks (k, d) that suits dimension d."""
    if landmarks.shape[1] > TREE_MAX_DIMENSION:
        return product_search(landmarks, bandwidths)
    landmarks = np.ascontiguousarray(landmarks, dtype=np.float64)
    return TreeSearch(np.ascontiguousarray(landmarks.T), landmark_index(landmarks, count))


def nearest_landmarks(
    search: TreeSearch | ProductSearch, X: Points, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Landmarks and their squared distances, each of shape (b, count), by either search."""
    if isinstance(search, TreeSearch):
        return search.nearest(X, count)
    return search.nearest(search.squares(X), count)


def product_search(landmarks: np.ndarray, bandwidths: np.ndarray) -> ProductSearch:
    """Prepare the search by products; `bandwidths` (k,) determine how precise it must be."""
    # One fixed memory order: products round differently in another.
    landmarks = np.ascontiguousarray(landmarks, dtype=np.float64)
    single, double = (_centered(landmarks, dtype) for dtype in (np.float32, np.float64))
    return ProductSearch(single, double, _TOLERANCE * float(bandwidths.min()) ** 2)


def _centered(landmarks: np.ndarray, dtype: type) -> Centered:
    # Rounded first, so that points and landmarks are moved by the same vector.
    # Where float32 overflows there are no float32 points either.
    with np.errstate(over="ignore", invalid="ignore"):
        center = landmarks.mean(axis=0).astype(dtype)
        around = landmarks - center
        norms = np.einsum("ij,ij->i", around, around)
        return Centered(center, around.astype(dtype), norms.astype(dtype))


def landmark_index(landmarks: np.ndarray, count: int) -> "LandmarkIndex":
    """Index of float64 landmarks (k, d) for searches of the `count` nearest."""
    from trigpoint._numerics.compiled.landmark_search import LandmarkIndex

    k, d = landmarks.shape
    leaves = 1 << max(0, (k // _LEAF).bit_length() - 1)
    starts = np.arange(leaves + 1) * k // leaves
    order = np.arange(k)
    axes, splits = np.zeros(leaves, dtype=np.int64), np.zeros(leaves)
    lower, upper = np.zeros((2 * leaves, d)), np.zeros((2 * leaves, d))
    level = 1
    while True:
        # All nodes of a level are divided at once.
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
    index = LandmarkIndex(
        landmarks=order,
        coordinates=np.ascontiguousarray(landmarks[order].T),
        starts=starts,
        axes=axes,
        splits=splits,
        lower=lower,
        upper=upper,
        buckets=_bucket_count(k, d, leaves),
        lists=np.empty((k, 0), dtype=np.uint32),
        reach=np.zeros(k),
    )
    m = _LISTED * count
    return _with_lists(index, m) if min(m, k) <= _MOST_LISTED else index


def _bucket_count(k: int, d: int, leaves: int) -> int:
    size = next(size for most, size in _BUCKETS if d <= most)
    return min(leaves, 1 << max(0, (k // size).bit_length() - 1))


def _with_lists(index: "LandmarkIndex", m: int) -> "LandmarkIndex":
    k = len(index.landmarks)
    found, squares = _nearest(index, np.ascontiguousarray(index.coordinates.T), min(m + 1, k))
    places = np.empty(k, dtype=np.uint32)
    places[index.landmarks] = np.arange(k)
    reach = np.full(k, np.inf) if k <= m else np.sqrt(squares[:, m])
    return index._replace(lists=np.ascontiguousarray(places[found[:, :m]]), reach=reach)


def _nearest(index: "LandmarkIndex", X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    from trigpoint._numerics.compiled.landmark_search import read_lists, search_tree

    X = np.ascontiguousarray(X, dtype=np.float64)
    landmarks = np.empty((len(X), count), dtype=np.int64)
    squares = np.full((len(X), count), np.inf)
    settled = np.zeros(len(X), dtype=bool)
    if count <= index.lists.shape[1]:
        read_lists(index, X, landmarks, squares, settled)
    search_tree(index, X, np.flatnonzero(~settled), landmarks, squares)
    return landmarks, squares


@dataclass(frozen=True, eq=False)
class ExactProductSearch:
    """Exact search in high dimension: products find candidates, differences in float64 decide.

    So a point has the same neighbors, to the bit, in every block.

    Attributes
    ----------
    landmarks : float64 ndarray of shape (k, d)
    single : Centered
        The same in float32.
    """

    landmarks: np.ndarray
    single: Centered

    @property
    def row_bytes(self) -> int:
        """Bytes held for each point."""
        return 4 * min(_TILE, len(self.landmarks)) + 8 * _ROOM

    def nearest(self, X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Landmarks and their squared distances, each of shape (b, count), nearest first."""
        from trigpoint._numerics.compiled.candidates import list_candidates, nearest_among

        center, landmarks, norms = self.single
        smallest = np.full((len(X), count), np.inf)
        values = np.empty((len(X), _ROOM), dtype=np.float32)
        columns = np.empty((len(X), _ROOM), dtype=np.int32)
        counts = np.zeros(len(X), dtype=np.int64)
        # Where float32 overflows, the bound does too, and every landmark is a candidate.
        with np.errstate(over="ignore", invalid="ignore"):
            around = (X - center).astype(np.float32)
            own = np.einsum("ij,ij->i", around, around, dtype=np.float64)
            # Worst case of a rounded dot product and of two norms, relative to the squares of both.
            rounding = 4 * (X.shape[1] + 8) * float(np.finfo(np.float32).eps)
            slacks = rounding * (own + float(norms.max()))
            for part in row_blocks(len(landmarks), _TILE):
                products = around @ landmarks[part].T
                list_candidates(
                    products, norms[part], part.start, slacks, smallest, values, columns, counts
                )
        found = np.empty((len(X), count), dtype=np.int64)
        squares = np.empty((len(X), count))
        limits = smallest[:, -1] + 2 * slacks
        nearest_among(limits, values, columns, counts, X, self.landmarks, found, squares)
        return found, squares


def exact_search(landmarks: np.ndarray, count: int) -> TreeSearch | ExactProductSearch:
    """Prepare the exact search for the `count` nearest of float64 landmarks (k, d)."""
    landmarks = np.ascontiguousarray(landmarks, dtype=np.float64)
    if landmarks.shape[1] > TREE_MAX_DIMENSION:
        return ExactProductSearch(landmarks, _centered(landmarks, np.float32))
    return TreeSearch(np.ascontiguousarray(landmarks.T), landmark_index(landmarks, count))
