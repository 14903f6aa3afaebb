"""Pools: uniform random samples of the rows, held in memory, to which estimators are fitted."""

from copy import copy
from numbers import Integral
from typing import Any, Self

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._common.errors import ParameterValueError, ParameterWarning
from trigpoint._common.records import Projection
from trigpoint._common.warn import warn_user
from trigpoint._common.weights import copies_of, repeated_rows
from trigpoint._neighbors.index import NeighborIndex, neighbor_index
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, grouped_rows, row_blocks, sample_points
from trigpoint._numerics.projection import (
    LARGE,
    PROJECTION_SAMPLE,
    all_projected,
    principal_projection,
    projected_there,
    roughly_projected,
)
from trigpoint._spaces import Euclidean, PairDistances, Space

# Minimum number of rows of a pool, and number per landmark. With 64 rows per landmark, results are
# as good as with all rows; with 16, nearly as good. See docs/design/decisions.md.
LEAST_ROWS = 2**17
ROWS_PER_LANDMARK = 64
_FEW_PER_LANDMARK, _FEWEST_PER_LANDMARK = 16, 4

# Maximum number of bytes for the rows as read plus the Euclidean rows.
_MOST_BYTES = 2 * 2**30

# Bytes of temporary arrays on a device.
_THERE_BYTES = 2**30

# Default number of landmarks, and maximum number with "auto".
DEFAULT_LANDMARKS = 1000
MOST_AUTO_LANDMARKS = 4000


