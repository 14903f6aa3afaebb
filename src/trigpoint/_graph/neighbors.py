"""The nearest landmarks of each landmark, in either metric."""

import logging
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Covariances, Landmarks, LowRankCovariances
from trigpoint._geometry import bhattacharyya, bhattacharyya_matrix, regularize
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, neighbor_index
from trigpoint._points.torch.neighbors import bhattacharyya_candidates, nearest_on_device

logger = logging.getLogger(__name__)

# Budget for Bhattacharyya distances, in covariance entries read: several seconds on one core;
# diagonal entries are ten times cheaper. Those of low rank are counted in multiplications of their
# directions. If all pairs would exceed it, or take too much memory, only the Euclidean nearest
# landmarks are compared.
_FULL_BUDGET = 3 * 10**8
_DIAGONAL_BUDGET = 3 * 10**9
_LOW_RANK_BUDGET = 2 * 10**11
MATRIX_MAX = 4096
_CANDIDATES_HELD = 2**24
_MIN_CANDIDATES_PER_NEIGHBOR = 4

# Fewest landmarks for which a device helps; spare candidates that it finds beyond those asked for;
# and the relative difference allowed between its distances and those of the host, which multiplies
# low ranks in float32.
_MANY = 2000
_SPARE = 8
_FLOAT64_SLACK, _FLOAT32_SLACK = 1e-6, 1e-2


class NeighborSearch:
    """The nearest landmarks of each landmark, in either metric; several graphs can share it.

    Parameters
    ----------
    landmarks : Landmarks
    n_threads : int
    device : torch.device or None
        Where candidates among many landmarks are found. It changes no neighbor.
    at_least : int, default=0
        How many neighbors are found at once, for graphs that will ask for more.
    """

    def __init__(
        self, landmarks: Landmarks, n_threads: int, device: Any, at_least: int = 0
    ) -> None:
        self._landmarks = landmarks
        self._n_threads = n_threads
        self._device = device
        self._at_least = at_least
        self._found: dict[tuple[str, float], np.ndarray] = {}

    def nearest(self, metric: str, count: int, ridge: float) -> np.ndarray:
        """Rows (k, count) of the other landmarks nearest to each, nearest first."""
        found = self._found.get((metric, ridge))
        if found is None or found.shape[1] < count:
            wanted = min(max(count, self._at_least), len(self._landmarks.points) - 1)
            found = self._found[metric, ridge] = self._search(metric, wanted, ridge)
        elif metric == "bhattacharyya":
            # Only to warn of singular covariances, as the search has done for another graph.
            regular_covariances(self._landmarks, ridge)
        return found[:, :count]

    def _search(self, metric: str, count: int, ridge: float) -> np.ndarray:
        if metric == "bhattacharyya":
            return _bhattacharyya_neighbors(
                self._landmarks, count, ridge, self._n_threads, self._device
            )
        return _euclidean_neighbors(self._landmarks.points, count, self._n_threads, self._device)


def _bhattacharyya_neighbors(
    landmarks: Landmarks, count: int, ridge: float, n_threads: int, device: Any
) -> np.ndarray:
    points = landmarks.points.astype(np.float64)
    covariances = regular_covariances(landmarks, ridge)
    k = len(points)
    affordable = min(_affordable_pairs(covariances), _CANDIDATES_HELD) // k
    candidates = min(k - 1, max(affordable, _MIN_CANDIDATES_PER_NEIGHBOR * count))
    near = None
    # All pairs are evaluated once for both directions, so they cost half.
    if candidates < (k - 1) / 2 or k > MATRIX_MAX:
        logger.info(
            "Bhattacharyya graph from the %d Euclidean nearest of %d landmarks", candidates, k
        )
        if _is_for_device(points, device):
            near = nearest_on_device(points, candidates, device)
        else:
            near = np.sort(_euclidean_neighbors(points, candidates, n_threads, None), axis=1)
    others = k - 1 if near is None else candidates
    if device is not None and k >= _MANY and 2 * count + _SPARE < others:
        return _chosen(points, covariances, near, count, n_threads, device)
    if near is None:
        distances = bhattacharyya_matrix(points, covariances, n_threads)
        np.fill_diagonal(distances, np.inf)
        return _smallest(distances, count)
    return _nearest_of(points, covariances, np.arange(k), near, count, n_threads)[0]


