"""Rows that lie far from all others."""

import numpy as np

from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import block_rows, row_blocks, sample_points

# Points that distances are measured to, with a tree and by products, and which neighbor among them
# counts: the third, so that two more outliers next to one do not hide it.
_SAMPLE = 1000
_PRODUCT_SAMPLE = 250
_NEIGHBOR = 3

# Most rows and values that are examined unless all are asked for: this takes a fifth of a second.
_ROWS = 100_000
_PRODUCT_ROWS = 40_000
_VALUES = 20_000_000

# Outliers are this many times as far from the others as this share of the rows.
FACTOR = 4.0
SHARE = 0.99


def outlying_rows(X: np.ndarray, every: bool = False) -> tuple[np.ndarray, int]:
    """Rows far from all others, and how many rows were looked at.

    A row's distance from the others is that to the third nearest of 1,000 points drawn at random,
    or of 250 above 15 columns. Where density varies, most of these distances vary too, and outliers
    are those more than 4 times as far as 99 % of the rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    every : bool
        Whether to look at every row, or at some drawn at random if there are many.

    Returns
    -------
    rows : int64 ndarray
        In ascending order. They depend on the points alone, not on a seed.
    n_looked_at : int
    """
    rng = np.random.default_rng(0)
    n, d = X.shape
    by_tree = d <= TREE_MAX_DIMENSION
    size, most = (_SAMPLE, _ROWS) if by_tree else (_PRODUCT_SAMPLE, _PRODUCT_ROWS)
    sampled = np.sort(rng.choice(n, min(n, size), replace=False))
    looked_at = np.arange(n)
    if not every:
        looked_at = sample_points(looked_at, max(1, min(most, _VALUES // d)), rng)
    if len(sampled) <= _NEIGHBOR:
        return np.empty(0, dtype=np.int64), len(looked_at)
    blocks = row_blocks(len(looked_at), block_rows(16 * d))
    sample, count = X[sampled], _NEIGHBOR + 1
    distances = np.concatenate([nearest(sample, X[looked_at[part]], count)[0] for part in blocks])
    # The nearest neighbor of a sampled point is itself.
    itself = np.isin(looked_at, sampled)
    distances = np.where(itself, distances[:, _NEIGHBOR], distances[:, _NEIGHBOR - 1])
    usual = np.quantile(distances, SHARE, method="lower")
    if usual == 0:
        return np.empty(0, dtype=np.int64), len(looked_at)
    return looked_at[distances > FACTOR * usual], len(looked_at)
