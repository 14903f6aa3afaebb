"""The pool: a uniform random sample of rows, in memory, that everything is fitted on."""

from numbers import Integral
from typing import Any, Self

import numpy as np

from trigpoint._common.errors import ParameterValueError, ParameterWarning
from trigpoint._common.records import Projection
from trigpoint._common.warn import warn_user
from trigpoint._neighbors.index import NeighborIndex, neighbor_index
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.reduction import all_projected
from trigpoint._spaces import Euclidean, Space

# Rows of a pool: at least, and per landmark. With 64 rows for each landmark, nothing measurable is
# lost compared with all rows; with 16, hardly anything. docs/design/2026-11-pool.md has figures.
LEAST_ROWS = 2**17
ROWS_PER_LANDMARK = 64
_FEW_PER_LANDMARK, _FEWEST_PER_LANDMARK = 16, 4

# Memory for the rows as they were read and the Euclidean rows together.
_MOST_BYTES = 2 * 2**30

# Landmarks drawn if the user leaves their number open, and at most with "auto".
DEFAULT_LANDMARKS = 1000
MOST_AUTO_LANDMARKS = 4000


class Pool:
    """Rows drawn uniformly from a source, and their Euclidean coordinates.

    Attributes
    ----------
    points : ndarray or csr_array of shape (size, d)
        Euclidean rows.
    n : int
        Number of rows of the source.
    rows : int64 ndarray of shape (size,) or None
        Their row numbers, ascending; ``None`` if the pool holds all rows.
    space : Space
        The fitted map from rows as they were read to `points`.
    n_columns : int
        Number of columns of the rows as they were read.
    projection : Projection or None
        Principal components that `points` were projected on, if a map has done so.
    full : ndarray or csr_array of shape (size, c)
        Euclidean rows in all columns; the same as `points` unless these were projected.
    """

    def __init__(
        self,
        points: Points,
        n: int,
        rows: np.ndarray | None = None,
        space: Space | None = None,
        n_columns: int | None = None,
    ) -> None:
        self.points, self.n, self.rows = points, n, rows
        self.space = Euclidean() if space is None else space
        self.n_columns = points.shape[1] if n_columns is None else n_columns
        self.projection: Projection | None = None
        self.full = points
        self._index: NeighborIndex | None = None

    @classmethod
    def of(cls, points: Points) -> Self:
        """Pool of all rows of an array that is Euclidean already."""
        return cls(points, points.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows in the pool, and of Euclidean columns."""
        return self.points.shape[0], self.points.shape[1]

    def projected(self, projection: Projection, n_threads: int) -> "Pool":
        """Return the pool in a few principal components."""
        points = all_projected(projection, self.dense, n_threads)
        pool = Pool(points, self.n, self.rows, self.space, self.n_columns)
        pool.projection, pool.full = projection, self.points
        return pool

    @property
    def dense(self) -> np.ndarray:
        """`points`, for those who take no sparse ones and have refused them."""
        assert isinstance(self.points, np.ndarray)
        return self.points

    @property
    def dtype(self) -> np.dtype:
        """Type of the coordinates, float32 or float64."""
        dtype: np.dtype = self.points.dtype
        return dtype

    def index(self, m: int, n_queries: int, n_threads: int) -> NeighborIndex:
        """Return the neighbor index of the pool, which is built for its first user.

        `m` and `n_queries` say about how many neighbors will be asked for, and how often. They
        affect the speed of the index and not its answers.
        """
        if self._index is None:
            self._index = neighbor_index(self.points, m, n_queries, n_threads)
        return self._index

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """Return the row numbers in the source of some places in the pool."""
        return places if self.rows is None else self.rows[places]

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Return the places in the pool of some row numbers, which have to be in it."""
        return numbers if self.rows is None else np.searchsorted(self.rows, numbers)


def planned_landmarks(landmarks: Any, default: int = DEFAULT_LANDMARKS) -> int:
    """Return how many landmarks the parameter `landmarks` will give, before anything is read."""
    if landmarks is None:
        return default
    if isinstance(landmarks, Integral):
        return int(landmarks)
    if isinstance(landmarks, str):
        return MOST_AUTO_LANDMARKS
    for name in ("n_landmarks", "n_clusters"):
        if hasattr(landmarks, name):
            return planned_landmarks(getattr(landmarks, name))
    # Sparse arrays have a shape and no length.
    shape = getattr(landmarks, "shape", None) or np.shape(landmarks)
    return int(shape[0]) if shape else default


def pool_size(n: int, k: int, row_bytes: int, per_landmark: int = ROWS_PER_LANDMARK) -> int:
    """Return the number of rows to draw from `n` for `k` landmarks.

    It depends on the number of rows, landmarks and columns alone, so that every kind of storage
    leads to the same rows.
    """
    wanted = min(n, max(LEAST_ROWS, per_landmark * k))
    affordable = max(_MOST_BYTES // row_bytes, 1)
    if wanted <= affordable:
        return wanted
    if affordable < _FEWEST_PER_LANDMARK * k:
        raise ParameterValueError(
            f"landmarks={k:,} is too large: {affordable:,} rows of this many columns fit into the "
            "2 GiB that landmarks are drawn from: choose landmarks <= "
            f"{affordable // _FEWEST_PER_LANDMARK:,}, or fewer columns",
            "landmarks",
        )
    if affordable < _FEW_PER_LANDMARK * k:
        warn_user(
            ParameterWarning(
                f"{k:,} landmarks are drawn from {affordable:,} rows, which is as many as fit into "
                f"2 GiB: with fewer than {affordable // _FEW_PER_LANDMARK:,} landmarks, or fewer "
                "columns, landmarks would be more diverse"
            )
        )
    return affordable


def draw_pool(
    source: Any,
    space: Space,
    k: int,
    rng: np.random.Generator,
    *,
    per_landmark: int = ROWS_PER_LANDMARK,
    size: int | None = None,
    include: np.ndarray | None = None,
) -> Pool:
    """Read a pool for `k` landmarks from a source, in one pass, and fit the space on it.

    Parameters
    ----------
    source : Source
    space : Space
        Fitted here.
    k : int
    rng : Generator
        Draws the rows; it is left alone if the pool holds all of them.
    per_landmark : int
    size : int or None, default=None
        Number of rows, if it does not follow from `k`.
    include : int ndarray or None, default=None
        Rows that the pool has to hold, such as landmarks given by number.
    """
    n, columns = source.n, source.columns
    if columns.sparse and not space.takes_sparse:
        raise ParameterValueError(
            f"metric={space.name!r} does not take sparse rows: choose 'euclidean' or 'cosine', or "
            "make X dense",
            "metric",
        )
    if size is None:
        copies = 1 if isinstance(space, Euclidean) else 2
        size = pool_size(n, k, copies * columns.count * columns.dtype.itemsize, per_landmark)
    size = min(n, size)
    rows = None if size == n else np.sort(rng.choice(n, size, replace=False))
    if rows is not None and include is not None:
        rows = np.union1d(rows, include)
    raw = source.take(rows)
    points = space.fit(raw)(raw, 0 if rows is None else rows)
    return Pool(points, n, rows, space, columns.count)


def whole_pool(source: Any, space: Space) -> Pool:
    """Return a pool of all rows; those of an array or memory map are used in place."""
    there = source.array()
    if there is None:
        raw = source.take(None)
    else:
        raw = there
        # Checks the rows, which nothing else reads as a whole.
        for _ in source.blocks():
            pass
    points = space.fit(raw)(raw)
    return Pool(points, source.n, None, space, source.columns.count)
