"""Approximate nearest neighbors among many points on a device, like those of `cells` on the host.

Points are kept in the order of their cells. All operations are deterministic.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._neighbors.cells import EXACT_ROWS, Singles, cell_count, compared, most_of
from trigpoint._numerics.blocks import block_rows, row_blocks

# Number of points that determine the center and scale for single precision.
_SAMPLE = 1000

# Neighbors of a point are searched in as many cells as contain most of those of a sample, but in
# about this many points at the most, or in this many cells if that is more.
_CANDIDATES = 8000
_FEWEST = 12

# Bytes of the largest temporary array.
BLOCK_BYTES = 2**30

# The m smallest of many values are in the m groups with the smallest minima. Searching groups of
# this size first takes a fraction of the time of one search among all values.
_GROUP = 16


class TorchCells:
    """Points (n, d) on a device, grouped by the nearest of some centers, which `rng` draws.

    `order` (n,) holds the rows of the points, by cell.
    """

    def __init__(self, points: Any, rng: np.random.Generator) -> None:
        import torch

        n, device = len(points), points.device
        self._singles = Singles.of(points[:: max(1, n // _SAMPLE)].cpu().numpy())
        self._center = to_device(self._singles.center, device)
        n_cells = 1 if n <= EXACT_ROWS else cell_count(n)
        drawn = to_device(np.sort(rng.choice(n, n_cells, replace=False)), device)
        centers = self._scaled(points[drawn])
        # One step of k-means.
        cells = self._nearest_centers(points, centers)
        self.order, ends = _by_cell(cells, n_cells)
        for cell, (start, stop) in enumerate(pairwise([0, *ends])):
            if start < stop:
                centers[cell] = self._scaled(points[self.order[start:stop]]).mean(dim=0)
        cells = self._nearest_centers(points, centers)
        self.order, self._ends = _by_cell(cells, n_cells)
        self._cells, self._centers = cells[self.order], centers
        self._grouped = torch.empty(points.shape, dtype=torch.float32, device=device)
        for part in row_blocks(n, block_rows(16 * points.shape[1], BLOCK_BYTES)):
            inside = self._scaled(points[self.order[part]])
            self._grouped[part] = (inside - centers[self._cells[part]]).float()
        # Cells to search, keyed by the number of neighbors.
        self._listed: dict[int, list[list[int]]] = {}

    def _scaled(self, points: Any) -> Any:
        """Return scaled float64 points (b, d); see `Singles`."""
        return self._singles.bounded((points.double() - self._center) * self._singles.scale)

    def _nearest_centers(self, points: Any, centers: Any) -> Any:
        import torch

        norms = centers.square().sum(dim=1)
        blocks = row_blocks(len(points), block_rows(8 * len(centers), BLOCK_BYTES))
        found = [
            torch.addmm(norms, self._scaled(points[part]), centers.T, alpha=-2).argmin(dim=1)
            for part in blocks
        ]
        return torch.cat(found)

    def neighbors(self, m: int) -> Any:
        """Return the m other points (n, m) near each, in no particular order.

        Points are numbered by their position in `order`, and so are the rows of the result.
        """
        return self._found(self._grouped, self._ends, m, are_own=True)

    def nearest(self, X: Any, m: int) -> Any:
        """Return rows (b, m) of the points near others (b, d), in no particular order."""
        import torch

        cells = self._nearest_centers(X, self._centers)
        order, ends = _by_cell(cells, len(self._ends))
        relative = (self._scaled(X[order]) - self._centers[cells[order]]).float()
        found = torch.empty((len(X), m), dtype=torch.int64, device=X.device)
        found[order] = self.order[self._found(relative, ends, m, are_own=False)]
        return found

    def _near(self, m: int) -> list[list[int]]:
        """Return the cells to search for m neighbors of the points in each cell."""
        import torch

        if m not in self._listed:
            sizes = torch.tensor([0, *self._ends], device=self.order.device).diff()
            centers, mode = self._centers, "donot_use_mm_for_euclid_dist"
            gaps = torch.cdist(centers, centers, compute_mode=mode).fill_diagonal_(-1)
            near = gaps.argsort(dim=1, stable=True)
            most = max(_CANDIDATES * len(sizes) // len(self.order), _FEWEST)
            least = min(self._needed(near, m), most, len(sizes))
            # There are enough cells for m others.
            counts = ((sizes[near].cumsum(dim=1) <= m).sum(dim=1) + 1).clamp(min=least).tolist()
            near = near[:, : max(counts)].tolist()
            self._listed[m] = [cells[:count] for cells, count in zip(near, counts, strict=True)]
        return self._listed[m]

    def _needed(self, near: Any, m: int) -> int:
        """Return how many of the nearest cells contain most of the m nearest points of a sample."""
        import torch

        n, device = len(self.order), self.order.device
        some = to_device(compared(n, np.random.default_rng(0)), device)
        m = min(m, n - 1)
        squares = torch.empty((len(some), n), dtype=torch.float32, device=device)
        queries = self._grouped[some] + self._centers[self._cells[some]]
        for part in row_blocks(n, block_rows(32 * self._grouped.shape[1], BLOCK_BYTES)):
            points = self._grouped[part] + self._centers[self._cells[part]]
            squares[:, part] = torch.cdist(queries, points).float()
        squares[torch.arange(len(some), device=device), some] = np.inf
        found = self._cells[squares.topk(m, dim=1, largest=False, sorted=False).indices]
        places = near[self._cells[some]].argsort(dim=1).gather(1, found)
        return most_of(places.cpu().numpy())

    def _found(self, queries: Any, ends: list[int], m: int, are_own: bool) -> Any:
        """Return positions (b, m) of points near queries that are grouped in the same cells."""
        import torch

        near, numbers = self._near(m), torch.arange(len(self.order), device=self.order.device)
        bounds = list(pairwise([0, *self._ends]))
        found = torch.empty((len(queries), m), dtype=torch.int32, device=queries.device)
        for cell, (start, stop) in enumerate(pairwise([0, *ends])):
            if start == stop:
                continue
            rows = torch.cat([numbers[slice(*bounds[c])] for c in near[cell]])
            shifts = (self._centers - self._centers[cell]).float()
            among = self._grouped[rows] + shifts[self._cells[rows]]
            found[start:stop] = rows[_nearest(queries[start:stop], among, m, are_own)]
        return found


def _by_cell(cells: Any, n_cells: int) -> tuple[Any, list[int]]:
    """Return rows ordered by their cell, and the end of each cell in that order."""
    import torch

    return cells.argsort(stable=True), torch.bincount(cells, minlength=n_cells).cumsum(0).tolist()


def _nearest(queries: Any, points: Any, m: int, are_first: bool) -> Any:
    """Return the m points (q, m) nearest to queries, which may themselves be the first points."""
    import torch
    from torch.nn.functional import pad

    norms = points.square().sum(dim=1)
    groups = max(m, -(-len(points) // _GROUP))
    missing = _GROUP * groups - len(points)
    points, norms = pad(points, (0, 0, 0, missing)), pad(norms, (0, missing), value=np.inf)
    parts = []
    for part in row_blocks(len(queries), block_rows(4 * len(points), BLOCK_BYTES)):
        squares = torch.addmm(norms, queries[part], points.T, alpha=-2)
        if are_first:
            squares.diagonal(part.start).fill_(np.inf)
        in_groups = squares.view(-1, _GROUP, groups)
        best = in_groups.amin(dim=1).topk(m, dim=1, largest=False, sorted=False).indices
        values = in_groups.gather(2, best[:, None].expand(-1, _GROUP, -1)).flatten(1)
        chosen = values.topk(m, dim=1, largest=False, sorted=False).indices
        parts.append(chosen // m * groups + best.gather(1, chosen % m))
    return torch.cat(parts)
