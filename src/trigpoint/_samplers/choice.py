"""Resolve the parameter `landmarks` into landmarks."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import check_array

from trigpoint._byte_pool import BytePool
from trigpoint._common.checks import (
    check_count,
    check_magnitude,
    check_rows,
    refuse_masked,
    refuse_non_finite,
    refuse_non_numbers,
)
from trigpoint._common.errors import (
    ParameterError,
    ParameterTypeError,
    ParameterValueError,
    ParameterWarning,
    short,
)
from trigpoint._common.records import Landmarks
from trigpoint._common.words import counted
from trigpoint._neighbors.sparse import read_only, take_rows
from trigpoint._numerics.blocks import Run, distinct_rows
from trigpoint._pool import (
    DEFAULT_LANDMARKS,
    ROWS_PER_LANDMARK,
    DevicePool,
    Pool,
    all_rows,
    draw_pool,
    planned_landmarks,
)
from trigpoint._samplers.efficient import EfficientDPP
from trigpoint._samplers.sampler import Sampler
from trigpoint._sources import Source
from trigpoint._spaces import Space

# Upper bound of the seeds passed to third-party samplers, such as scikit-learn's.
_SEEDS = 2**31 - 1

# Values of `landmarks` that select all distinct rows, for estimators that lay out every point, on
# the host or on the device of the rows.
ALL, ALL_THERE = object(), object()


class CoincidingLandmarksWarning(ParameterWarning):
    """A sampler chose the same point more than once, in different rows."""


def pool_for(
    landmarks: Any,
    source: Source,
    space: Space,
    rng: np.random.Generator,
    *,
    default: int = DEFAULT_LANDMARKS,
    per_landmark: int = ROWS_PER_LANDMARK,
) -> Pool:
    """Read the pool to draw landmarks from; it includes landmarks given by row number.

    `landmarks` is any value that the estimators accept, or `ALL`; ``None`` means `default`
    landmarks. The pool has `per_landmark` rows per landmark, and the space is fitted.
    """
    if isinstance(landmarks, Sampler):
        return landmarks.pool_from(source, space, rng, per_landmark)
    if landmarks is ALL:
        return BytePool.read(source, space) or all_rows(source, space, rng)
    if landmarks is ALL_THERE:
        return DevicePool.read(source, space, rng)
    include = None
    if _kind(landmarks) == "given":
        given = _as_given(landmarks)
        include = _row_numbers(given, source.n) if given.ndim == 1 else None
    k = planned_landmarks(landmarks, default)
    return draw_pool(source, space, k, rng, per_landmark=per_landmark, include=include)


def draw_landmarks(
    landmarks: Any, pool: Pool, run: Run, default: int = DEFAULT_LANDMARKS, fewest: int = 2
) -> Landmarks:
    """Return distinct landmarks for any value of the parameter `landmarks`, or for `ALL`.

    A sampler, which may be any object that satisfies the notes of `Sampler`, is cloned. `pool` is
    the result of `pool_for`, and ``None`` means `default` landmarks. Fewer than `fewest` landmarks
    are an error; an embedding needs two. The `indices` of the result are row numbers of X. If
    landmarks were dropped because they coincide with others, the result carries a warning note.
    """
    if landmarks is ALL or landmarks is ALL_THERE:
        return _all_rows(pool)
    size = pool.points.shape[0]
    few = distinct_rows(pool.points, min(size, default)) if landmarks is None else None
    kind = _kind(landmarks)
    if few is not None:
        chosen = _rows(pool, few)
    elif kind == "count":
        count = min(size, default) if landmarks is None else landmarks
        if count != "auto":
            check_count(
                "landmarks", count, low=fewest, high=pool.n, why=f"the data has {pool.n} points"
            )
        try:
            sampler = EfficientDPP(count, n_jobs=run.n_threads)
            chosen = sampler._select(pool, run.rng, run.report)
        except ParameterError as error:
            if error.parameter != "n_landmarks":
                raise
            # Name the parameter of the estimator, not the one of the sampler.
            message = str(error).replace("n_landmarks", "landmarks")
            raise type(error)(message, "landmarks") from None
    elif kind == "sampler":
        chosen = _distinct(_sampled(landmarks, pool, run))
    else:
        chosen = _given(landmarks, pool)
    if len(chosen.points) < fewest:
        raise _too_few(landmarks, len(chosen.points), pool)
    if chosen.indices is None:
        return chosen
    return replace(chosen, indices=pool.numbers(chosen.indices))


def _all_rows(pool: Pool) -> Landmarks:
    """Return all distinct points; masses are numbers of duplicates, or sums of their weights."""
    first, groups = pool.grouped()
    if len(first) < 2:
        raise _too_few("all", len(first), pool)
    # Copy, since the rows may be the user's array.
    is_same = pool.is_copy and len(first) == len(groups)
    points = pool.dense if is_same else pool.dense[first]
    masses = np.bincount(groups, weights=pool.masses).astype(np.float64)
    return Landmarks(points, pool.numbers(first), masses=masses, groups=groups)


def _kind(landmarks: Any) -> str:
    """Return the kind: ``"count"`` (for the default sampler), ``"sampler"`` or ``"given"``."""
    if landmarks is None or (isinstance(landmarks, str) and landmarks == "auto"):
        return "count"
    if isinstance(landmarks, Integral) and not isinstance(landmarks, bool):
        return "count"
    is_sampler = hasattr(landmarks, "fit") and not isinstance(landmarks, type)
    return "sampler" if is_sampler else "given"


def _too_few(landmarks: Any, found: int, pool: Pool) -> ParameterValueError:
    if distinct_rows(pool.points, 1) is not None:
        return ParameterValueError(
            f"all {counted(pool.n, 'point')} coincide: there is nothing to embed; check how the "
            "data was prepared",
            "X",
        )
    return ParameterValueError(
        f"landmarks={short(landmarks)} gives {counted(found, 'distinct landmark')} among "
        f"{counted(pool.n, 'point')}: an embedding needs at least two",
        "landmarks",
    )


def _distinct(chosen: Landmarks) -> Landmarks:
    """Drop landmarks that coincide with an earlier one, and add a note."""
    first = np.sort(np.unique(chosen.points, axis=0, return_index=True)[1])
    left_out = len(chosen.points) - len(first)
    if not left_out:
        return chosen
    verb = "was" if left_out == 1 else "were"
    note = CoincidingLandmarksWarning(
        f"{counted(left_out, 'landmark')} coincided with others and {verb} left out: remove "
        "duplicated points or use EfficientDPP, whose landmarks are distinct"
    )
    found = chosen.neighborhoods
    return replace(
        chosen,
        points=chosen.points[first],
        indices=None if chosen.indices is None else chosen.indices[first],
        radii=None if chosen.radii is None else chosen.radii[first],
        neighborhoods=None if found is None else found.take(first),
        notes=(*chosen.notes, note),
    )


def _rows(pool: Pool, places: np.ndarray) -> Landmarks:
    places = places.astype(np.int64)
    return Landmarks(take_rows(pool.points, places), places)


def _sampled(given: Any, pool: Pool, run: Run) -> Landmarks:
    """Draw landmarks with a copy of a sampler, setting its seed and threads if they are None."""
    sampler = clone(given, safe=False)
    is_ours = isinstance(sampler, Sampler)
    if getattr(sampler, "random_state", False) is None:
        # Samplers of other libraries may not accept a Generator.
        sampler.random_state = run.rng if is_ours else int(run.rng.integers(_SEEDS))
    if not is_ours:
        sampler.fit(read_only(pool.points))
        return _from_attributes(sampler, pool)
    if getattr(sampler, "n_jobs", False) is None:
        sampler.n_jobs = run.n_threads
    return sampler.select(pool, run.report)


def _from_attributes(sampler: Any, pool: Pool) -> Landmarks:
    """Return landmarks from the attributes of a fitted third-party sampler."""
    name = type(sampler).__name__
    indices, points = getattr(sampler, "indices_", None), getattr(sampler, "landmarks_", None)
    if points is None:
        points = getattr(sampler, "cluster_centers_", None)
    if indices is None and points is None:
        raise ParameterTypeError(
            f"{name} has neither indices_ nor landmarks_ after fit, so it chooses no landmarks: "
            "pass a sampler, or set one of these attributes in fit",
            "landmarks",
        )
    if indices is not None:
        indices = np.asarray(indices)
        n = pool.points.shape[0]
        is_valid = indices.ndim == 1 and indices.dtype.kind in "iu"
        if not is_valid or (len(indices) and not 0 <= indices.min() <= indices.max() < n):
            raise ParameterValueError(
                f"indices_ of {name} has {indices.dtype} values of shape {indices.shape} that are "
                f"not row numbers from 0 to {n - 1}: set row numbers of the points passed to fit",
                "landmarks",
            )
        indices = indices.astype(np.int64)
    if points is None:
        assert indices is not None
        return _rows(pool, indices)
    points, d = np.asarray(points), pool.points.shape[1]
    k = points.shape[0] if indices is None else len(indices)
    if points.shape != (k, d) or points.dtype.kind not in "biuf":
        raise ParameterValueError(
            f"landmarks_ of {name} has {points.dtype} values of shape {points.shape}, and ({k}, "
            f"{d}) is needed: set landmarks in the space of the points passed to fit",
            "landmarks",
        )
    points = points.astype(pool.points.dtype)
    refuse_non_finite(points, f"landmarks_ of {name}")
    return Landmarks(points, indices)


def _as_given(landmarks: Any) -> np.ndarray:
    """Return row numbers or landmark points as an array of one or two dimensions."""
    refuse_masked(landmarks, "landmarks")
    given = np.asarray(landmarks.toarray() if hasattr(landmarks, "toarray") else landmarks)
    if given.ndim == 2:
        refuse_non_numbers(given, "landmarks")
    if given.ndim and given.size == 0:
        raise ParameterValueError(
            f"landmarks is empty (shape {given.shape}): pass at least two", "landmarks"
        )
    if given.ndim == 2 or (given.ndim == 1 and given.dtype.kind in "iu"):
        return given
    remedy = (
        "pass np.flatnonzero(landmarks)"
        if given.dtype == bool and given.ndim
        else "pass a number, 'auto', 'all' (maps only), a sampler, a 1-D array of row numbers or a "
        "2-D array of points"
    )
    raise ParameterTypeError(
        f"landmarks={short(landmarks)} is not understood: {remedy}", "landmarks"
    )


def _given(landmarks: Any, pool: Pool) -> Landmarks:
    """Return landmarks given as row numbers or as points."""
    given = _as_given(landmarks)
    if given.ndim == 1:
        chosen = _rows(pool, pool.places(_row_numbers(given, pool.n)))
    else:
        chosen = _given_points(given, pool)
    n_distinct = len(np.unique(chosen.points, axis=0))
    if n_distinct < len(chosen.points):
        raise ParameterValueError(
            f"landmarks has {len(chosen.points)} entries, only {n_distinct} of them distinct: "
            "pass each landmark once",
            "landmarks",
        )
    return chosen


def _row_numbers(given: np.ndarray, n: int) -> np.ndarray:
    check_count("n_landmarks", len(given), high=n, why=f"the data has {n} points")
    return check_rows("landmarks", given, n)


def _given_points(given: np.ndarray, pool: Pool) -> Landmarks:
    points = check_array(given, dtype=[np.float64, np.float32], input_name="landmarks")
    if points.shape[1] != pool.n_columns:
        raise ParameterValueError(
            f"landmarks has {counted(points.shape[1], 'column')} and X has {pool.n_columns}: pass "
            "landmark points in the space of X",
            "landmarks",
        )
    with np.errstate(over="ignore"):
        points = points.astype(pool.points.dtype)
    refuse_non_finite(points, "landmarks")
    check_magnitude(points, "landmarks", may_be_tiny=True)
    points = pool.space(points)
    return Landmarks(points.toarray() if isinstance(points, csr_array) else points)
