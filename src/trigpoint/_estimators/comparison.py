"""Compare methods by the neighborhoods that they preserve in a sample of the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from trigpoint._common.checks import check_count, check_magnitude
from trigpoint._common.errors import ParameterError, ParameterValueError
from trigpoint._embedding import Embedding
from trigpoint._estimators.eigenmaps import LaplacianEigenmaps
from trigpoint._estimators.isomap import Isomap
from trigpoint._estimators.kernel_pca import KernelPCA
from trigpoint._estimators.landmark_map import LandmarkMap
from trigpoint._extension.extensions import extend
from trigpoint._numerics.blocks import Run, distinct_rows
from trigpoint._pool import Pool, draw_pool
from trigpoint._samplers.choice import draw_landmarks
from trigpoint._sources import Source
from trigpoint._sources.opening import opened
from trigpoint._spaces import Space, space_for
from trigpoint.metrics._agreement import agreement, neighbor_ranks, reference_distances
from trigpoint.metrics._comparison import Attempt, Comparison
from trigpoint.metrics._preserved import principal_axes

# Methods for visualization. Diffusion maps are Laplacian eigenmaps with scaled axes.
_COMPARED_METHODS: tuple[type[Embedding], ...] = (
    LaplacianEigenmaps,
    Isomap,
    KernelPCA,
    LandmarkMap,
)

# Number of rows that methods are fitted to, and number of these whose neighborhoods are compared.
# This resolves differences of 0.01 and takes only seconds.
COMPARED_ROWS, _COMPARED = 20_000, 1_000
_SAMPLE_BYTES = 2**27
FEWEST_TO_COMPARE = 20

# Number of neighbors in the graph along which distances are measured.
_NEIGHBORS = 10

_MOST_COMPONENTS = 3


def compare_methods(
    X: Any,
    n_components: int = 2,
    *,
    landmarks: int | None = None,
    metric: Any = "euclidean",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | Callable[[str, int, int], None] = False,
) -> Comparison:
    """Compare visualization methods by the neighborhoods that they preserve.

    `LaplacianEigenmaps`, `Isomap`, `KernelPCA` and `LandmarkMap` are fitted to 20,000 rows with the
    same landmarks, and the neighborhoods of 1,000 of these rows are compared. This takes seconds
    for any number of rows.

    Parameters
    ----------
    X : array-like or sparse array of shape (n, d), file, Dask collection or tensor
        Anything that `trigpoint.open_source` accepts.
    n_components : {1, 2, 3}, default=2
        Number of coordinates.
    landmarks : int or None, default=None
        Number of landmarks. ``None`` has the same meaning as for `LaplacianEigenmaps`.
    metric, random_state, n_jobs, verbose
        As for `LaplacianEigenmaps`.

    Returns
    -------
    Comparison
        Its attribute ``best`` is the estimator to fit.

    Notes
    -----
    The score is `trigpoint.metrics.neighborhood_agreement`, which compares neighborhoods of every
    size. Distances are measured along the data rather than across gaps, so the best embedding of a
    Swiss roll unrolls it, and the best embedding of digits shows groups.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
    >>> tp.compare_methods(X, landmarks=300, random_state=0).best
    Isomap()
    """
    why = "methods are compared for visualization"
    n_components = check_count("n_components", n_components, high=_MOST_COMPONENTS, why=why)
    space = space_for(metric)
    source = opened(X, space)
    n = source.n
    if n < FEWEST_TO_COMPARE:
        raise ParameterValueError(
            f"{source.name} has {n} points, too few to compare methods: pass at least "
            f"{FEWEST_TO_COMPARE}, or choose an estimator",
            "X",
        )
    if landmarks is not None:
        check_count("landmarks", landmarks, low=2, high=n, why=f"the data has {n} points")
    run = Run(random_state, n_jobs, verbose)
    rows, pool = _compared_pool(source, space, run)
    count = None if landmarks is None else min(landmarks, pool.distinct.shape[0])
    chosen = draw_landmarks(count, pool, Run(run.rng, n_jobs, False))
    seed = int(run.rng.integers(2**31))
    some = run.rng.permutation(len(rows))
    # Take each row once, although rows of large weight are repeated.
    some = some[np.sort(np.unique(rows[some], return_index=True)[1])][:_COMPARED]
    compared = pool.points[some]
    compared = compared.toarray() if issparse(compared) else compared
    ranks = neighbor_ranks(reference_distances(compared, _NEIGHBORS))
    attempts: list[Attempt] = []
    failures: dict[str, str] = {}
    for done, method in enumerate(_COMPARED_METHODS):
        run.report("comparing methods", done, len(_COMPARED_METHODS))
        if source.columns.sparse and not method._takes_sparse:
            failures[method.__name__] = "does not take sparse points"
            continue
        estimator = method(n_components, metric=metric, random_state=seed)
        own = Run(seed, n_jobs, False)
        reduced = estimator._reduced(pool, own)
        try:
            _, extension = estimator._embed(reduced, chosen, own)
        except ParameterError as error:
            failures[method.__name__] = str(error)
            continue
        coordinates, _ = extend(extension, compared, run.n_threads)
        score = agreement(ranks, coordinates.astype(np.float64))
        best = method(n_components, metric=metric)
        attempts.append(Attempt(method.__name__, best, score, coordinates))
    run.report("comparing methods", len(_COMPARED_METHODS), len(_COMPARED_METHODS))
    if not attempts:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise ParameterValueError(
            f"no method can embed {source.name} ({reasons}): choose an estimator and its "
            "parameters",
            "X",
        )
    centered = compared.astype(np.float64) - compared.mean(axis=0, dtype=np.float64)
    return Comparison(
        tuple(sorted(attempts, key=lambda attempt: -attempt.score)),
        failures,
        agreement(ranks, centered @ principal_axes(centered, n_components)),
        rows[some],
        len(rows),
        n,
    )


def _compared_pool(source: Source, space: Space, run: Run) -> tuple[np.ndarray, Pool]:
    """Return the numbers of the rows that methods are fitted to, and these rows as a pool."""
    affordable = max(_COMPARED, _SAMPLE_BYTES // (8 * source.columns.count))
    size = min(COMPARED_ROWS, affordable)
    if source.weights is not None:
        pool = draw_pool(source, space, 1, run.rng, size=size)
        return np.asarray(pool.rows), pool
    rows = np.sort(source.draw(size, run.rng))
    raw = source.take(rows)
    if source.columns.holds == "numbers":
        check_magnitude(raw, source.name)
    points = space.fit(raw)(raw, rows)
    if distinct_rows(points, 1) is not None:
        raise ParameterValueError(
            f"all rows of {source.name} that were read coincide, so there is nothing to embed: "
            "check how the data was prepared",
            "X",
        )
    return rows, Pool(points, source.n, rows, space)
