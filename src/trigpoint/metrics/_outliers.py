"""Detection of rows that lie far from all others."""

import numpy as np

from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import block_rows, row_blocks

# Number of random points to measure distances to, for tree search and for brute force.
_SAMPLE = 1000
_PRODUCT_SAMPLE = 250
# Measure the distance to the third neighbor, so that groups of up to three outliers are found.
_NEIGHBOR = 3

# Outliers are more than FACTOR times farther from the others than a fraction SHARE of the rows.
FACTOR = 4.0
SHARE = 0.99


def outlying_rows(X: np.ndarray) -> np.ndarray:
    """Return the rows that lie far from all others, in ascending order.

    The distance of a row from the others is the distance to the third nearest of 1,000 random
    points, or of 250 if there are more than 15 columns. Outliers are more than 4 times farther than
    99 % of the rows, a threshold that adapts to varying density. The result depends only on the
    points `X` (n, d), not on a seed.
    """
    n, d = X.shape
    size = _SAMPLE if d <= TREE_MAX_DIMENSION else _PRODUCT_SAMPLE
    sampled = np.sort(np.random.default_rng(0).choice(n, min(n, size), replace=False))
    if len(sampled) <= _NEIGHBOR:
        return np.empty(0, dtype=np.int64)
    blocks = row_blocks(n, block_rows(16 * d))
    distances = np.concatenate([nearest(X[sampled], X[part], _NEIGHBOR + 1)[0] for part in blocks])
    # The nearest neighbor of a sampled point is itself.
    itself = np.isin(np.arange(n), sampled)
    distances = np.where(itself, distances[:, _NEIGHBOR], distances[:, _NEIGHBOR - 1])
    usual = np.quantile(distances, SHARE, method="lower")
    return np.flatnonzero((usual > 0) & (distances > FACTOR * usual))
