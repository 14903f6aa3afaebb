"""Local geometry of landmarks: covariances of their neighbors, and the Bhattacharyya distance."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trigpoint._common.checks import check_choice
from trigpoint._common.errors import ParameterWarning
from trigpoint._common.records import Covariances, LowRankCovariances
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.neighbors import Neighborhoods
from trigpoint._numerics.threads import one_blas_thread, thread_map
from trigpoint._points.store import Store

# What a local covariance keeps.
COVARIANCES = ("full", "diag", "low-rank")

# Full matrices cost d^2 per landmark in memory and d^2 per pair in the Bhattacharyya distance.
FULL_MAX_DIMENSION = 32

# Share of the mean variance that is added to every direction: see `regularize`.
RIDGE = 1e-2

# Neighborhoods measured together, and neighbors held until then.
MEASURED_TOGETHER = 512
NEIGHBORS_HELD = 2**22

# The rank of low-rank covariances comes from this many landmarks.
RANKED = 64

# Products in float32 leave errors of 1e-7 times the ratio of a variance to that of the rest, and of
# 3e-9 times that of a squared distance from the middle; beyond these ratios they are float64.
_FLOAT32_VARIANCES, _FLOAT32_SQUARES = 1e4, 1e6

# Pairs evaluated by one call.
_PAIRS = 2**14
_ROWS = 16


def covariance_mode(covariance: Any, dimension: int) -> str:
    """Return one of `COVARIANCES`; ``"auto"`` is full up to 32 dimensions, and then diagonal."""
    mode: str = check_choice("covariance", covariance, ("auto", *COVARIANCES))
    if mode != "auto":
        return mode
    return "full" if dimension <= FULL_MAX_DIMENSION else "diag"


def effective_rank(covariances: LowRankCovariances) -> int:
    """Number of directions for all landmarks, from the spectra of the first 64 of them.

    It is the median of ``(sum of the variances)^2 / sum of their squares``, rounded. That is the
    number of directions where these have equal variances and nothing else has any; a direction of
    less variance counts for less.
    """
    some = covariances[:RANKED]
    n_rest = some.n_features - some.rank
    squares = np.square(some.variances).sum(axis=1) + n_rest * np.square(some.rest)
    varied = squares > 0
    if not varied.any():
        return 1
    totals = some.n_features * some.mean_variance[varied]
    count = int(np.rint(np.median(np.square(totals) / squares[varied])))
    return min(max(count, 1), covariances.rank)


class LocalCovariances:
    """Covariances of neighborhoods, measured as these are found.

    Several are measured at a time, which is much faster in high dimension, without holding more
    neighbors in memory than that requires.

    Parameters
    ----------
    store : Store
    mode : {"full", "diag", "low-rank"}
    """

    def __init__(self, store: Store, mode: str) -> None:
        self._store, self._mode = store, mode
        self._waiting: list[Neighborhoods] = []
        self._arrays: list[np.ndarray] = []
        self._low_rank: list[LowRankCovariances] = []
        self._rank: int | None = None

    def add(self, found: Neighborhoods) -> None:
        """Add neighborhoods."""
        self._waiting.append(found)
        count = sum(map(len, self._waiting))
        if found.members is not None and (
            count >= MEASURED_TOGETHER or count * found.size > NEIGHBORS_HELD
        ):
            self._measure()

    def _measure(self) -> None:
        measured = self._store.covariances(Neighborhoods.joined(self._waiting), self._mode)
        self._waiting = []
        if isinstance(measured, LowRankCovariances):
            self._keep_leading(measured)
        else:
            self._arrays.append(measured)

    def _keep_leading(self, measured: LowRankCovariances) -> None:
        """Keep as many directions as the first landmarks need, however they are grouped."""
        self._low_rank.append(measured if self._rank is None else measured.leading(self._rank))
        if self._rank is None and sum(map(len, self._low_rank)) >= RANKED:
            self._settle_rank()

    def _settle_rank(self) -> None:
        together = LowRankCovariances.joined(self._low_rank)
        self._rank = effective_rank(together)
        self._low_rank = [together.leading(self._rank)]

    def result(self) -> Covariances:
        """Covariances of all neighborhoods, in order."""
        if self._waiting:
            self._measure()
        if not self._low_rank:
            return np.concatenate(self._arrays)
        if self._rank is None:
            self._settle_rank()
        return LowRankCovariances.joined(self._low_rank)


def neighborhood_covariances(
    store: Store, points: np.ndarray, m: int, mode: str
) -> tuple[np.ndarray, Covariances]:
    """Radii (k,) and covariances of the `m` stored points nearest to each of some others."""
    covariances = LocalCovariances(store, mode)
    radii = []
    for part in row_blocks(len(points), block_rows(8 * m, 8 * NEIGHBORS_HELD)):
        found = store.search(points[part], m)
        covariances.add(found)
        radii.append(found.radii)
    return np.concatenate(radii), covariances.result()


class SingularCovarianceWarning(ParameterWarning):
    """A landmark's neighbors coincide, so its covariance had to be borrowed."""


