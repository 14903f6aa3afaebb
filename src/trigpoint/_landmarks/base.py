"""The contract of all samplers."""

import math
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils import Tags

from trigpoint._common.checks import as_generator, check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.progress import ProgressMixin, reporter
from trigpoint._common.records import Landmarks
from trigpoint._common.words import size
from trigpoint._numerics.sparse import Points
from trigpoint._numerics.threads import thread_count
from trigpoint._points.inputs import points_to_fit, remember_traffic
from trigpoint._points.store import Store


class Sampler(ProgressMixin, ABC):
    """Base of the samplers: ``fit(X)`` chooses landmarks among the rows of `X`.

    A sampler assigns its own parameters in ``__init__``, after `n_landmarks` and before those
    shared by all samplers, and implements `_select`.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "seuclidean"}, default="euclidean"
        Distance between points. ``"cosine"`` scales rows to unit length first, so that only their
        directions count, and ``"seuclidean"`` divides columns by their standard deviations;
        `landmarks_` are then scaled rows.
    random_state : None, int, RandomState or Generator, default=None
        Seed. The same seed gives the same landmarks with any number of threads.
    n_jobs : int or None, default=None
        Number of threads; ``None`` or -1 for all cores. Samplers that use one thread only say so.
    verbose : bool, default=False
        Show progress on the terminal.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` whenever there is progress; an exception from it
        ends `fit`.

    Attributes
    ----------
    indices_ : int64 ndarray of shape (k,) or None
        Rows of the landmarks; ``None`` where landmarks are not rows of `X`.
    landmarks_ : ndarray of shape (k, d)
        Their coordinates.
    """

    def __init__(
        self,
        *,
        metric: str = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> None:
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # Whether `_select` also takes a store, and needs no array of all points.
    takes_stores = False

    # Whether `_select` also takes points in a sparse array.
    takes_sparse = False

    @abstractmethod
    def _select(self, X: Any, rng: np.random.Generator) -> Landmarks:
        """Choose landmarks among the rows of validated `X` with the one generator `rng`.

        `X` is an array, or for samplers that take one a sparse array or a store.
        """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, d), file, or Dask array or DataFrame
            The points, float32 or float64; other numbers become float64, float16 float32. A path or
            object that `trigpoint.read_points` accepts is read, into memory if it fits. Sparse
            points stay sparse; samplers that cannot use them say so. The partitions of a Dask
            collection stay on the workers, and lead to the same landmarks.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        self
        """
        if issparse(X) and not self.takes_sparse:
            raise too_much_of_sparse(type(self).__name__, X)
        points = points_to_fit(self, X, reporter(self.verbose, self.callback))
        self.select(points)
        remember_traffic(self, points)
        return self

    def select(self, X: Points | Store) -> Landmarks:
        """Choose the landmarks among points that have been validated, or that live in a store."""
        if isinstance(X, csr_array):
            if not self.takes_sparse:
                raise too_much_of_sparse(type(self).__name__, X)
        elif not isinstance(X, np.ndarray) and not self.takes_stores:
            raise too_much_of_a_store(type(self).__name__, X)
        # Refused even by samplers that use one thread.
        thread_count(self.n_jobs)
        chosen = self._select(X, as_generator(self.random_state))
        self._remember(chosen)
        return chosen

    def for_sample(self, n_sampled: int, n_points: int, kernel_bandwidth: float) -> Self:
        """Return a copy that draws from a sample of the points as this one would from all of them.

        Parameters
        ----------
        n_sampled, n_points : int
            Number of points in the sample, and in all.
        kernel_bandwidth : float
            Bandwidth of the kernel whose error will be measured.
        """
        del n_sampled, n_points, kernel_bandwidth
        copy: Self = clone(self)
        return copy

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def _remember(self, chosen: Landmarks) -> None:
        self.indices_ = chosen.indices
        self.landmarks_ = chosen.points


def too_much_of_a_store(what: str, store: Store) -> ParameterTypeError:
    """Error of a sampler, or a setting of one, that needs more than a store gives."""
    return ParameterTypeError(
        "landmarks",
        what,
        "{what} needs all points in one array, and these live in a {name}",
        ("use EfficientDPP with a number of landmarks", "load the points into memory"),
        what=what,
        name=type(store).__name__,
    )


def too_much_of_sparse(
    what: str,
    X: Any,
    *,
    parameter: str = "landmarks",
    instead: tuple[str, ...] = ("use EfficientDPP with a number of landmarks",),
) -> ParameterTypeError:
    """Error of a sampler, a setting of one, or a map that needs all coordinates of all points.

    `instead` says what takes sparse points, if anything does.
    """
    return ParameterTypeError(
        parameter,
        what,
        "{what} does not take sparse points",
        (
            *instead,
            "reduce the columns first, as with scikit-learn's TruncatedSVD",
            # Not for users of the command, who have no X.
            "pass {X}.toarray(), which takes {dense}",
        ),
        what=what,
        dense=size(math.prod(X.shape) * (4.0 if X.dtype == np.float32 else 8.0)),
    )


def check_n_landmarks(n_landmarks: Any, n_points: int) -> int:
    """Return a valid number of landmarks out of `n_points` points."""
    return check_count(
        "n_landmarks", n_landmarks, high=n_points, why=f"the data has {n_points} points"
    )


def too_few_distinct(k: int, n_distinct: int, n_points: int) -> ParameterValueError:
    """Error for more landmarks than there are distinct points."""
    return ParameterValueError(
        "n_landmarks",
        k,
        "{parameter=} is too large: only {n_distinct} of the {n_points} points are distinct",
        ("choose {parameter} <= {n_distinct}", "remove duplicated points"),
        n_distinct=n_distinct,
        n_points=n_points,
    )
