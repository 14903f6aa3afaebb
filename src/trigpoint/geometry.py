"""Local geometry of landmarks: covariances of their neighbours, and the Bhattacharyya distance."""

from typing import Any

import numpy as np

from trigpoint.checks import check_choice
from trigpoint.neighbors import NeighborIndex
from trigpoint.points import block_rows, row_blocks
from trigpoint.threads import thread_map
from trigpoint.warn import warn_user

# Full matrices cost d^2 a landmark in memory and d^2 a pair in the Bhattacharyya distance.
FULL_MAX_DIMENSION = 32

# Share of the mean variance that is added to every direction: see `regularize`.
RIDGE = 1e-2

# Pairs are evaluated in chunks large enough that threads seldom wait for each other.
_CHUNK_BYTES = 2**22


def covariance_mode(covariance: Any, dimension: int) -> str:
    """Return ``"full"`` or ``"diag"``; ``"auto"`` is full up to 32 dimensions."""
    if covariance == "auto":
        return "full" if dimension <= FULL_MAX_DIMENSION else "diag"
    mode: str = check_choice("covariance", covariance, ("full", "diag", "auto"))
    return mode


def local_covariance(neighbors: np.ndarray, landmark: np.ndarray, mode: str) -> np.ndarray:
    """Covariance of the (m, d) points `neighbors`, (d, d) for ``"full"`` or (d,) for ``"diag"``.

    Centred on the landmark and then on the mean, so that nothing cancels for data far from the
    origin.
    """
    offsets = (neighbors - landmark).astype(np.float64, copy=False)
    offsets -= offsets.mean(axis=0)
    if mode == "diag":
        return np.einsum("ij,ij->j", offsets, offsets) / len(offsets)
    return offsets.T @ offsets / len(offsets)


def neighborhood_covariances(
    index: NeighborIndex, landmarks: np.ndarray, m: int, mode: str
) -> tuple[np.ndarray, np.ndarray]:
    """Radii (k,) and covariances (k, d, d) or (k, d) of the `m` indexed points around landmarks."""
    radii, covariances = [], []
    for part in row_blocks(len(landmarks), block_rows(16 * m)):
        distances, rows = index.query(landmarks[part], m)
        radii.append(distances[:, -1])
        covariances += [
            local_covariance(index.points[neighbors], landmark, mode)
            for neighbors, landmark in zip(rows, landmarks[part], strict=True)
        ]
    return np.concatenate(radii), np.array(covariances)


class SingularCovarianceWarning(UserWarning):
    """A landmark's neighbours coincide, so its covariance had to be borrowed."""


