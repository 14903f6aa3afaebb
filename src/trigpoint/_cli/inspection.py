"""Inspection of the values of points, before they are embedded."""

from dataclasses import dataclass

import numpy as np

from trigpoint._numerics.dimension import local_dimension
from trigpoint._report.sample import dense
from trigpoint._sources import Source
from trigpoint.metrics._outliers import outlying_rows

# Columns that hold this share of the variance, half of them at most, dominate all distances.
DOMINANT_SHARE = 0.999

# Rows in the sample that is inspected more closely, and landmarks that the dimension is for.
_SAMPLE, _SAMPLE_BYTES = 100_000, 2**27
_LANDMARKS = 1_000


@dataclass(frozen=True)
class Inspection:
    """Findings about points.

    Attributes
    ----------
    constant : list of int
        Columns in which all points are equal.
    dominant : list of int
        Columns that hold nearly all of the variance, if there are such.
    outliers : list of int
        Rows that lie far from all others.
    n_sampled : int
        Number of rows that outliers were looked for in.
    dimension : float
        Local dimension of the points.
    """

    constant: list[int]
    dominant: list[int]
    outliers: list[int]
    n_sampled: int
    dimension: float


def inspect(source: Source) -> Inspection:
    """Check all values, and inspect a sample.

    Raises
    ------
    ValueError
        If the points cannot be embedded.
    """
    low, high = np.full(source.columns.count, np.inf), np.full(source.columns.count, -np.inf)
    for _, block in source.blocks():
        # The extremes of a sparse column include the zeros that are not stored.
        low = np.minimum(low, dense(block.min(axis=0)).ravel())
        high = np.maximum(high, dense(block.max(axis=0)).ravel())
    constant = np.flatnonzero(low == high).tolist() if source.n > 1 else []
    if source.n > 1 and len(constant) == source.columns.count:
        raise ValueError(f"all {source.n:,} rows are the same point: there is nothing to embed")
    if source.columns.sparse:
        return Inspection(constant, [], [], 0, 0.0)
    row_bytes = source.columns.count * source.dtype.itemsize
    size = min(source.n, _SAMPLE, max(1, _SAMPLE_BYTES // row_bytes))
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(source.n, size, replace=False))
    points = dense(source.take(rows))
    outliers, _ = outlying_rows(points, every=True)
    dimension = local_dimension(points, _LANDMARKS) if source.n > 1 else 0.0
    dominant = dominant_columns(points)
    return Inspection(constant, dominant, rows[outliers].tolist(), size, dimension)


def dominant_columns(points: np.ndarray) -> list[int]:
    """Return the columns that hold nearly all variance, if they are at most half of all."""
    variances = points.var(axis=0, dtype=np.float64)
    order = np.argsort(-variances, kind="stable")
    share = np.cumsum(variances[order]) / max(variances.sum(), np.finfo(np.float64).tiny)
    enough = int(np.searchsorted(share, DOMINANT_SHARE)) + 1
    found: list[int] = sorted(order[:enough].tolist())
    return found if 2 * enough <= np.count_nonzero(variances) else []
