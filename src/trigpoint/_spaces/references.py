"""Any kind of distance, through the distances to a few reference rows.

Landmark multidimensional scaling finds Euclidean coordinates of the references, and places any
other row by its distances to them. For distances that follow from a positive definite kernel, the
coordinates are the Nyström features of the kernel.

References
----------
V. de Silva and J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points", technical
report, Stanford University, 2004. J. C. Platt, "FastMap, MetricMap, and Landmark MDS are all
Nyström algorithms", AISTATS, 2005.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from trigpoint._common.errors import DamagedFileError, ParameterValueError
from trigpoint._neighbors.nearest import nearest, rowwise_product
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import one_blas_thread
from trigpoint._spaces.space import PairDistances, Space

# Initial number of references, which is doubled, up to the limit of the metric, until a quarter of
# the coordinates hold this share of the variance.
_FEWEST = 64
_VARIANCE = 0.95
_QUARTER = 0.25

# Maximum number of coordinates, and smallest variance of a coordinate relative to the largest.
MOST_FEATURES = 128
_LEAST_VARIANCE = 1e-9

# Number of nearest neighbors to compare when measuring the quality of the map.
NEIGHBORS = 10

# Relative difference between two distances that rounding may cause.
_ROUNDING = 1e-4


class ReferenceSpace(Space):
    """Coordinates whose Euclidean distances approximate a distance, or its square root.

    The square root of a distance has the same neighbors, and for some distances, such as
    ``"jaccard"`` and ``"manhattan"``, it is exactly Euclidean. The exponent that preserves more
    neighborhoods is chosen.
    """

    takes_sparse = False
    keeps_columns = False
    learns = True
    # Exponents to try; this power of the distance becomes a squared Euclidean distance.
    exponents: tuple[float, ...] = (2.0, 1.0)
    most_references = 512
    measured = 200, 2000  # Number of queries to compare, and of rows among which to search.

    def __init__(self) -> None:
        self.references: Any = None
        self.mean: np.ndarray | None = None  # Mean powers (m,) of the distances to the references.
        self.components: np.ndarray | None = None  # (m, p).
        self.exponent = 1.0

    @abstractmethod
    def distances(self, block: Any, others: Any, rows: Any = 0) -> np.ndarray:
        """Return float64 distances (b, m) from the rows of a block to others."""

    def fit(self, rows: Points) -> Self:
        """Choose references among the rows, and fit the map."""
        numbers = np.arange(rows.shape[0]) if self.pool_rows is None else self.pool_rows
        order = np.random.default_rng(0).permutation(rows.shape[0])
        most, count = min(self.most_references, rows.shape[0]), _FEWEST
        while True:
            chosen = np.sort(order[: min(count, most)])
            references = self.prepared(rows[chosen], numbers[chosen])
            between = self.distances(references, references, numbers[chosen])
            check_distances(between, numbers[chosen], f"metric={self.name!r}")
            if count >= most or _is_enough(between):
                break
            count *= 2
        self.references = references
        n_queries, among = self.measured
        # The last rows in this order are not references if there are enough rows.
        some = np.sort(order[::-1][:among])
        own = np.arange(0, len(some), max(1, len(some) // n_queries))
        sample, queries = self.prepared(rows[some]), self.prepared(rows[some[own]])
        known = self.distances(queries, sample, numbers[some[own]])
        self.fit_map(between, self._of_sample(rows, some, numbers), known, own)
        return self

    def _of_sample(self, rows: Points, some: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the distances (s, m) of some rows of the pool to the references."""
        return self._to_references(rows[some], numbers[some])

    def _to_references(self, block: Points, rows: Any) -> np.ndarray:
        return self.distances(self.prepared(block, rows), self.references, rows)

    def prepared(self, block: Any, rows: Any = 0) -> Any:
        """Return rows in the form in which `distances` takes them."""
        return block

    def fit_map(
        self, between: np.ndarray, sample: np.ndarray, known: np.ndarray, own: np.ndarray
    ) -> None:
        """Fit the map to distances.

        `between` (m, m) holds the distances between references, `sample` (s, m) those from a sample
        of rows to the references, and `known` (q, s) those from the rows `own` (q,) of the sample
        to all of it.
        """
        best = -1.0
        for exponent in self.exponents:
            mean, components = _scaling(between**exponent)
            features = rowwise_product(sample**exponent - mean, components)
            share = _preserved(features, known, own)
            if share > best:
                best = share
                self.mean, self.components, self.exponent = mean, components, exponent
        self.preserved = best

    def _map(self, block: Points, rows: Any) -> Points:
        assert self.mean is not None
        assert self.components is not None
        assert self.references is not None
        distances = self._to_references(block, rows)
        found = rowwise_product(distances**self.exponent - self.mean, self.components)
        return found.astype(block.dtype) if block.dtype.kind == "f" else found

    def width(self, n_columns: int) -> int:
        return MOST_FEATURES if self.components is None else int(self.components.shape[1])

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.mean is not None
        assert self.components is not None
        return {
            **self._stored_references(),
            "mean": self.mean,
            "components": self.components,
            "exponent": np.array([self.exponent]),
            "preserved": np.array([self.preserved]),
        }

    def _stored_references(self) -> dict[str, np.ndarray]:
        return {"references": self.references}

    def restored(self, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        self.mean, self.components = arrays["mean"], arrays["components"]
        self.exponent, self.preserved = (
            float(arrays[name][0]) for name in ("exponent", "preserved")
        )
        self.references = self._restored_references(arrays, n_columns)
        m = len(self.references)
        if self.mean.shape != (m,) or self.components.ndim != 2 or len(self.components) != m:
            raise DamagedFileError("its references are inconsistent with the rest")
        return self

    def _restored_references(self, arrays: dict[str, np.ndarray], n_columns: int) -> Any:
        references = arrays["references"]
        if references.ndim != 2 or references.shape[1] != n_columns:
            raise DamagedFileError("its references are inconsistent with the rest")
        return references


def check_distances(distances: np.ndarray, rows: np.ndarray, what: str) -> None:
    """Raise an error unless a matrix (m, m) is a valid distance matrix.

    `rows` are the row numbers of X, and `what` names the distances.
    """
    bad = {
        "NaN": np.isnan(distances),
        "an infinite distance": np.isinf(distances),
        "a negative distance": distances < 0,
    }
    for name, mask in bad.items():
        if mask.any():
            i, j = np.argwhere(mask)[0]
            raise ParameterValueError(
                f"{what} has {name} between rows {rows[i]} and {rows[j]}: distances are finite and "
                "not negative",
                "metric",
            )
    own = np.diag(distances)
    if (own > _ROUNDING * distances.max()).any():
        i = int(np.argmax(own))
        raise ParameterValueError(
            f"{what} has the distance {own[i]:g} of row {rows[i]} from itself: a distance is 0 "
            "there; subtract similarities from their maximum",
            "metric",
        )
    gaps = np.abs(distances - distances.T)
    if (gaps > _ROUNDING * distances.max()).any():
        i, j = np.unravel_index(np.argmax(gaps), gaps.shape)
        raise ParameterValueError(
            f"{what} has the distance {distances[i, j]:g} from row {rows[i]} to row {rows[j]} and "
            f"{distances[j, i]:g} back: pass symmetric distances, such as the mean of both",
            "metric",
        )


def _spectrum(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, and eigenvalues and -vectors of the Gram matrix, in descending order."""
    mean = squares.mean(axis=0)
    gram = -0.5 * (squares - mean - mean[:, None] + mean.mean())
    with one_blas_thread():
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    return mean, values[::-1], vectors[:, ::-1]


def _is_enough(between: np.ndarray) -> bool:
    """Return whether a quarter of the coordinates of the references hold most of the variance."""
    _, values, _ = _spectrum(between)
    values = values.clip(0)
    most = values[: int(_QUARTER * len(values))].sum()
    return bool(most >= _VARIANCE * values.sum())


def _scaling(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means (m,) and components (m, p), by classical scaling of squared lengths (m, m)."""
    mean, values, vectors = _spectrum(squares)
    # The largest negative eigenvalue shows how large non-Euclidean components are.
    floor = max(_LEAST_VARIANCE * values[0], -values[-1], 0.0)
    count = min(max(1, int((values > floor).sum())), MOST_FEATURES)
    scales = np.sqrt(values[:count].clip(np.finfo(np.float64).tiny))
    components = np.where(values[:count] > 0, -0.5 * vectors[:, :count] / scales, 0.0)
    return mean, np.ascontiguousarray(components)


def _preserved(features: np.ndarray, known: np.ndarray, own: np.ndarray) -> float:
    """Return the share of nearest neighbors of some rows that the features (s, p) preserve.

    `known` (q, s) holds the distances of the rows `own` (q,). All neighbors that tie with the last
    one count as preserved.
    """
    count = min(NEIGHBORS, len(features) - 1)
    if count < 1:
        return 1.0
    _, found = nearest(features, features[own], count + 1, 1)
    others = known.copy()
    others[np.arange(len(own)), own] = np.inf
    limits = np.partition(others, count - 1, axis=1)[:, count - 1 : count]
    near = np.take_along_axis(others, found, axis=1) <= limits * (1 + 1e-9)
    # Exclude the row itself, which is usually its own nearest neighbor.
    return float(np.minimum(near.sum(axis=1), count).mean() / count)


class Manhattan(ReferenceSpace):
    """Sums of absolute differences, whose square roots are Euclidean."""

    name = "manhattan"

    def distances(self, block: Any, others: Any, rows: Any = 0) -> np.ndarray:
        return np.asarray(cdist(block, others, "cityblock"))

    def exact(self, rows: Points) -> PairDistances:
        from trigpoint._kernels.row_maps import manhattan_of_pairs

        return partial(manhattan_of_pairs, np.ascontiguousarray(rows))
