"""Threads: how many, and an ordered map over them."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from trigpoint.checks import check_count

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: Any) -> int:
    """Number of threads meant by `n_jobs`: -1 (or None) for every core this process may use."""
    if n_jobs is None or n_jobs == -1:
        # Containers and batch systems often allow fewer cores than the machine has.
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return check_count("n_jobs", n_jobs, why="or -1 for all cores")


def thread_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """Map `function` over `items` in order, holding at most ``2 * n_threads`` results at once."""
    if n_threads == 1:
        yield from map(function, items)
        return
    remaining = iter(items)
    with ThreadPoolExecutor(n_threads) as pool:
        pending = [pool.submit(function, item) for item in islice(remaining, 2 * n_threads)]
        try:
            while pending:
                result = pending.pop(0).result()
                pending.extend(pool.submit(function, item) for item in islice(remaining, 1))
                yield result
        finally:
            # After an error or Ctrl-C, work that has not begun is dropped, not waited for.
            for future in pending:
                future.cancel()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep matrix products to the thread that asks for them, while threads of our own run."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes longer than many a product.
    return ThreadpoolController()
