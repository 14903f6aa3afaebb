"""Sweeps of exchanges over all landmarks at once, or patch by patch."""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpstrf
from scipy.spatial import cKDTree

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.words import counted, html_table, percent
from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import any_within
from trigpoint._neighbors.sparse import take_rows
from trigpoint._numerics.blocks import Report
from trigpoint._numerics.gaussian import Kernel, gaussian_of, squared_distances
from trigpoint._numerics.residual.exchange import SINGULAR, ExchangeableInverse, trace_error
from trigpoint._samplers.refinement.patches import (
    ENOUGH_CANDIDATES,
    MOST_TOGETHER,
    Patch,
    draw_patches,
    draw_rows,
)

logger = logging.getLogger(__name__)

# Number of iterations for moving landmarks. More iterations gain less than 1 % on images and
# surfaces.
_STEPS = 20

# Number of measured points per landmark.
_MEASURED = 24
# Maximum number of values to store for the measured points, and number of values that are cheap to
# store, which allows more points if there are few landmarks.
_NUMBERS_HELD = 2**27
_NUMBERS_CHEAP = 2**22
# Minimum number of measured points per landmark. Landmarks would overfit fewer points.
_MEASURED_FEWEST = 4

# Landmarks with a smaller conditional variance, given the others, are replaced before the first
# sweep, in at most this many rounds.
_REDUNDANT = 1e-9
_REPLACEMENTS = 10

# Work is local if, from a patch, the kernel reaches fewer than one in this many landmarks.
_LOCAL_FROM = 3

# Local work ignores points whose error an exchange hardly affects, and landmarks that hardly
# contribute to their prediction. These are the cutoff distances in bandwidths.
_POINTS_WITHIN = 1.0
_LANDMARKS_WITHIN = 3.0

# An exchange must lower the error by this fraction of the error per landmark.
_WORTHWHILE = 1e-2

# By default, sweeps end when two of them lower the error by less than this fraction. The second
# value is for few landmarks, whose sweeps are cheap.
_CONVERGED = 0.03
_CONVERGED_OF_FEW = 0.01


@dataclass(frozen=True)
class RefinementResult:
    """Result of a refinement."""

    indices: np.ndarray  # Row numbers (k,) of the landmarks, or the rows they were moved from.
    points: np.ndarray  # Coordinates (k, d) of the landmarks.
    bandwidth: float  # Bandwidth of the kernel.
    # Relative trace error before each sweep and at the end, over the measured points.
    errors: tuple[float, ...]
    n_exchanges: int
    is_local: bool  # Whether exchanges were evaluated with nearby landmarks only.

    def _repr_html_(self) -> str:
        rows = {
            f"after {counted(sweep, 'sweep')}": percent(error, 3)
            for sweep, error in enumerate(self.errors)
        }
        heading = (
            f"{counted(len(self.points), 'landmark')}, {counted(self.n_exchanges, 'exchange')}"
        )
        return html_table(f"{heading}; relative trace error", rows)


