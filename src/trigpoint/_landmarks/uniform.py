"""Landmarks drawn uniformly, the baseline of all comparisons."""

from typing import Any

import numpy as np

from trigpoint._common.progress import reporter
from trigpoint._common.records import Landmarks
from trigpoint._landmarks.base import Sampler, check_n_landmarks
from trigpoint._numerics.sparse import Points, take_rows
from trigpoint._points.store import Store


class Uniform(Sampler):
    """Uniform sampling without replacement [1]_.

    Every set of `n_landmarks` rows is equally likely. Dense regions get most of the landmarks and
    sparse ones few or none.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks.
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        Distance between points. ``"cosine"`` scales rows to unit length first, so that only their
        directions count, and ``"seuclidean"`` divides columns by their standard deviations;
        `landmarks_` are then scaled rows.
    random_state : None, int, RandomState or Generator, default=None
        Seed.
    n_jobs : int or None, default=None
        Has no effect: the draw is too fast to share.
    verbose : bool, default=False
        Show progress on the terminal.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` whenever there is progress.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (n_landmarks,)
        Rows of the landmarks, all different, in the order they were drawn. Rows that coincide
        count as different points.
    landmarks_ : ndarray of shape (n_landmarks, d)
        Their coordinates.

    References
    ----------
    .. [1] C. K. I. Williams and M. Seeger, "Using the Nystrom method to speed up kernel machines",
       NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint._landmarks.uniform import Uniform
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> Uniform(50, random_state=0).fit(X).landmarks_.shape
    (50, 3)
    """

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        metric: str = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> None:
        super().__init__(
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
        )
        self.n_landmarks = n_landmarks

    takes_stores = True
    takes_sparse = True

    def _select(self, X: Points | Store, rng: np.random.Generator) -> Landmarks:
        n = X.shape[0]
        k = check_n_landmarks(self.n_landmarks, n)
        rows = rng.choice(n, k, replace=False).astype(np.int64, copy=False)
        reporter(self.verbose, self.callback)("landmarks", k, k)
        return Landmarks(take_rows(X, rows), rows)
