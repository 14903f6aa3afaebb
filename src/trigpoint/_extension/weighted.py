"""Nystrom extension: the landmarks that support a point, their weights, and its coordinates.

All supports follow one contract: for a block of points, they return weighted sums of the landmarks'
values. An *extension* turns the sums into coordinates. Both are frozen records of arrays: they can
be pickled, have no state between calls, and give a point the same coordinates in any block, so they
can be called on blocks in any order and from any thread or process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.records import LandmarkGraph, Spectrum
from trigpoint._neighbors.nearest import (
    Centered,
    ProductSearch,
    TreeSearch,
    centered,
    landmark_search,
    rowwise_product,
    squares_to_all,
)
from trigpoint._neighbors.sparse import Points

if TYPE_CHECKING:
    from trigpoint._kernels.landmark_sums import GraphRows

# Edges with a smaller kernel value keep their weight as a point moves; see `GraphNeighbors`.
_FOLLOWED = 1e-6

# A point is far if it is at least this many bandwidths from every landmark. The second constant is
# the log weight at that distance.
FAR_BANDWIDTHS = 10.0
FAR_LOG_WEIGHT = -(FAR_BANDWIDTHS**2) / 2

# Number of nearest landmarks that share a point; shares reach 0 at the distance of the next one.
BLENDED = 3


class WeightedSums(NamedTuple):
    """Weighted sums of the landmarks' values for each point of a block."""

    sums: np.ndarray  # (b, l).
    # Weights are scaled by ``exp(-shift)`` (b,); shifts are 0 except for points far from every
    # landmark, whose weights would otherwise all vanish.
    shifts: np.ndarray


class Starts(NamedTuple):
    """Paths from each point of a block to landmarks around it."""

    shares: np.ndarray  # Weight (b,) of these paths for the point.
    lengths: np.ndarray  # (b, width); infinite where no path starts.
    columns: np.ndarray  # Landmarks (b, width) that the paths lead to.


class Support(Protocol):
    """The landmarks that support a point."""

    @property
    def row_bytes(self) -> int:
        """Maximum number of bytes per point."""

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        """Return weighted sums of the landmarks' `values` (l, k) for each point of the block."""


@dataclass(frozen=True, eq=False)
class AllLandmarks:
    """Every landmark supports every point: the dense extension of the paper.

    Weights are kernel values, with the larger bandwidth of point and landmark.
    """

    landmarks: Centered
    bandwidths: np.ndarray

    @classmethod
    def prepare(cls, landmarks: np.ndarray, bandwidths: np.ndarray) -> "AllLandmarks":
        """Prepare the support of landmarks (k, d) with bandwidths (k,)."""
        return cls(centered(landmarks), bandwidths)

    @property
    def row_bytes(self) -> int:
        return 8 * sum(self.landmarks.landmarks.shape)

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        from trigpoint._kernels.landmark_sums import dense_weights, nearest_columns, shepard_shares

        weights = squares_to_all(self.landmarks, X)
        count = 1 if np.ptp(self.bandwidths) == 0 else min(BLENDED + 1, len(self.bandwidths))
        nearest = np.empty((len(weights), count), dtype=np.int64)
        squares = np.empty(nearest.shape)
        nearest_columns(weights, nearest, squares)
        shifts = np.empty(len(weights))
        shares = shepard_shares(squares, BLENDED)
        dense_weights(weights, nearest, shares, self.bandwidths, FAR_LOG_WEIGHT, shifts)
        return WeightedSums(rowwise_product(weights, values.T), shifts)


