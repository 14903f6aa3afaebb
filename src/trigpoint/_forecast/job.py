"""What is to be forecast."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._estimators.defaults import links_all_pairs, many_coordinates
from trigpoint._landmarks.efficient import resolve_n_neighbors
from trigpoint._landmarks.repelling import RACE_UP_TO
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION
from trigpoint._numerics.threads import thread_count


@dataclass(frozen=True)
class Job:
    """Sizes of a run of `LaplacianEigenmaps` with its defaults.

    Attributes
    ----------
    n, d, k, m, n_components : int
        Points, columns, landmarks, points around each of them, coordinates.
    dtype : dtype
    n_threads : int
    """

    n: int
    d: int
    k: int
    m: int
    n_components: int
    dtype: np.dtype
    n_threads: int

    @classmethod
    def checked(
        cls,
        n: int,
        d: int,
        k: int,
        n_components: int,
        n_neighbors: int | None,
        dtype: DTypeLike,
        n_jobs: int | None,
    ) -> Self:
        """From the arguments of `forecast`."""
        n, d = check_count("n", n, low=2), check_count("d", d)
        k = check_count("k", k, low=2, high=n, why=f"there are {n} points")
        why = f"of {k} landmarks"
        n_components = check_count("n_components", n_components, high=k - 1, why=why)
        try:
            dtype = np.dtype(dtype)
        except TypeError:
            raise _no_type_of_points(dtype) from None
        if dtype not in (np.float32, np.float64):
            raise _no_type_of_points(dtype.name)
        m = resolve_n_neighbors(n_neighbors, n, k)
        return cls(n, d, k, m, n_components, dtype, thread_count(n_jobs))

    @property
    def by_tree(self) -> bool:
        """Whether neighbors are found with a tree; otherwise by matrix products."""
        return self.d <= TREE_MAX_DIMENSION

    @property
    def races(self) -> bool:
        """Whether proposals are decided in one compiled loop, by one thread."""
        return self.by_tree and self.n <= RACE_UP_TO

    @property
    def is_complete(self) -> bool:
        """Whether every landmark is linked to every other."""
        return many_coordinates(self.n_components) and links_all_pairs(
            self.n_components, self.d, self.k
        )


def _no_type_of_points(dtype: Any) -> ParameterValueError:
    return ParameterValueError(
        "dtype", dtype, "{parameter=} is not a type of points", "choose float32 or float64"
    )