def _euclidean_neighbors(points: np.ndarray, count: int, n_threads: int, device: Any) -> np.ndarray:
    """Rows (k, count) of the other landmarks nearest to each, nearest first; all are distinct."""
    if _is_for_device(points, device):
        from trigpoint._numerics.compiled.distances import squares_to

        near = nearest_on_device(points, count, device)
        for rows, point in zip(near, points, strict=True):
            rows[:] = rows[np.lexsort((rows, squares_to(points, rows, point)))]
        return near
    _, near = neighbor_index(points, count, len(points), n_threads).query(points, count + 1)
    return near[:, 1:]


def _is_for_device(points: np.ndarray, device: Any) -> bool:
    """Whether a device finds the nearest points faster."""
    return device is not None and points.shape[1] > TREE_MAX_DIMENSION and len(points) >= _MANY


def _nearest_of(
    points: np.ndarray,
    covariances: Covariances,
    rows: np.ndarray,
    near: np.ndarray,
    count: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The `count` nearest among others (b, c) of landmarks (b,), and the largest distances (b,)."""
    left = np.repeat(rows, near.shape[1])
    found = bhattacharyya(points, covariances, left, near.ravel(), n_threads).reshape(near.shape)
    columns = _smallest(found, count)
    reach = np.take_along_axis(found, columns[:, -1:], axis=1)[:, 0]
    return np.take_along_axis(near, columns, axis=1), reach


def _chosen(
    points: np.ndarray,
    covariances: Covariances,
    near: np.ndarray | None,
    count: int,
    n_threads: int,
    device: Any,
) -> np.ndarray:
    """The nearest of each landmark, from candidates that a device has found.

    Where these may not include all of the nearest, the host compares all others.
    """
    rows = np.arange(len(points))
    columns, reach = bhattacharyya_candidates(points, covariances, near, count + _SPARE, device)
    some = columns if near is None else np.take_along_axis(near, columns, axis=1)
    neighbors, own_reach = _nearest_of(points, covariances, rows, some, count, n_threads)
    is_low_rank = isinstance(covariances, LowRankCovariances)
    slack = (_FLOAT32_SLACK if is_low_rank else _FLOAT64_SLACK) * (1 + reach)
    doubtful = np.flatnonzero(own_reach + slack >= reach)
    if len(doubtful):
        others = np.arange(len(points) - 1)
        rest = others + (others >= doubtful[:, None]) if near is None else near[doubtful]
        found, _ = _nearest_of(points, covariances, doubtful, rest, count, n_threads)
        neighbors[doubtful] = found
    return neighbors


def _affordable_pairs(covariances: Covariances) -> int:
    if isinstance(covariances, LowRankCovariances):
        return _LOW_RANK_BUDGET // (covariances.rank**2 * covariances.n_features)
    budget = _FULL_BUDGET if covariances.ndim == 3 else _DIAGONAL_BUDGET
    return budget // int(covariances[0].size)


def _smallest(distances: np.ndarray, count: int) -> np.ndarray:
    """Columns of the `count` smallest entries of each row, ascending; equal ones by column."""
    columns = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
    last = np.take_along_axis(distances, columns, axis=1).max(axis=1, keepdims=True)
    tied = (distances <= last).sum(axis=1) > count
    columns[tied] = np.argsort(distances[tied], axis=1, kind="stable")[:, :count]
    order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def regular_covariances(landmarks: Landmarks, ridge: float) -> Covariances:
    if landmarks.covariances is None:
        raise ParameterValueError(
            "metric",
            "bhattacharyya",
            "{parameter=} compares local covariances, but the landmarks have none",
            ("choose a sampler with {covariance=}", "{parameter}='euclidean'"),
            covariance="full",
        )
    return regularize(landmarks.covariances, float(ridge))