class Pool:
    """Rows drawn uniformly from a source, and their Euclidean coordinates.

    If rows have weights, the pool holds copies of each row in proportion to its weight, so that
    code that draws points or counts neighbors takes weights into account without knowing them.
    """

    is_copy = False

    def __init__(
        self,
        points: Points,
        n: int | None = None,
        rows: np.ndarray | None = None,
        space: Space | None = None,
        n_columns: int | None = None,
    ) -> None:
        self.points = points  # Euclidean rows (size, d).
        # Their ascending row numbers in the source, repeated for copies; None for all rows.
        self.rows = rows
        self.n = points.shape[0] if n is None else n  # Number of rows of the source.
        self.counted = self.n  # Number of rows of the source, counting integer weights as copies.
        # Weights (size,) of the rows that the points are copies of, divided by the probability of
        # being in the pool. If every row is in the pool exactly once, weights of the points.
        self.weights: np.ndarray | None = None
        self.masses: np.ndarray | None = None
        # Distances between rows of the pool, if those of `points` approximate them.
        self.exact: PairDistances | None = None
        # Fitted map from rows as read to `points`, and number of columns of the rows as read.
        self.space = Euclidean() if space is None else space
        self.n_columns = points.shape[1] if n_columns is None else n_columns
        # Principal components that `points` were projected onto for a map, if any, and the largest
        # distance of a row from its projection.
        self.projection: Projection | None = None
        self.residual = 0.0
        self.full: Any = points  # Euclidean rows in all columns.
        # All principal components that were computed, at least those of `projection`.
        self._components: Projection | None = None
        self._index: NeighborIndex | None = None

    def reduced(
        self, n_components: int, rng: np.random.Generator, n_threads: int, *, searched: int = 0
    ) -> "Pool":
        """Return the pool in its leading principal components.

        `searched` computes the rows in that many components, if these are more.
        """
        sample = self.sample(PROJECTION_SAMPLE, rng)
        center, components = principal_projection(sample, max(n_components, searched), rng)
        projection = Projection(center, np.ascontiguousarray(components[:, :n_components]))
        points, residual = all_projected(projection, self.points, n_threads)
        pool = self.moved(points)
        pool.projection, pool.residual, pool.full = projection, residual, self.points
        pool._components = Projection(center, components)
        return pool

    def moved(self, points: Points) -> Self:
        """Return a pool of the same rows with other coordinates."""
        pool = copy(self)
        pool.points = pool.full = points
        pool._index = None
        return pool

    def searched(self, n_threads: int) -> np.ndarray:
        """Return all rows in all components that were computed, less accurately than `points`."""
        assert self._components is not None
        return roughly_projected(self._components, self.full, self.points.dtype, n_threads)

    def some_in_full(self, places: np.ndarray) -> Any:
        """Return some rows in all columns."""
        return self.full[places]

    def grouped(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first point of each group of duplicates, and the group (n,) of each point."""
        return grouped_rows(self.dense)

    @property
    def dense(self) -> np.ndarray:
        """The `points` as a dense array, for callers that have rejected sparse points."""
        assert isinstance(self.points, np.ndarray)
        return self.points

    @property
    def first(self) -> np.ndarray | None:
        """Positions of the first copies of the rows; ``None`` if there are no copies."""
        if self.weights is None or self.rows is None:
            return None
        return np.flatnonzero(np.diff(self.rows, prepend=-1))

    @property
    def distinct(self) -> Points:
        """The points without copies of rows."""
        first = self.first
        return self.points if first is None else self.points[first]

    def distinct_sample(self, size: int, rng: np.random.Generator) -> Points:
        """Draw points in proportion to the weights of their rows, which are never repeated."""
        n = self.points.shape[0]
        if self.rows is None or n <= size:
            return sample_points(self.distinct, size, rng)
        places = np.sort(rng.choice(n, size, replace=False))
        return self.points[places[np.diff(self.rows[places], prepend=-1) > 0]]

    def sample(self, size: int, rng: np.random.Generator) -> Points:
        """Draw points in proportion to the weights of their rows, which may be repeated."""
        if self.points.shape[0] <= size and self.masses is None:
            return self.points
        return self.points[self._sampled_rows(size, rng)]

    def _sampled_rows(self, size: int, rng: np.random.Generator) -> np.ndarray:
        if self.masses is not None:
            return repeated_rows(copies_of(self.masses)[0], size, rng)
        rows: np.ndarray = sample_points(np.arange(self.points.shape[0]), size, rng)
        return rows

    def index(self, m: int, n_queries: int, n_threads: int) -> NeighborIndex:
        """Return the neighbor index of the pool, which is built on the first call.

        `m` and `n_queries` are the approximate numbers of neighbors per query and of queries. They
        affect the speed of the index, but not its results.
        """
        if self._index is None:
            self._index = neighbor_index(self.points, m, n_queries, n_threads)
        return self._index

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """Convert positions in the pool to row numbers of the source."""
        return places if self.rows is None else self.rows[places]

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Convert row numbers of the source, which must be in the pool, to positions in it."""
        return numbers if self.rows is None else np.searchsorted(self.rows, numbers)


class DevicePool(Pool):
    """All rows of a tensor, on its device; `reduced` copies `points` to the host."""

    there: Any  # Euclidean rows (n, c) in all columns; the distinct ones, once these are `grouped`.
    inside: Any  # The same rows as `points` (n, d).
    is_copy = True

    @classmethod
    def read(cls, source: Any, space: Space, rng: np.random.Generator) -> "DevicePool":
        """Read all rows of a source that has a device; the space is fitted on a sample of them."""
        if space.learns:
            draw_pool(source, space, 1, rng, size=LEAST_ROWS)
        rows, masses = _weighing(source)
        there = source.euclidean(space, rows)
        pool = cls(there, source.n, rows, space, source.columns.count)
        pool.there = pool.inside = there
        pool.masses = masses
        return pool

    def reduced(
        self, n_components: int, rng: np.random.Generator, n_threads: int, *, searched: int = 0
    ) -> "DevicePool":
        """Return the pool in its leading principal components, if it has more columns."""
        import torch

        projection, residual, inside = None, 0.0, self.there
        if inside.shape[1] > n_components:
            rows = self._sampled_rows(PROJECTION_SAMPLE, rng)
            sample = inside[to_device(rows, inside.device)].cpu().numpy()
            projection = principal_projection(sample, n_components, rng)
            is_single = float(torch.stack(inside.aminmax()).abs().max()) < LARGE
            dtype = torch.float32 if is_single else torch.float64
            inside = inside.new_empty((len(inside), n_components), dtype=dtype)
            center, components = (to_device(array, inside.device) for array in projection)
            for part in row_blocks(len(inside), block_rows(16 * self.there.shape[1], _THERE_BYTES)):
                inside[part], residuals = projected_there(center, components, self.there[part])
                residual = max(residual, float(residuals.max()))
        pool = DevicePool(inside.cpu().numpy(), self.n, self.rows, self.space, self.n_columns)
        pool.masses = self.masses
        pool.there, pool.inside, pool.projection = self.there, inside, projection
        pool.residual = residual
        return pool

    def grouped(self) -> tuple[np.ndarray, np.ndarray]:
        """Group equal points; the tensors keep only the first of each group."""
        first, groups = grouped_there(self.inside)
        if len(first) < len(self.inside):
            rows = to_device(first, self.there.device)
            is_one = self.inside is self.there
            self.there = self.there[rows]
            self.inside = self.there if is_one else self.inside[rows]
        return first, groups


def grouped_there(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of a tensor on its device; see `grouped_rows`."""
    import torch

    n, d = X.shape
    keys = torch.empty(n, dtype=torch.int64, device=X.device)
    factors = to_device(2 * np.random.default_rng(0).integers(2**62, size=d) + 1, X.device)
    for part in row_blocks(n, block_rows(32 * d, _THERE_BYTES)):
        # The sum makes -0.0 equal to 0.0. The lower bits of simple numbers are 0.
        bits = (X[part] + 0.0).view(torch.int64 if X.itemsize == 8 else torch.int32).long()
        bits = (bits ^ (bits >> 29)) * factors
        keys[part] = (bits ^ (bits >> 32)).sum(dim=1)
    ordered, order = keys.sort(stable=True)
    is_first = torch.cat([ordered.new_ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]])
    groups = torch.empty_like(order)
    groups[order] = is_first.cumsum(0) - 1
    # Ascending within a group, since the sort is stable.
    first = order[is_first]
    others = (first[groups] != torch.arange(n, device=X.device)).nonzero()[:, 0]
    for part in row_blocks(len(others), block_rows(2 * X.itemsize * d, _THERE_BYTES)):
        if (X[others[part]] != X[first[groups[others[part]]]]).any():
            # A hash collision between different points.
            return grouped_rows(X.cpu().numpy())
    first, places = first.sort()
    return first.cpu().numpy(), places.argsort()[groups].cpu().numpy()


def planned_landmarks(landmarks: Any, default: int = DEFAULT_LANDMARKS) -> int:
    """Return the number of landmarks implied by the parameter `landmarks`, before reading data."""
    if landmarks is None:
        return default
    if isinstance(landmarks, Integral):
        return int(landmarks)
    if isinstance(landmarks, str):
        return MOST_AUTO_LANDMARKS
    for name in ("n_landmarks", "n_clusters"):
        if hasattr(landmarks, name):
            return planned_landmarks(getattr(landmarks, name))
    # Sparse arrays have a shape but no length.
    shape = getattr(landmarks, "shape", None) or np.shape(landmarks)
    return int(shape[0]) if shape else default


def pool_size(n: int, k: int, row_bytes: int, per_landmark: int = ROWS_PER_LANDMARK) -> int:
    """Return the number of rows to draw from `n` for `k` landmarks.

    The result depends only on the numbers of rows and landmarks and on the bytes per row, so that
    the same rows are drawn from every kind of storage.
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
    """Read a pool for `k` landmarks from a source, in one pass, and fit the space to it.

    `rng` draws the rows, unless the pool holds all of them. The number of rows is `size`; if it is
    ``None``, `k` and `per_landmark` determine it. The rows `include`, such as landmarks given by
    row number, are always part of the pool. If the source has weights, the pool holds copies of
    its rows: exactly as many as their weights, if these are whole numbers whose sum is at most
    `size`, and otherwise a random number whose mean is proportional to the weight.
    """
    n, columns, weights = source.n, source.columns, source.weights
    if columns.sparse and not space.takes_sparse:
        raise ParameterValueError(
            f"metric={space.name!r} does not take sparse rows: choose 'euclidean', 'cosine', "
            "'hellinger' or 'jaccard', or make X dense",
            "metric",
        )
    counted, total = n, n
    if weights is not None:
        copies, counted = copies_of(weights)
        total = round(copies.sum())
    if size is None:
        size = pool_size(total, k, space.row_bytes(columns), per_landmark)
        size = min(size, space.most_pooled or size)
    size = min(total, size)
    if weights is not None:
        rows = repeated_rows(copies, size, rng)
    elif size == n and isinstance(source.usable, int):
        rows = None
    else:
        rows = np.sort(source.draw(size, rng))
    if rows is not None and include is not None:
        rows = np.sort(np.concatenate([rows, np.setdiff1d(include, rows)]))
    points, exact = source.pooled(space, rows)
    pool = Pool(points, n, rows, space, columns.count)
    pool.exact = exact
    if weights is not None:
        pool.counted = counted
        pool.weights = np.maximum(weights[rows], weights.sum() / size)
    return pool


def all_rows(source: Any, space: Space, rng: np.random.Generator) -> Pool:
    """Return a pool of all rows of positive weight, each of them once."""
    rows, masses = _weighing(source)
    if masses is None:
        return draw_pool(source, space, source.n, rng, size=source.n)
    if space.learns or source.columns.sparse:
        # Check the space, and fit it to rows in proportion to their weights.
        draw_pool(source, space, 1, rng)
    raw = source.take(rows)
    points = space(raw, 0 if rows is None else rows)
    pool = Pool(points, source.n, rows, space, source.columns.count)
    pool.masses, pool.exact = masses, space.exact(raw)
    return pool


def _weighing(source: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the rows of positive weight, ``None`` for all, and their weights, if there are any."""
    weights = source.weights
    if weights is None or weights.all():
        return None, weights
    rows = np.flatnonzero(weights)
    return rows, weights[rows]


def whole_pool(source: Any, space: Space, rng: np.random.Generator) -> Pool:
    """Return a pool of all rows; an array or memory map is used in place.

    If the rows have weights, the pool holds all copies, or each row once if weights are fractional.
    """
    if source.weights is not None:
        counted = copies_of(source.weights)[1]
        return draw_pool(source, space, 1, rng, size=max(LEAST_ROWS, counted))
    there = source.array()
    if there is None:
        raw = source.take(None)
    else:
        raw = there
        # Check all rows, since no other code reads all of them.
        for _ in source.blocks():
            pass
    points = space.fit(raw)(raw)
    return Pool(points, source.n, None, space, source.columns.count)
