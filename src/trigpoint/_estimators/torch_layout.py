"""The layout of a map of all rows on a device, with PyTorch.

The steps are those of `_layout`; the forces are computed in single precision. Attraction sums over
the neighbors of a row in a fixed order. For repulsion, the masses are spread to the nodes of a grid
by cubic B-splines, convolved with the kernels by FFT, and interpolated by the same splines, whose
smoothing is divided out. Masses on the grid are sums of integers, which do not depend on the order
in which they are added: a device gives the same map every time.

References
----------
G. C. Linderman and others, "Fast interpolation-based t-SNE for improved visualization of single-
cell RNA-seq data", Nature Methods, 2019 (repulsion on a grid). U. Essmann and others, "A smooth
particle mesh Ewald method", J. Chemical Physics, 1995 (B-splines).
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._layout import REACH, optimized
from trigpoint._neighbors.cells import candidates_per_row
from trigpoint._neighbors.torch_cells import BLOCK_BYTES, TorchCells
from trigpoint._numerics.blocks import Run, block_rows, row_blocks
from trigpoint._numerics.projection import SEARCHED
from trigpoint._pool import DevicePool

# Number of bisection steps for the bandwidth of each row, which exhaust single precision.
_BISECTIONS = 40

# Size of the sample that decides how many candidates are compared in all columns, and their maximum
# number per neighbor.
_SAMPLE = 20_000
_MOST_PER_NEIGHBOR = 4

# Number of pairs to compute attraction for at once, and of rows to spread to the grid at once.
_PAIRS = 2**24
_ROWS = 2**21

# Distance between nodes, by the number of axes, for which forces are accurate to about 1 %. Large
# maps get wider grids, since the transforms would take longer than everything else: the number of
# nodes is limited along each axis, and in total per row.
_SPACING = {1: 0.2, 2: 0.4, 3: 0.5}
_MOST_NODES = {1: 2**20, 2: 2**13, 3: 2**8}
_NODES_PER_ROW = 16
_FEWEST_NODES = 256
# Number of nodes of a spline along each axis, and of nodes beyond the map.
_SPLINE = 4
_BEYOND = 6
# Extent of a new grid relative to the map, and extent above which a grid is replaced. Every new
# grid requires transforms of the kernels.
_ROOM, _MOST_ROOM = 1.1, 4.0

# Masses on the grid sum to 1 and are stored as integers, in units of 2**-_BITS.
_BITS = 60


class Attraction(NamedTuple):
    """Pairs of neighbors, ordered by row: row, neighbor, and attraction at distance 0."""

    rows: Any
    columns: Any
    pulls: Any
    starts: Any


class DeviceForces:
    """Attraction and repulsion between rows on a device, with rows in the order of their cells."""

    def __init__(self, order: Any, masses: Any, pairs: Attraction) -> None:
        # The landmarks (k,) by cell, and their masses (k,) in this order, with sum 1.
        import torch

        self.order, self.masses, self._pairs = order, masses, pairs
        self.pulls = torch.segment_reduce(pairs.pulls, "sum", offsets=pairs.starts, unsafe=True)
        self._units = masses.double() * 2.0**_BITS
        self._own = float(masses.double().square().sum())
        self._spacing, self._nodes = 0.0, 0
        self._kernels: list[Any] = []
        bounds = [0]
        starts = pairs.starts.cpu().numpy()
        while bounds[-1] < len(masses):
            stop = int(np.searchsorted(starts, starts[bounds[-1]] + _PAIRS, side="right")) - 1
            bounds.append(min(max(stop, bounds[-1] + 1), len(masses)))
        # Parts of the rows, with their pairs.
        self._parts = {
            (first, last): slice(int(starts[first]), int(starts[last]))
            for first, last in pairwise(bounds)
        }

    @classmethod
    def of(cls, pool: DevicePool, counted: np.ndarray, perplexity: int, run: Run) -> "DeviceForces":
        """Find neighbors among the distinct rows of a pool, and measure their affinities.

        Attraction is based on distances in all columns. `counted` holds the masses.
        """
        points, searched = pool.there, pool.there
        k = len(points)
        m = candidates = min(REACH * perplexity, k - 1)
        if points.shape[1] > SEARCHED:
            searched = pool.inside
            some = to_device(np.sort(run.rng.permutation(k)[:_SAMPLE]), points.device)
            outer, inner = (rows[some].cpu().numpy() for rows in (points, searched))
            candidates = min(candidates_per_row(outer, inner, m, run.rng), _MOST_PER_NEIGHBOR * m)
        cells = TorchCells(searched, run.rng)
        neighbors, squares = _nearest_of(points, cells.order, cells.neighbors(candidates), m)
        _finish(points)
        run.done("neighbors")
        masses = to_device(counted, points.device)[cells.order]
        shares = _shares(squares, min(perplexity, max(1.0, m / REACH)))
        pairs = _symmetric(neighbors, shares, masses)
        _finish(points)
        return cls(cells.order, (masses / masses.sum()).float(), pairs)

    def layout(self, start: np.ndarray, **options: Any) -> np.ndarray:
        """Lay out the landmarks from the positions (k, l), as `layout` does on the host."""
        points = to_device(start, self.masses.device)[self.order].float()
        ordered = optimized(self, points, **options)
        ordered[self.order] = ordered.clone()
        return ordered.double().cpu().numpy()

    def mean(self, values: Any) -> Any:
        """Return the mean (l,) of values (k, l), weighted by the masses."""
        return (self.masses[:, None] * values).sum(dim=0)

    def attraction(self, points: Any, part: slice, decay: float = 1.0) -> Any:
        """Return the attraction (b, l) that neighbors exert on a part of the rows."""
        import torch

        rows, columns, pulls, starts = self._pairs
        offsets, pairs = starts[part.start : part.stop + 1], self._parts[part.start, part.stop]
        gaps = points.index_select(0, columns[pairs]) - points.index_select(0, rows[pairs])
        squares = sum(gap * gap for gap in gaps.unbind(1))
        gaps *= (pulls[pairs] / (1 + decay * squares))[:, None]
        return torch.segment_reduce(gaps, "sum", offsets=offsets - pairs.start, unsafe=True)

    def over_parts(self, function: Callable[[slice], None]) -> Iterator[None]:
        """Call a function for parts of the rows."""
        return map(function, (slice(*part) for part in self._parts))

    def repulsion(self, points: Any) -> Any:
        """Return the repulsion (k, l) that all other rows exert on each row."""
        import torch

        low = points.amin(dim=0)
        self._prepare(float((points.amax(dim=0) - low).max()), points)
        dimension, nodes = points.shape[1], self._nodes
        sizes, padded = (nodes,) * dimension, (2 * nodes,) * dimension
        units = torch.zeros(nodes**dimension, dtype=torch.int64, device=points.device)
        for part in row_blocks(len(points), _ROWS):
            at, weights = self._splines(points[part] - low)
            weights = weights.double() * self._units[part, None]
            units.index_add_(0, at.flatten(), weights.round_().long().flatten())
        masses = (units.double() * 2.0**-_BITS).float().view(sizes)
        transform = torch.fft.rfftn(masses, padded)
        sums, *forces = self._kernels
        # By Parseval's theorem, this is the total over all rows. The last axis holds half of the
        # frequencies.
        power = (transform.abs().square() * sums.real).view(-1, nodes + 1)
        power = power.sum(dim=0, dtype=torch.float64)
        total = (2 * power.sum() - power[0] - power[-1]) / (2 * nodes) ** dimension - self._own
        inside = tuple(slice(nodes) for _ in range(dimension))
        fields = [
            torch.fft.irfftn(transform * kernel, padded)[inside].flatten() for kernel in forces
        ]
        result = torch.empty_like(points)
        for part in row_blocks(len(points), _ROWS):
            at, weights = self._splines(points[part] - low)
            for axis, field in enumerate(fields):
                near = field.index_select(0, at.flatten()).view(at.shape)
                result[part, axis] = (weights * near).sum(dim=1)
        return result / total

    def _prepare(self, extent: float, points: Any) -> None:
        """Choose the grid for a map of this extent, and transform the kernels for it."""
        import torch

        dimension, device = points.shape[1], points.device
        reach = self._spacing * (self._nodes - _BEYOND)
        if extent <= reach <= _MOST_ROOM * extent:
            return
        extent *= _ROOM
        affordable = max((_NODES_PER_ROW * len(points)) ** (1 / dimension), _FEWEST_NODES)
        nodes = min(extent / _SPACING[dimension] + _BEYOND, affordable, _MOST_NODES[dimension])
        # FFTs of these sizes are fast.
        power = 2 ** math.ceil(math.log2(nodes))
        self._nodes = 3 * power // 4 if nodes <= 3 * power // 4 else power
        self._spacing = max(_SPACING[dimension], extent / (self._nodes - _BEYOND))
        count = 2 * self._nodes
        squares, smoothing, steps = 0.0, 1.0, []
        for axis in range(dimension):
            shape = [1] * dimension
            shape[axis] = -1
            steps.append(
                self._spacing * count * torch.fft.fftfreq(count, device=device).view(shape)
            )
            is_last = axis == dimension - 1
            found = (torch.fft.rfftfreq if is_last else torch.fft.fftfreq)(count, device=device)
            squares = squares + steps[-1] ** 2
            smoothing = smoothing * torch.sinc(found.view(shape)) ** (2 * _SPLINE)
        kernel = 1 / (1 + squares)
        self._kernels = [torch.fft.rfftn(kernel) / smoothing]
        self._kernels += [torch.fft.rfftn(kernel * kernel * step) / smoothing for step in steps]

    def _splines(self, around: Any) -> tuple[Any, Any]:
        """Return nodes and weights (b, 4^l) of the splines of positions (b, l) >= 0."""
        import torch

        places = around / self._spacing + 2
        floors = places.floor()
        t = places - floors
        weights = (1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, 3 * (t + t**2 - t**3) + 1, t**3
        splines = torch.stack(weights, dim=2) / 6
        steps = torch.arange(-1, 3, dtype=torch.int32, device=t.device)
        nodes = floors.int()[:, :, None] + steps
        at, products = nodes[:, 0], splines[:, 0]
        for axis in range(1, around.shape[1]):
            at = (at[:, :, None] * self._nodes + nodes[:, axis, None]).flatten(1)
            products = (products[:, :, None] * splines[:, axis, None]).flatten(1)
        return at, products


def _finish(tensor: Any) -> None:
    """Wait for the device, so that work is timed in the stage that started it."""
    import torch

    if tensor.device.type == "cuda":
        torch.cuda.synchronize(tensor.device)


def _nearest_of(points: Any, order: Any, candidates: Any, m: int) -> tuple[Any, Any]:
    """Return the m nearest (k, m) of the candidates (k, c) of each point, and squared distances.

    Results and candidates are positions in `order`, rows of `points`.
    """
    import torch

    k, count = candidates.shape
    found = candidates.new_empty((k, m))
    squares = torch.empty((k, m), dtype=points.dtype, device=points.device)
    for part in row_blocks(k, block_rows(points.itemsize * count * points.shape[1], BLOCK_BYTES)):
        near = points[order[candidates[part]]]
        near -= points[order[part], None]
        distances = torch.linalg.vecdot(near, near)
        if count == m:
            found[part], squares[part] = candidates[part], distances
            continue
        nearest = distances.topk(m, dim=1, largest=False, sorted=False)
        squares[part] = nearest.values
        found[part] = candidates[part].gather(1, nearest.indices)
    return found, squares


def _shares(squares: Any, perplexity: float) -> Any:
    """Return Gaussian shares (k, m) of squared distances; see `calibrate`."""
    import torch

    k, m = squares.shape
    squares = squares - squares.amin(dim=1, keepdim=True)
    spread = squares.mean(dim=1, keepdim=True)
    excess = (squares / torch.where(spread > 0, spread, 1.0)).float()
    target = math.log(perplexity)
    for part in row_blocks(k, block_rows(4 * m, BLOCK_BYTES)):
        above = excess[part]
        low, high = above.new_zeros(len(above), 1), above.new_full((len(above), 1), np.inf)
        precision = torch.ones_like(low)
        for _ in range(_BISECTIONS):
            found = torch.exp(-precision * above)
            total = found.sum(dim=1, keepdim=True)
            entropy = total.log() + precision * (found * above).sum(dim=1, keepdim=True) / total
            is_wide = entropy > target
            low, high = torch.where(is_wide, precision, low), torch.where(is_wide, high, precision)
            precision = torch.where(high.isinf(), 2 * precision, (low + high) / 2)
        found = torch.exp(-precision * above)
        excess[part] = found / found.sum(dim=1, keepdim=True)
    return excess


def _symmetric(neighbors: Any, shares: Any, masses: Any) -> Attraction:
    """Return the pairs of neighbors in either direction; see `affinities`.

    The affinity of rows i and j is the sum of both directions, each weighted by the mass of its
    row. Divided by the mass of i, it is the attraction on i at distance 0.
    """
    import torch

    k, m = neighbors.shape
    rows = torch.arange(k, device=masses.device).repeat_interleave(m)
    columns, shares = neighbors.flatten().long(), shares.flatten() / 2
    back = shares * (masses[rows] / masses[columns]).float()
    keys, order = torch.cat([rows * k + columns, columns * k + rows]).sort(stable=True)
    del rows, columns
    pulls = torch.cat([shares, back])[order]
    del order
    # A pair occurs at most twice.
    is_again = keys[1:] == keys[:-1]
    pulls[:-1] += torch.where(is_again, pulls[1:], 0.0)
    kept = torch.cat([is_again.new_ones(1), ~is_again])
    keys, pulls = keys[kept], pulls[kept]
    rows, columns = keys // k, (keys % k).int()
    starts = torch.searchsorted(rows, torch.arange(k + 1, device=rows.device))
    return Attraction(rows.int(), columns, pulls, starts)
