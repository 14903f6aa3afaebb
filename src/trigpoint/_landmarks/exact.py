"""Exact sampling from a determinantal point process: Algorithm 1."""

from typing import Any

import numpy as np

from trigpoint._common.progress import reporter
from trigpoint._common.records import Landmarks
from trigpoint._landmarks.base import Sampler
from trigpoint._landmarks.ensemble import Ensemble, draw_projection, make_ensemble


class ExactDPP(Sampler):
    r"""Landmarks from a determinantal point process (DPP), drawn exactly.

    A set J of points has probability ``det(L_J) / det(L + I)`` with the kernel matrix as L
    (Section 3.1 of [1]_). Sets of points that are unlike each other have large determinants, so
    landmarks spread out. The number of landmarks is random, with mean
    :math:`\sum_i \lambda_i / (\lambda_i + 1)` over the eigenvalues of L, and may be zero; `KDPP`
    fixes it.

    This is Algorithm 1 of [1]_, after [2]_ and [3]_. It takes O(n^3) time and O(n^2) memory
    (except for the linear kernel): use `EfficientDPP` beyond about 10,000 points.

    Parameters
    ----------
    kernel : {"gaussian", "geodesic", "linear"}, default="gaussian"
        Similarity of points. ``"gaussian"`` uses Euclidean distances. ``"geodesic"`` uses shortest
        paths over a graph of nearest neighbors; its negative eigenvalues, if any, are set to zero.
        ``"linear"`` is the inner product of the points as they are (not centered): sampled through
        the dual ``X.T @ X`` in O(n d^2), it gives at most d landmarks.
    bandwidth : float or None, default=None
        Bandwidth (sigma) of the kernel. ``None`` takes the median Euclidean distance between
        points. The linear kernel has none.
    n_neighbors : int, default=10
        Number of neighbors of each point in the graph of the geodesic kernel; ignored otherwise.
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        Distance between points. ``"cosine"`` scales rows to unit length first, so that only their
        directions count, and ``"seuclidean"`` divides columns by their standard deviations;
        `landmarks_` are then scaled rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of randomness.
    n_jobs : int or None, default=None
        Has no effect: rounding depends on the number of threads, so one is used.
    verbose : bool, default=False
        Show progress on the terminal.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` whenever there is progress.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,)
        Rows of the landmarks, in the order drawn; k is random and may be 0.
    landmarks_ : ndarray of shape (k, d)
        Their coordinates.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    KDPP : The same with a fixed number of landmarks.

    References
    ----------
    .. [1] C. Wachinger, P. Golland, "Diverse landmark sampling from determinantal point processes
       for scalable manifold learning", AISTATS 2015.
    .. [2] J. B. Hough, M. Krishnapur, Y. Peres, B. Virág, "Determinantal processes and
       independence", Probability Surveys 3, 2006.
    .. [3] A. Kulesza, B. Taskar, "Structured determinantal point processes", NIPS 2010.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sampler = ExactDPP(bandwidth=0.5, random_state=0).fit(X)
    >>> sampler.landmarks_.shape == (len(sampler.indices_), 2)
    True
    """

    def __init__(
        self,
        *,
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        n_neighbors: int = 10,
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors

    def _select(self, X: np.ndarray, rng: np.random.Generator) -> Landmarks:
        ensemble = make_ensemble(
            X, kernel=self.kernel, bandwidth=self.bandwidth, n_neighbors=self.n_neighbors, rng=rng
        )
        indices = draw_dpp(ensemble, rng)
        reporter(self.verbose, self.callback)("landmarks", len(indices), len(indices))
        return Landmarks(points=X[indices], indices=indices)


def draw_dpp(ensemble: Ensemble, rng: np.random.Generator) -> np.ndarray:
    """Draw one set from the DPP of an L-ensemble; it may be empty."""
    values = ensemble.eigenvalues
    chosen = np.flatnonzero(rng.random(len(values)) < values / (values + 1))
    return draw_projection(ensemble.eigenvectors(chosen), rng)