@dataclass(frozen=True, eq=False)
class GraphNeighbors:
    """The graph neighbors of the nearest landmarks support a point.

    A point thus inherits the neighborhoods of its landmarks, and adds no shortcuts to those of the
    graph. Its three nearest landmarks share it, with weights that approach 1 at a landmark and 0
    where another landmark replaces it among the three. Coordinates are therefore continuous, and a
    landmark gets exactly its own row of the graph. With only the nearest landmark, plots would show
    a crack around each cell.

    If the weight of an edge is not the kernel of its length, the ratio of the two is preserved. A
    bridge, much longer than the bandwidth, keeps its weight throughout the cell of the landmark
    where it starts.
    """

    search: TreeSearch | ProductSearch
    rows: "GraphRows"

    @classmethod
    def prepare(cls, landmarks: np.ndarray, graph: LandmarkGraph) -> "GraphNeighbors":
        """Prepare the support of landmarks (k, d) and their graph."""
        from trigpoint._kernels.landmark_sums import GraphRows

        k = len(graph.bandwidths)
        degrees = np.diff(graph.lengths.indptr)
        starts = np.concatenate([[0], np.cumsum(degrees + 1)]).astype(np.int64)
        # A row begins with its own landmark.
        row = np.repeat(np.arange(k), degrees + 1)
        columns = row.copy()
        columns[np.arange(len(row)) != starts[row]] = graph.lengths.indices
        lengths, weights = (
            np.asarray(matrix[row, columns]).ravel() for matrix in (graph.lengths, graph.weights)
        )
        own = graph.bandwidths[row]
        kernel = np.exp((lengths / np.maximum(own, graph.bandwidths[columns])) ** 2 / -2)
        # Distances are measured from the end of an edge or, if it is too long to follow, its start.
        follows = kernel > _FOLLOWED
        measured = np.where(follows, columns, row)
        rows = GraphRows(
            starts,
            columns.astype(np.uint32),
            measured.astype(np.uint32),
            half_precisions=0.5 / np.maximum(own, graph.bandwidths[measured]) ** 2,
            factors=weights / np.where(follows, kernel, 1.0),
        )
        return cls(landmark_search(landmarks, BLENDED + 1), rows)

    @property
    def row_bytes(self) -> int:
        return 24 * (BLENDED + 1) + self.search.row_bytes

    def sums(self, X: Points, values: np.ndarray) -> WeightedSums:
        """Return sums weighted by share, kernel and factor of the entries in rows of the graph."""
        from trigpoint._kernels.landmark_sums import graph_sums

        nearest, shares, dense, to_all = self._around(X)
        result = WeightedSums(np.empty((X.shape[0], len(values))), np.empty(X.shape[0]))
        distances = dense, self.search.landmarks, to_all
        graph_sums(self.rows, nearest, shares, *distances, values, FAR_LOG_WEIGHT, *result)
        return result

    def starts(self, X: Points) -> Iterator[Starts]:
        """Yield straight lines to the neighbors of the nearest landmarks, one part per landmark."""
        from trigpoint._kernels.landmark_sums import measure

        found, shares, dense, to_all = self._around(X)
        for part in range(found.shape[1]):
            columns, counts = _padded(self.rows, found[:, part])
            # No path starts where the share is 0, or beyond the end of a row.
            counts[shares[:, part] == 0] = 0
            squares = np.full(columns.shape, np.inf)
            if len(to_all):
                used = np.arange(columns.shape[1]) < counts[:, None]
                squares[used] = np.take_along_axis(to_all, columns, axis=1)[used]
            else:
                measure(dense, self.search.landmarks, columns, counts, squares)
            yield Starts(shares[:, part], np.sqrt(squares), columns)

    def _around(self, X: Points) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the nearest landmarks, their shares, and dense points or squared distances."""
        from trigpoint._kernels.landmark_sums import nearest_columns, shepard_shares

        count = min(BLENDED + 1, len(self.rows.starts) - 1)
        nothing = np.empty((0, 0))
        if isinstance(X, csr_array):
            assert isinstance(self.search, ProductSearch)
            # In many columns, products cost less than distances to a few landmarks.
            dense, to_all = nothing, self.search.squares_of_sparse(X)
            nearest = np.empty((len(to_all), count), dtype=np.int64)
            squares = np.empty(nearest.shape)
            nearest_columns(to_all, nearest, squares)
        else:
            # Fix the memory order, because the rounding of sums depends on it.
            dense, to_all = np.ascontiguousarray(X), nothing
            nearest, squares = self.search.nearest(dense, count)
        shares = shepard_shares(squares, BLENDED)
        return np.ascontiguousarray(nearest[:, : shares.shape[1]]), shares, dense, to_all


def _padded(rows: "GraphRows", landmarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return graph rows (b, width), padded with the entries that follow, and their sizes."""
    starts, counts = rows.starts[landmarks], np.diff(rows.starts)[landmarks]
    # Make the result only as wide as these rows require, since a landmark linked to all others
    # would widen every row.
    width = int(counts.max())
    places = np.minimum(starts[:, None] + np.arange(width), len(rows.columns) - 1)
    return rows.columns[places].astype(np.int64), counts


