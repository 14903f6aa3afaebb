"""Landmarks from k-means: seeds, centers, or the points nearest to the centers."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from trigpoint._common.checks import check_bool, check_choice, check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Landmarks
from trigpoint._neighbors.sparse import Points, take_rows
from trigpoint._numerics.blocks import Report, block_rows, one_blas_thread, row_blocks, thread_count
from trigpoint._pool import Pool
from trigpoint._samplers.nearest_landmark import NearestLandmark
from trigpoint._samplers.sampler import (
    Sampler,
    check_n_landmarks,
    too_few_distinct,
)


class KMeansPlusPlus(Sampler):
    """k-means++ seeding [1]_, without the iterations of k-means.

    The first landmark is drawn uniformly. Each later one is drawn with probability proportional to
    its squared distance to the nearest landmark so far, with one candidate per step as in the
    original algorithm. With weights, these probabilities are multiplied by the weight of the row.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks.
    random_state
        As for `EfficientDPP`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,)
        Row numbers of the landmarks in the order they were drawn; no two landmarks coincide.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Coordinates of the landmarks.

    References
    ----------
    .. [1] D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding",
       SODA 2007.

    Examples
    --------
    Two distant groups both get a landmark, although one of them is a single point.

    >>> import numpy as np
    >>> from trigpoint import KMeansPlusPlus
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1e6]])
    >>> sorted(KMeansPlusPlus(2, random_state=0).fit(X).landmarks_.ravel().round().tolist())
    [0.0, 1000000.0]
    """

    def __init__(self, n_landmarks: int = 100, *, random_state: Any = None) -> None:
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    takes_sparse = True

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.points
        k = check_n_landmarks(self.n_landmarks, pool)
        rows = _seed_rows(X, k, rng, report)
        return Landmarks(take_rows(X, rows), rows)


class KMeansLandmarks(Sampler):
    """Landmarks from k-means clustering [1]_.

    With weights, centers are weighted means of their clusters.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of clusters, and thus of landmarks.
    init : {"random", "k-means++"}, default="random"
        Initial centers: distinct rows drawn uniformly, or rows drawn as in `KMeansPlusPlus`.
    snap : bool, default=True
        If ``True``, the landmarks are data points, the member of each cluster nearest to its
        center. If ``False``, they are the centers, which may lie off a curved manifold.
    max_iter : int, default=300
        Maximum number of iterations of Lloyd's algorithm, which stops early on convergence.
    random_state
        As for `EfficientDPP`.
    n_jobs : int or None, default=None
        Number of threads for the iterations; ``None`` leaves the choice to scikit-learn.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,) or None
        Row number of the member of each cluster nearest to its center, the lower one in a tie; no
        two landmarks coincide. ``None`` if ``snap=False``.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Coordinates of the landmarks; the centers if ``snap=False``.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    The final centers are the means of the final clusters, summed in a fixed order. The clusters
    come from scikit-learn, whose threads accumulate sums in the order in which they finish, so a
    point that is equally far from two centers, up to rounding, may change clusters between runs. If
    `max_iter` stops the iterations early, scikit-learn may warn of empty clusters, which are then
    filled.

    References
    ----------
    .. [1] K. Zhang, I. W. Tsang and J. T. Kwok, "Improved Nystrom low-rank approximation and error
       analysis", ICML 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint import KMeansLandmarks
    >>> X = np.array([[0.0], [1.0], [5.0], [100.0], [101.0], [105.0]])
    >>> sorted(KMeansLandmarks(2, random_state=0).fit(X).landmarks_.ravel().tolist())
    [1.0, 101.0]
    >>> sorted(KMeansLandmarks(2, snap=False, random_state=0).fit(X).landmarks_.ravel().tolist())
    [2.0, 102.0]
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        init: str = "random",
        snap: bool = True,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.init = init
        self.snap = snap
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.dense
        k = check_n_landmarks(self.n_landmarks, pool)
        check_choice("init", self.init, ("random", "k-means++"))
        check_bool("snap", self.snap)
        max_iter = check_count("max_iter", self.max_iter)

        if self.init == "k-means++":
            start = _seed_rows(X, k, rng, report)
        else:
            start = _distinct_rows(X, k, rng)
        with threadpool_limits(None if self.n_jobs is None else thread_count(self.n_jobs)):
            labels, self.n_iter_ = _cluster(X, X[start], max_iter)
        report("k-means", 1, 1)
        _fill_empty(X, labels, k)
        centers = _cluster_means(X, labels, k)
        rows = _nearest_members(X, labels, centers)
        _check_separate(np.unique(X[rows], axis=0), k)
        return Landmarks(X[rows], rows) if self.snap else Landmarks(centers.astype(X.dtype))


