"""Uniform sampling of landmarks, the baseline in comparisons."""

from typing import Any

import numpy as np

from trigpoint._common.records import Landmarks
from trigpoint._neighbors.sparse import take_rows
from trigpoint._numerics.blocks import Report
from trigpoint._pool import Pool
from trigpoint._samplers.sampler import Sampler, check_n_landmarks


class Uniform(Sampler):
    """Uniform sampling without replacement [1]_.

    Every set of `n_landmarks` rows is equally likely. Dense regions get most of the landmarks,
    sparse regions few or none. With weights, rows are drawn one by one, with probability
    proportional to the weight among the remaining rows.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks.
    random_state
        As for `EfficientDPP`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,)
        Row numbers of the landmarks, without repetition, in the order they were drawn. Duplicate
        rows count as different points.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Coordinates of the landmarks.

    References
    ----------
    .. [1] C. K. I. Williams and M. Seeger, "Using the Nystrom method to speed up kernel machines",
       NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint import Uniform
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> Uniform(50, random_state=0).fit(X).landmarks_.shape
    (50, 3)
    """

    def __init__(self, n_landmarks: int = 100, *, random_state: Any = None) -> None:
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    takes_sparse = True

    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        X = pool.points
        n = X.shape[0]
        k = check_n_landmarks(self.n_landmarks, pool)
        if pool.first is None or len(pool.first) == n:
            rows = rng.choice(n, k, replace=False).astype(np.int64, copy=False)
        else:
            order = rng.permutation(n)
            first = np.unique(pool.numbers(order), return_index=True)[1]
            rows = order[np.sort(first)[:k]]
        report("landmarks", k, k)
        return Landmarks(take_rows(X, rows), rows)
