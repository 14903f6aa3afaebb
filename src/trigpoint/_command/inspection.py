"""Inspection of the values of points, and whether they can be embedded."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trigpoint._common.checks import check_magnitude
from trigpoint._files import PointSource, load
from trigpoint._numerics.blocks import block_rows, distinct_rows, row_blocks, sample_points
from trigpoint._numerics.dimension import local_dimension
from trigpoint._numerics.outliers import outlying_rows

# Columns that make up this share of the variance, half of them at most, leave no weight to others.
DOMINANT_SHARE = 0.999

# Rows that the variance of columns is measured from.
ROWS = 20_000


@dataclass(frozen=True)
class Inspection:
    """Findings over all rows.

    Attributes
    ----------
    constant : list of int
        Columns in which all points are equal.
    n_distinct : int or None
        Number of distinct points; ``None`` if there are more than the limit.
    dominant : list of int
        Columns that distances depend on almost alone, if there are such.
    outliers : list of int
        Rows that are far from all others.
    n_looked_at : int
        Number of rows that outliers were looked for in.
    dimension : float
        Local dimension of the points.
    reading_seconds : float
        Time to read the file, if it cannot be mapped.
    problem : str or None
        Why the points cannot be embedded.
    """

    constant: Sequence[int] = ()
    n_distinct: int | None = None
    dominant: Sequence[int] = ()
    outliers: Sequence[int] = ()
    n_looked_at: int = 0
    dimension: float = 0.0
    reading_seconds: float = 0.0
    problem: str | None = None


def inspect(points: PointSource, most: int, every: bool) -> Inspection:
    """Inspect all values.

    Distinct points are counted up to `most`. `every` row, or only some of many, may be an outlier.
    """
    start = time.perf_counter()
    X = load(points)
    reading = time.perf_counter() - start
    rows = block_rows(points.shape[1] * points.dtype.itemsize)
    # What was loaded has been checked; what was mapped has not.
    loaded = points.array() is None
    blocks = (X[part] for part in row_blocks(len(X), rows)) if loaded else points.blocks(rows)
    found = _values(blocks, len(X), most)
    if found.problem is not None:
        return found
    outliers, n_looked_at = outlying_rows(X, every)
    return replace(
        found,
        dominant=dominant_columns(X),
        outliers=outliers.tolist(),
        n_looked_at=n_looked_at,
        dimension=local_dimension(X, most) if len(X) > 1 else 0.0,
        reading_seconds=reading,
    )


def _values(blocks: Iterable[np.ndarray], n: int, most: int) -> Inspection:
    """What one pass over all values finds."""
    extremes: np.ndarray | None = None
    distinct: set[bytes] | None = set()
    for block in blocks:
        here = [block.min(axis=0), block.max(axis=0)]
        if extremes is None:
            extremes = np.stack(here)
        else:
            np.minimum(extremes[0], here[0], out=extremes[0])
            np.maximum(extremes[1], here[1], out=extremes[1])
        distinct = _more_distinct(distinct, block, most)
    assert extremes is not None
    n_distinct = None if distinct is None else len(distinct)
    if n_distinct == 1 and n > 1:
        return Inspection(
            (), 1, problem=f"all {n:,} rows are the same point: there is nothing to embed"
        )
    constant = np.flatnonzero(extremes[0] == extremes[1]).tolist() if n > 1 else []
    try:
        # The extremes include the largest value of all.
        check_magnitude(extremes, "the file")
    except ValueError as error:
        return Inspection(constant, n_distinct, problem=str(error))
    return Inspection(constant, n_distinct)


def dominant_columns(X: np.ndarray) -> Sequence[int]:
    """Columns that nearly all variance is in, if they are no more than half of those that vary."""
    some = sample_points(X, ROWS, np.random.default_rng(0))
    variances = some.var(axis=0, dtype=np.float64)
    order = np.argsort(-variances, kind="stable")
    share = np.cumsum(variances[order]) / max(variances.sum(), np.finfo(np.float64).tiny)
    enough = int(np.searchsorted(share, DOMINANT_SHARE)) + 1
    if 2 * enough > np.count_nonzero(variances):
        return ()
    return sorted(order[:enough].tolist())


def _more_distinct(found: set[bytes] | None, block: np.ndarray, most: int) -> set[bytes] | None:
    """Distinct points so far and those of `block`; ``None`` once there are more than `most`."""
    rows = None if found is None else distinct_rows(block, most)
    if found is None or rows is None:
        return None
    # Zeros have a sign, which does not make points distinct.
    found = found | {row.tobytes() for row in block[rows] + 0.0}
    return found if len(found) <= most else None