class ExchangeSearch:
    """Refinement in progress; `rows`, the landmarks among the rows of `X`, is updated in place."""

    def __init__(
        self,
        X: np.ndarray,
        rows: np.ndarray,
        bandwidth: float,
        rng: np.random.Generator,
        n_threads: int,
    ) -> None:
        self._X = X
        self.rows = rows
        self._landmarks = self._coordinates(rows)
        self._bandwidth = bandwidth
        self._kernel = gaussian_of(bandwidth)
        self._rng = rng
        self._n_threads = n_threads
        self._n_exchanges = 0
        # Measured points are chosen last, since local work allows more of them.
        self._points = np.empty((0, X.shape[1]))
        self._points_tree: cKDTree | None = None
        self._reserved = np.empty(0, dtype=np.int64)
        self._is_local = self._looks_local()
        measured = self._measured_rows()
        self._points = self._coordinates(measured)
        if self._is_local and X.shape[1] <= TREE_MAX_DIMENSION:
            self._points_tree = cKDTree(self._points)
        # Measured points are not candidates, unless all points are measured, because a candidate
        # would be favored for explaining itself.
        if len(measured) < X.shape[0]:
            self._reserved = measured

    def _coordinates(self, rows: np.ndarray) -> np.ndarray:
        return take_rows(self._X, rows).astype(np.float64)

    def _looks_local(self) -> bool:
        """Return whether the kernel reaches only a few of the landmarks from a typical patch."""
        patches = self._patches()
        if len(patches) < _LOCAL_FROM:
            return False
        near = [
            len(self._within(self._members(patch), self._landmarks, _LANDMARKS_WITHIN))
            for patch in patches
        ]
        return float(np.mean(near)) < len(self.rows) / _LOCAL_FROM

    def _measured_rows(self) -> np.ndarray:
        (n, d), k = self._X.shape, len(self.rows)
        wanted = max(_MEASURED * k, _NUMBERS_CHEAP // k)
        # Each point needs one number per landmark, or per candidate if one table holds them all.
        columns = max(k, ENOUGH_CANDIDATES)
        width = d if self._is_local else max(columns, d)
        most = _NUMBERS_HELD // width
        if min(n, wanted, most) < min(n, _MEASURED_FEWEST * k):
            raise ParameterValueError(
                f"{k} landmarks are too many to refine together, and a kernel of bandwidth "
                f"{self._bandwidth:.3g} reaches most of them: choose fewer landmarks or a smaller "
                "kernel_bandwidth",
                "kernel_bandwidth",
            )
        if n <= min(2 * wanted, most):
            return np.arange(n)
        return draw_rows(n, min(wanted, most, n // 2), self.rows, self._rng)

    def run(self, n_sweeps: int, patient: bool, snap: bool, report: Report) -> RefinementResult:
        """Sweep `n_sweeps` times or, unless `patient`, until the gain is small.

        If `snap` is false, move the landmarks off the data points at the end.
        """
        self._replace_redundant()
        errors: list[float] = []
        least = _CONVERGED_OF_FEW if len(self.rows) <= MOST_TOGETHER else _CONVERGED
        for sweep in range(n_sweeps):
            errors.append(self.sweep())
            logger.info("refinement: trace error %.4g before sweep %d", errors[-1], sweep + 1)
            enough = not patient and sweep > 1 and errors[-1] > (1 - least) * errors[-3]
            report("refinement", n_sweeps if enough else sweep + 1, n_sweeps)
            if enough:
                break
        if not snap:
            self._landmarks = move_landmarks(
                self._points, self._landmarks, self._kernel, self._bandwidth, self._n_threads
            )
        errors.append(self.sweep(exchange=False))
        return RefinementResult(
            self.rows,
            self._landmarks.astype(self._X.dtype),
            self._bandwidth,
            tuple(errors),
            self._n_exchanges,
            self._is_local,
        )

    def _replace_redundant(self) -> None:
        """Replace landmarks that are almost explained by the others with random points.

        A draw that ignores distances may contain such landmarks in dense regions, which would make
        the tables singular.
        """
        if self._is_local:
            return
        for _ in range(_REPLACEMENTS):
            kernel = self._kernel(self._landmarks, self._landmarks)
            _, order, rank, _ = dpstrf(kernel, tol=_REDUNDANT)
            redundant = order[rank:] - 1
            if not len(redundant):
                return
            excluded = np.union1d(self.rows, self._reserved)
            rows = draw_rows(self._X.shape[0], len(redundant), excluded, self._rng)
            if not len(rows):
                return
            redundant = redundant[: len(rows)]
            self.rows[redundant] = rows
            self._landmarks[redundant] = self._coordinates(rows)
            self._n_exchanges += len(rows)

    def sweep(self, *, exchange: bool = True) -> float:
        """Exchange landmarks in all patches and return the relative error before the exchanges.

        If work is local, each patch contributes the error just before its own exchanges.
        """
        patches = self._patches()
        everywhere = None if self._is_local else self._inverse(self._points, self._landmarks)
        error = 0.0 if everywhere is None else float(everywhere.unexplained.sum())
        for patch in patches:
            if everywhere is not None:
                inverse, slots = everywhere, patch.slots
            else:
                members = self._members(patch)
                near = self._within(members, self._landmarks, _LANDMARKS_WITHIN)
                if not len(near):
                    error += len(patch.points)
                    continue
                points = np.union1d(
                    patch.points,
                    self._within(members, self._points, _POINTS_WITHIN, self._points_tree),
                )
                inverse = self._inverse(self._points[points], self._landmarks[near])
                slots = np.searchsorted(near, patch.slots)
                own = np.searchsorted(points, patch.points)
                error += float(inverse.unexplained[own].sum())
            if exchange and len(patch.slots) and len(patch.candidates):
                self._refine(patch, inverse, slots, keep=len(patches) > 1 and not self._is_local)
        return error / len(self._points)

    def _inverse(self, points: np.ndarray, landmarks: np.ndarray) -> ExchangeableInverse:
        try:
            return ExchangeableInverse(points, landmarks, self._kernel, self._n_threads)
        except LinAlgError:
            raise ParameterValueError(
                f"the landmarks cannot be refined: the kernel matrix of {len(self.rows)} "
                "landmarks is numerically singular for a kernel of bandwidth "
                f"{self._bandwidth:.3g}; choose a smaller kernel_bandwidth or fewer landmarks "
                "without near-duplicates",
                "kernel_bandwidth",
            ) from None

    def _members(self, patch: Patch) -> np.ndarray:
        """Return the landmarks, candidates and measured points of a patch."""
        parts = self._landmarks[patch.slots], patch.places, self._points[patch.points]
        return np.concatenate(parts)

    def _within(
        self, members: np.ndarray, places: np.ndarray, reach: float, tree: cKDTree | None = None
    ) -> np.ndarray:
        """Return indices of `places` within `reach` bandwidths of the members of a patch."""
        if not len(members) or not len(places):
            return np.empty(0, dtype=np.int64)
        reach *= self._bandwidth
        center = members.mean(axis=0)
        ball = reach + float(np.sqrt(squared_distances(members, center[None]).max()))
        # A single distance, or the tree, rules out most places and leaves about as many as members.
        if tree is not None:
            rows = np.sort(np.array(tree.query_ball_point(center, ball), dtype=np.int64))
        else:
            rows = np.flatnonzero(squared_distances(places, center[None])[:, 0] <= ball**2)
        return rows[any_within(members, places[rows], reach)]

    def _patches(self) -> list[Patch]:
        excluded = np.union1d(self.rows, self._reserved)
        return draw_patches(
            self._X, self._landmarks, self._points, excluded, self._rng, self._n_threads
        )

    def _refine(
        self, patch: Patch, inverse: ExchangeableInverse, slots: np.ndarray, *, keep: bool
    ) -> None:
        """Exchange landmarks of a patch, and update the inverse if `keep` is true."""
        from trigpoint._kernels.pivoting import descend

        candidates = patch.places
        tables = inverse.tables(slots, candidates, keep=keep)
        b, c = len(slots), len(candidates)
        chosen, A = np.arange(b), tables.A.copy()
        least = _WORTHWHILE * inverse.unexplained.sum() / len(inverse.landmarks)
        free, H = np.arange(b, b + c), tables.H.copy()
        self._n_exchanges += descend(A, H, chosen, free, least, SINGULAR, b + c)
        # Landmarks may have returned in other slots, but only the set matters.
        is_new = chosen >= b
        has_left = np.setdiff1d(np.arange(b), chosen[~is_new])
        pairs = np.column_stack([has_left, chosen[is_new] - b])
        if keep and len(pairs):
            inverse.exchange(tables, slots, candidates, pairs)
        leaving, entering = pairs.T
        self.rows[patch.slots[leaving]] = patch.candidates[entering]
        self._landmarks[patch.slots[leaving]] = candidates[entering]


def move_landmarks(
    points: np.ndarray, landmarks: np.ndarray, kernel: Kernel, bandwidth: float, n_threads: int
) -> np.ndarray:
    """Move landmarks (k, d) to lower the trace error at `points` (s, d), by L-BFGS [1]_.

    A step costs O(s k (k + d)).

    References
    ----------
    .. [1] D. C. Liu, J. Nocedal, "On the limited memory BFGS method for large scale optimization",
       Mathematical Programming 45, 1989.
    """
    from scipy.optimize import minimize

    start, _ = trace_error(points, landmarks, kernel, bandwidth, n_threads)
    if start == 0:
        return landmarks

    # Use displacements in bandwidths and errors relative to the initial one, so that units do not
    # matter.
    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        places = landmarks + bandwidth * flat.reshape(landmarks.shape)
        try:
            error, gradient = trace_error(points, places, kernel, bandwidth, n_threads)
        except LinAlgError:
            # Landmarks may coincide after too long a step. Score them as if there were none.
            return len(points) / start, np.zeros_like(flat)
        return error / start, bandwidth / start * gradient.ravel()

    found = minimize(
        objective,
        np.zeros(landmarks.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "gtol": 0.0},
    )
    return landmarks + bandwidth * found.x.reshape(landmarks.shape)
