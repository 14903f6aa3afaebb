"""Turning what a user passes as ``landmarks=`` into landmarks."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from trigpoint._common.checks import (
    check_count,
    check_magnitude,
    refuse_masked,
    refuse_non_finite,
    refuse_non_numbers,
)
from trigpoint._common.errors import (
    ParameterError,
    ParameterTypeError,
    ParameterValueError,
    ParameterWarning,
)
from trigpoint._common.progress import ProgressMixin, Report
from trigpoint._common.records import Landmarks
from trigpoint._common.warn import warn_user
from trigpoint._common.words import counted
from trigpoint._geometry import covariance_mode, neighborhood_covariances
from trigpoint._landmarks.base import Sampler, check_n_landmarks, too_much_of_a_store
from trigpoint._landmarks.efficient import EfficientDPP, resolve_n_neighbors
from trigpoint._numerics.blocks import distinct_rows
from trigpoint._numerics.sparse import Points, take_rows
from trigpoint._points.memory import MemoryStore
from trigpoint._points.scaling import unit_rows
from trigpoint._points.store import Store

_DEFAULT_LANDMARKS = 1000
_FEWEST_LANDMARKS = 2


class CoincidingLandmarksWarning(ParameterWarning):
    """A sampler chose the same point more than once, in different rows."""


def default_n_landmarks(n_distinct: int) -> int:
    """Default number of landmarks; if there are few distinct points, each is a landmark."""
    return min(n_distinct, _DEFAULT_LANDMARKS)


def choose_landmarks(
    landmarks: Any,
    X: Points | Store,
    *,
    metric: str = "euclidean",
    covariance: str | None,
    rng: np.random.Generator,
    n_threads: int,
    report: Report | None = None,
) -> Landmarks:
    """Return the landmarks that `landmarks` stands for.

    Parameters
    ----------
    landmarks : None, int, "auto", sampler, index array or point array
        As for the estimators.
    X : ndarray or csr_array of shape (n, d), or Store
        Validated points.
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        The metric of the estimator; `X` has been scaled for it.
    covariance : {"auto", "full", "diag", "low-rank"} or None
        Which local covariances are needed, if any; they are added if the sampler does not compute
        them. ``"auto"`` accepts the kind that the sampler computes, if it computes any.
    rng : Generator
    n_threads : int
    report : callable or None
        Receives the progress, unless the sampler reports its own.
    """
    mode = None if covariance is None else covariance_mode(covariance, X.shape[1])
    n = X.shape[0]
    few = distinct_rows(X, default_n_landmarks(n)) if landmarks is None else None
    if few is not None:
        chosen = _rows(X, few)
    elif _is_count(landmarks):
        count = default_n_landmarks(n) if landmarks is None else landmarks
        if count != "auto":
            check_count("landmarks", count, high=n, why=f"the data has {n} points")
        sampler = EfficientDPP(
            count, covariance=mode, random_state=rng, n_jobs=n_threads, callback=report
        )
        try:
            chosen = _fitted(sampler, X)
        except ParameterError as error:
            # Users of an estimator do not know the parameters of the sampler behind it.
            raise error.about("landmarks") if error.parameter == "n_landmarks" else error from None
    elif hasattr(landmarks, "fit") and not isinstance(landmarks, type):
        _refuse_contradiction(landmarks, covariance)
        _refuse_other_metric(landmarks, metric)
        chosen = _distinct(_fitted(_prepared(landmarks, mode, rng, n_threads, report), X))
    else:
        chosen = _given(landmarks, X, metric)
    if len(chosen.points) < _FEWEST_LANDMARKS:
        if distinct_rows(X, 1) is not None:
            raise ParameterValueError(
                "X",
                X.shape,
                "all {n_points} coincide",
                "there is nothing to embed; check how the points were made",
                n_points=counted(n, "point"),
            )
        raise ParameterValueError(
            "landmarks",
            landmarks,
            "{parameter=} gives {found} among {n_points}",
            "an embedding needs at least {fewest}",
            found=counted(len(chosen.points), "distinct landmark"),
            n_points=counted(n, "point"),
            fewest=_FEWEST_LANDMARKS,
        )
    if mode is not None and chosen.covariances is None:
        m = resolve_n_neighbors(None, n, len(chosen.points))
        store = MemoryStore.of(X, m, len(chosen.points), n_threads) if isinstance(X, Points) else X
        radii, found = neighborhood_covariances(store, chosen.points, m, mode)
        chosen = Landmarks(chosen.points, chosen.indices, radii, found)
    return chosen


def _is_count(landmarks: Any) -> bool:
    """Whether the landmarks are left to the default sampler."""
    if landmarks is None or isinstance(landmarks, str):
        return landmarks in (None, "auto")
    return isinstance(landmarks, Integral) and not isinstance(landmarks, bool)


def _refuse_other_metric(sampler: Any, metric: str) -> None:
    """Refuse a sampler whose metric would have no effect, because the points are scaled or not."""
    own = getattr(sampler, "metric", "euclidean")
    if own not in ("euclidean", metric):
        raise ParameterValueError(
            "landmarks",
            sampler,
            "the sampler has metric={own!r} and the estimator {metric=}",
            "set metric={own!r} on the estimator; its landmarks are then chosen by it, too",
            own=own,
            metric=metric,
        )


def _distinct(chosen: Landmarks) -> Landmarks:
    """Leave out landmarks that coincide with an earlier one, with a warning."""
    first = np.sort(np.unique(chosen.points, axis=0, return_index=True)[1])
    left_out = len(chosen.points) - len(first)
    if not left_out:
        return chosen
    warn_user(
        CoincidingLandmarksWarning(
            "the sampler chose {left_out} landmarks that coincide with others; they are left out",
            ("remove duplicated points", "use EfficientDPP, whose landmarks are distinct"),
            left_out=left_out,
        )
    )

    def kept(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[first]

    covariances = None if chosen.covariances is None else chosen.covariances[first]
    return Landmarks(chosen.points[first], kept(chosen.indices), kept(chosen.radii), covariances)


def _rows(X: Points | Store, rows: np.ndarray) -> Landmarks:
    rows = rows.astype(np.int64)
    return Landmarks(take_rows(X, rows), rows)


def _refuse_contradiction(sampler: Any, covariance: str | None) -> None:
    """Refuse covariances other than those that the sampler has been told to compute."""
    own = getattr(sampler, "covariance", None)
    if own is None or covariance in (None, "auto", own):
        return
    raise ParameterValueError(
        "covariance",
        covariance,
        "{parameter=} contradicts the sampler, which computes {own}",
        ("leave {parameter} 'auto'", "leave it None on the sampler"),
        own=f"covariance={own!r}",
    )


def _prepared(
    sampler: Any,
    mode: str | None,
    rng: np.random.Generator,
    n_threads: int,
    report: Report | None,
) -> Any:
    """Copy a sampler; fill in what it leaves open: seed, covariances, threads and progress."""
    sampler = clone(sampler)
    parameters = sampler.get_params(deep=False)
    if "random_state" in parameters and parameters["random_state"] is None:
        sampler.set_params(random_state=rng)
    if mode is not None and "covariance" in parameters and parameters["covariance"] is None:
        sampler.set_params(covariance=mode)
    if parameters.get("n_jobs", 1) is None:
        sampler.set_params(n_jobs=n_threads)
    if isinstance(sampler, ProgressMixin) and not sampler.verbose and sampler.callback is None:
        sampler.set_params(callback=report)
    return sampler


def _fitted(sampler: Any, X: Points | Store) -> Landmarks:
    if isinstance(sampler, Sampler):
        # The points have been validated.
        return sampler.select(X)
    if not isinstance(X, Points):
        raise too_much_of_a_store(type(sampler).__name__, X)
    sampler.fit(X)
    return Landmarks(
        sampler.landmarks_,
        sampler.indices_,
        getattr(sampler, "radii_", None),
        getattr(sampler, "covariances_", None),
    )


def _given(landmarks: Any, X: Points | Store, metric: str) -> Landmarks:
    """Landmarks given as rows or as points."""
    refuse_masked(landmarks, "landmarks")
    given = np.asarray(landmarks.toarray() if hasattr(landmarks, "toarray") else landmarks)
    if given.ndim == 2:
        refuse_non_numbers(given, "landmarks")
    if given.ndim and given.size == 0:
        raise ParameterValueError(
            "landmarks",
            landmarks,
            "{parameter} is empty (shape {shape})",
            "pass at least two",
            shape=given.shape,
        )
    if given.ndim == 1 and given.dtype.kind in "iu":
        chosen = _given_rows(landmarks, given, X)
    elif given.ndim == 2:
        chosen = _given_points(landmarks, given, X, metric)
    else:
        raise ParameterTypeError(
            "landmarks",
            landmarks,
            "{parameter=} is not understood",
            "pass np.flatnonzero({parameter})"
            if given.dtype == bool and given.ndim
            else "pass a number, 'auto', a sampler, a 1-D array of row numbers or a 2-D array of "
            "points",
        )
    n_distinct = len(np.unique(chosen.points, axis=0))
    if n_distinct < len(chosen.points):
        raise ParameterValueError(
            "landmarks",
            landmarks,
            "{parameter} has {count} entries, only {n_distinct} of them distinct",
            "pass each landmark once",
            count=len(chosen.points),
            n_distinct=n_distinct,
        )
    return chosen


def _given_rows(landmarks: Any, given: np.ndarray, X: Points | Store) -> Landmarks:
    n = X.shape[0]
    check_n_landmarks(len(given), n)
    if given.min() < 0 or given.max() >= n:
        raise ParameterValueError(
            "landmarks",
            landmarks,
            "{parameter} has rows from {first} to {last}",
            "choose rows from 0 to {most}",
            first=given.min(),
            last=given.max(),
            most=n - 1,
        )
    return _rows(X, given)


def _given_points(landmarks: Any, given: np.ndarray, X: Points | Store, metric: str) -> Landmarks:
    points = check_array(given, dtype=[np.float64, np.float32], input_name="landmarks")
    if points.shape[1] != X.shape[1]:
        raise ParameterValueError(
            "landmarks",
            landmarks,
            "{parameter} has {found} and X has {wanted}",
            "pass landmark points in the space of X",
            found=counted(points.shape[1], "column"),
            wanted=X.shape[1],
        )
    with np.errstate(over="ignore"):
        points = points.astype(X.dtype)
    refuse_non_finite(points, "landmarks")
    if metric == "seuclidean":
        raise ParameterValueError(
            "landmarks",
            points.shape,
            "points cannot be {parameter} with metric='seuclidean', whose scales are of X",
            "pass the numbers of rows of X, or scale both beforehand",
        )
    if metric == "cosine":
        points = unit_rows(points, "landmarks")
    check_magnitude(points, "landmarks", may_be_tiny=True)
    return Landmarks(points)
