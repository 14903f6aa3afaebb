"""Exchanging landmarks for points around them, patch by patch."""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.spatial import cKDTree

from trigpoint.kernels import squared_distances
from trigpoint.landmarks.field import ResidualField
from trigpoint.landmarks.moving import move_landmarks
from trigpoint.neighbors import TREE_MAX_DIMENSION
from trigpoint.points import block_rows, row_blocks
from trigpoint.progress import Report

logger = logging.getLogger(__name__)

# Landmarks that are exchanged among one another's candidates, on average and at most. So few that
# their tables stay in the cache; more would see more of the exchanges that are worth it.
_TOGETHER = 32
_MOST_TOGETHER = 160

# Candidates of each landmark; where one table holds them all, more, up to so many.
_CANDIDATES = 4
_CANDIDATES_OF_FEW = 8
_ENOUGH_CANDIDATES = 640

# Points that the error is measured at: per landmark, and at most, so that what belongs to them can
# be held. More where landmarks are few, until that costs something. Fewer than the least per
# landmark would be fitted and not measured.
_MEASURED = 24
_NUMBERS_HELD = 2**27
_NUMBERS_CHEAP = 2**22
_MEASURED_FEWEST = 4

# Work is local where the kernel reaches less than one landmark in so many from a patch.
_LOCAL_FROM = 3

# How far it reaches, in bandwidths: points whose error an exchange may change,
# and landmarks
# that take part in predicting them.
_POINTS_WITHIN = 1.0
_LANDMARKS_WITHIN = 3.0

# An exchange must be worth this part of a landmark's share of the error.
_WORTHWHILE = 1e-2

# A landmark's variance given the others, of 1, must be above this: it is rounded in the 16th digit,
# and sets with less are singular.
_FLOOR = 1e-11

# Without a number of sweeps, they end when two lower the error by less than this part of it; of few
# landmarks, whose sweeps cost little, when they do so by less than this.
_CONVERGED = 0.03
_CONVERGED_OF_FEW = 0.01


@dataclass(frozen=True)
class Refined:
    """What a refinement came to.

    Attributes
    ----------
    indices : int64 ndarray of shape (k,)
        Rows of the landmarks; where these were moved, the rows they were moved from.
    points : ndarray of shape (k, d)
        The landmarks.
    bandwidth : float
        Bandwidth of the kernel.
    errors : tuple of float
        Relative trace error before each sweep and at the end, at the points it was measured at;
        empty for ``criterion="determinant"``.
    n_exchanges : int
        How many exchanges were made.
    is_local : bool
        Whether only landmarks near each other were looked at together.
    """

    indices: np.ndarray
    points: np.ndarray
    bandwidth: float
    errors: tuple[float, ...]
    n_exchanges: int
    is_local: bool


@dataclass(frozen=True)
class _Patch:
    """Landmarks that are refined together.

    Attributes
    ----------
    slots : int64 ndarray
        Their numbers.
    candidates : int64 ndarray
        Rows of the points they may be exchanged for.
    points : int64 ndarray
        Numbers of the measured points in the patch.
    """

    slots: np.ndarray
    candidates: np.ndarray
    points: np.ndarray


