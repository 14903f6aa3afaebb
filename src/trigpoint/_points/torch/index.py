"""Points of a shard on a device: all of them up to some distance from a few queries."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._numerics.blocks import row_blocks
from trigpoint._points.torch.device import (
    blocks_ahead,
    device_memory,
    fits,
    to_device,
    working_memory,
)

# Share of the working memory that a block takes, and numbers held for each pair in it.
_BLOCK_SHARE = 4
_HELD = 8


class DeviceIndex:
    """Points on a device; those that do not fit are read from the host in blocks.

    Products in float64 find candidates. Differences, summed in the order of the columns, decide:
    every operation rounds as in the loops of the host, so that distances are the same, to the bit.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    device : torch.device
    """

    together = 256

    def __init__(self, points: np.ndarray, device: Any) -> None:
        self.points, self.device = points, device
        self.name = f"products on {device}"
        with device_memory(device):
            self._memory = working_memory(device)
            self._there = to_device(points, device) if fits(points.nbytes, device) else None
            self._center = to_device(points[: 2**11].mean(axis=0, dtype=np.float64), device)
        # Worst case of rounded products, norms, and differences from the center.
        self._rounding = 16 * (points.shape[1] + 8) * float(np.finfo(np.float64).eps)

    def up_to(
        self, queries: np.ndarray, squared_radii: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and exact squared distances of all points within a radius of each query."""
        with device_memory(self.device):
            found = list(self._found(queries, squared_radii))
        owners, rows, squares = (np.concatenate(values) for values in zip(*found, strict=True))
        order = np.argsort(owners, kind="stable")
        stops = np.searchsorted(owners[order], np.arange(len(queries) + 1))
        for q in range(len(queries)):
            own = order[stops[q] : stops[q + 1]]
            yield rows[own], squares[own]

    def copies(self, point: np.ndarray) -> np.ndarray:
        """Rows that equal a point in every coordinate."""
        ((rows, _),) = self.up_to(point[None], np.zeros(1))
        return rows[(self.points[rows] == point).all(axis=1)]

    def _found(self, queries: np.ndarray, squared_radii: np.ndarray) -> Iterator[list[np.ndarray]]:
        """Yield queries, rows and squared distances, block by block."""
        import torch

        asked = to_device(queries, self.device).double()
        upper = to_device(squared_radii, self.device)
        around = asked - self._center
        norms = (around * around).sum(dim=1)
        cuts = (upper - norms + self._rounding * (norms + upper))[:, None]
        multipliers = torch.cat([-2 * around, torch.ones_like(around[:, :1])], dim=1)
        width = 8 * (4 * asked.shape[1] + _HELD * len(asked))
        for part, block in self._blocks(max(1, self._memory // _BLOCK_SHARE // width)):
            points = block.double()
            places = points - self._center
            squares = (places * places).sum(dim=1, keepdim=True)
            products = multipliers @ torch.cat([places, squares], dim=1).T
            owners, rows = (products <= cuts).nonzero(as_tuple=True)
            exact = torch.zeros(len(rows), dtype=torch.float64, device=self.device)
            for column, query in zip(points.T, asked.T, strict=True):
                difference = column[rows] - query[owners]
                exact += difference * difference
            inside = exact <= upper[owners]
            found = owners[inside], rows[inside] + part.start, exact[inside]
            yield [values.cpu().numpy() for values in found]

    def _blocks(self, rows: int) -> Iterator[tuple[slice, Any]]:
        parts = row_blocks(len(self.points), rows)
        if self._there is None:
            return blocks_ahead(self.points, parts, self.device)
        return ((part, self._there[part]) for part in parts)
