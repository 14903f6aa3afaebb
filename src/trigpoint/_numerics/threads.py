"""Threads: how many, and an ordered map over them."""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from numbers import Integral
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from trigpoint._common.checks import check_count

Item = TypeVar("Item")
Result = TypeVar("Result")

# More than any machine has cores.
_MOST_THREADS = 2**16


def thread_count(n_jobs: Any) -> int:
    """Number of threads meant by `n_jobs`: -1 (or None) for every core this process may use."""
    if n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs == -1):
        # Containers and batch systems often allow fewer cores than the machine has.
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return check_count("n_jobs", n_jobs, high=_MOST_THREADS, why="or -1 for all cores")


def thread_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Map `function` over `items` in order, holding at most ``2 * n_threads`` results at once."""
    if n_threads == 1:
        yield from map(function, items)
        return
    remaining = iter(items)
    with _borrowed_pool(n_threads) as pool:
        pending = [pool.submit(function, item) for item in islice(remaining, 2 * n_threads)]
        try:
            while pending:
                result = pending.pop(0).result()
                pending.extend(pool.submit(function, item) for item in islice(remaining, 1))
                yield result
        finally:
            # After an error or Ctrl-C, work that has not begun is dropped, not waited for.
            wait([future for future in pending if not future.cancel()])


# Idle pools, by their number of threads. A draw maps hundreds of times, and starting threads for
# each map would take a tenth as long as its work.
_IDLE_POOLS: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)


@contextmanager
def _borrowed_pool(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """A pool for one map alone, so that maps inside maps never wait for themselves."""
    idle = _IDLE_POOLS[n_threads]
    try:
        pool = idle.pop()
    except IndexError:
        pool = ThreadPoolExecutor(n_threads)
    try:
        yield pool
    finally:
        idle.append(pool)


# A forked process has the pools without their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE_POOLS.clear)


class _OneBlasThread:
    """Limits the threads of BLAS from the first that enters to the last that leaves.

    The limit applies to the whole process: if two calls overlap, the second would otherwise mistake
    the first one's limit for the user's setting, and leave it behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                # Finding the libraries takes longer than many products, so it is done once.
                self._controller = self._controller or ThreadpoolController()
                self._limiter = self._controller.limit(limits=1, user_api="blas")
                self._let_others_limit()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()
                self._let_others_limit()

    def _let_others_limit(self) -> None:
        """Release what threadpoolctl 3.8 reserves for the first thread that limits OpenBLAS.

        Otherwise the limits of all other threads would be ignored for as long as it lives.
        """
        assert self._controller is not None
        for library in self._controller.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread()


_BLAS = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Keep each matrix product in the thread that calls it, while our own threads run."""
    return _BLAS
