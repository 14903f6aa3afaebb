"""How fast this machine is at the moment, and whether loops have to be compiled."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial import cKDTree

from trigpoint._forecast.job import Job
from trigpoint._forecast.work import Work
from trigpoint._numerics.threads import one_blas_thread, thread_map

# Size of the searches and of the product that are timed, and their seconds on the machine that
# `work` is counted in.
_SEARCHES = 10_000
_SEARCH_SECONDS = 0.0078
_PRODUCT = (1000, 256, 2000)
_PRODUCT_SECONDS = 0.0111

# Each is timed this often; the median counts, since others may use the machine for a moment.
_REPEATS = 3


@dataclass(frozen=True)
class Speed:
    """Seconds that a unit of work takes now.

    Attributes
    ----------
    alone, shared, products : float
        For the kinds of `Work`.
    """

    alone: float
    shared: float
    products: float

    @classmethod
    def measured(cls, n_threads: int) -> Self:
        """Measure, without compiling anything; takes a part of a second."""
        rng = np.random.default_rng(0)
        tree, queries = cKDTree(rng.random((_SEARCHES, 3))), rng.random((_SEARCHES, 3))
        rows, inner, columns = _PRODUCT
        left = rng.random((rows, inner), dtype=np.float32)
        right = rng.random((inner, columns), dtype=np.float32)

        def search() -> None:
            tree.query(queries)

        def product() -> None:
            left @ right

        alone = _median_seconds(search, 1) / _SEARCH_SECONDS
        with one_blas_thread():
            products = _median_seconds(product, n_threads) / _PRODUCT_SECONDS
        shared = alone
        if n_threads > 1:
            shared = _median_seconds(search, n_threads) / _SEARCH_SECONDS
        return cls(alone, shared / n_threads, products / n_threads)

    def seconds(self, work: Work) -> float:
        """Time that work takes at this speed."""
        return self.alone * work.alone + self.shared * work.shared + self.products * work.products


def compilation(job: Job) -> Work:
    """Work of compiling the loops of a job that are not kept."""
    return Work()


def _median_seconds(work: Callable[[], None], n_threads: int) -> float:
    """Seconds for every thread to do the work once, side by side."""
    seconds = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in thread_map(lambda _: work(), range(n_threads), n_threads):
            pass
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))
