"""Find the change that is most likely to improve an embedding, by short runs on a sample."""

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import PCA

from trigpoint._common.errors import ParameterError
from trigpoint._embedding import Embedding
from trigpoint._estimators.isomap import Isomap
from trigpoint._estimators.landmark_map import MOST_ROWS, LandmarkMap
from trigpoint._estimators.model_arrays import as_arrays
from trigpoint._numerics.blocks import Run, thread_count
from trigpoint._pool import LEAST_ROWS
from trigpoint._sources import Columns, Source, open_source
from trigpoint.metrics._assess import assess
from trigpoint.metrics._quality import Quality
from trigpoint.metrics._verdict import MOST_LOOKED_AT, Advice, log_odds, reference, share_at

# Number of rows in a short run, and in the warm-up run that compiles the loops.
ROWS, _FIRST_ROWS = 3_000, 300
_BYTES = 2**27

# Maximum number of rows for which to suggest a layout of all rows, which takes minutes.
_MOST_LAID_OUT = 1_000_000

# Minimum gain that justifies a change, in absolute terms and relative to the current share.
_GAIN, _RELATIVE_GAIN = 0.02, 0.1
# Changes are listed from least to most drastic. Take the first whose gain is at least this fraction
# of the largest gain.
_NEARLY = 0.9

# Clip shares to a range in which odds can be extrapolated.
_LEAST, _MOST = 0.005, 0.98


class _Rows(NamedTuple):
    """Rows as they were read, with a description of their columns."""

    values: Any
    columns: Columns

    def source(self, most: int | None = None) -> Source:
        """Return the first rows, or all, as a source."""
        read = open_source(self.values[:most])
        read.columns = self.columns
        return read


class Candidate(NamedTuple):
    """A change to an embedding, and the estimator that it leads to."""

    change: str
    estimator: Any
    lays_out_all: bool = False


class Trial(NamedTuple):
    """Result of a short run of an estimator."""

    quality: Quality
    # Durations by stage; "transform" is the time to transform the sample.
    seconds: dict[str, float]
    model_bytes: int


