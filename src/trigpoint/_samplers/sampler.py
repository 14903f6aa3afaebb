"""Base class of the samplers, and errors that they share."""

import math
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from trigpoint._common.checks import as_generator, check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.records import Landmarks
from trigpoint._common.words import size
from trigpoint._numerics.blocks import Report, silent
from trigpoint._pool import ROWS_PER_LANDMARK, Pool, draw_pool, planned_landmarks
from trigpoint._sources import Source
from trigpoint._sources.opening import validated, weighted
from trigpoint._spaces import Euclidean, Space


class Sampler(BaseEstimator, ABC):
    """Base class of the samplers; ``fit(X)`` chooses landmarks among the rows of `X`.

    Samplers in this library assign their parameters in ``__init__`` and implement `_select`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,) or None
        Row numbers of the landmarks; ``None`` if the landmarks are not rows of `X`.
    landmarks_ : ndarray of shape (k, d)
        Coordinates of the landmarks.

    Notes
    -----
    Estimators and `trigpoint.select` accept any sampler object, not only subclasses of this class.
    A sampler needs a method ``fit(points)`` that receives a dense array of shape (size, d), or a
    sparse one if the data is sparse, and sets one or both of these attributes:

    - ``indices_``, row numbers of `points`;
    - ``landmarks_`` (or ``cluster_centers_``, as scikit-learn's ``KMeans`` calls them), an array of
      shape (k, d), which is required only if the landmarks are not rows of `points`.

    If `X` is large, the points are a random sample of its rows; if the rows have weights, points
    are repeated in proportion to them. Distances between points are Euclidean. The sampler is
    cloned before it is fitted. If it has a parameter `random_state` that is ``None``, the estimator
    sets it to an integer drawn from its own generator, so that results are reproducible.
    """

    # Whether `_select` accepts sparse points.
    takes_sparse = False

    random_state: Any

    @abstractmethod
    def _select(self, pool: Pool, rng: np.random.Generator, report: Report) -> Landmarks:
        """Choose landmarks in the pool; their `indices` are row numbers of the pool."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, d), or anything that `open_source` accepts
            The points. For very large data, landmarks are drawn from a random sample of rows that
            is large enough to cost no measurable accuracy.
        y : array-like of shape (n,) or None, default=None
            Ignored, except that its length is checked; for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows. A row of weight w counts like w copies of it, but is drawn at most
            once; rows of weight 0 are never drawn.

        Returns
        -------
        self
        """
        if issparse(X) and not self.takes_sparse:
            raise too_much_of_sparse(type(self).__name__, X)
        source = validated(self, X, reset=True)
        if source.columns.sparse and not self.takes_sparse:
            raise too_much_of_sparse(type(self).__name__, source)
        source = weighted(source, sample_weight, y)
        rng = as_generator(self.random_state)
        space = Euclidean()
        pool = self.pool_from(source.under(space), space, rng)
        chosen = self._select(pool, rng, silent)
        self.indices_ = None if chosen.indices is None else pool.numbers(chosen.indices)
        self.landmarks_ = chosen.points
        return self

    def select(self, pool: Pool, report: Report = silent) -> Landmarks:
        """Choose landmarks in a pool; their `indices` are row numbers of the pool."""
        if isinstance(pool.points, csr_array) and not self.takes_sparse:
            raise too_much_of_sparse(type(self).__name__, pool.points)
        return self._select(pool, as_generator(self.random_state), report)

    def pool_from(
        self,
        source: Source,
        space: Space,
        rng: np.random.Generator,
        per_landmark: int = ROWS_PER_LANDMARK,
    ) -> Pool:
        """Read the pool that this sampler draws from."""
        return draw_pool(source, space, planned_landmarks(self), rng, per_landmark=per_landmark)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags


def too_much_of_sparse(
    what: str,
    X: Any,
    *,
    parameter: str = "landmarks",
    instead: str = "use EfficientDPP with a number of landmarks",
) -> ParameterTypeError:
    """Return the error to raise for sparse points where dense coordinates are needed.

    `instead` names an alternative that accepts sparse points, if there is one.
    """
    dense = size(math.prod(X.shape) * (4.0 if X.dtype == np.float32 else 8.0))
    first = f"{instead}, " if instead else ""
    return ParameterTypeError(
        f"{what} does not take sparse points: {first}reduce the columns first, as with "
        f"scikit-learn's TruncatedSVD, or pass X.toarray(), which takes {dense}",
        parameter,
    )


def check_n_landmarks(n_landmarks: Any, pool: Pool) -> int:
    """Validate the number of landmarks to choose from the rows of a pool."""
    size = pool.distinct.shape[0]
    why = f"the data has {size} points"
    if pool.weights is not None:
        why = f"the pool holds {size} rows of positive weight"
    return check_count("n_landmarks", n_landmarks, high=size, why=why)


def too_few_distinct(k: int, n_distinct: int, n_points: int) -> ParameterValueError:
    """Return the error to raise for more landmarks than distinct points."""
    return ParameterValueError(
        f"n_landmarks={k} is too large: only {n_distinct} of the {n_points} points are distinct; "
        f"choose n_landmarks <= {n_distinct} or remove duplicated points",
        "n_landmarks",
    )
