"""Inspection of the values of points, before they are embedded."""

from typing import Any

import numpy as np

from trigpoint._common.words import counted
from trigpoint._geometry import local_dimension
from trigpoint._report.sample import dense
from trigpoint._sources import Source
from trigpoint.metrics._outliers import outlying_rows

# Columns that hold this share of the variance, half of them at most, dominate all distances.
DOMINANT_SHARE = 0.999

# Rows in the sample that is inspected more closely, and landmarks that the dimension is for.
_SAMPLE, _SAMPLE_BYTES = 100_000, 2**27
_LANDMARKS = 1_000

# Two coordinates need at least three landmarks.
_FEWEST_ROWS = 3


def inspect(source: Source) -> tuple[dict[str, Any], int]:
    """Check all values and inspect a sample; return the findings and the size of the sample.

    Raises
    ------
    ValueError
        If the points cannot be embedded.
    """
    n, d = source.shape
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for _, block in source.blocks():
        # The extremes of a sparse column include the zeros that are not stored.
        low = np.minimum(low, dense(block.min(axis=0)).ravel())
        high = np.maximum(high, dense(block.max(axis=0)).ravel())
    if n < _FEWEST_ROWS:
        raise ValueError(f"{counted(n, 'row')}: too few to choose landmarks from")
    constant = np.flatnonzero(low == high).tolist()
    if len(constant) == d:
        raise ValueError(f"all {n:,} rows are the same point: there is nothing to embed")
    found = {"constant_columns": constant, "dimension": 0.0, "dominant_columns": [], "outliers": []}
    if source.columns.sparse:
        return found, 0
    size = min(n, _SAMPLE, max(1, _SAMPLE_BYTES // (d * source.dtype.itemsize)))
    rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    points = dense(source.take(rows))
    found["dimension"] = round(local_dimension(points, _LANDMARKS), 2)
    found["dominant_columns"] = dominant_columns(points)
    found["outliers"] = rows[outlying_rows(points)].tolist()
    return found, size


def dominant_columns(points: np.ndarray) -> list[int]:
    """Return the columns that hold nearly all variance, if they are at most half of all."""
    variances = points.var(axis=0, dtype=np.float64)
    order = np.argsort(-variances, kind="stable")
    share = np.cumsum(variances[order]) / max(variances.sum(), np.finfo(np.float64).tiny)
    enough = int(np.searchsorted(share, DOMINANT_SHARE)) + 1
    found: list[int] = sorted(order[:enough].tolist())
    return found if 2 * enough <= np.count_nonzero(variances) else []
