"""Local dimension: in how many directions points spread around each of them."""

from typing import Any

import numpy as np

from trigpoint._neighbors.index import neighbor_index
from trigpoint._numerics.blocks import points_in, sample_rows

# Points that neighborhoods are measured among, and points that have one measured.
_POINTS = 20_000
_QUERIES = 128

# Neighbors in the smaller ball, at least, and how many times as many are in the larger one.
_FEWEST = 10
_GROWTH = 4


def local_dimension(X: Any, k: int) -> float:
    """Dimension of the points at the spacing of `k` landmarks.

    A ball around a point holds ``c r^D`` points, so D follows from the radii that hold m and 4 m
    points: ``log 4 / mean(log(r_4m / r_m))``, with m the points per landmark, at least 10. What is
    smaller than the distance between landmarks, such as noise on a surface, should not count, and
    hardly does.

    Parameters
    ----------
    X : ndarray, csr_array or store of shape (n, d)
    k : int
        Number of landmarks.

    Returns
    -------
    float
        At most d; 0 if nearly all points coincide. It depends on the points alone, not on a seed.

    References
    ----------
    E. Levina and P. J. Bickel, "Maximum likelihood estimation of intrinsic dimension", NIPS, 2004.
    """
    rng = np.random.default_rng(0)
    rows = sample_rows(X.shape[0], _POINTS, rng)
    n = len(rows)
    queries = rng.choice(n, min(n, _QUERIES), replace=False)
    inner = max(_FEWEST, n // k)
    outer = min(_GROWTH * inner, n - 1)
    inner = min(inner, max(1, outer // _GROWTH))
    index = neighbor_index(points_in(X, rows), outer + 1, len(queries))
    asked = index.take(queries)
    # Each of them is its own nearest neighbor.
    radii = np.stack([index.search(asked, m + 1).radii for m in (inner, outer)], axis=1)
    radii = radii[radii[:, 0] > 0]
    growth = np.log(radii[:, 1] / radii[:, 0])
    if growth.sum() == 0:
        return 0.0
    return float(min(X.shape[1], np.log(outer / inner) / growth.mean()))