def regularize(
    covariances: Covariances, ridge: float = RIDGE
) -> tuple[Covariances, tuple[Warning, ...]]:
    """Make covariances invertible: add `ridge` times the mean variance to each variance.

    A noise-free manifold, or as few neighbors as dimensions, leaves directions without variance;
    with the ridge, leaving the manifold is expensive instead of impossible. On a Swiss roll, any
    ridge from 1e-4 to 0.1 keeps shortcuts out equally well; a larger one finds more of the true
    neighbors (of the nearest 10, 0.94 with 0.01 and 0.92 with 1e-3). A landmark whose neighbors all
    coincide with it has no variance at all: it takes the smallest variance of the others, equal in
    all directions, with a `SingularCovarianceWarning`.

    Parameters
    ----------
    covariances : ndarray of shape (k, d, d) or (k, d), or LowRankCovariances
    ridge : float, default=0.01

    Returns
    -------
    ndarray or LowRankCovariances
        Regular covariances of the same kind, float64.
    """
    mean_variance = _mean_variances(covariances)
    # Zero, or rounding error compared with the spread of the others.
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
    added = ridge * mean_variance
    borrowed = mean_variance[flat]
    if isinstance(covariances, LowRankCovariances):
        along, rest = covariances.variances.copy(), covariances.rest.copy()
        along[flat], rest[flat] = borrowed[:, None], borrowed
        return replace(covariances, variances=along + added[:, None], rest=rest + added)
    regular = np.array(covariances, dtype=np.float64)
    variances = _variances(regular)
    variances[flat] = borrowed[:, None]
    variances += added[:, None]
    return regular, notes


def _variances(covariances: np.ndarray) -> np.ndarray:
    """Return a writable view of the variances in full or diagonal covariances."""
    if covariances.ndim == 2:
        return covariances
    return np.einsum("kii->ki", covariances)


def _mean_variances(covariances: Covariances) -> np.ndarray:
    if isinstance(covariances, LowRankCovariances):
        return covariances.mean_variance
    return np.asarray(_variances(covariances).mean(axis=1, dtype=np.float64))


def largest_variances(covariances: Covariances) -> np.ndarray:
    """Variance (k,) of each landmark along its widest direction, or widest axis of a diagonal."""
    if isinstance(covariances, LowRankCovariances):
        return covariances.variances.max(axis=1)
    if covariances.ndim == 2:
        return np.asarray(covariances.max(axis=1))
    return np.asarray(np.linalg.eigvalsh(covariances)[:, -1])


def bhattacharyya(
    points: np.ndarray,
    covariances: Covariances,
    left: np.ndarray,
    right: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Bhattacharyya distance between the Gaussians of pairs of landmarks.

    ``B = (x - y)^T C^-1 (x - y) / 8 + ln(|C| / sqrt(|C_x| |C_y|)) / 2`` with ``C`` the mean of the
    two covariances: small where one landmark lies in the other's direction of variation and both
    vary in the same way.

    Parameters
    ----------
    points : ndarray of shape (k, d)
    covariances : ndarray of shape (k, d, d) or (k, d), or LowRankCovariances
        Regular covariances, full, diagonal or of low rank.
    left, right : integer ndarray of shape (p,)
        The pairs: landmark ``left[i]`` and landmark ``right[i]``.
    n_threads : int, default=1

    Returns
    -------
    float64 ndarray of shape (p,)
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
    points: np.ndarray, covariances: Covariances, n_threads: int = 1
) -> np.ndarray:
    """Bhattacharyya distances between all pairs of landmarks, shape (k, k); see `bhattacharyya`."""
    evaluate = _evaluator(points, covariances)
    k = len(points)
    distances = np.zeros((k, k))

    def fill(rows: slice) -> None:
        # A few rows against each of the others in turn: all of them stay in the cache.
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
    points: np.ndarray, covariances: Covariances
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """Function of left and right landmarks and the array that receives their distances."""
    from trigpoint._numerics.compiled.bhattacharyya import diagonal_distances, full_distances

    points = points - points.mean(axis=0, dtype=np.float64)
    if isinstance(covariances, LowRankCovariances):
        return _low_rank_evaluator(points, covariances)
    # Distances do not change with the units; these keep all products within range.
    unit = np.sqrt(_variances(covariances).mean())
    points, scaled = points / unit, covariances / unit**2
    if scaled.ndim == 3:
        return partial(full_distances, points, scaled, np.linalg.slogdet(scaled)[1])
    return partial(diagonal_distances, points, scaled, np.sqrt(0.5 / scaled))


def _low_rank_evaluator(
    points: np.ndarray, covariances: LowRankCovariances
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    from trigpoint._numerics.compiled.bhattacharyya import low_rank_distances

    unit = np.sqrt(covariances.mean_variance.mean())
    points = points / unit
    rest = covariances.rest / unit**2
    spreads = np.maximum(covariances.variances / unit**2 - rest[:, None], 0)
    squares = np.einsum("kd,kd->k", points, points)
    precise = (spreads > _FLOAT32_VARIANCES * rest[:, None]).any()
    precise |= squares.max() > _FLOAT32_SQUARES * rest.min()
    dtype = np.float64 if precise else covariances.directions.dtype
    rows = np.empty((len(points), covariances.rank + 1, points.shape[1]), dtype=dtype)
    rows[:, :-1] = np.sqrt(spreads)[:, :, None] * covariances.directions
    rows[:, -1] = points
    homes = np.einsum("krd,kd->kr", rows[:, :-1], points)
    log_determinants = points.shape[1] * np.log(rest)
    log_determinants += np.log1p(spreads / rest[:, None]).sum(axis=1)
    return partial(low_rank_distances, points, rows, homes, spreads, rest, log_determinants)
