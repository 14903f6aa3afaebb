"""Farthest point traversal, which places each landmark as far as possible from the earlier ones."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.records import Landmarks
from trigpoint._neighbors.sparse import take_rows
from trigpoint._numerics.blocks import (
    Report,
    block_rows,
    one_blas_thread,
    row_blocks,
    thread_count,
    thread_map,
)
from trigpoint._pool import Pool
from trigpoint._samplers.nearest_landmark import NearestLandmark
from trigpoint._samplers.sampler import Sampler, check_n_landmarks, too_few_distinct

# Points per bucket of the tree. Testing a box costs as much as testing a few points.
_BUCKET = 128

# Dimension above which the tree holds projections. They have `_IMAGE_DIMENSION` dimensions and are
# fitted to `_IMAGE_SAMPLE` points.
_TREE_MAX_DIMENSION = 64
_IMAGE_DIMENSION = 32
_IMAGE_SAMPLE = 256

# Minimum number of coordinates per thread. Smaller amounts of work take less time than starting a
# thread.
_COORDINATES = 2**22


class FarthestPoint(Sampler):
    """Farthest point traversal [1]_.

    The first landmark is drawn uniformly; each later one is the point farthest from all landmarks
    so far. The covering radius, the largest distance from any point to its nearest landmark, is at
    most twice the optimum for k landmarks [1]_. Outliers are chosen early, and dense regions get no
    more landmarks than sparse ones. Weights affect only the draw of the first landmark, except that
    rows of weight 0 are left out.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, k.
    random_state, n_jobs
        As for `EfficientDPP`. The seed affects only the first landmark.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,)
        Row numbers of the landmarks in the order they were chosen; no two landmarks coincide. Ties
        go to the lower row.
    landmarks_ : ndarray of shape (k, d)
        Coordinates of the landmarks.
    covering_radii_ : float64 ndarray of shape (k,)
        Covering radius after each landmark, which is also the distance from the next landmark to
        the nearest earlier one. It never increases.

    See Also
    --------
    KMeansPlusPlus : Draw distant points with higher probability.

    Notes
    -----
    The result is exact, but few distances are computed. Each box of a tree stores its farthest
    point, and the tree is descended only where the new landmark may be nearer than the earlier
    ones, as in [2]_. On a low-dimensional manifold, all k steps together visit each point about ten
    times. Above 64 columns, the tree holds projections of the points onto their 32 leading
    principal components. Projected distances are lower bounds, and actual distances are computed
    only where the bounds are inconclusive.

    The tree holds a copy of the points, or 32 numbers per point. Sparse points with more than 64
    columns have no tree, and every step multiplies all points by the new landmark.

    References
    ----------
    .. [1] T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", Theoretical
       Computer Science 38, 1985.
    .. [2] M. Han et al., "QuickFPS: architecture and algorithm co-design for farthest point
       sampling in large-scale point clouds", IEEE Transactions on Computer-Aided Design of
       Integrated Circuits and Systems 42, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint import FarthestPoint
    >>> X = np.array([[0.0], [1.0], [4.0], [10.0]])
    >>> sampler = FarthestPoint(3, random_state=0).fit(X)
    >>> sampler.indices_.tolist(), sampler.covering_radii_.tolist()
    ([3, 0, 2], [10.0, 4.0, 1.0])
    """

    def __init__(
        self, n_landmarks: int = 100, *, random_state: Any = None, n_jobs: int | None = None
    ) -> None:
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    takes_sparse = True

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.points
        n = X.shape[0]
        k = check_n_landmarks(self.n_landmarks, pool)
        traversal: _Traversal | _SparseTraversal
        if isinstance(X, csr_array) and X.shape[1] > _TREE_MAX_DIMENSION:
            traversal = _SparseTraversal(X)
        else:
            # The tree would hold a dense copy of sparse points anyway.
            dense = X.toarray() if isinstance(X, csr_array) else X
            traversal = _Traversal(dense, thread_count(self.n_jobs))
        rows, radii = np.empty(k, dtype=np.int64), np.empty(k)
        farthest = int(rng.integers(n))
        for step in range(k):
            if step and radii[step - 1] == 0:
                raise too_few_distinct(k, step, n)
            rows[step] = farthest
            farthest, radii[step] = traversal.add(farthest)
            report("landmarks", step + 1, k)
        self.covering_radii_ = radii
        return Landmarks(take_rows(X, rows), rows)


class _SparseTraversal:
    """Farthest point traversal of sparse points; every step visits all points."""

    def __init__(self, X: csr_array) -> None:
        self._nearest = NearestLandmark(X)

    def add(self, row: int) -> tuple[int, float]:
        """Add a landmark; return the row now farthest from all landmarks, and its distance."""
        self._nearest.add(row)
        farthest = int(self._nearest.squares.argmax())
        return farthest, float(np.sqrt(self._nearest.squares[farthest]))


class _Traversal:
    """Farthest point traversal with a tree."""

    def __init__(self, X: np.ndarray, n_threads: int) -> None:
        from trigpoint._kernels.distances import uncovered
        from trigpoint._neighbors.tree import build_tree

        self._X = np.ascontiguousarray(X)
        self._n_threads = n_threads
        self._images, rounding = self._X, None
        if X.shape[1] > _TREE_MAX_DIMENSION:
            self._images, rounding = _project(self._X)
        self._cover = uncovered(build_tree(self._images, _BUCKET), self._X, rounding)
        n_nodes = len(self._cover.places)
        self._nodes, self._buckets = np.empty((2, n_nodes), dtype=np.int64)

    def add(self, row: int) -> tuple[int, float]:
        """Add a landmark; return the row now farthest from all landmarks, and its distance."""
        from trigpoint._kernels.distances import approach, gather, reached

        cover = self._cover
        landmark, image = self._X[row].astype(np.float64), self._images[row].astype(np.float64)
        n_nodes, n_buckets = reached(cover, image, self._nodes, self._buckets)

        def serve(part: slice) -> None:
            approach(cover, landmark, image, self._buckets[part])

        # Buckets are independent, so it does not matter how threads divide them.
        least = _COORDINATES // (_BUCKET * len(image))
        together = max(least, -(-n_buckets // (2 * self._n_threads)))
        n_threads = self._n_threads if n_buckets > together else 1
        for _ in thread_map(serve, row_blocks(n_buckets, together), n_threads):
            pass
        gather(cover, self._nodes[:n_nodes])
        return int(cover.tree.rows[cover.places[0]]), float(np.sqrt(cover.farthest[0]))


def _project(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Project the points to (n, 32), and bound the rounding error of projected distances.

    The directions are the leading principal components of a sample. Because they are orthonormal,
    projection never increases a distance.
    """
    n, d = X.shape
    some = X[:: -(-n // _IMAGE_SAMPLE)].astype(np.float64)
    center = some.mean(axis=0)
    with one_blas_thread():
        directions = np.linalg.svd(some - center, full_matrices=False)[2][:_IMAGE_DIMENSION]
        images, largest = np.empty((n, len(directions))), 0.0
        for part in row_blocks(n, block_rows(8 * d)):
            centered = X[part] - center
            images[part] = centered @ directions.T
            largest = max(largest, float(np.einsum("ij,ij->i", centered, centered).max()))
    # Worst-case rounding of dot products of d terms, for both points of a distance.
    rounding = 2 * np.sqrt(len(directions)) * (d + 8) * np.finfo(np.float64).eps
    return images, float(rounding * np.sqrt(largest))
