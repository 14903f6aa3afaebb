"""Peak memory of a run, computed from its sizes."""

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._forecast.job import Job
from trigpoint._geometry import MEASURED_TOGETHER, NEIGHBORS_HELD, covariance_mode
from trigpoint._graph import MATRIX_MAX
from trigpoint._landmarks.drawn import NEIGHBORS_KEPT
from trigpoint._numerics.neighbors import bucket_size
from trigpoint._numerics.products import SCAN_BYTES

# Compiled code that is loaded, and what the allocator keeps: 115 to 150 MB in a new process, and up
# to 190 MB where more of the compiler's library is in memory already. Compiling, where loops are
# not yet on disk, takes 130 MB more.
COMPILED_BYTES = 200e6
COMPILER_BYTES = 150e6

# Distances, and their order, from which the local dimension is estimated.
_DIMENSION_BYTES = 2**24

# Matrices of all pairs of landmarks that are held at once: while neighbors are chosen among them,
# and in a complete graph, whose weights and lengths are kept.
_PAIR_MATRICES = 4
_COMPLETE_MATRICES = 9


def forecast_bytes(
    n: int,
    d: int,
    k: int,
    *,
    n_components: int = 1,
    dtype: DTypeLike = np.float32,
    keep: bool = True,
    n_jobs: int | None = None,
) -> float:
    """Peak memory beyond the points; parameters as in `forecast` and `job_bytes`."""
    job = Job.checked(n, d, k, n_components, None, dtype, n_jobs)
    return job_bytes(job, keep)


def job_bytes(job: Job, keep: bool) -> float:
    """Peak memory of a job beyond the points; `keep` counts its coordinates."""
    n, d, k, m, itemsize = job.n, job.d, job.k, job.m, job.dtype.itemsize
    if job.by_tree:
        # A tree with its copy of the points and their rows, and candidates for each thread.
        selection = (d * itemsize + 4) * n + 3 * n // bucket_size(m) * (24 + 16 * d)
        selection += job.n_threads * 64 * m
    else:
        # Norms of the points and bounds of their weights, a few blocks for each thread, neighbors
        # that wait to be measured, and those kept for weights of all points.
        selection = 16 * n + job.n_threads * SCAN_BYTES
        selection += 2 * 16 * min(max(m, NEIGHBORS_HELD), MEASURED_TOGETHER * m)
        selection += 8 * min(NEIGHBORS_KEPT, k * m)
    if job.races:
        selection += 8 * n
    if job.is_complete:
        graph = _COMPLETE_MATRICES * 8 * k**2
    else:
        numbers = {"full": d * d, "diag": d}
        covariance = numbers[covariance_mode("auto", d)]
        graph = 3 * 8 * k * covariance + _PAIR_MATRICES * 8 * min(k, MATRIX_MAX) ** 2
    coordinates = itemsize * n * job.n_components if keep else 0
    return float(COMPILED_BYTES + max(selection, graph, coordinates, _DIMENSION_BYTES))