def ordinary_lengths(graph: LandmarkGraph) -> csr_array:
    """Return the lengths of the edges that are not bridges."""
    k, edges = len(graph.bandwidths), graph.lengths.tocoo()
    bridges = np.concatenate([graph.bridges, graph.bridges[:, ::-1]])
    kept = ~np.isin(edges.row.astype(np.int64) * k + edges.col, bridges @ [k, 1])
    return csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=(k, k))


@dataclass(frozen=True, eq=False)
class MarkovExtension:
    """Extension of Laplacian eigenmaps and diffusion maps.

    ``phi(x) = (1 / mu) sum_j kappa_j(x) phi_j / sum_j kappa_j(x)``, with ``mu`` the eigenvalue of
    the row-normalized kernel: ``1 - lambda`` for the lambda of ``(D - W) phi = lambda D phi``. A
    landmark's own row of W reproduces its coordinates. Points far from every landmark get the
    coordinates of the nearest landmarks.

    References
    ----------
    Y. Bengio and others, "Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral
    clustering", NIPS, 2004.
    """

    support: Support
    # Values (l + 1, k) to sum: ``phi_j / mu``, and 1 for the sum of the weights; both multiplied by
    # the landmark's factor in the kernel.
    values: np.ndarray

    @classmethod
    def prepare(
        cls,
        support: Support,
        coordinates: np.ndarray,
        mu: np.ndarray,
        scale: np.ndarray | None = None,
    ) -> "MarkovExtension":
        """Prepare the extension of `coordinates` (k, l) with eigenvalues `mu` (l,).

        `scale` (k,) is the factor of each landmark in the kernel, for the density normalization of
        diffusion maps.
        """
        values = np.concatenate([(coordinates / mu).T, np.ones((1, len(coordinates)))])
        return cls(support, values if scale is None else values * scale)

    @property
    def n_components(self) -> int:
        return len(self.values) - 1

    @property
    def row_bytes(self) -> int:
        return self.support.row_bytes + 8 * len(self.values)

    def __call__(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        sums, shifts = self.support.sums(X, self.values)
        return sums[:, :-1] / sums[:, -1:], shifts != 0


@dataclass(frozen=True, eq=False)
class KernelExtension:
    """Extension of kernel PCA: projection of a point's kernel row on the components.

    All points far from every landmark get the same coordinates.
    """

    support: Support
    components: np.ndarray  # (l, k), float64.
    # Projection (l,) of the kernel's column means. The other terms of the centering vanish, since
    # components sum to zero over the landmarks.
    offset: np.ndarray

    @classmethod
    def prepare(
        cls, support: Support, kernel_means: np.ndarray, spectrum: Spectrum
    ) -> "KernelExtension":
        """Prepare the extension; `kernel_means` (k,) are the means of the kernel's columns."""
        components = np.ascontiguousarray((spectrum.coordinates / spectrum.eigenvalues).T)
        return cls(support, components, components @ kernel_means)

    @property
    def n_components(self) -> int:
        return len(self.components)

    @property
    def row_bytes(self) -> int:
        return self.support.row_bytes + 8 * (len(self.components) + 1)

    def __call__(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        sums, shifts = self.support.sums(X, self.components)
        return sums * np.exp(shifts)[:, None] - self.offset, shifts != 0