def regularize(covariances: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """Make covariances invertible: add `ridge` times the mean variance to each variance.

    A noise-free manifold, or as few neighbours as dimensions, leaves directions without variance;
    with the ridge, leaving the manifold is expensive instead of impossible. On a Swiss roll any
    ridge from 1e-4 to 0.1 keeps shortcuts out alike; a larger one finds more of the true
    neighbours (0.94 against 0.92 of the nearest 10 for 0.01 against 1e-3). A landmark all of
    whose neighbours coincide with it has no variance at all: it takes that of the tightest other
    landmark, equal in all directions, with a `SingularCovarianceWarning`.

    Parameters
    ----------
    covariances : ndarray of shape (k, d, d) or (k, d)
    ridge : float, default=0.01

    Returns
    -------
    ndarray
        Regular covariances of the same shape, float64.
    """
    covariances = np.array(covariances, dtype=np.float64)
    variances = _variances(covariances)
    mean_variance = variances.mean(axis=1)
    # Nothing, or what rounding leaves of it beside the spread of the others.
    flat = mean_variance <= np.finfo(np.float64).eps ** 2 * mean_variance.max()
    if flat.any():
        warn_user(
            f"{flat.sum()} of {len(flat)} landmarks have only coinciding neighbours, so their "
            "covariance is zero and the smallest other one is used, equal in all directions; "
            "remove duplicated points or raise n_neighbors of the sampler",
            SingularCovarianceWarning,
        )
        mean_variance[flat] = mean_variance[~flat].min() if not flat.all() else 1.0
        variances[flat] = mean_variance[flat, None]
    variances += ridge * mean_variance[:, None]
    return covariances


def _variances(covariances: np.ndarray) -> np.ndarray:
    """Return a writable view of the variances in full or diagonal covariances."""
    if covariances.ndim == 2:
        return covariances
    return np.einsum("kii->ki", covariances)


def bhattacharyya(
    points: np.ndarray,
    covariances: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Bhattacharyya distance between the Gaussians of pairs of landmarks.

    ``B = (x - y)^T C^-1 (x - y) / 8 + ln(|C| / sqrt(|C_x| |C_y|)) / 2`` with ``C`` the mean of the
    two covariances: small where one landmark lies in the other's direction of variation and both
    vary alike.

    Parameters
    ----------
    points : ndarray of shape (k, d)
    covariances : ndarray of shape (k, d, d) or (k, d)
        Regular covariances, full or diagonal.
    left, right : integer ndarray of shape (p,)
        The pairs: landmark ``left[i]`` and landmark ``right[i]``.
    n_threads : int, default=1

    Returns
    -------
    float64 ndarray of shape (p,)
    """
    evaluate = _evaluator(points, covariances)
    distances = np.empty(len(left))
    size = block_rows(covariances[0].nbytes, _CHUNK_BYTES)

    def fill(part: slice) -> None:
        distances[part] = evaluate(left[part], right[part])

    for _ in thread_map(fill, row_blocks(len(left), size), n_threads):
        pass
    return distances


def bhattacharyya_matrix(
    points: np.ndarray, covariances: np.ndarray, n_threads: int = 1
) -> np.ndarray:
    """Bhattacharyya distances between all pairs of landmarks, shape (k, k); see `bhattacharyya`.

    Each pair is evaluated once, a landmark against the rows that follow it: no copies are made of
    either, which saves half the time in high dimension.
    """
    evaluate = _evaluator(points, covariances)
    k = len(points)
    distances = np.zeros((k, k))
    size = block_rows(covariances[0].nbytes, _CHUNK_BYTES)

    def fill(row: int) -> None:
        for start in range(row + 1, k, size):
            part = slice(start, min(start + size, k))
            distances[row, part] = evaluate(row, part)
        distances[row + 1 :, row] = distances[row, row + 1 :]

    for _ in thread_map(fill, range(k), n_threads):
        pass
    return distances


def _evaluator(points: np.ndarray, covariances: np.ndarray) -> "_FullPairs | _DiagonalPairs":
    # Distances do not change with the units; these keep all products within range.
    unit = np.sqrt(_variances(covariances).mean())
    points = (points - points.mean(axis=0, dtype=np.float64)) / unit
    covariances = covariances / unit**2
    pairs = _FullPairs if covariances.ndim == 3 else _DiagonalPairs
    return pairs(points, covariances)


# Rows of landmarks: as an array of them, or as one landmark and a slice of others.
_Rows = np.ndarray | int | slice


class _DiagonalPairs:
    """Distances for diagonal covariances, in float32.

    The logarithm of ``|C| / sqrt(|C_x| |C_y|)`` is summed over factors of at least 1, so nothing
    cancels and single precision, three times faster here, keeps five digits or more as long as the
    landmarks lie within a thousand standard deviations of each other.
    """

    def __init__(self, points: np.ndarray, variances: np.ndarray) -> None:
        self._points = points.astype(np.float32)
        self._variances = variances.astype(np.float32)
        self._half_precisions = np.sqrt(0.5 / variances).astype(np.float32)

    def __call__(self, i: _Rows, j: _Rows) -> np.ndarray:
        total = self._variances[j] + self._variances[i]
        scaled = self._points[j] - self._points[i]
        np.square(scaled, out=scaled)
        scaled /= total
        total *= self._half_precisions[j]
        total *= self._half_precisions[i]
        return np.einsum("ij->i", scaled) / 4 + _log_of_products(total) / 2


def _log_of_products(factors: np.ndarray) -> np.ndarray:
    """Sum of the logarithms of each row, four factors at a time; overwrites `factors`.

    Factors are at least 1; so large that four of them overflow, they belong to landmarks that are
    infinitely far apart for any purpose.
    """
    logarithms = np.zeros(len(factors))
    with np.errstate(over="ignore"):
        for _ in range(2):
            half = factors.shape[1] // 2
            if factors.shape[1] % 2:
                logarithms += np.log(factors[:, -1])
            factors = np.multiply(
                factors[:, :half], factors[:, half : 2 * half], out=factors[:, :half]
            )
    return logarithms + np.einsum("ij->i", np.log(factors))


class _FullPairs:
    """Distances for full covariances.

    A Cholesky factorisation column by column, each step vectorised across all pairs: several
    times faster than one LAPACK call a pair for matrices this small.
    """

    def __init__(self, points: np.ndarray, covariances: np.ndarray) -> None:
        self._points = points
        self._covariances = covariances
        self._log_determinants = np.linalg.slogdet(covariances)[1]

    def __call__(self, i: _Rows, j: _Rows) -> np.ndarray:
        mean = (self._covariances[j] + self._covariances[i]) / 2
        # Pairs along the last axis, so that every step reads contiguous memory.
        lower = np.ascontiguousarray(np.moveaxis(mean, 0, -1))
        rest = np.ascontiguousarray((self._points[j] - self._points[i]).T)
        d, n_pairs = rest.shape
        quadratic = np.zeros(n_pairs)
        log_determinant = np.zeros(n_pairs)
        for c in range(d):
            pivot = np.sqrt(lower[c, c])
            log_determinant += 2 * np.log(pivot)
            lower[c + 1 :, c] /= pivot
            rest[c] /= pivot
            quadratic += rest[c] ** 2
            for r in range(c + 1, d):
                rest[r] -= lower[r, c] * rest[c]
                lower[r, c + 1 : r + 1] -= lower[r, c] * lower[c + 1 : r + 1, c]
        separate = (self._log_determinants[j] + self._log_determinants[i]) / 2
        return np.maximum(quadratic / 8 + (log_determinant - separate) / 2, 0)
