"""Forecast of the time and memory that a run will take."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._estimators import LaplacianEigenmaps
from trigpoint._geometry import MEASURED_TOGETHER, NEIGHBORS_HELD, covariance_mode
from trigpoint._graph import MATRIX_MAX
from trigpoint._landmarks import EfficientDPP
from trigpoint._landmarks.drawing import NEIGHBORS_KEPT
from trigpoint._landmarks.efficient import resolve_n_neighbors
from trigpoint._numerics.neighbors import (
    TREE_MAX_DIMENSION,
    bucket_size,
    neighbor_index,
)
from trigpoint._numerics.principal import MAX_RANK
from trigpoint._numerics.products import SCAN_BYTES, ProductIndex
from trigpoint._numerics.threads import thread_count
from trigpoint._points.memory import RACE_UP_TO

Result = TypeVar("Result")

# Values and landmarks of the trial run, and its fewest points.
_TRIAL_VALUES = 3_000_000
_TRIAL_LANDMARKS = 500
_TRIAL_ROWS = 400

# Allowance for wasted searches, and for passes over the points that are not filled with queries.
_UNFILLED = 1.3

# Compiled code, its compiler, and what the allocator keeps.
_COMPILED_BYTES = 100e6

# Matrices of all pairs of landmarks that are held at once.
_PAIR_MATRICES = 4


@dataclass(frozen=True)
class Forecast:
    """Time and memory of a run.

    Attributes
    ----------
    seconds : float
        Total time for landmarks, graph, spectrum and the coordinates of all points.
    bytes : float
        Peak memory beyond the points themselves, including the coordinates if they are kept.
    stages : dict of str to float
        Seconds of each stage.
    """

    seconds: float
    bytes: float
    stages: dict[str, float]

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {seconds:,.1f} s" for name, seconds in self.stages.items())
        return f"about {self.seconds:,.1f} s ({stages}) and {self.bytes / 1e9:,.2f} GB"


def forecast(
    n: int,
    d: int,
    k: int,
    *,
    n_components: int = 2,
    n_neighbors: int | None = None,
    dtype: DTypeLike = np.float32,
    keep: bool = True,
    n_jobs: int | None = None,
) -> Forecast:
    """Forecast the time and memory that `LaplacianEigenmaps` takes on this machine.

    Memory is computed from the sizes. Time comes from a trial run of about a second on a few
    synthetic points of the same dimension, scaled by how each stage grows. Expect it to be right
    within a factor of 2 as long as the machine stays as busy as it is now.

    Parameters
    ----------
    n, d : int
        Number of points and dimensions.
    k : int
        Number of landmarks.
    n_components : int, default=2
        Number of coordinates.
    n_neighbors : int or None, default=None
        Size of the sampler's neighborhoods, m; ``None`` for ``4 n / k``.
    dtype : {float32, float64}, default=float32
        Type of the points.
    keep : bool, default=True
        Whether the coordinates are kept in memory, or written to a file.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import trigpoint as tp
    >>> expected = tp.forecast(10_000_000, 3, 2500)
    >>> expected.bytes < 1.5e9
    True
    """
    n, d, k, n_components, dtype = _checked(n, d, k, n_components, dtype)
    m = resolve_n_neighbors(n_neighbors, n, k)
    stages = _seconds(n, d, k, m, n_components, dtype, n_jobs)
    memory = forecast_bytes(
        n, d, k, n_components=n_components, n_neighbors=m, dtype=dtype, keep=keep, n_jobs=n_jobs
    )
    return Forecast(sum(stages.values()), memory, stages)


def forecast_bytes(
    n: int,
    d: int,
    k: int,
    *,
    n_components: int = 1,
    n_neighbors: int | None = None,
    dtype: DTypeLike = np.float32,
    keep: bool = True,
    n_jobs: int | None = None,
) -> float:
    """Peak memory beyond the points, without a trial run; parameters as in `forecast`."""
    n, d, k, n_components, dtype = _checked(n, d, k, n_components, dtype)
    m, itemsize = resolve_n_neighbors(n_neighbors, n, k), dtype.itemsize
    n_threads = thread_count(n_jobs)
    if d <= TREE_MAX_DIMENSION:
        # A tree with its copy of the points and their rows, and candidates for each thread.
        selection = (d * itemsize + 4) * n + 3 * n // bucket_size(m) * (24 + 16 * d)
        selection += n_threads * 64 * m
    else:
        # Norms of the points and bounds of their weights, a few blocks for each thread, neighbors
        # that wait to be measured, and those kept for weights of all points.
        selection = 16 * n + n_threads * SCAN_BYTES
        selection += 2 * 16 * min(max(m, NEIGHBORS_HELD), MEASURED_TOGETHER * m)
        selection += 8 * min(NEIGHBORS_KEPT, k * m)
    if d <= TREE_MAX_DIMENSION and n <= RACE_UP_TO:
        selection += 8 * n
    covariance = {"full": d * d, "diag": d, "low-rank": MAX_RANK * d}[covariance_mode("auto", d)]
    graph = 3 * 8 * k * covariance + _PAIR_MATRICES * 8 * min(k, MATRIX_MAX) ** 2
    coordinates = itemsize * n * n_components if keep else 0
    return float(_COMPILED_BYTES + max(selection, graph, coordinates))


def _checked(
    n: int, d: int, k: int, n_components: int, dtype: DTypeLike
) -> tuple[int, int, int, int, np.dtype]:
    n, d = check_count("n", n, low=2), check_count("d", d)
    k = check_count("k", k, low=2, high=n, why=f"there are {n} points")
    n_components = check_count("n_components", n_components, high=k - 1, why=f"of {k} landmarks")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ParameterValueError(
            "dtype", dtype.name, "{parameter=} is not a type of points", "choose float32 or float64"
        )
    return n, d, k, n_components, dtype


def _seconds(
    n: int, d: int, k: int, m: int, n_components: int, dtype: np.dtype, n_jobs: int | None
) -> dict[str, float]:
    """Seconds of each stage, scaled from a trial run."""
    X = _trial_points(max(_TRIAL_ROWS, min(n, _TRIAL_VALUES // max(d, 10))), d, dtype)
    n0, k0 = len(X), min(max(k, 4), len(X) // 10, _TRIAL_LANDMARKS)
    l0 = min(n_components, k0 // 2)
    # First on a few points, so that loading and compiling the loops is not timed.
    LaplacianEigenmaps(1, landmarks=16, random_state=0, n_jobs=n_jobs).fit_transform(X[:200])
    trial = LaplacianEigenmaps(l0, landmarks=k0, random_state=0, n_jobs=n_jobs).fit(X)
    # The first call compiles what the few points did not need.
    trial.transform(X)
    points = _timed(lambda: trial.transform(X))[0] * n / n0
    if d > TREE_MAX_DIMENSION:
        # Every point is compared with all landmarks.
        points *= k / k0
    pairs = min(k, MATRIX_MAX) * k / k0**2
    if d <= TREE_MAX_DIMENSION:
        landmarks = _tree_seconds(X, n, k, m, thread_count(n_jobs))
    else:
        # Enough points that passes over them dominate the time.
        X = np.resize(X, (min(n, 3 * n0), d))
        landmarks = _scan_seconds(X, n, k, m, thread_count(n_jobs))
    return {
        "landmarks": landmarks,
        "graph": trial.stage_seconds_["graph"] * pairs,
        "spectrum": trial.stage_seconds_["spectrum"] * k * n_components / (k0 * l0),
        "points": points,
    }


def _tree_seconds(X: np.ndarray, n: int, k: int, m: int, n_threads: int) -> float:
    """Seconds to draw landmarks with a tree: its levels, and the neighbors that are found."""
    n0 = len(X)
    # Few landmarks with large neighborhoods: time depends on the neighbors found, not on the
    # searches.
    k0 = min(k, 32)
    m0 = min(n0, max(m * k * n0 // (n * k0), 1))
    sampler = EfficientDPP(k0, n_neighbors=m0, covariance="full", random_state=0, n_jobs=n_threads)
    build, _ = _timed(lambda: neighbor_index(X, m0, k0, n_threads))
    draw = max(_timed(lambda: sampler.fit(X))[0] - build, 0.0)
    levels = np.log2(n) / np.log2(n0)
    return float(build * levels * n / n0 + draw * (k * m) / (k0 * m0))


def _scan_seconds(X: np.ndarray, n: int, k: int, m: int, n_threads: int) -> float:
    """Seconds to draw landmarks by products: passes over all points, and their variances."""
    n0 = len(X)
    m0 = max(1, min(n0, m * n0 // n))
    build, index = _timed(lambda: ProductIndex(X, n_threads, together=64))
    queries = X[: min(64, n0)]
    search, found = _timed(lambda: index.search(queries, m0))
    spread, _ = _timed(lambda: index.covariances(found, "diag"))
    search, spread = search / len(queries), spread / len(queries)
    return float(n / n0 * (build + k * (_UNFILLED * search + spread)))


def _trial_points(n: int, d: int, dtype: np.dtype) -> np.ndarray:
    """Points near a surface that bends through all dimensions."""
    rng = np.random.default_rng(0)
    surface = rng.uniform(size=(n, 2))
    waves = np.sin(surface @ rng.normal(scale=4, size=(2, d)) + rng.uniform(0, 6, size=d))
    return np.asarray(waves + rng.normal(scale=0.05, size=(n, d)), dtype=dtype)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
