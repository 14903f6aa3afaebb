"""Local geometry: dimension, covariances, Bhattacharyya distances and nearest landmarks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError, ParameterWarning
from trigpoint._common.records import Landmarks
from trigpoint._neighbors.index import neighbor_index
from trigpoint._numerics.blocks import one_blas_thread, row_blocks, sample_points, thread_map
from trigpoint._pool import Pool

# Kinds of local covariances.
COVARIANCES = ("full", "diag")

# Maximum dimension for full matrices by default. They take O(d^2) memory per landmark, and O(d^2)
# time per Bhattacharyya distance.
FULL_MAX_DIMENSION = 32

# Fraction of the mean variance that is added in every direction; see `regularize`.
RIDGE = 1e-2

# Maximum number of neighborhoods measured together, and of neighbors stored at once.
MEASURED_TOGETHER = 512
NEIGHBORS_HELD = 2**22

# Number of pairs, and of matrix rows, evaluated per call.
_PAIRS = 2**14
_ROWS = 16

# Sample size for the local dimension, and number of points whose neighborhoods are measured.
_DIMENSION_POINTS = 20_000
_QUERIES = 128

# Minimum number of points in the smaller ball, and ratio of the numbers of points in both balls.
_FEWEST_INSIDE = 10
_GROWTH = 4

# Budget for Bhattacharyya distances in covariance entries read, which takes several seconds on one
# core; diagonal entries are ten times cheaper. If all pairs would exceed the budget or take too
# much memory, only the nearest landmarks by Euclidean distance are compared.
_FULL_BUDGET = 3 * 10**8
_DIAGONAL_BUDGET = 3 * 10**9
MATRIX_MAX = 4096
_CANDIDATES_HELD = 2**24
_MIN_CANDIDATES_PER_NEIGHBOR = 4

logger = logging.getLogger(__name__)


def neighborhood_size(n_points: int, n_landmarks: int, copies: float = 1.0) -> int:
    """Return the size m of a landmark's neighborhood, four times the number of points per landmark.

    Smaller neighborhoods would be far smaller than the distance between landmarks. The size is at
    least 10, since a covariance needs a few points. If rows are represented by several copies, it
    is at least the average number of copies of 10 rows.
    """
    least = round(10 * max(1.0, copies))
    return min(n_points, max(least, -(-4 * n_points // n_landmarks)))


def local_covariances(
    pool: Pool, landmarks: Landmarks, mode: str, n_threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return radii (k,) of the landmarks' neighborhoods, and covariances of the points in them.

    Neighborhoods found by the sampler are reused if possible. Otherwise, neighborhoods of
    `neighborhood_size` are searched in the pool. Covariances are full matrices (k, d, d) if `mode`
    is ``"full"`` and diagonals (k, d) if it is ``"diag"``; ``"auto"`` takes full matrices for up to
    32 columns.
    """
    size, d = pool.points.shape
    if mode == "auto":
        mode = "full" if d <= FULL_MAX_DIMENSION else "diag"
    found, k = landmarks.neighborhoods, len(landmarks.points)
    m = neighborhood_size(size, k, size / pool.counted) if found is None else found.size
    index = pool.index(m, k, n_threads)
    # A tree lists the neighbors again quickly, whereas products would take as long as a search.
    if found is not None and (index.name == "tree" or found.members is not None):
        return np.sqrt(found.squared_radii), index.covariances(found, mode)
    squared_radii, covariances = [], []
    # It is much faster to multiply several neighborhoods with all points at once.
    for part in row_blocks(k, min(MEASURED_TOGETHER, max(NEIGHBORS_HELD // m, 1))):
        near = index.search(landmarks.points[part], m)
        covariances.append(index.covariances(near, mode))
        squared_radii.append(near.squared_radii)
    return np.sqrt(np.concatenate(squared_radii)), np.concatenate(covariances)


class SingularCovarianceWarning(ParameterWarning):
    """Warning that neighbors of a landmark coincide, so another covariance replaces its own."""


def regularize(
    covariances: np.ndarray | None, ridge: float = RIDGE
) -> tuple[np.ndarray, tuple[Warning, ...]]:
    """Make covariances, full or diagonal, invertible.

    `ridge` times a landmark's mean variance is added to its variances. On a noise-free manifold, or
    with no more neighbors than dimensions, some directions have no variance; with the ridge,
    distances in these directions are large instead of infinite. On a Swiss roll, any ridge from
    1e-4 to 0.1 avoids shortcuts equally well, but a larger ridge finds more of the true 10 nearest
    neighbors (0.94 with 0.01 and 0.92 with 1e-3). A landmark whose neighbors all coincide with it
    has no variance. It gets the smallest variance of the others in all directions, and a
    `SingularCovarianceWarning` is returned.

    An error is raised if covariances are ``None`` because they were not measured.
    """
    if covariances is None:
        raise ParameterValueError(
            "metric='bhattacharyya' compares local covariances, but these landmarks have none: "
            "pass the graph to an estimator, or choose metric='euclidean'",
            "metric",
        )
    regular = np.array(covariances, dtype=np.float64)
    # Take a writable view.
    variances = regular if regular.ndim == 2 else np.einsum("kii->ki", regular)
    mean_variance = variances.mean(axis=1)
    # The variance is zero, or rounding error relative to the other landmarks.
    flat = mean_variance <= np.finfo(np.float64).eps ** 2 * mean_variance.max()
    notes: tuple[Warning, ...] = ()
    if flat.any():
        note = SingularCovarianceWarning(
            f"{int(flat.sum())} of {len(flat)} landmarks have only coinciding neighbors, so their "
            "covariance is zero and the smallest other one is used, equal in all directions: "
            "remove duplicated points"
        )
        notes = (note,)
        mean_variance[flat] = mean_variance[~flat].min() if not flat.all() else 1.0
    variances[flat] = mean_variance[flat, None]
    variances += ridge * mean_variance[:, None]
    return regular, notes


def largest_variances(covariances: np.ndarray) -> np.ndarray:
    """Return the largest variance (k,) of each landmark, along any direction (axis if diagonal)."""
    if covariances.ndim == 2:
        return np.asarray(covariances.max(axis=1))
    return np.asarray(np.linalg.eigvalsh(covariances)[:, -1])


def bhattacharyya(
    points: np.ndarray,
    covariances: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Return Bhattacharyya distances (p,) between the Gaussians of pairs of landmarks.

    ``B = (x - y)^T C^-1 (x - y) / 8 + ln(|C| / sqrt(|C_x| |C_y|)) / 2``, where ``C`` is the mean of
    the two covariances. The distance is small if the landmarks lie along each other's directions of
    variation and have similar covariances. Covariances (k, d, d) or (k, d) of the points (k, d)
    must be regular. Pair i consists of the landmarks ``left[i]`` and ``right[i]``.
    """
    evaluate = _evaluator(points, covariances)
    distances = np.empty(len(left))

    def fill(part: slice) -> None:
        evaluate(left[part], right[part], distances[part])

    with one_blas_thread():
        for _ in thread_map(fill, row_blocks(len(left), _PAIRS), n_threads):
            pass
    return distances


def bhattacharyya_matrix(
    points: np.ndarray, covariances: np.ndarray, n_threads: int = 1
) -> np.ndarray:
    """Return Bhattacharyya distances (k, k) between all landmarks; see `bhattacharyya`."""
    evaluate = _evaluator(points, covariances)
    k = len(points)
    distances = np.zeros((k, k))

    def fill(rows: slice) -> None:
        # Compare a few rows, which stay in the cache, with each of the others in turn.
        few, others = np.arange(rows.start, rows.stop), np.arange(rows.start, k)
        found = np.empty(len(few) * len(others))
        evaluate(np.tile(few, len(others)), np.repeat(others, len(few)), found)
        distances[rows.start :, rows] = found.reshape(len(others), len(few))
        distances[rows, rows.start :] = distances[rows.start :, rows].T

    with one_blas_thread():
        for _ in thread_map(fill, row_blocks(k, _ROWS), n_threads):
            pass
    np.fill_diagonal(distances, 0)
    return distances


def _evaluator(
    points: np.ndarray, covariances: np.ndarray
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """Return a function that fills an array with distances between left and right landmarks."""
    from trigpoint._kernels.bhattacharyya import diagonal_distances, full_distances

    points = points - points.mean(axis=0, dtype=np.float64)
    # Distances do not depend on units, so choose units in which no product overflows.
    variances = covariances if covariances.ndim == 2 else np.einsum("kii->ki", covariances)
    unit = np.sqrt(variances.mean())
    points, scaled = points / unit, covariances / unit**2
    if scaled.ndim == 3:
        return partial(full_distances, points, scaled, np.linalg.slogdet(scaled)[1])
    return partial(diagonal_distances, points, scaled, np.sqrt(0.5 / scaled))


@dataclass
class NeighborSearch:
    """Search for the nearest landmarks of each landmark, shared by several graphs.

    At least `at_least` neighbors are searched, for graphs that will need more later. `notes` holds
    warnings about the covariances, if any were compared.
    """

    landmarks: Landmarks
    n_threads: int
    at_least: int = 0
    notes: tuple[Warning, ...] = ()
    _found: dict[tuple[str, float], np.ndarray] = field(default_factory=dict)

    def nearest(self, metric: str, count: int, ridge: float) -> np.ndarray:
        """Return the `count` nearest other landmarks (k, count) of each landmark, nearest first."""
        found = self._found.get((metric, ridge))
        if found is None or found.shape[1] < count:
            wanted = min(max(count, self.at_least), len(self.landmarks.points) - 1)
            is_compared = metric == "bhattacharyya"
            found = self._compared(wanted, ridge) if is_compared else self._by_length(wanted)
            self._found[metric, ridge] = found
        return found[:, :count]

    def _by_length(self, count: int) -> np.ndarray:
        points = self.landmarks.points
        index = neighbor_index(points, count, len(points), self.n_threads)
        # Landmarks are distinct, so each is its own first neighbor.
        return index.query(points, count + 1)[1][:, 1:]

    def _compared(self, count: int, ridge: float) -> np.ndarray:
        """Search by Bhattacharyya distance, only among Euclidean neighbors if k is large."""
        covariances, self.notes = regularize(self.landmarks.covariances, float(ridge))
        points = self.landmarks.points.astype(np.float64)
        k = len(points)
        budget = _FULL_BUDGET if covariances.ndim == 3 else _DIAGONAL_BUDGET
        affordable = min(budget // int(covariances[0].size), _CANDIDATES_HELD) // k
        candidates = min(k - 1, max(affordable, _MIN_CANDIDATES_PER_NEIGHBOR * count))
        # If all pairs are compared, a distance costs half as much, since it serves both directions.
        near = None
        if candidates >= (k - 1) / 2 and k <= MATRIX_MAX:
            distances = bhattacharyya_matrix(points, covariances, self.n_threads)
            np.fill_diagonal(distances, np.inf)
        else:
            logger.info(
                "Bhattacharyya graph from the %d Euclidean nearest of %d landmarks", candidates, k
            )
            near = np.sort(self._by_length(candidates), axis=1)
            left = np.repeat(np.arange(k), candidates)
            distances = bhattacharyya(points, covariances, left, near.ravel(), self.n_threads)
            distances = distances.reshape(near.shape)
        # Find the smallest distances of each row, in ascending order; ties go to lower landmarks.
        columns = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
        last = np.take_along_axis(distances, columns, axis=1).max(axis=1, keepdims=True)
        tied = (distances <= last).sum(axis=1) > count
        columns[tied] = np.argsort(distances[tied], axis=1, kind="stable")[:, :count]
        order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
        found = np.take_along_axis(columns, order, axis=1)
        return found if near is None else np.take_along_axis(near, found, axis=1)


def local_dimension(X: Any, k: int) -> float:
    """Estimate the dimension of the points at the scale of the spacing of `k` landmarks.

    A ball of radius r around a point holds ``c r^D`` points, so D follows from the radii of balls
    with m and 4 m points as ``log 4 / mean(log(r_4m / r_m))``, where m is the number of points per
    landmark, but at least 10. Details smaller than the distance between landmarks, such as noise on
    a surface, have little effect.

    The result is at most the number of columns, and 0 if nearly all points coincide. It does not
    depend on a seed.

    References
    ----------
    E. Levina and P. J. Bickel, "Maximum likelihood estimation of intrinsic dimension", NIPS, 2004.
    """
    rng = np.random.default_rng(0)
    X = sample_points(X, _DIMENSION_POINTS, rng)
    n = X.shape[0]
    queries = rng.choice(n, min(n, _QUERIES), replace=False)
    inner = max(_FEWEST_INSIDE, n // k)
    outer = min(_GROWTH * inner, n - 1)
    inner = min(inner, max(1, outer // _GROWTH))
    index = neighbor_index(X, outer + 1, len(queries))
    asked = index.take(queries)
    # Each query is its own nearest neighbor.
    small, large = (np.sqrt(index.search(asked, m + 1).squared_radii) for m in (inner, outer))
    growth = np.log(large[small > 0] / small[small > 0])
    if growth.sum() == 0:
        return 0.0
    return float(min(X.shape[1], np.log(outer / inner) / growth.mean()))
