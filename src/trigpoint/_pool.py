"""Pools, uniform random samples of the rows, held in memory, on which estimators are fitted."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.device import to_device
from trigpoint._common.errors import ParameterValueError, ParameterWarning
from trigpoint._common.records import Projection
from trigpoint._common.warn import warn_user
from trigpoint._neighbors.index import NeighborIndex, neighbor_index
from trigpoint._neighbors.sparse import Points, stored_row_bytes
from trigpoint._numerics.blocks import (
    block_rows,
    grouped_rows,
    one_blas_thread,
    row_blocks,
    sample_points,
    thread_map,
)
from trigpoint._spaces import Euclidean, Space

# Number of rows of a pool, as a minimum and per landmark. With 64 rows per landmark, results are
# measurably as good as with all rows; with 16, nearly so. See docs/design/decisions.md.
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

# Sample size for principal components, number of extra components that are iterated and then
# dropped, number of iterations, and clipping distance. Rows farther from the median row than this
# multiple of the 90 % quantile of distances are weighted down to that distance.
_SAMPLE = 5_000
_MORE = 10
_ROUNDS = 3
_CLIPPED = 3.0

# Squares of larger values would exceed the range of float32.
_LARGE = 1e15


class Pool:
    """Rows drawn uniformly from a source, and their Euclidean coordinates."""

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
        self.rows = rows  # Their ascending row numbers in the source; None for all rows.
        self.n = points.shape[0] if n is None else n  # Number of rows of the source.
        # Fitted map from rows as read to `points`, and number of columns of the rows as read.
        self.space = Euclidean() if space is None else space
        self.n_columns = points.shape[1] if n_columns is None else n_columns
        # Principal components that `points` were projected onto for a map, if any, and the largest
        # distance of a row from its projection.
        self.projection: Projection | None = None
        self.residual = 0.0
        self.full = points  # Euclidean rows in all columns.
        self._index: NeighborIndex | None = None

    def reduced(self, n_components: int, rng: np.random.Generator, n_threads: int) -> "Pool":
        """Return the pool in its leading principal components."""
        projection = principal_projection(self.points, n_components, rng)
        points, residual = all_projected(projection, self.points, n_threads)
        pool = Pool(points, self.n, self.rows, self.space, self.n_columns)
        pool.projection, pool.residual, pool.full = projection, residual, self.points
        return pool

    def grouped(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of equal points, ascending, and the group (n,) of every point."""
        return grouped_rows(self.dense)

    @property
    def dense(self) -> np.ndarray:
        """The `points` as a dense array, for callers that have rejected sparse points."""
        assert isinstance(self.points, np.ndarray)
        return self.points

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
    """All rows of a tensor, on its device; `points` are on the host once the pool is `reduced`."""

    there: Any  # Euclidean rows (n, c) in all columns; the distinct ones, once these are `grouped`.
    inside: Any  # The same rows as `points` (n, d).
    is_copy = True

    @classmethod
    def read(cls, source: Any, space: Space, rng: np.random.Generator) -> "DevicePool":
        """Read all rows of a source that has a device; the space is fitted on a sample of them."""
        if space.learns:
            size = min(source.n, LEAST_ROWS)
            rows = None if size == source.n else np.sort(rng.choice(source.n, size, replace=False))
            space.fit(source.take(rows))
        there = source.euclidean(space)
        pool = cls(there, source.n, None, space, source.columns.count)
        pool.there = pool.inside = there
        return pool

    def reduced(self, n_components: int, rng: np.random.Generator, n_threads: int) -> "DevicePool":
        """Return the pool in its leading principal components, if it has more columns."""
        import torch

        projection, residual, inside = None, 0.0, self.there
        if inside.shape[1] > n_components:
            rows = np.sort(rng.choice(len(inside), min(_SAMPLE, len(inside)), replace=False))
            sample = inside[to_device(rows, inside.device)].cpu().numpy()
            projection = principal_projection(sample, n_components, rng)
            is_single = float(torch.stack(inside.aminmax()).abs().max()) < _LARGE
            dtype = torch.float32 if is_single else torch.float64
            inside = inside.new_empty((len(inside), n_components), dtype=dtype)
            center, components = (to_device(array, inside.device) for array in projection)
            for part in row_blocks(len(inside), block_rows(16 * self.there.shape[1], _THERE_BYTES)):
                inside[part], residuals = projected_there(center, components, self.there[part])
                residual = max(residual, float(residuals.max()))
        pool = DevicePool(inside.cpu().numpy(), self.n, None, self.space, self.n_columns)
        pool.there, pool.inside, pool.projection = self.there, inside, projection
        pool.residual = residual
        return pool

    def grouped(self) -> tuple[np.ndarray, np.ndarray]:
        """Group equal points; the tensors keep only the first of each group."""
        first, groups = grouped_there(self.inside)
        if len(first) < self.n:
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
            # Different points have the same key.
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
    row number, are always part of the pool.
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
    all_rows = size >= n and isinstance(source.usable, int)
    rows = None if all_rows else np.sort(source.draw(size, rng))
    if rows is not None and include is not None:
        rows = np.union1d(rows, include)
    return Pool(source.pooled(space, rows), n, rows, space, columns.count)


