"""Memory of a GPU that a run takes, computed from its sizes and from what is free.

Temporaries are taken in blocks of shares of the working memory; where there are few points, of what
all of them need. ``tools/gpu_check.py`` has what was allocated beside forecasts.
"""

from typing import Any

from trigpoint._forecast.job import Job
from trigpoint._geometry import MEASURED_TOGETHER, NEIGHBORS_HELD
from trigpoint._landmarks.drawn import NEIGHBORS_KEPT
from trigpoint._points.torch.device import fits, working_memory
from trigpoint._points.torch.store import CANDIDATE_BYTES, SAMPLE_SIZES, SAMPLED_NEIGHBORS

# Neighborhoods searched in one pass, candidates for each neighbor, and bytes that sorting takes for
# a point. Share of the working memory that blocks of products take, in the search and, with what is
# made of them, in the extension.
_TOGETHER = 256
_CANDIDATES = 2
_SORTED_BYTES = 24
_SEARCHED_SHARE = 8
_EXTENDED_SHARE = 2


def device_bytes(job: Job, device: Any) -> float:
    """Most bytes that a run allocates on a device."""
    n, d, k, m, itemsize = job.n, job.d, job.k, job.m, job.dtype.itemsize
    memory = working_memory(device)
    points = itemsize * n * d
    # Rows of neighbors that wait to be measured or are kept, which hold those found with them.
    held = max(m, min(NEIGHBORS_HELD, MEASURED_TOGETHER * m)) + min(NEIGHBORS_KEPT, k * m)
    drawing, candidate = 2 * 8 * held, CANDIDATE_BYTES
    if not job.by_tree:
        # Bounds of distances beside the rows, and of the weights of all points.
        drawing = 2 * drawing + 8 * n
    else:
        # A copy in the order of cells, what sorting takes, and all points of cells nearby.
        copy = n * (d * itemsize + _SORTED_BYTES)
        drawing += copy if fits(copy, device) else 0
        candidate += 32 * (3 * d + 4)
    drawing += min(memory, _TOGETHER * _CANDIDATES * m * candidate)
    least, most = SAMPLE_SIZES
    sample = min(n, most, max(least, SAMPLED_NEIGHBORS * n // m))
    drawing += 8 * sample * (_TOGETHER + d + 1)
    # Covariances are measured in such blocks, too.
    neighbors = 4 * d * min(k, MEASURED_TOGETHER) * m
    products = max((3 * (d + 1) + 2 * _TOGETHER) * n, neighbors)
    drawing += min(memory // _SEARCHED_SHARE, 8 * products)
    extending = itemsize * n * job.n_components
    extending += min(memory // _EXTENDED_SHARE, 8 * (4 * (k + d) + 64 * (d + 1)) * n)
    # Points that do not fit stay on the host, and come in blocks.
    return float((points if fits(points, device) else 0) + max(drawing, extending))
