"""Progress callbacks of estimators."""

from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator


class ProgressMixin(BaseEstimator):
    """Mixin for estimators whose parameter `verbose` may be a progress callback.

    Clones share the callback, which may refer to a window or file that can be neither copied nor
    pickled. Pickles and other copies do not report progress.
    """

    verbose: Any

    def __sklearn_clone__(self) -> Self:
        cloned: Self = BaseEstimator.__sklearn_clone__(copy(self))
        cloned.verbose = self.verbose
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}
        return state | {"verbose": False} if callable(self.verbose) else state