def whole_pool(source: Any, space: Space) -> Pool:
    """Return a pool of all rows; an array or memory map is used in place."""
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


def principal_projection(X: Points, n_components: int, rng: np.random.Generator) -> Projection:
    """Return the leading principal directions of the points, by subspace iteration on a sample.

    The influence of outliers is limited.

    References
    ----------
    N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Review,
    2011.
    """
    sample = sample_points(X, _SAMPLE, rng).astype(np.float64)
    if isinstance(sample, csr_array):
        # Take 0 as the medians, since columns of sparse points are mostly 0.
        center = np.zeros(sample.shape[1])
        lengths = np.sqrt(np.asarray(sample.multiply(sample).sum(axis=1)))
    else:
        center = np.median(sample, axis=0)
        lengths = np.sqrt(np.square(sample - center).sum(axis=1))
    longest = _CLIPPED * np.quantile(lengths, 0.9)
    weights = np.minimum(1.0, longest / np.maximum(lengths, longest)) if longest > 0 else lengths
    # Mean of the clipped sample.
    center = center + (sample.T @ weights - weights.sum() * center) / len(weights)
    weights = weights[:, None]
    # The rounding of products depends on the number of threads.
    with one_blas_thread():
        width = min(n_components + _MORE, *sample.shape)
        basis = np.linalg.qr(rng.normal(size=(sample.shape[1], width)))[0]
        for _ in range(_ROUNDS):
            inside = weights**2 * (sample @ basis - center @ basis)
            basis = np.linalg.qr(sample.T @ inside - np.outer(center, inside.sum(axis=0)))[0]
        inside = weights * (sample @ basis - center @ basis)
        _, _, directions = np.linalg.svd(inside, full_matrices=False)
        components = basis @ directions[:n_components].T
    return Projection(center, np.ascontiguousarray(components))


def projected(projection: Projection | None, X: Points) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 coordinates (b, c) of a block of points, and their residual lengths (b,)."""
    if projection is None:
        dense = X.toarray() if isinstance(X, csr_array) else X
        return np.ascontiguousarray(dense, dtype=np.float64), np.zeros(len(dense))
    if isinstance(X, csr_array):
        # SciPy sums row by row, so a row has the same bits in any block.
        center, components = projection
        coordinates = X @ components - center @ components
        squares = np.asarray(X.multiply(X).sum(axis=1)) - 2 * (X @ center) + center @ center
        squares -= np.square(coordinates).sum(axis=1)
        return coordinates, np.sqrt(np.maximum(squares, 0.0))
    from trigpoint._kernels.map_placing import project

    coordinates, residuals = np.empty((len(X), projection.components.shape[1])), np.empty(len(X))
    project(np.ascontiguousarray(X), *projection, coordinates, residuals)
    return coordinates, residuals


def projected_there(center: Any, components: Any, X: Any) -> tuple[Any, Any]:
    """Return float64 coordinates (b, c) of a block of a tensor, and residual lengths (b,).

    `center` and `components` are those of a projection, on the device.
    """
    around = X - center
    inside = around @ components
    left = around.square().sum(dim=1) - inside.square().sum(dim=1)
    return inside, left.clamp(min=0).sqrt()


def all_projected(projection: Projection, X: Points, n_threads: int) -> tuple[np.ndarray, float]:
    """Return coordinates of all points, and the largest distance of a point from its projection.

    Coordinates are float32 if their squares do not overflow, so that models with many landmarks are
    small.
    """
    n, d = X.shape
    values = X.data if isinstance(X, csr_array) else X
    largest = max(abs(float(values.min(initial=0))), abs(float(values.max(initial=0))))
    dtype = np.float32 if largest < _LARGE else np.float64
    result: np.ndarray = np.empty((n, projection.components.shape[1]), dtype=dtype)

    def fill(part: slice) -> float:
        coordinates, residuals = projected(projection, X[part])
        result[part] = coordinates
        return float(residuals.max())

    row_bytes = stored_row_bytes(X) if isinstance(X, csr_array) else 8 * d
    parts = row_blocks(n, block_rows(row_bytes))
    return result, max(thread_map(fill, parts, n_threads))


def restored(projection: Projection, inside: np.ndarray) -> np.ndarray:
    """Map projected coordinates back to the original columns."""
    with one_blas_thread():
        points = projection.center + inside.astype(np.float64) @ projection.components.T
    return np.asarray(points.astype(inside.dtype))
