"""Refining landmarks by exchanges with points around them."""

import logging
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator

from trigpoint.checks import as_generator, check_choice, check_count, check_positive
from trigpoint.kernels import resolve_kernel_bandwidth, squared_distances
from trigpoint.landmarks.field import ResidualField
from trigpoint.landmarks.moving import move_landmarks
from trigpoint.neighbors import TREE_MAX_DIMENSION
from trigpoint.points import block_rows, row_blocks
from trigpoint.progress import Report
from trigpoint.threads import one_blas_thread

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
_MOST_SWEEPS = 20


class Refinement(BaseEstimator):
    """Sweeps of exchanges that make landmarks better than the draw left them.

    In a sweep every landmark is compared with points of its neighbourhood, drawn at random, and
    exchanged for one of them. Which exchanges are made is up to the `criterion`:

    - ``"trace"``: those that lower the trace error of the Nystrom approximation (equation 1 of
      [1]_), the best first, until none is left. A search: the landmarks are no longer a sample,
      though still random by their start and their candidates.
    - ``"determinant"``: at random, with the probabilities of a Markov chain whose distribution is
      the annealed determinantal one, ``p(J) ~ det(K_JJ)^s`` (section 2.2 of [1]_, [2]_). With
      `exponent` s = 1 the result tends to a draw from the k-DPP, with s below 1 towards uniform
      sampling: it stays a sample. With s large it is a search for the set of largest volume.

    Parameters
    ----------
    n_sweeps : int or None, default=None
        Number of sweeps. ``None`` goes on until two lower the error by less than 3 % (1 % of up
        to 160 landmarks), at most 20; for ``"determinant"``, where nothing tells the end, it is 20.
    criterion : {"trace", "determinant"}, default="trace"
        What an exchange is judged by.
    exponent : float, default=1.0
        The power s > 0 of the determinant.
    snap : bool, default=True
        Whether landmarks stay data points. Otherwise they are moved after the last sweep, all at
        once, down the gradient of the trace error. In high dimension that helps much, as means of
        points do; it takes some twenty steps of O(k (k + d)) work for every measured point.

    Notes
    -----
    Everything a sweep needs is kept in tables of a few dozen neighbouring landmarks and their
    candidates, and every exchange turns the tables of one set into those of the next: O(t^2) work
    for a table of t points, none that grows with the number of points, and no matrix is inverted.
    Where the kernel reaches only some of the landmarks, tables come from these alone, so that a
    sweep costs in proportion to k. Where it reaches most of them, one matrix of k columns is
    maintained instead. `fit` chooses what takes fewer multiplications.

    With many points the error is measured at some, drawn at random: 24 for each landmark, or more
    if landmarks are few. Candidates then are other points, so that none is preferred for explaining
    itself.

    References
    ----------
    .. [1] C. Wachinger, P. Golland, "Diverse landmark sampling from determinantal point processes
       for scalable manifold learning", 2015.
    .. [2] M.-A. Belabbas, P. J. Wolfe, "On landmark selection and sampling in high-dimensional data
       analysis", Phil. Trans. R. Soc. A 367, 2009.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_fish_bowl(1000, random_state=0)
    >>> drawn = tp.Uniform(50, random_state=0).fit(X).indices_
    >>> better = tp.Refinement().refine(X, drawn, bandwidth=0.7, random_state=0).indices
    >>> tp.metrics.nystrom_error(X, better, 0.7) < tp.metrics.nystrom_error(X, drawn, 0.7) / 10
    True
    """

    def __init__(
        self,
        n_sweeps: int | None = None,
        *,
        criterion: str = "trace",
        exponent: float = 1.0,
        snap: bool = True,
    ) -> None:
        self.n_sweeps = n_sweeps
        self.criterion = criterion
        self.exponent = exponent
        self.snap = snap

    def refine(
        self,
        X: np.ndarray,
        indices: np.ndarray,
        *,
        bandwidth: float | None = None,
        random_state: Any = None,
        n_threads: int = 1,
        report: Report | None = None,
    ) -> "Refined":
        """Refine the landmarks in the rows `indices` of `X`.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            The points.
        indices : int ndarray of shape (k,)
            Distinct rows.
        bandwidth : float or None, default=None
            Bandwidth sigma of the Gaussian kernel that the landmarks are to approximate. ``None``
            takes twice the radius of the ball that holds a landmark's share of the points.
        random_state : None, int, RandomState or Generator, default=None
            Seed. The same seed gives the same landmarks with any number of threads.
        n_threads : int, default=1
        report : callable or None, default=None
            Called as ``report("refinement", done, total)``.

        Returns
        -------
        Refined
        """
        n_sweeps = _MOST_SWEEPS
        if self.n_sweeps is not None:
            n_sweeps = check_count("n_sweeps", self.n_sweeps)
        check_choice("criterion", self.criterion, ("trace", "determinant"))
        exponent = check_positive("exponent", self.exponent)
        if not isinstance(self.snap, (bool, np.bool_)):
            raise TypeError(f"snap must be True or False, got {self.snap!r}")
        if self.criterion == "determinant" and not self.snap:
            raise ValueError("snap=False goes with criterion='trace': a sample consists of points")
        rng = as_generator(random_state)
        search = _Search(
            X,
            np.array(indices, dtype=np.int64),
            resolve_kernel_bandwidth(bandwidth, X, len(indices), rng),
            exponent if self.criterion == "determinant" else None,
            rng,
            n_threads,
        )
        patient = self.n_sweeps is not None or self.criterion == "determinant"
        # Rounding of products must not depend on how many threads share them.
        with one_blas_thread():
            return search.run(n_sweeps, patient, self.snap, report)


def resolve_refinement(refine: Any) -> Refinement | None:
    """What a sampler's `refine` asks for."""
    if isinstance(refine, Refinement):
        return refine
    if isinstance(refine, (bool, np.bool_)):
        return Refinement() if refine else None
    if isinstance(refine, Integral):
        return Refinement(check_count("refine", refine))
    raise TypeError(
        f"refine={refine!r} is not understood: pass True, False, a number of sweeps or a Refinement"
    )


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


class _Search:
    """A refinement under way.

    `exponent` is that of the determinant, or None for the trace error.
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
        return self._draw(min(wanted, most), self._rows)

    def _draw(self, size: int, excluded: np.ndarray) -> np.ndarray:
        """Draw `size` distinct rows, or as many as there are, that are not `excluded`."""
        n = len(self._X)
        if n <= 4 * (size + len(excluded)):
            rows = np.arange(n)
        else:
            rows = np.unique(self._rng.integers(n, size=2 * size))
        rows = np.setdiff1d(rows, excluded, assume_unique=True)
        return self._rng.permutation(rows)[:size]

    def run(self, n_sweeps: int, patient: bool, snap: bool, report: Report | None) -> Refined:
        """Sweep `n_sweeps` times, or, unless `patient`, until that is no longer worth it.

        Unless they are to `snap` to data points, the landmarks are moved in the end.
        """
        errors: list[float] = []
        least = _CONVERGED_OF_FEW if len(self._rows) <= _MOST_TOGETHER else _CONVERGED
        for sweep in range(n_sweeps):
            errors.append(self._sweep())
            logger.info("refinement: trace error %.4g before sweep %d", errors[-1], sweep + 1)
            if not patient and sweep > 1 and errors[-1] > (1 - least) * errors[-3]:
                break
            if report is not None:
                report("refinement", sweep + 1, n_sweeps)
        if report is not None:
            report("refinement", n_sweeps, n_sweeps)
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
