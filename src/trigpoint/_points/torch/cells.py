"""Points on a device in the order of a grid's cells, so that a search reads only those near it.

Slabs hold equally many points along each axis, so that neither outliers nor dense spots leave most
points in one cell.
"""

from typing import Any

import numpy as np

from trigpoint._numerics.blocks import row_blocks

# Axes that are divided: those along which points spread most.
_AXES = 3

# Most cells, fewest points in a cell on average, and fewest points that are worth a grid.
_MOST_CELLS = 2**15
_IN_A_CELL = 64
FEWEST_POINTS = 2**12

# Most slabs along one axis, by the number of axes; points that edges are measured from; points that
# are looked up at once.
_MOST_SLABS = {1: 2**15, 2: 2**10, 3: 2**7}
_MEASURED = 2**16
_LOOKED_UP = 2**26


class Cells:
    """Points (n, d) of a device in the order of their cells.

    Attributes
    ----------
    points : tensor of shape (n, d)
        A copy in this order.
    rows : int32 tensor of shape (n,)
        Where they came from.
    """

    def __init__(self, points: Any) -> None:
        import torch

        n, d = points.shape
        some = points[:: max(1, n // _MEASURED)]
        spread = some.double().std(dim=0)
        self._axes = spread.argsort(descending=True, stable=True)[: min(d, _AXES)].tolist()
        edges = self._edges(some, min(_MOST_CELLS, max(1, n // _IN_A_CELL)))
        keys = torch.empty(n, dtype=torch.int32, device=points.device)
        for part in row_blocks(n, _LOOKED_UP):
            keys[part] = self._keys(points[part], edges)
        keys, order = keys.sort(stable=True)
        self.points, self.rows = points[order], order.int()
        del order
        sides = [len(inner) + 1 for inner in edges]
        numbers = torch.arange(int(np.prod(sides)) + 1, dtype=torch.int32, device=points.device)
        starts = torch.searchsorted(keys, numbers)
        occupied = starts.diff().nonzero()[:, 0]
        self._starts, self._counts = starts[occupied], starts.diff()[occupied]
        slabs = np.unravel_index(occupied.cpu().numpy(), sides)
        self._slabs = [torch.as_tensor(along, device=points.device) for along in slabs]
        endless = torch.full((1,), np.inf, dtype=torch.float64, device=points.device)
        self._bounds = [
            (torch.cat([-endless, inner.double()]), torch.cat([inner.double(), endless]))
            for inner in edges
        ]

    def _edges(self, some: Any, most: int) -> list[Any]:
        """Edges between slabs, as many as leave at most `most` cells occupied."""
        import torch

        slabs = _MOST_SLABS[len(self._axes)]
        along = [some[:, axis].sort().values for axis in self._axes]
        while True:
            places = torch.arange(1, slabs, device=some.device) * len(some) // slabs
            edges = [values[places] for values in along]
            if slabs == 1 or len(self._keys(some, edges).unique()) <= most:
                return edges
            slabs //= 2

    def _keys(self, points: Any, edges: list[Any]) -> Any:
        """Numbers of the cells that points are in."""
        import torch

        keys = 0
        for axis, inner in zip(self._axes, edges, strict=True):
            along = torch.bucketize(points[:, axis].contiguous(), inner, out_int32=True)
            keys = keys * (len(inner) + 1) + along
        return keys

    def near(self, queries: Any, squares: Any) -> tuple[Any, Any]:
        """Queries, and places in this order, of points that may be within squared distances (q,).

        In the order of the queries. All other points are farther, up to rounding.
        """
        import torch

        bounds = 0.0
        for axis, (low, high), slabs in zip(self._axes, self._bounds, self._slabs, strict=True):
            along = queries[:, axis, None]
            gaps = torch.maximum(low - along, along - high).clamp_(min=0)
            bounds = bounds + (gaps * gaps)[:, slabs]
        owners, cells = (bounds <= squares[:, None]).nonzero(as_tuple=True)
        counts = self._counts[cells]
        shifts = self._starts[cells] - (counts.cumsum(0) - counts)
        owners = owners.repeat_interleave(counts)
        places = shifts.repeat_interleave(counts)
        places += torch.arange(len(places), device=places.device)
        return owners, places
