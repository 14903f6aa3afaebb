"""Inspection of the values of points, and whether they can be embedded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trigpoint._common.checks import check_magnitude
from trigpoint._files import PointSource
from trigpoint._numerics.blocks import block_rows, distinct_rows


@dataclass(frozen=True)
class Inspection:
    """Findings over all rows.

    Attributes
    ----------
    constant : list of int
        Columns in which all points are equal.
    n_distinct : int or None
        Number of distinct points; ``None`` if there are more than the limit.
    problem : str or None
        Why the points cannot be embedded.
    """

    constant: Sequence[int] = ()
    n_distinct: int | None = None
    problem: str | None = None


def inspect(points: PointSource, most: int) -> Inspection:
    """Inspect all values in one pass, counting distinct points up to `most`."""
    extremes: np.ndarray | None = None
    distinct: set[bytes] | None = set()
    for block in points.blocks(block_rows(points.shape[1] * points.dtype.itemsize)):
        here = [block.min(axis=0), block.max(axis=0)]
        if extremes is None:
            extremes = np.stack(here)
        else:
            np.minimum(extremes[0], here[0], out=extremes[0])
            np.maximum(extremes[1], here[1], out=extremes[1])
        distinct = _more_distinct(distinct, block, most)
    assert extremes is not None
    n = points.shape[0]
    n_distinct = None if distinct is None else len(distinct)
    if n_distinct == 1 and n > 1:
        return Inspection((), 1, f"all {n:,} rows are the same point: there is nothing to embed")
    constant = np.flatnonzero(extremes[0] == extremes[1]).tolist() if n > 1 else []
    try:
        # The extremes include the largest value of all.
        check_magnitude(extremes, "the file")
    except ValueError as error:
        return Inspection(constant, n_distinct, str(error))
    return Inspection(constant, n_distinct)


def _more_distinct(found: set[bytes] | None, block: np.ndarray, most: int) -> set[bytes] | None:
    """Distinct points so far and those of `block`; ``None`` once there are more than `most`."""
    rows = None if found is None else distinct_rows(block, most)
    if found is None or rows is None:
        return None
    # Zeros have a sign, which does not make points distinct.
    found = found | {row.tobytes() for row in block[rows] + 0.0}
    return found if len(found) <= most else None
