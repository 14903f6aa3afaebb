"""Execution in blocks of rows of bounded size, shared by threads, with progress reports."""

import logging
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from trigpoint._common.checks import as_generator, check_count
from trigpoint._common.errors import ParameterTypeError, short

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

# Default block size, large enough to hide NumPy's call overhead and small enough for the caches.
BLOCK_BYTES = 16 * 2**20

# Upper limit on threads, more than the number of cores of any machine.
_MOST_THREADS = 2**16


def block_rows(bytes_per_row: int, limit: int = BLOCK_BYTES) -> int:
    """Return how many rows of `bytes_per_row` bytes fit in a block of `limit` bytes."""
    return max(1, limit // max(1, bytes_per_row))


def row_blocks(n_rows: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most `rows` rows that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))


def sample_points(X: Any, size: int, rng: np.random.Generator) -> Any:
    """Draw `size` points without replacement, in row order; return `X` if it has no more."""
    n = X.shape[0]
    return X if n <= size else X[np.sort(rng.choice(n, size, replace=False))]


def distinct_rows(X: Any, most: int) -> np.ndarray | None:
    """Return the first row of each distinct point, or ``None`` if there are more than `most`."""
    if isinstance(X, csr_array):
        found: dict[bytes, int] = {}
        for row in range(X.shape[0]):
            part = slice(X.indptr[row], X.indptr[row + 1])
            found.setdefault(X.indices[part].tobytes() + X.data[part].tobytes(), row)
            if len(found) > most:
                return None
        return np.array(list(found.values()), dtype=np.int64)
    # A few rows are enough to decide for nearly all data. Otherwise, sort all rows.
    some = X[:: max(1, len(X) // (4 * most))]
    if len(np.unique(some, axis=0)) > most:
        return None
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return rows if len(rows) <= most else None


def grouped_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each distinct point, in ascending order, and groups (n,) of rows."""
    from trigpoint._kernels.hashing import hash_rows

    keys = np.empty(len(X), dtype=np.uint64)
    hash_rows(np.ascontiguousarray(X).view(f"u{X.dtype.itemsize}"), keys)
    first, groups = np.unique(keys, return_index=True, return_inverse=True)[1:]
    others = np.flatnonzero(first[groups] != np.arange(len(X)))
    for part in row_blocks(len(others), block_rows(X.shape[1] * X.itemsize)):
        if (X[others[part]] != X[first[groups[others[part]]]]).any():
            # Different points have the same hash.
            first, groups = np.unique(X, axis=0, return_index=True, return_inverse=True)[1:]
            break
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return first[order], places[groups.ravel()]


def thread_count(n_jobs: Any) -> int:
    """Return the number of threads; -1 or None means all cores available to the process."""
    if n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs == -1):
        # Containers and batch systems often allow fewer cores than the machine has.
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return check_count("n_jobs", n_jobs, high=_MOST_THREADS, why="or -1 for all cores")


# Idle thread pools, by number of threads. A draw of landmarks calls `thread_map` hundreds of times,
# and starting new threads for every call would take a tenth of its time.
_IDLE_POOLS: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)


def thread_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Map `function` over `items` in order, holding at most ``2 * n_threads`` results at once."""
    if n_threads == 1:
        yield from map(function, items)
        return
    # Each map has its own pool, so that nested maps cannot deadlock.
    idle, remaining = _IDLE_POOLS[n_threads], iter(items)
    try:
        pool = idle.pop()
    except IndexError:
        pool = ThreadPoolExecutor(n_threads)
    pending: list[Future[Result]] = []
    try:
        pending += [pool.submit(function, item) for item in islice(remaining, 2 * n_threads)]
        while pending:
            result = pending.pop(0).result()
            pending.extend(pool.submit(function, item) for item in islice(remaining, 1))
            yield result
    finally:
        # After an error or Ctrl-C, drop work that has not begun.
        wait([future for future in pending if not future.cancel()])
        idle.append(pool)


class _Blas:
    """State of the process-wide limit of one BLAS thread."""

    lock = threading.Lock()
    # Number of active calls of `one_blas_thread`.
    inside = 0
    controller: ThreadpoolController | None = None
    limiter: Any = None
    # Functions that release the reservation of threadpoolctl 3.8 for the first thread that limits
    # OpenBLAS. Without them, limits of all other threads are ignored while that thread is alive.
    releases: ClassVar[list[Callable[[], None]]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit each matrix product to the thread that calls it, while our own threads run.

    The limit lasts from the first call that enters to the last that leaves. Otherwise, the second
    of two overlapping calls would mistake the limit of the first for the user's setting, and
    restore that limit on exit.
    """
    with _Blas.lock:
        if _Blas.controller is None:
            # Finding the libraries takes longer than many products, so do it once.
            _Blas.controller = ThreadpoolController()
            found = _Blas.controller.lib_controllers
            releases = [getattr(library, "clear_controlling_thread", None) for library in found]
            _Blas.releases.extend(filter(None, releases))
        if _Blas.inside == 0:
            _Blas.limiter = _Blas.controller.limit(limits=1, user_api="blas")
            for release in _Blas.releases:
                release()
        _Blas.inside += 1
    try:
        yield
    finally:
        with _Blas.lock:
            # A process forked in the meantime starts at 0.
            _Blas.inside = max(0, _Blas.inside - 1)
            if _Blas.inside == 0:
                _Blas.limiter.restore_original_limits()
                for release in _Blas.releases:
                    release()


def _forget_threads() -> None:
    """Reset pools, lock and limit in a forked process, which does not inherit the threads."""
    _IDLE_POOLS.clear()
    _Blas.lock = threading.Lock()
    if _Blas.inside:
        _Blas.inside = 0
        _Blas.limiter.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


# Progress callback, called as report(stage, done, total).
Report = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


def reporter(verbose: Any) -> Report:
    """Return a reporter for the parameter `verbose`.

    ``True`` shows bars or lines on standard error, and ``False`` shows nothing. A function receives
    the stage, the amount done and the total.
    """
    if callable(verbose):
        report: Report = verbose
        return report
    if not isinstance(verbose, (Integral, np.bool_)):
        raise ParameterTypeError(
            f"verbose={short(verbose)} is neither True, False nor a function: pass one of them; a "
            "function receives the stage, the amount done and the total",
            "verbose",
        )
    if not verbose:
        return silent
    from trigpoint._common.display import progress_display

    return progress_display(sys.stderr)


class Run:
    """Random numbers, threads, progress and timings of one call of `fit`.

    `rng` is the only source of randomness of the fit. Progress is reported as ``report(stage, done,
    total)``, and `seconds` holds the duration of each stage.
    """

    def __init__(self, random_state: Any, n_jobs: Any, verbose: Any) -> None:
        self.rng = as_generator(random_state)
        self.n_threads = thread_count(n_jobs)
        self.report = reporter(verbose)
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def done(self, stage: str) -> None:
        """Record the duration of a stage."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        logger.info("%s: %.2f s", stage, self.seconds[stage])
