"""Points on a PyTorch device, as the loop of Algorithm 2 sees them.

The device finds candidates, and never decides. Squared distances in float64, to points in cells
near a query or by products to all points, come with a bound on their rounding error. Where that
leaves doubt about which points are nearest, or how far they reach (mostly about a single point of
each query), the few points in question come to the host, and the loop that decides everywhere else
decides here. So neighborhoods are those of an array in memory, to the bit, on any device.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._common.records import Covariances, LowRankCovariances
from trigpoint._numerics.blocks import distinct_rows, row_blocks
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION, Neighborhoods
from trigpoint._points.memory import MemoryWeights
from trigpoint._points.repulsion import Repulsion
from trigpoint._points.store import LogRepulsion
from trigpoint._points.torch.cells import FEWEST_POINTS, Cells
from trigpoint._points.torch.device import blocks_ahead, fits, to_device, working_memory
from trigpoint._points.torch.screen import TorchScreen

# Average number of sampled points in a neighborhood, and the smallest and largest sample.
SAMPLED_NEIGHBORS = 128
SAMPLE_SIZES = (2**11, 2**17)

# Standard deviations by which a count in the sample may be off before a pass is repeated.
_DOUBT = 4.5

# Share of the working memory that holds one block of products; bytes of a candidate while sorted.
_BLOCK_SHARE = 8
CANDIDATE_BYTES = 96

# If neighborhoods hold a larger share of the points than this, products with all points are faster
# than lists of the points in cells.
_LISTED_SHARE = 1 / 32

# Entries of a matrix that PyTorch can index with 32 bits.
_MOST_ENTRIES = 2**30

# Up to this dimension, matrices of all neighbors cost no more than directions of a sample.
_FEW_DIMENSIONS = 32


class TorchStore:
    """Points on a device, searched in cells of a grid or by matrix products.

    Parameters
    ----------
    points : torch.Tensor or ndarray of shape (n, d)
        float32 or float64. An array stays in the memory of the host: whenever all points are
        needed, it is read in blocks.
    device : torch.device
        Where distances are computed, and where a tensor must be.
    """

    def __init__(self, points: Any, device: Any) -> None:
        import torch

        self._points, self.device = points, device
        self.n_points, self.n_features = map(int, points.shape)
        is_single = str(points.dtype).endswith("float32")
        self.dtype = np.dtype(np.float32 if is_single else np.float64)
        self.n_searches = 0
        self.name = f"products on {device}"
        self.together = 256
        self._torch = torch
        self._memory = working_memory(device)
        some = np.linspace(0, self.n_points - 1, min(self.n_points, SAMPLE_SIZES[0]))
        middle = self._rows(np.unique(some.astype(np.int64))).double().mean(dim=0)
        # Rounded to a few digits, so that differences from it are nearly always exact.
        self._center = middle.to(torch.bfloat16).double()
        # Worst case of rounded products of d terms, of norms, and of differences from the center.
        self._rounding = 4 * (self.n_features + 8) * float(np.finfo(np.float64).eps)
        self._sample: Any = None
        self._cells: Cells | None = None
        # Memory for a sorted copy, and for sorting it.
        n_bytes = self.n_points * (self.n_features * self.dtype.itemsize + 24)
        self._may_sort = (
            FEWEST_POINTS <= self.n_points < 2**31
            and self.n_features <= TREE_MAX_DIMENSION
            and not isinstance(points, np.ndarray)
            and fits(n_bytes, device)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of their coordinates."""
        return self.n_points, self.n_features

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The points in a few rows."""
        rows = np.asarray(rows, dtype=np.int64)
        if isinstance(self._points, np.ndarray):
            return self._points[rows]
        return np.asarray(self._rows(rows).cpu().numpy())

    def distinct(self, most: int) -> np.ndarray | None:
        """First rows of all distinct points, in order; None if there are more than `most`."""
        some = self.take(np.arange(0, self.n_points, max(1, self.n_points // (4 * most))))
        if len(np.unique(some, axis=0)) > most:
            return None
        return distinct_rows(self.take(np.arange(self.n_points)), most)

    def _rows(self, rows: Any) -> Any:
        """The points in some rows, given as an array or a tensor, on the device."""
        if isinstance(self._points, np.ndarray):
            rows = rows if isinstance(rows, np.ndarray) else rows.cpu().numpy()
            return to_device(self._points[rows], self.device)
        return self._points[self._torch.as_tensor(rows, device=self.device)]

    def _blocks(self, rows: int) -> Iterator[tuple[slice, Any]]:
        """Yield all points in blocks on the device."""
        parts = row_blocks(self.n_points, rows)
        if isinstance(self._points, np.ndarray):
            return blocks_ahead(self._points, parts, self.device)
        return ((part, self._points[part]) for part in parts)

    # Searching -----------------------------------------------------------------------------------

    def nth_distances(
        self, rows: np.ndarray, queries: np.ndarray, ranks: tuple[int, ...]
    ) -> np.ndarray:
        """Distances (q, r) from points to their n-th neighbors among those in `rows`.

        Queries are places in `rows`; there is a column for each n in `ranks`.
        """
        among, points = TorchStore(self._rows(rows), self.device), self.take(rows[queries])
        # Each of them is its own nearest neighbor.
        return np.stack([among.search(points, n + 1).radii for n in ranks], axis=1)

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        """How far the `m` nearest points of each query reach."""
        self.n_searches += len(queries)
        return self._search(np.ascontiguousarray(queries, dtype=self.dtype), m)

    def _search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        rank = self._sampled_rank(m)
        parts = [Neighborhoods.none(queries, m)]
        for part in row_blocks(len(queries), self._queries_at_once(m, rank)):
            parts.append(self._nearest(queries[part], m, rank))
        return Neighborhoods.joined(parts)

    def _sampled_rank(self, m: int) -> int:
        """Rank in the sample of a point that is probably farther than `m` of all points."""
        if self._sample is None:
            least, most = SAMPLE_SIZES
            size = min(self.n_points, most, max(least, SAMPLED_NEIGHBORS * self.n_points // m))
            # A fixed seed: the sample must not take numbers from the draw, and changes no result.
            rows = np.random.default_rng(0).choice(self.n_points, size, replace=False)
            self._sample = self._factors(self._rows(np.sort(rows)))
        size = len(self._sample)
        if size == self.n_points:
            return m
        expected = size * m / self.n_points
        return int(np.ceil(expected + _DOUBT * np.sqrt(expected) + 1))

    def _queries_at_once(self, m: int, rank: int) -> int:
        """Queries whose candidates can be sorted together."""
        candidates = max(m, int(self._share(rank) * self.n_points))
        width = CANDIDATE_BYTES
        if self._is_listed(rank):
            # Cells reach beyond the neighborhood, and each of their points is compared.
            width += 16 * (3 * self.n_features + 4)
        return max(1, min(self.together, self._memory // (width * candidates)))

    def _share(self, rank: int) -> float:
        """Share of all points that are candidates, up to a rank in the sample."""
        return min(1.0, rank / len(self._sample))

    def _is_listed(self, rank: int) -> bool:
        """Whether candidates come from cells."""
        return self._may_sort and self._share(rank) <= _LISTED_SHARE

    def _factors(self, points: Any) -> Any:
        """Points around the center, and their squared norms, as (b, d + 1) float64."""
        torch = self._torch
        factors = torch.empty(
            (len(points), self.n_features + 1), dtype=torch.float64, device=self.device
        )
        around = factors[:, :-1]
        torch.sub(points, self._center, out=around)
        factors[:, -1] = (around * around).sum(dim=1)
        return factors

    def _multipliers(self, queries: np.ndarray) -> tuple[Any, Any]:
        """What gives squared distances less the queries' squared norms; and these norms (q,)."""
        multipliers = self._factors(to_device(queries, self.device))
        norms = multipliers[:, -1].clone()
        multipliers[:, :-1] *= -2
        multipliers[:, -1] = 1
        return multipliers, norms

    def _nearest(self, queries: np.ndarray, m: int, rank: int) -> Neighborhoods:
        """Neighborhoods of a few queries.

        Squared distances are less by the query's squared norm throughout.
        """
        torch = self._torch
        multipliers, norms = self._multipliers(queries)
        cuts = self._cuts(multipliers, norms, rank)
        if self._is_listed(rank):
            owners, values, rows = self._listed(to_device(queries, self.device), norms, cuts)
        else:
            owners, values, rows = self._compared(multipliers, cuts)
        counts = torch.bincount(owners, minlength=len(queries))
        starts = counts.cumsum(0) - counts
        enough = counts >= m
        reach = values[torch.where(enough, starts + m - 1, 0)]
        slack = 2 * self._error(norms, reach)
        settled = (enough & (reach + slack <= cuts)).cpu().numpy()
        if not settled.all():
            return self._in_two_parts(queries, m, rank, settled)
        # Points nearer than this are neighbors, whatever was rounded; those not beyond may be.
        offsets = values - reach[owners]
        slacks = slack[owners]
        doubtful = offsets.abs() <= slacks
        n_sure = torch.bincount(owners[offsets < -slacks], minlength=len(queries)).cpu().numpy()
        asked, asked_rows = (t.cpu().numpy() for t in (owners[doubtful], rows[doubtful]))
        squared_radii, last_rows, in_order = self._decided(queries, m - n_sure, asked, asked_rows)
        rows[doubtful] = torch.as_tensor(in_order, device=self.device)
        places = starts[:, None] + torch.arange(m, device=self.device)
        members = list(rows[places])
        bounds = None
        if self.n_features > TREE_MAX_DIMENSION:
            bounds = list(values[places] + (norms + 2 * slack)[:, None])
        return Neighborhoods(queries, m, squared_radii, last_rows, members, bounds)

    def _in_two_parts(
        self, queries: np.ndarray, m: int, rank: int, settled: np.ndarray
    ) -> Neighborhoods:
        """Search queries that the sample has misjudged again, with room for more candidates."""
        wider = 2 * rank + 8 if rank < len(self._sample) else 2 * self.n_points
        found, order = [], []
        for which, new_rank in ((settled, rank), (~settled, wider)):
            places = np.flatnonzero(which)
            for part in row_blocks(len(places), self._queries_at_once(m, new_rank)):
                found.append(self._nearest(queries[places[part]], m, new_rank))
            order.append(places)
        return Neighborhoods.joined(found).take(np.argsort(np.concatenate(order)).tolist())

    def _cuts(self, multipliers: Any, norms: Any, rank: int) -> Any:
        """Distances (q,) up to which points are candidates."""
        torch = self._torch
        if rank > len(self._sample):
            return torch.full_like(norms, np.inf)
        cuts = self._ranked(multipliers, rank)
        return cuts + 8 * self._error(norms, cuts)

    def _ranked(self, multipliers: Any, rank: int) -> Any:
        """Distances (q,) to the points of some rank in the sample."""
        products = multipliers @ self._sample.T
        return products.topk(rank, dim=1, largest=False, sorted=False).values.amax(dim=1)

    def _error(self, norms: Any, values: Any) -> Any:
        """Bound of the rounding errors of distances up to some values."""
        squares = (values + norms).clamp(min=0)
        return self._rounding * (4 * norms + 4 * squares) + float(np.finfo(np.float64).tiny)

    def _listed(self, queries: Any, norms: Any, cuts: Any) -> tuple[Any, Any, Any]:
        """Queries, distances and rows of points up to the cuts, by query and distance."""
        if self._cells is None:
            self._cells = Cells(self._points)
        queries = queries.double()
        owners, places = self._cells.near(queries, cuts + norms + 8 * self._error(norms, cuts))
        offsets = self._cells.points[places] - queries[owners]
        values = (offsets * offsets).sum(dim=1) - norms[owners]
        inside = values <= cuts[owners]
        return _by_distance(owners[inside], values[inside], self._cells.rows[places[inside]])

    def _compared(self, multipliers: Any, cuts: Any) -> tuple[Any, Any, Any]:
        """The same, by products with all points."""
        torch = self._torch
        found = []
        width = 8 * (3 * (self.n_features + 1) + 2 * len(multipliers))
        most = min(self._memory // _BLOCK_SHARE // width, _MOST_ENTRIES // len(multipliers))
        for part, block in self._blocks(max(1, most)):
            products = multipliers @ self._factors(block).T
            owners, places = (products <= cuts[:, None]).nonzero(as_tuple=True)
            found.append((owners, products[owners, places], places + part.start))
        return _by_distance(*(torch.cat(parts) for parts in zip(*found, strict=True)))

    def _decided(
        self, queries: np.ndarray, ranks: np.ndarray, owners: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared radii and last rows of queries, decided among points that rounding leaves open.

        The point of some rank among those of a query is its farthest neighbor. Also returns all
        rows in that order.
        """
        from trigpoint._numerics.compiled.distances import squares_to

        points = self.take(rows)
        squared_radii, last_rows = np.empty(len(queries)), np.empty(len(queries), dtype=np.int64)
        in_order = np.empty_like(rows)
        stops = np.searchsorted(owners, np.arange(len(queries) + 1))
        for q, query in enumerate(queries):
            part = slice(stops[q], stops[q + 1])
            squares = squares_to(points, np.arange(part.start, part.stop), query)
            order = np.lexsort((rows[part], squares))
            in_order[part] = rows[part][order]
            squared_radii[q] = squares[order[ranks[q] - 1]]
            last_rows[q] = in_order[part][ranks[q] - 1]
        return squared_radii, last_rows, in_order

    def guess(self, queries: np.ndarray, m: int) -> np.ndarray | None:
        """Guess the radii from a sample, where few proposals are as good as any other."""
        if self.n_features <= TREE_MAX_DIMENSION:
            return None
        self._sampled_rank(m)
        multipliers, norms = self._multipliers(np.ascontiguousarray(queries, dtype=self.dtype))
        rank = min(len(self._sample), max(1, round(len(self._sample) * m / self.n_points)))
        squares = self._ranked(multipliers, rank) + norms
        return np.asarray(squares.clamp(min=0).sqrt().cpu().numpy())

    # What follows the search ---------------------------------------------------------------------

    def covariances(self, found: Neighborhoods, mode: str) -> Covariances:
        """Covariances of the points in neighborhoods, full, their diagonals, or of low rank."""
        if found.members is None:
            found = self._search(found.points, found.size)
        if mode == "low-rank" and self.n_features > _FEW_DIMENSIONS:
            return self._low_rank(found)
        width = 4 * 8 * self.n_features * found.size
        blocks = row_blocks(len(found), max(1, self._memory // _BLOCK_SHARE // width))
        covariances = np.concatenate([self._moments(found, part, mode) for part in blocks])
        if mode == "low-rank":
            return of_matrices(covariances, found.size, self.dtype)
        return covariances

    def _moments(self, found: Neighborhoods, part: slice, mode: str) -> np.ndarray:
        assert found.members is not None
        members = self._torch.stack(list(found.members[part]))
        queries = to_device(found.points[part], self.device).double()
        offsets = self._rows(members.flatten()).view(*members.shape, -1) - queries[:, None]
        offsets -= offsets.mean(dim=1, keepdim=True)
        if mode == "diag":
            return np.asarray((offsets * offsets).mean(dim=1).cpu().numpy())
        moments = (offsets.transpose(1, 2) @ offsets / found.size).cpu().numpy()
        # Products need not be symmetric to the last bit.
        return np.asarray((moments + moments.transpose(0, 2, 1)) / 2)

    def _low_rank(self, found: Neighborhoods) -> LowRankCovariances:
        assert found.members is not None
        # Members are arrays for other stores, and tensors here.
        pairs = zip(found.members, found.points.astype(np.float64), strict=True)
        return LowRankCovariances.joined(
            [
                principal_directions(self.take(sampled(rows.cpu().numpy())), query)  # type: ignore[attr-defined]
                for rows, query in pairs
            ]
        )

    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and squared distances of each query's neighbors, in no particular order."""
        for part in row_blocks(len(found), self.together):
            some = found.take(range(part.start, part.stop))
            if some.members is None:
                some = self._search(some.points, some.size)
            assert some.members is not None
            at_once = self._memory // _BLOCK_SHARE // (3 * 8 * self.n_features * some.size)
            for few in row_blocks(len(some), max(1, at_once)):
                rows = self._torch.stack(list(some.members[few]))
                squares = self._squares(rows, some.points[few])
                yield from zip(rows.cpu().numpy(), squares.cpu().numpy(), strict=True)

    def _squares(self, rows: Any, queries: np.ndarray) -> Any:
        """Squared distances (q, m) to points in rows (q, m), to the bit those of the host.

        One sum after another, in the order of the columns, as its loops add. The points stay here:
        thousands of neighbors with many columns would take longer to copy than to measure.
        """
        offsets = self._rows(rows.flatten()).view(*rows.shape, -1)
        offsets = offsets - to_device(queries, self.device).double()[:, None]
        offsets *= offsets
        squares = self._torch.zeros_like(offsets[..., 0])
        for column in offsets.unbind(dim=2):
            squares += column
        return squares

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""
        wanted = to_device(point[None], self.device)
        rows = max(1, self._memory // _BLOCK_SHARE // (16 * self.n_features))
        return np.concatenate(
            [
                part.start + (block == wanted).all(dim=1).nonzero()[:, 0].cpu().numpy()
                for part, block in self._blocks(rows)
            ]
        )

    def weights(self, log_repulsion: LogRepulsion) -> MemoryWeights:
        """Weights of all points, kept by the host: they decide, so they must be computed there."""
        return MemoryWeights(self, log_repulsion)

    def racer(self, log_repulsion: LogRepulsion) -> None:
        """None: passes for many proposals are faster than one at a time."""

    def screen(self, log_repulsion: LogRepulsion) -> TorchScreen | None:
        """Bounds by products, in high dimension, of repulsions that grow with the distance."""
        if self.n_features <= TREE_MAX_DIMENSION:
            return None
        if not isinstance(log_repulsion, Repulsion) or not log_repulsion.is_compiled:
            return None
        return TorchScreen(self.n_points, self.device, log_repulsion)


def _by_distance(owners: Any, values: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Candidates by query and distance."""
    values, order = values.sort()
    owners, by_owner = owners[order].sort(stable=True)
    return owners, values[by_owner], rows[order[by_owner]].long()