def _seed_rows(X: Points, k: int, rng: np.random.Generator, report: Report) -> np.ndarray:
    """Draw rows by k-means++ seeding."""
    n = X.shape[0]
    rows = np.empty(k, dtype=np.int64)
    rows[0] = rng.integers(n)
    nearest = NearestLandmark(X)
    # More BLAS threads save little, and waiting for them is slow if other programs use the cores.
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        for step in range(1, k):
            nearest.add(int(rows[step - 1]))
            cumulative = np.cumsum(nearest.squares)
            total = float(cumulative[-1])
            if total == 0:
                raise too_few_distinct(k, step, n)
            if not np.isfinite(total):
                raise ParameterValueError(
                    "squared distances between the points overflow: rescale X", "X"
                )
            rows[step] = np.searchsorted(cumulative, rng.random() * total, side="right")
            if rows[step] == n:
                # Rounding raised the target to the total.
                rows[step] = np.searchsorted(cumulative, total)
            report("seeding", step + 1, k)
    return rows


def _distinct_rows(X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the first `k` distinct rows in a random order."""
    order = rng.permutation(len(X))
    # Sorting all points is slow; most data has no duplicates among the first k.
    for candidates in (order[:k], order):
        _, first = np.unique(X[candidates], axis=0, return_index=True)
        if len(first) >= k:
            return candidates[np.sort(first)[:k]]
    raise too_few_distinct(k, len(first), len(X))


def _cluster(X: np.ndarray, start: np.ndarray, max_iter: int) -> tuple[np.ndarray, int]:
    """Return labels and number of iterations of Lloyd's algorithm from the centers `start`."""
    # Slow to import, and needed only here.
    from sklearn.cluster import KMeans

    # The seed has no effect with given centers, but without one KMeans uses the global state.
    kmeans = KMeans(
        len(start), init=start, n_init=1, algorithm="lloyd", max_iter=max_iter, random_state=0
    )
    kmeans.fit(X)
    return kmeans.labels_, int(kmeans.n_iter_)


def _fill_empty(X: np.ndarray, labels: np.ndarray, k: int) -> None:
    """Give each empty cluster the point of another cluster that is farthest from its own center.

    Clusters may be empty if the iterations stop before the centers converge. Between iterations,
    scikit-learn fills empty clusters in the same way.
    """
    counts = np.bincount(labels, minlength=k)
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return
    squares = _squares_to_centers(X, labels, _cluster_means(X, labels, k))
    for cluster in empty:
        # Never take the last member of a cluster.
        worst = int(np.argmax(np.where(counts[labels] > 1, squares, -1.0)))
        if squares[worst] <= 0:
            _check_separate(np.flatnonzero(counts), k)
        counts[labels[worst]] -= 1
        counts[cluster] = 1
        labels[worst] = cluster


def _check_separate(clusters: np.ndarray, k: int) -> None:
    if len(clusters) < k:
        raise ParameterValueError(
            f"n_landmarks={k} is too large: k-means found only {len(clusters)} distinct clusters; "
            "choose a smaller n_landmarks or remove duplicated points",
            "n_landmarks",
        )


def _cluster_means(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the centers of the clusters, float64."""
    # Subtract one of the points, to preserve precision for data far from the origin.
    origin = X[0].astype(np.float64)
    sums = np.zeros((k, X.shape[1]))
    # A sparse product adds one row at a time, so the sum is the same for any number of threads.
    for block in row_blocks(len(X), block_rows(8 * X.shape[1])):
        rows = np.arange(block.stop - block.start)
        members = csr_array((np.ones(len(rows)), (labels[block], rows)), shape=(k, len(rows)))
        sums += members @ (X[block] - origin)
    return sums / np.maximum(np.bincount(labels, minlength=k), 1)[:, None] + origin


def _squares_to_centers(X: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the squared distance of each point to the center of its cluster."""
    squares = np.empty(len(X))
    for block in row_blocks(len(X), block_rows(8 * X.shape[1])):
        difference = X[block] - centers[labels[block]]
        squares[block] = np.einsum("ij,ij->i", difference, difference)
    return squares


def _nearest_members(X: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the row number of the member of each cluster that is nearest to its center.

    Only members of the cluster are considered, because a point could be nearest to two centers or
    coincide with another landmark, whereas members of different clusters never coincide.
    """
    squares = _squares_to_centers(X, labels, centers)
    order = np.lexsort((squares, labels))
    first = np.searchsorted(labels[order], np.arange(len(centers)))
    return order[first].astype(np.int64, copy=False)
