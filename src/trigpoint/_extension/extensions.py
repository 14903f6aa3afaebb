"""Extension of Isomap, and functions that apply any extension to all rows of an array."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from trigpoint._common.errors import ParameterWarning
from trigpoint._common.records import Extension, LandmarkGraph, Spectrum
from trigpoint._common.warn import warn_user
from trigpoint._extension.weighted import FAR_BANDWIDTHS, GraphNeighbors, ordinary_lengths
from trigpoint._neighbors.nearest import ROWS_TOGETHER, rowwise_product
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks, thread_map

# Bytes of temporaries per block, few enough to fit in the caches.
_BLOCK_BYTES = 2**21

# If the path from a point to the landmarks is this many times longer than any geodesic, rounding to
# float32 loses the geodesics.
_FAR = 10.0


class FarPointsWarning(ParameterWarning):
    """Warning that some points are so far from all landmarks that coordinates are unreliable."""


@dataclass(frozen=True, eq=False)
class GeodesicExtension:
    """Extension of Isomap by geodesics to all landmarks, which pass through landmarks near a point.

    The support should leave out bridges, which the geodesics already include.
    Points far from every landmark get distant coordinates.
    """

    support: GraphNeighbors
    geodesics: np.ndarray  # (k, k), float64.
    components: np.ndarray  # (k, l), float64.
    # Mean squared geodesic from each landmark (k,), minus the overall mean.
    centering: np.ndarray
    horizons: np.ndarray  # Distance (k,) from each landmark beyond which points are far.
    # The geodesics in float32, for points of that precision: reading them takes most of the time.
    # Not pickled.
    rounded: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # If this overflows, the points are not float32, and the result is not used.
        with np.errstate(over="ignore"):
            rounded = np.ascontiguousarray(self.geodesics, dtype=np.float32)
        object.__setattr__(self, "rounded", rounded)

    def __reduce__(self) -> Any:
        arrays = self.geodesics, self.components, self.centering, self.horizons
        return type(self), (self.support, *arrays)

    @classmethod
    def prepare(
        cls,
        support: GraphNeighbors,
        geodesics: np.ndarray,
        spectrum: Spectrum,
        bandwidths: np.ndarray,
    ) -> "GeodesicExtension":
        """Prepare the extension from geodesics (k, k) and bandwidths (k,) of the landmarks."""
        squares = np.square(geodesics).mean(axis=0)
        centering = squares - squares.mean()
        # Fix the memory order, because the rounding of products depends on it.
        geodesics = np.ascontiguousarray(geodesics)
        components = np.ascontiguousarray(spectrum.coordinates / spectrum.eigenvalues)
        return cls(support, geodesics, components, centering, FAR_BANDWIDTHS * bandwidths)

    @property
    def n_components(self) -> int:
        return self.components.shape[1]

    @property
    def row_bytes(self) -> int:
        k, n_components = self.components.shape
        return self.support.row_bytes + 8 * (n_components + 1) + 32 * k

    def __call__(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        from trigpoint._kernels.landmark_sums import add_centered

        centered = np.zeros((X.shape[0], len(self.geodesics)))
        is_far = np.ones(X.shape[0], dtype=bool)
        for shares, lengths, columns in self.support.starts(X):
            is_far &= (lengths > self.horizons[columns]).all(axis=1)
            paths = self._shortest(lengths, columns, X.dtype)
            # Centering removes any constant, so squares are computed relative to the first.
            # Computing them as products preserves precision for distant points.
            first = paths[:, :1]
            squares = (paths - first) * (paths + first)
            add_centered(squares, self.centering, shares, centered)
        return rowwise_product(centered, self.components) / -2, is_far

    def _shortest(self, lengths: np.ndarray, columns: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Return the lengths (b, k) of shortest paths to all landmarks, float64."""
        from trigpoint._kernels.landmark_sums import shortest_paths

        paths = np.empty((len(lengths), len(self.geodesics)))
        longest = np.where(np.isfinite(lengths), lengths, 0.0).max(axis=1)
        exact = (longest > _FAR * self.geodesics.max()) | (dtype == np.float64)
        for rows, table in ((exact, self.geodesics), (~exact, self.rounded)):
            if rows.any():
                found = np.empty((rows.sum(), len(table)), dtype=table.dtype)
                shortest_paths(lengths[rows].astype(table.dtype), columns[rows], table, found)
                paths[rows] = found
        return paths


def ordinary_edges(graph: LandmarkGraph) -> LandmarkGraph:
    """Return the graph without bridges, with equal weights and bandwidths, for geodesics."""
    k, lengths = len(graph.bandwidths), ordinary_lengths(graph)
    weights = csr_array(lengths.astype(bool).astype(np.float64) + eye_array(k))
    reach = np.full(k, graph.lengths.data.max())
    return LandmarkGraph(weights, lengths, graph.bridges[:0], reach)


def extend(
    extension: Extension, X: Points, n_threads: int = 1, rows: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of every row of `X`, in the precision of `X`, and which rows are far.

    Blocks have `rows` rows; ``None`` chooses a number whose temporaries fit in the caches. The
    result does not depend on it.
    """
    if rows is None:
        rows = rows_at_once(extension)
    n = X.shape[0]
    result, far = np.empty((n, extension.n_components), dtype=X.dtype), np.empty(n, dtype=bool)

    def fill(part: slice) -> None:
        result[part], far[part] = extension(X[part])

    # Blocks run in parallel, so products within them use one thread.
    with one_blas_thread():
        for _ in thread_map(fill, row_blocks(n, rows), n_threads):
            pass
    return result, far


def rows_at_once(extension: Extension) -> int:
    """Return the number of rows to extend at once, such that temporaries fit in the caches."""
    return block_rows(extension.row_bytes * ROWS_TOGETHER, _BLOCK_BYTES) * ROWS_TOGETHER


def warn_of_far(n_far: int, n_points: int) -> None:
    """Warn about points that are far from all landmarks."""
    verb = "is" if n_far == 1 else "are"
    warn_user(
        FarPointsWarning(
            f"{n_far:,} of {n_points:,} points {verb} more than ten bandwidths away from every "
            "landmark, so their coordinates are unreliable: check the units and the order of the "
            "columns, or add landmarks near such points"
        )
    )