def advise(estimator: Embedding, quality: Quality, source: Source) -> Advice | None:
    """Return the change with about the largest expected gain; None if nothing helps."""
    if quality.grade == "excellent" or source.columns.holds != "numbers" or source.columns.chosen:
        return None
    n, d = source.shape
    most = max(_FIRST_ROWS, min(ROWS, _BYTES // (8 * d)))
    rows = np.sort(source.draw(most, np.random.default_rng(0)))
    X, size = _Rows(source.take(rows), source.columns), len(rows)
    before = None
    advice: list[Advice] = []
    for candidate in candidates(estimator, quality):
        if isinstance(candidate.estimator, PCA):
            if issparse(X.values):
                continue
            start = time.perf_counter()
            candidate.estimator.fit_transform(np.nan_to_num(X.values))
            seconds = (time.perf_counter() - start) * n / size
            gain, megabytes = quality.by_pca - quality.preserved, 8e-6 * d * quality.n_components
        else:
            trial = _tried(candidate.estimator, X)
            if trial is None:
                continue
            if before is None and size < n:
                before = _tried(_like(estimator, size), X)
            expected = _expected(candidate, quality, trial, before)
            gain = expected - quality.preserved
            seconds = _seconds(candidate, trial, n, size)
            scale = n / size if candidate.lays_out_all else 1.0
            megabytes = 1e-6 * trial.model_bytes * scale
        advice.append(Advice(candidate.change, gain, seconds, megabytes))
    largest = max((one.gain for one in advice), default=0.0)
    if largest < max(_GAIN, _RELATIVE_GAIN * quality.preserved):
        return None
    return next(one for one in advice if one.gain >= _NEARLY * largest)


def candidates(estimator: Embedding, quality: Quality) -> Iterator[Candidate]:
    """Yield changes that may help, each with an estimator to try on a sample."""
    count, n = quality.n_components, quality.n_points
    fitted, parameters = estimator.fitted_, estimator.fitted_.parameters
    own = {name: getattr(estimator, name) for name in ("metric", "random_state", "n_jobs")}
    metric, stated = own["metric"], ""
    if metric != "euclidean":
        # Other estimators need the same metric, but PCA has none.
        name = f'"{metric}"' if isinstance(metric, str) else getattr(metric, "__name__", "...")
        stated = f", metric={name}"
    elif count < quality.n_features and quality.by_pca > quality.preserved:
        yield Candidate(f"scikit-learn's PCA(n_components={count})", PCA(count))
    changes: dict[str, dict[str, Any]] = {}
    if quality.redundant and parameters.get("eigenvectors") == "leading":
        changes['eigenvectors="independent"'] = {"eigenvectors": "independent"}
    if fitted.extended_by == "all" and "graph" in parameters:
        changes['extension="graph"'] = {"extension": "graph"}
    if count > MOST_LOOKED_AT and quality.dimension > count:
        wanted = math.ceil(quality.dimension)
        changes[f"n_components={wanted}"] = {"n_components": wanted}
    for change, values in changes.items():
        yield Candidate(change, _like(estimator, ROWS).set_params(**values))
    if count > MOST_LOOKED_AT:
        return
    if "LandmarkMap" not in quality.unhelpful:
        yield Candidate(
            f"LandmarkMap(n_components={count}{stated})", LandmarkMap(count, **own), n <= MOST_ROWS
        )
    elif quality.n_landmarks < n <= _MOST_LAID_OUT and _interpolates(parameters, n):
        yield Candidate('landmarks="all"', LandmarkMap(count, landmarks="all", **own), True)
    if "Isomap" not in quality.unhelpful and quality.pieces in (1, None):
        yield Candidate(f"Isomap(n_components={count}{stated})", Isomap(count, **own))


def _interpolates(parameters: dict[str, Any], n: int) -> bool:
    """Return whether only some of the rows were laid out in a map."""
    landmarks = parameters.get("landmarks")
    if isinstance(landmarks, str) and landmarks == "all":
        return False
    return landmarks is not None or n > MOST_ROWS


def _like(estimator: Embedding, size: int) -> Any:
    """Return an unfitted copy of an estimator that can be fitted to a sample."""
    copy: Any = clone(estimator).set_params(verbose=False)
    landmarks = copy.landmarks
    if landmarks is not None and not isinstance(landmarks, str):
        copy.set_params(landmarks=min(len(estimator.landmarks_), size // 2))
    if not isinstance(getattr(copy, "init", "auto"), str):
        copy.set_params(init="auto")
    return copy


def _tried(estimator: Any, X: _Rows) -> Trial | None:
    """Fit an estimator to a sample and measure it; None if it cannot be fitted."""
    try:
        # Compile the loops in a warm-up run, which is not timed.
        _fit(estimator, X.source(_FIRST_ROWS))
        run = _fit(estimator, X.source())
    except ParameterError:
        return None
    source = X.source()
    start = time.perf_counter()
    n_threads = thread_count(estimator.n_jobs)
    source.map(estimator.model_, n_threads=n_threads)
    seconds = {**run.seconds, "transform": time.perf_counter() - start}
    rng = np.random.default_rng(0)
    found = assess(estimator.fitted_, estimator.model_, source, rng=rng, n_threads=n_threads)
    stored = as_arrays(estimator.fitted_, estimator._stored(estimator.fitted_))
    return Trial(found, seconds, sum(array.nbytes for array in stored.values()))


def _fit(estimator: Any, source: Source) -> Run:
    run, space = Run(estimator.random_state, estimator.n_jobs, False), estimator._check_parameters()
    space.report = run.report
    estimator._fit_source(source.under(space), space, run)
    return run


def _expected(candidate: Candidate, quality: Quality, trial: Trial, before: Trial | None) -> float:
    """Return the share of neighbors that a candidate should preserve in the full data.

    Shares depend on the number of rows. For a layout of all rows, the share is extrapolated like
    that of the best known maps; for all other candidates, like that of the current embedding.
    """
    found = trial.quality
    n, size = quality.n_points, found.n_points
    if n == size:
        return found.preserved
    odds = _odds(found.preserved)
    if candidate.lays_out_all or before is None:
        count = quality.n_components
        odds += reference(quality.dimension, n, count) - reference(found.dimension, size, count)
    else:
        odds += _odds(quality.preserved) - _odds(before.quality.preserved)
    return share_at(odds)


def _odds(share: float) -> float:
    return log_odds(min(max(share, _LEAST), _MOST))


def _seconds(candidate: Candidate, trial: Trial, n: int, size: int) -> float:
    """Return the time to fit and transform all rows."""
    seconds = dict(trial.seconds)
    if candidate.lays_out_all:
        # All rows are landmarks and need not be transformed.
        del seconds["transform"]
        return sum(seconds.values()) * n / size
    total = seconds.pop("transform") * n / size
    pooled = min(n, LEAST_ROWS) / size
    for stage, spent in seconds.items():
        total += spent * (pooled if stage in ("reading", "projection", "landmarks") else 1.0)
    return total
