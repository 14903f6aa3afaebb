"""Points that stay on the workers of a Dask cluster, as the loop of Algorithm 2 sees them.

How far the nearest points of a query reach is found by counting: every shard says how many of its
points lie within each of a few radii, the sum of their answers tells between which two the wanted
one is, and once few points are left between two radii their distances are listed. Counts are whole
numbers and distances are canonical, so neighborhoods are those of one array, to the bit, however
the points are divided. Neighbors never travel.
"""

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Covariances
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.neighbors import (
    TREE_MAX_DIMENSION,
    Neighborhoods,
    NeighborIndex,
    neighbor_index,
)
from trigpoint._numerics.shells import covariances_of_sums, edges_between
from trigpoint._points.dask.cluster import Cluster, Traffic
from trigpoint._points.dask.layout import Layout
from trigpoint._points.dask.weights import DaskSeeding, DaskWeights
from trigpoint._points.store import LogRepulsion

# Points of a sample that lie in a neighborhood, on average, the fewest and most points of the
# sample, and its bytes: enough to say within a factor of two how far the neighborhood reaches.
_SAMPLED_NEIGHBORS = 64
_SAMPLE_SIZES = (2048, 2**16)
_SAMPLE_BYTES = 8 * 2**20

# Standard deviations by which a count in the sample may be off before a round is wasted.
_DOUBT = 4.5

# Distances of one query that are listed.
_LISTED = 1024

# Fewest and most radii within which points are counted at once.
_FEWEST_EDGES, _MOST_EDGES = 16, 1024

# A lower end that leaves out no point.
_JUST_BELOW_ZERO = float(np.nextafter(0.0, -1.0))

# Sums that one answer holds.
_SUM_BYTES = 32 * 2**20

# Above this dimension, low-rank covariances come from samples of neighbors, which would travel.
_LOW_RANK_MAX_DIMENSION = 32


