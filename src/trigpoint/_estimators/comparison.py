"""Several methods tried on a sample of the points, to see which of them keeps most."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from trigpoint._common.checks import as_generator, check_choice, check_count, check_magnitude
from trigpoint._common.errors import ParameterError, ParameterValueError
from trigpoint._common.progress import reporter
from trigpoint._estimators.isomap import FarRowError, Isomap, far_row
from trigpoint._estimators.kernel_pca import KernelPCA
from trigpoint._estimators.landmark_map import LandmarkMap
from trigpoint._estimators.markov import LaplacianEigenmaps
from trigpoint._files import PointSource, read_points
from trigpoint._landmarks import draw_landmarks
from trigpoint._numerics.blocks import block_rows
from trigpoint._numerics.threads import thread_count
from trigpoint._points.inputs import source_of, stays_sparse
from trigpoint._points.scaling import METRICS, UnitRows, column_scales
from trigpoint._pool import Pool
from trigpoint.metrics._agreement import agreement, neighbor_ranks, reference_distances
from trigpoint.metrics._comparison import Attempt, Comparison
from trigpoint.metrics._preserved import principal_components

# Methods that draw pictures. Diffusion maps draw those of Laplacian eigenmaps, stretched.
_TRIED: tuple[type[Any], ...] = (LaplacianEigenmaps, Isomap, KernelPCA, LandmarkMap)

# Points that methods are fitted to, and those of them whose neighborhoods are compared: enough for
# differences of .01, and few enough for seconds.
COMPARED_POINTS, _COMPARED = 20_000, 1_000
_SAMPLE_BYTES = 2**27
FEWEST_TO_COMPARE = 20

# Neighbors in the graph that distances are measured along.
_NEIGHBORS = 10

# Pictures have up to three coordinates.
_MOST_COMPONENTS = 3


def compare_methods(
    X: Any,
    n_components: int = 2,
    *,
    landmarks: int | None = None,
    metric: str = "euclidean",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    callback: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Try the methods that draw pictures, and say which keeps most of the neighborhoods.

    Laplacian eigenmaps, Isomap, kernel PCA and the map are fitted to 20,000 points with the same
    landmarks, and 1,000 of these points are compared. It takes seconds for any number of points.

    Parameters
    ----------
    X : array-like or sparse array of shape (n, d), or file
        The points.
    n_components : {1, 2, 3}, default=2
        Number of coordinates.
    landmarks : int or None, default=None
        Number of landmarks; ``None`` as for `LaplacianEigenmaps`.
    metric, random_state, n_jobs, verbose, callback
        As for `LaplacianEigenmaps`.

    Returns
    -------
    Comparison
        Its ``best`` is the estimator to fit.

    Notes
    -----
    The score is `trigpoint.metrics.neighborhood_agreement`. It rewards small neighborhoods and
    large shapes alike, measured along the points and not across gaps: a Swiss roll comes out
    unrolled, and digits in groups.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> tp.compare_methods(X, landmarks=300, random_state=0).best
    Isomap()
    """
    n_components = check_count(
        "n_components",
        n_components,
        high=_MOST_COMPONENTS,
        why="methods are compared for pictures",
    )
    check_choice("metric", metric, METRICS)
    source = source_of(X)
    n = source.shape[0]
    if n < FEWEST_TO_COMPARE:
        raise ParameterValueError(
            "X",
            source.shape,
            "{source} has {n} points, too few to compare methods on",
            "pass at least {fewest}, or choose an estimator",
            source=source.name,
            n=n,
            fewest=FEWEST_TO_COMPARE,
        )
    if landmarks is not None:
        check_count("landmarks", landmarks, low=2, high=n, why=f"the data has {n} points")
    rng = as_generator(random_state)
    rows, points = _sample(source, metric, rng)
    report = reporter(verbose, callback)
    seed = int(rng.integers(2**31))
    chosen = draw_landmarks(
        None if landmarks is None else min(landmarks, len(points)),
        Pool.of(points),
        rng=rng,
        n_threads=thread_count(n_jobs),
    )
    compared = points[:_COMPARED]
    ranks = neighbor_ranks(reference_distances(compared, _NEIGHBORS))
    attempts: list[Attempt] = []
    failures: dict[str, str] = {}
    for done, method in enumerate(_TRIED):
        report("trying methods", done, len(_TRIED))
        if stays_sparse(source) and not method.takes_sparse:
            failures[method.__name__] = "takes no sparse points"
            continue
        estimator = method(n_components, metric=metric)
        tried = clone(estimator).set_params(
            landmarks=chosen.indices, random_state=seed, n_jobs=n_jobs
        )
        try:
            estimator._check_storage(X)
            coordinates = _coordinates(tried, points, len(compared))
        except ParameterError as error:
            if isinstance(error, FarRowError) and error.value is not None:
                error = far_row(error.value, rows)  # It was counted in the sample.
            failures[method.__name__] = str(error)
            continue
        score = agreement(ranks, coordinates)
        attempts.append(Attempt(method.__name__, estimator, score, coordinates))
    report("trying methods", len(_TRIED), len(_TRIED))
    if not attempts:
        raise ParameterValueError(
            "X",
            source.shape,
            "no method can embed {source}: {reasons}",
            "choose an estimator and its parameters",
            source=source.name,
            reasons="; ".join(f"{name}: {reason}" for name, reason in failures.items()),
        )
    centered = compared.astype(np.float64) - compared.mean(axis=0, dtype=np.float64)
    return Comparison(
        tuple(sorted(attempts, key=lambda attempt: -attempt.score)),
        failures,
        agreement(ranks, principal_components(centered, n_components)),
        rows[: len(compared)],
        len(points),
        n,
    )


def _sample(
    source: PointSource, metric: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that methods are fitted to, and their points, scaled for the metric."""
    n, d = source.shape
    affordable = max(_COMPARED, _SAMPLE_BYTES // (8 * d))
    rows = rng.choice(n, min(n, COMPARED_POINTS, affordable), replace=False)
    points = _checked(UnitRows(source) if metric == "cosine" else source, rows)
    if metric == "seuclidean":
        points = points / column_scales(read_points(points)).astype(points.dtype)
    if (points == points[0]).all():
        raise ParameterValueError(
            "X",
            source.shape,
            "all points of {source} that were looked at coincide",
            "there is nothing to embed; check how the points were made",
            source=source.name,
        )
    return rows, points


def _coordinates(estimator: Any, points: np.ndarray, count: int) -> np.ndarray:
    """Fit some points, and return the coordinates of the first few."""
    with warnings.catch_warnings():
        # What a method warns of shows in its score, and is said again when it is chosen.
        warnings.simplefilter("ignore")
        coordinates: np.ndarray = estimator.fit(points).transform(points[:count])
    return coordinates.astype(np.float64)


def _checked(source: PointSource, rows: np.ndarray) -> np.ndarray:
    points = source.take(rows)
    if not np.isfinite(points).all():
        # Reading all points names the row.
        for _ in source.blocks(block_rows(source.shape[1] * source.dtype.itemsize)):
            pass
    check_magnitude(points, source.name)
    return points