class ExchangeSearch:
    """A refinement under way.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The points.
    rows : int64 ndarray of shape (k,)
        The landmarks, which are brought up to date.
    bandwidth : float
        Bandwidth of the kernel.
    exponent : float or None
        That of the determinant, or None for the trace error.
    rng : Generator
    n_threads : int
    """

    def __init__(
        self,
        X: np.ndarray,
        rows: np.ndarray,
        bandwidth: float,
        exponent: float | None,
        rng: np.random.Generator,
        n_threads: int,
    ) -> None:
        self._X = X
        self._rows = rows
        self._landmarks = X[rows].astype(np.float64)
        self._bandwidth = bandwidth
        self._exponent = exponent
        self._rng = rng
        self._n_threads = n_threads
        self._n_exchanges = 0
        # Measured points are chosen last, because there are more of them where work is local.
        self._points = np.empty((0, X.shape[1]))
        self._reserved = np.empty(0, dtype=np.int64)
        self._is_local = self._looks_local()
        if exponent is None:
            measured = self._measured_rows()
            self._points = X[measured].astype(np.float64)
            # Not at candidates, unless it is everywhere: none should gain from explaining itself.
            if len(measured) < len(X):
                self._reserved = measured

    def _looks_local(self) -> bool:
        """Whether the kernel reaches only a few of the landmarks from any one patch."""
        patches = self._patches()
        if len(patches) < _LOCAL_FROM:
            return False
        near = [len(self._within(patch, self._landmarks, _LANDMARKS_WITHIN)) for patch in patches]
        return float(np.mean(near)) < len(self._rows) / _LOCAL_FROM

    def _measured_rows(self) -> np.ndarray:
        n, k = len(self._X), len(self._rows)
        wanted = max(_MEASURED * k, _NUMBERS_CHEAP // k)
        width = self._X.shape[1] if self._is_local else max(k, self._X.shape[1])
        most = _NUMBERS_HELD // width
        if min(n, wanted, most) < min(n, _MEASURED_FEWEST * k):
            raise ValueError(
                f"refine: {k} landmarks are too many for a kernel of bandwidth "
                f"{self._bandwidth:.3g}, which reaches most of them, to be refined together; "
                "choose a narrower bandwidth or fewer landmarks"
            )
        if n <= min(2 * wanted, most):
            return np.arange(n)
        return self._draw(min(wanted, most, n // 2), self._rows)

    def _draw(self, size: int, excluded: np.ndarray) -> np.ndarray:
        """Draw `size` distinct rows, or as many as there are, that are not `excluded`."""
        n = len(self._X)
        if n <= 4 * (size + len(excluded)):
            rows = np.arange(n)
        else:
            rows = np.unique(self._rng.integers(n, size=2 * size))
        rows = np.setdiff1d(rows, excluded, assume_unique=True)
        return self._rng.permutation(rows)[:size]

    def run(self, n_sweeps: int, patient: bool, snap: bool, report: Report) -> Refined:
        """Sweep `n_sweeps` times, or, unless `patient`, until that is no longer worth it.

        Unless they are to `snap` to data points, the landmarks are moved in the end.
        """
        errors: list[float] = []
        least = _CONVERGED_OF_FEW if len(self._rows) <= _MOST_TOGETHER else _CONVERGED
        for sweep in range(n_sweeps):
            errors.append(self._sweep())
            logger.info("refinement: trace error %.4g before sweep %d", errors[-1], sweep + 1)
            enough = not patient and sweep > 1 and errors[-1] > (1 - least) * errors[-3]
            report("refinement", n_sweeps if enough else sweep + 1, n_sweeps)
            if enough:
                break
        points = self._X[self._rows]
        if not snap:
            self._landmarks = move_landmarks(
                self._points, self._landmarks, self._bandwidth, self._n_threads
            )
            points = self._landmarks.astype(self._X.dtype)
        if self._exponent is None:
            errors.append(self._sweep(exchange=False))
        return Refined(
            self._rows,
            points,
            self._bandwidth,
            tuple(errors) if self._exponent is None else (),
            self._n_exchanges,
            self._is_local,
        )

    def _sweep(self, *, exchange: bool = True) -> float:
        """Exchange landmarks of all patches; return the relative error there was before.

        Where work is local, that is the error each patch had before its own exchanges.
        """
        patches = self._patches()
        everywhere = None if self._is_local else self._field(self._points, self._landmarks)
        error = 0.0 if everywhere is None else float(everywhere.unexplained.sum())
        for patch in patches:
            if everywhere is not None:
                field, slots = everywhere, patch.slots
            else:
                field, slots, own = self._surroundings(patch)
                error += float(field.unexplained[own].sum())
            if exchange and len(patch.slots) and len(patch.candidates):
                self._refine(patch, field, slots, keep=len(patches) > 1 and not self._is_local)
        return error / max(1, len(self._points))

    def _field(self, points: np.ndarray, landmarks: np.ndarray) -> ResidualField:
        try:
            return ResidualField(points, landmarks, self._bandwidth, self._n_threads)
        except LinAlgError:
            raise ValueError(
                f"refine: the kernel matrix of {len(self._rows)} landmarks is singular to rounding "
                f"with bandwidth {self._bandwidth:.3g}: choose a smaller bandwidth or fewer "
                "landmarks"
            ) from None

    def _surroundings(self, patch: _Patch) -> tuple[ResidualField, np.ndarray, np.ndarray]:
        """Field of what is near a patch, places of its landmarks there, and of its points."""
        near = np.union1d(patch.slots, self._within(patch, self._landmarks, _LANDMARKS_WITHIN))
        points = np.union1d(patch.points, self._within(patch, self._points, _POINTS_WITHIN))
        field = self._field(self._points[points], self._landmarks[near])
        return field, np.searchsorted(near, patch.slots), np.searchsorted(points, patch.points)

    def _within(self, patch: _Patch, places: np.ndarray, reach: float) -> np.ndarray:
        """Numbers of the `places` within so many bandwidths of a patch."""
        members = np.concatenate(
            [self._landmarks[patch.slots], self._X[patch.candidates].astype(np.float64)]
        )
        if not len(members) or not len(places):
            return np.empty(0, dtype=np.int64)
        reach *= self._bandwidth
        centre = members.mean(axis=0)
        radius = float(np.sqrt(squared_distances(members, centre[None]).max()))
        # Most places are ruled out by one distance.
        rows = np.flatnonzero(
            squared_distances(places, centre[None])[:, 0] <= (radius + reach) ** 2
        )
        if places.shape[1] <= TREE_MAX_DIMENSION:
            tree = cKDTree(members)
            return rows[np.isfinite(tree.query(places[rows], distance_upper_bound=reach)[0])]
        nearest = np.empty(len(rows))
        for part in row_blocks(len(rows), block_rows(8 * len(members))):
            nearest[part] = squared_distances(places[rows[part]], members).min(axis=1)
        return rows[nearest <= reach**2]

    def _patches(self) -> list[_Patch]:
        """Parts of space around random points, with the landmarks in each and new candidates.

        Neither depends on where the landmarks are, so that exchanges within a patch can go
        back and forth: a Markov chain of them keeps its distribution.
        """
        k = len(self._rows)
        excluded = np.union1d(self._rows, self._reserved)
        if k <= _MOST_TOGETHER:
            wanted = max(_CANDIDATES * k, min(_CANDIDATES_OF_FEW * k, _ENOUGH_CANDIDATES))
            points = np.arange(len(self._points))
            return [_Patch(np.arange(k), self._draw(wanted, excluded), points)]
        n_patches = -(-k // _TOGETHER)
        candidates = self._draw(_CANDIDATES * k, excluded)
        centres = self._X[self._rng.choice(len(self._X), n_patches, replace=False)]
        members = (
            _nearest(places, centres)
            for places in (self._landmarks, self._X[candidates], self._points)
        )
        return [
            _Patch(
                self._at_most(slots, _MOST_TOGETHER),
                candidates[self._at_most(near, _CANDIDATES * _MOST_TOGETHER)],
                points,
            )
            for slots, near, points in zip(
                *(_grouped(labels, n_patches) for labels in members), strict=True
            )
        ]

    def _at_most(self, members: np.ndarray, size: int) -> np.ndarray:
        return members if len(members) <= size else self._rng.permutation(members)[:size]

    def _refine(
        self, patch: _Patch, field: ResidualField, slots: np.ndarray, *, keep: bool
    ) -> None:
        """Exchange landmarks of a patch, and `keep` the field true to them."""
        from trigpoint.compiled.exchange import anneal, descend

        candidates = self._X[patch.candidates].astype(np.float64)
        tables = field.tables(slots, candidates)
        b, c = len(slots), len(candidates)
        chosen, free = np.arange(b), np.arange(b, b + c)
        A, H = tables.A.copy(), tables.H.copy()
        if self._exponent is None:
            least = _WORTHWHILE * field.unexplained.sum() / len(field.landmarks)
            self._n_exchanges += descend(A, H, chosen, free, least, _FLOOR, b + c)
        else:
            proposed = self._rng.integers(b, size=c), self._rng.integers(c, size=c)
            # A uniform number is below ratio^s when minus an exponential one is below s log ratio.
            thresholds = np.exp(-self._rng.standard_exponential(c) / self._exponent)
            self._n_exchanges += anneal(A, chosen, free, *proposed, thresholds, _FLOOR)
        changed = np.flatnonzero(chosen >= b)
        if not len(changed):
            return
        pairs = np.column_stack([changed, chosen[changed] - b])
        if keep:
            field.exchange(tables, slots, candidates, pairs)
        self._rows[patch.slots[changed]] = patch.candidates[pairs[:, 1]]
        self._landmarks[patch.slots[changed]] = candidates[pairs[:, 1]]


def _nearest(places: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre of each place."""
    labels = np.empty(len(places), dtype=np.int64)
    for part in row_blocks(len(places), block_rows(8 * len(centres))):
        labels[part] = squared_distances(places[part], centres).argmin(axis=1)
    return labels


def _grouped(labels: np.ndarray, n_groups: int) -> list[np.ndarray]:
    """Numbers of the members of each group."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, n_groups)))