class DaskStore:
    """Points in shards on the workers of a Dask cluster.

    Parameters
    ----------
    cluster : Cluster
        Shards with at least one point each.
    layout : Layout
        Which rows each of them holds.
    lower, upper : ndarray of shape (d,)
        The box around all points.
    dtype : dtype
    device : str or None, default=None
        The GPU of each worker that searches its points.
    """

    def __init__(
        self,
        cluster: Cluster,
        layout: Layout,
        lower: np.ndarray,
        upper: np.ndarray,
        dtype: np.dtype,
        device: str | None = None,
    ) -> None:
        self.cluster, self.layout = cluster, layout
        self.n_points, self.n_features = layout.n_points, len(lower)
        self.dtype = dtype
        self.n_searches = 0
        self._lower, self._upper = lower, upper
        self._how: tuple[int, int] | None = None
        self._sample: NeighborIndex | None = None
        by_tree = self.n_features <= TREE_MAX_DIMENSION and device is None
        self.device = "cpu" if device is None else device
        where = "" if device is None else f" on {device}"
        self.name = f"{'tree' if by_tree else 'products'}{where} on Dask workers"
        self.together = 256 if by_tree or device is not None else 64

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of their coordinates."""
        return self.n_points, self.n_features

    @property
    def traffic(self) -> dict[str, Traffic]:
        """What has traveled so far, by question."""
        return self.cluster.traffic

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The points in a few rows."""
        rows = np.asarray(rows, dtype=np.int64)
        shards, local = self.layout.locate(rows)
        places = {shard: np.flatnonzero(shards == shard) for shard in np.unique(shards).tolist()}
        taken = self.cluster.ask("take", {s: (local[some],) for s, some in places.items()})
        points = np.empty((len(rows), self.n_features), dtype=self.dtype)
        for shard, some in places.items():
            points[some] = taken[shard]
        return points

    def distinct(self, most: int) -> np.ndarray | None:
        """First rows of all distinct points, in order; None if there are more than `most`."""
        step = max(1, self.n_points // (4 * most))
        some = self.take(np.arange(0, self.n_points, step))
        if len(np.unique(some, axis=0)) > most:
            return None
        found = self.cluster.ask_all("distinct", most)
        if any(some is None for some in found):
            return None
        rows = np.concatenate([self.layout.to_rows(s, rows) for s, (rows, _) in enumerate(found)])
        points = np.concatenate([points for _, points in found])
        order = np.argsort(rows)
        first = np.unique(points[order], axis=0, return_index=True)[1]
        return np.sort(rows[order][first]) if len(first) <= most else None

    # Searching -----------------------------------------------------------------------------------

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """How far the `m` nearest points of each query reach."""
        self.n_searches += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.dtype)
        squared_radii = np.empty(len(queries))
        last_rows = np.empty(len(queries), dtype=np.int64)
        if len(queries):
            self._prepare(m)
            bracket = self._narrowed(queries, m)
            few = bracket.n_left <= _LISTED
            for settle, which in ((self._list, few), (self._break_ties, ~few)):
                asked = np.flatnonzero(which)
                if len(asked):
                    found = settle(queries[asked], bracket.take(asked), m)
                    squared_radii[asked], last_rows[asked] = found
        return Neighborhoods(queries, m, squared_radii, last_rows)

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the radii from a sample, where a search takes a pass over all points."""
        if self.n_features <= TREE_MAX_DIMENSION:
            return None
        self._prepare(m)
        assert self._sample is not None
        size = len(self._sample.points)
        rank = min(size, max(1, round(size * m / self.n_points)))
        return self._sample.search(queries, rank).radii

    def _prepare(self, m: int) -> tuple[int, int]:
        """Let the shards build their indexes, for `m` neighbors among all points, and sample them.

        Returns what questions tell a shard that has to build its index again.
        """
        if self._how is None:
            share = max(1, m // len(self.cluster))
            self._how = share, 8 * self.together
            self.cluster.ask_all("prepare", *self._how)
            least, most = _SAMPLE_SIZES
            most = min(most, block_rows(self.n_features * self.dtype.itemsize, _SAMPLE_BYTES))
            wanted = _SAMPLED_NEIGHBORS * self.n_points // m
            size = min(self.n_points, max(min(least, most), min(most, wanted)))
            # A fixed seed: the sample must not take numbers from the draw, and changes no result.
            rows = np.random.default_rng(0).choice(self.n_points, size, replace=False)
            self._sample = neighbor_index(self.take(np.sort(rows)), _SAMPLED_NEIGHBORS, size)
        return self._how

    def _narrowed(self, queries: np.ndarray, m: int) -> "_Brackets":
        """Radii that the wanted ones lie between, close enough to list the points in between.

        Or next to each other, where more points than that are equally far.
        """
        how = self._prepare(m)
        brackets = _Brackets(len(queries), self._farthest(queries), self.n_points)
        open_to_doubt = brackets.undecided()
        first, last, expected = self._foreseen(queries, m)
        while len(open_to_doubt):
            # A first edge at 0 itself: copies of a query would never be told from its neighbors.
            between = np.maximum(first, 0.0), last, self._edge_count(expected)
            asked = queries[open_to_doubt]
            counts = sum(
                c.astype(np.int64) for c in self.cluster.ask_all("counts", how, asked, *between)
            )
            brackets.narrow(open_to_doubt, edges_between(*between), np.cumsum(counts, axis=1), m)
            open_to_doubt = brackets.undecided()
            first, last = brackets.lower[open_to_doubt], brackets.upper[open_to_doubt]
            expected = float(brackets.n_left[open_to_doubt].max(initial=0))
            # Far out, more points than needed would be counted: rather two steps than one too far.
            outer = last == self._farthest(queries[open_to_doubt])
            last = np.where(outer & (first > 0), np.minimum(last, 4 * first), last)
        return brackets

    def _foreseen(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Radii that the wanted ones lie between, judging by a sample, and how many points do."""
        assert self._sample is not None
        size = len(self._sample.points)
        expected = size * m / self.n_points
        doubt = _DOUBT * np.sqrt(expected) + 1
        lower_rank, upper_rank = int(expected - doubt), int(np.ceil(expected + doubt))
        first = np.zeros(len(queries))
        if lower_rank >= 1 and size < self.n_points:
            first = self._sample.search(queries, lower_rank).squared_radii
        if upper_rank <= size:
            last = self._sample.search(queries, upper_rank).squared_radii
        else:
            last, upper_rank = self._farthest(queries), size
        return first, last, (upper_rank - max(lower_rank, 0)) / size * self.n_points

    def _farthest(self, queries: np.ndarray) -> np.ndarray:
        """Squared distances that no point exceeds."""
        beyond = np.maximum(queries - self._lower, self._upper - queries)
        return np.asarray(np.square(beyond).sum(axis=1) * (1 + 1e-12)) + np.finfo(np.float64).tiny

    def _edge_count(self, n_left: float) -> int:
        """Radii at which counts and the list that follows take about equally many bytes."""
        balanced = 2 ** round(np.log2(max(4 * n_left / len(self.cluster), 1)) / 2)
        return int(min(max(balanced, _FEWEST_EDGES), _MOST_EDGES))

    def _list(
        self, queries: np.ndarray, brackets: "_Brackets", m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Squared radii and last rows, from a list of the few points between two radii."""
        how = self._prepare(m)
        found = self.cluster.ask_all("listed", how, queries, brackets.lower, brackets.upper)
        squares = np.concatenate([squares for squares, _, _ in found])
        rows = np.concatenate(
            [self.layout.to_rows(shard, rows) for shard, (_, rows, _) in enumerate(found)]
        )
        owners = np.concatenate([np.repeat(np.arange(len(queries)), sizes) for *_, sizes in found])
        order = np.lexsort((rows, squares, owners))
        starts = np.searchsorted(owners[order], np.arange(len(queries)))
        chosen = order[starts + m - brackets.below - 1]
        return squares[chosen], rows[chosen]

    def _break_ties(
        self, queries: np.ndarray, brackets: "_Brackets", m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Squared radii, at which many points are, and the last rows: ties go to lower rows."""
        how, squares = self._prepare(m), brackets.upper
        found = self.cluster.ask_all("ties", how, queries, squares)
        counts = self.layout.by_part(found)
        wanted = m - brackets.below
        parts = np.array([np.searchsorted(c, w) for c, w in zip(counts, wanted, strict=True)])
        before = np.where(parts > 0, counts[np.arange(len(parts)), parts - 1], 0)
        shards, places = self.layout.parts(parts)
        last_rows = np.empty(len(queries), dtype=np.int64)
        asked = {shard: np.flatnonzero(shards == shard) for shard in np.unique(shards).tolist()}
        ranks = wanted - before - 1
        answers = self.cluster.ask(
            "tie",
            {
                shard: (how, queries[some], squares[some], places[some], ranks[some])
                for shard, some in asked.items()
            },
        )
        for shard, some in asked.items():
            last_rows[some] = self.layout.to_rows(shard, answers[shard])
        return squares, last_rows

    # What follows the search ---------------------------------------------------------------------

    def covariances(self, found: Neighborhoods, mode: str) -> Covariances:
        """Covariances of the points in neighborhoods, full, their diagonals, or of low rank.

        They come from sums of whole numbers, so that they are the same, to the bit, however the
        points are divided.
        """
        d = self.n_features
        if mode == "low-rank" and d > _LOW_RANK_MAX_DIMENSION:
            raise ParameterValueError(
                "covariance",
                mode,
                "{parameter=} of points in Dask partitions takes at most {most} columns, and these "
                "have {d}: it would move samples of all neighborhoods to the client",
                "choose covariance='diag'",
                most=_LOW_RANK_MAX_DIMENSION,
                d=d,
            )
        full = mode != "diag"
        how = self._prepare(found.size)
        width = 16 * (d + (d * (d + 1) // 2 if full else d))
        measured = []
        for part in row_blocks(len(found), block_rows(width, _SUM_BYTES)):
            some = found.take(range(part.start, part.stop))
            answers = self.cluster.ask(
                "sums",
                {
                    shard: (how, some.points, some.squared_radii, last_rows, full)
                    for shard, last_rows in enumerate(self.layout.last_rows(some.last_rows))
                },
            )
            sums = sum(answers.values())
            measured.append(covariances_of_sums(sums, some.squared_radii, found.size, d, full))
        covariances = np.concatenate(measured)
        if mode == "low-rank":
            return of_matrices(covariances, found.size, self.dtype)
        return covariances

    def weights(self, log_repulsion: LogRepulsion) -> DaskWeights:
        """Weights of all points, 1 until landmarks repel them."""
        assert self._how is not None, "landmarks have been searched"
        return DaskWeights(self.cluster, self.layout, log_repulsion, self._how)

    def seeding(self) -> DaskSeeding:
        """Sums of squared distances to the nearest of landmarks that are added one by one."""
        return DaskSeeding(self.cluster, self.layout, self.take)

    def racer(self, log_repulsion: LogRepulsion) -> None:
        """None: rounds of many proposals are faster than one at a time."""

    def screen(self, log_repulsion: LogRepulsion) -> None:
        """None: bounds of all points would have to be kept by the client."""


class _Brackets:
    """For each query, two radii, how many points are within the smaller, and between them.

    Attributes
    ----------
    lower, upper : float64 ndarray of shape (q,)
        Squared; the wanted one is above the lower and up to the upper.
    below, n_left : int64 ndarray of shape (q,)
    """

    def __init__(self, n_queries: int, farthest: np.ndarray, n_points: int) -> None:
        self.lower, self.upper = np.full(n_queries, _JUST_BELOW_ZERO), farthest.copy()
        self.below = np.zeros(n_queries, dtype=np.int64)
        self.n_left = np.full(n_queries, n_points, dtype=np.int64)

    def take(self, which: np.ndarray) -> "_Brackets":
        """Those of some queries."""
        some = _Brackets(0, np.empty(0), 0)
        some.lower, some.upper = self.lower[which], self.upper[which]
        some.below, some.n_left = self.below[which], self.n_left[which]
        return some

    def narrow(self, which: np.ndarray, edges: np.ndarray, cumulative: np.ndarray, m: int) -> None:
        """Use the number of points up to each of some edges around some queries."""
        above = self.below + self.n_left
        for q, own, counts in zip(which, edges, cumulative, strict=True):
            place = int(np.searchsorted(counts, m))
            top = above[q]
            if place < len(own):
                self.upper[q], top = own[place], counts[place]
            if place > 0:
                self.lower[q], self.below[q] = own[place - 1], counts[place - 1]
            self.n_left[q] = top - self.below[q]

    def undecided(self) -> np.ndarray:
        """Queries with many points between two radii that have others between them."""
        apart = np.nextafter(self.lower, np.inf) < self.upper
        return np.flatnonzero((self.n_left > _LISTED) & apart)
