"""Search for the nearest landmarks with PyTorch.

Float64 matrix products find candidates (in up to three dimensions, a grid does), and differences of
coordinates, summed in the order of the columns, decide between them. A row therefore gets the same
landmarks and squared distances in every block, equal to those on the host. Above 64 columns,
differences would take longer than the products, so distances from products are used.
"""

from typing import Any

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._neighbors.torch_cells import TorchCells
from trigpoint._numerics.blocks import row_blocks

# Maximum number of columns for which distances are computed from differences.
_EXACT_COLUMNS = 64

# Up to this many neighbors, repeated minima are faster than sorting.
_FEW = 8

# Number of extra candidates from products, and factor by which to increase the number of candidates
# while rounding may have excluded some of the nearest landmarks.
_SPARE = 2
_WIDER = 8

# Up to this dimension, space is divided into a grid with this many cells per landmark.
_DIVIDED_DIMENSION = 3
_CELLS_PER_LANDMARK = 64
# Number of landmarks listed per cell. The shortest list that suffices is used.
_LISTED = 16, 24, 64
# Minimum number of rows per cell for the grid to pay off.
_ROWS_PER_CELL = 2


class TorchSearch:
    """Search among landmarks (k, d) on a device, for rows that are float64 tensors on it.

    Temporaries take up to `n_bytes`. With `in_cells`, landmarks are searched in `TorchCells`, which
    is fast for very many landmarks but may miss some of the nearest ones.
    """

    def __init__(
        self, landmarks: np.ndarray, device: Any, n_bytes: int, in_cells: bool = False
    ) -> None:
        import torch

        self.places = to_device(landmarks, device)
        # Coordinates of one column are contiguous.
        self.columns = self.places.T.contiguous()
        self.n_features, self.k = self.columns.shape
        self._grouped = TorchCells(self.places, np.random.default_rng(0)) if in_cells else None
        self._center = self.places.mean(dim=0)
        around = self.places - self._center
        norms = (around * around).sum(dim=1)
        self._factors = torch.cat([-2 * around, norms[:, None]], dim=1).T.contiguous()
        self._largest_norm = norms.max()
        # Worst-case rounding of products, norms, and differences from the center.
        self._rounding = 4 * (self.n_features + 8) * float(np.finfo(np.float64).eps)
        self._n_bytes, self._n_rows = n_bytes, 0
        self._cells: dict[int, _Cells] = {}

    def expect(self, n: int) -> None:
        """Announce `n` more rows, so that a grid is built if it pays off; results do not change."""
        self._n_rows += n

    @property
    def _is_divided(self) -> bool:
        return (
            self.n_features <= _DIVIDED_DIMENSION
            and self.k > _LISTED[-1]
            and self._n_rows >= _ROWS_PER_CELL * _CELLS_PER_LANDMARK * self.k
        )

    @property
    def row_bytes(self) -> int:
        """Bytes per row while it is compared with landmarks."""
        if self._grouped is not None:
            return 8 * 8 * (self.n_features + 1)
        # The few rows beyond the grid are compared with all landmarks in separate blocks.
        return 8 * 5 * _LISTED[-1] if self._is_divided else 8 * (2 * self.k + 4 * self.n_features)

    @property
    def rows_at_once(self) -> int:
        """Maximum number of rows to compare with all landmarks at once."""
        return max(1, self._n_bytes // (32 * self.k))

    def nearest(self, X: Any, count: int) -> tuple[Any, Any]:
        """Return landmarks and squared distances, each of shape (b, count), nearest first."""
        import torch

        count = min(count, self.k)
        if self._grouped is not None:
            return self._compared(X, self._grouped.nearest(X, count + _SPARE).sort().values, count)
        if self.n_features > _EXACT_COLUMNS:
            return smallest(self.squares(X), count)
        if not self._is_divided:
            return self._by_products(X, count, count + _SPARE)
        if count not in self._cells:
            self._cells[count] = _Cells(self, count)
        found = X.new_empty((len(X), count), dtype=torch.int64)
        squares = X.new_empty((len(X), count))
        cells, levels = self._cells[count].of(X)
        for level, listed in enumerate(self._cells[count].lists):
            rows = (levels == level).nonzero()[:, 0]
            found[rows], squares[rows] = self._compared(X[rows], listed[cells[rows]], count)
        self._again(X, levels == len(_LISTED), found, squares, count + _SPARE)
        return found, squares

    def squares(self, X: Any) -> Any:
        """Return squared distances (b, k) to all landmarks, from products."""
        products, norms = self._products(X)
        return products.add_(norms[:, None]).clamp_(min=0)

    def squares_to(self, X: Any, columns: Any) -> Any:
        """Return squared distances (b, width) to some landmarks of each row, from differences."""
        squares = 0.0
        for axis, places in enumerate(self.columns):
            difference = X[:, axis, None] - places[columns]
            squares = squares + difference * difference
        return squares

    def _products(self, X: Any) -> tuple[Any, Any]:
        """Return squared distances (b, k) minus the rows' squared norms, and the norms."""
        import torch

        around = X - self._center
        norms = (around * around).sum(dim=1)
        return torch.cat([around, torch.ones_like(norms)[:, None]], dim=1) @ self._factors, norms

    def _by_products(self, X: Any, count: int, width: int) -> tuple[Any, Any]:
        """Search the `width` nearest landmarks by products, or more if rounding leaves doubt."""
        import torch

        if width >= self.k:
            everything = torch.arange(self.k, device=X.device).expand(len(X), -1)
            return self._compared(X, everything, count)
        products, norms = self._products(X)
        candidates, values = smallest(products, width)
        del products
        found, squares = self._compared(X, candidates.sort(dim=1).values, count)
        slack = self._rounding * (norms + self._largest_norm)
        doubtful = ~(squares[:, -1] < values.amax(dim=1) + norms - slack)
        self._again(X, doubtful, found, squares, _WIDER * width)
        return found, squares

    def _again(self, X: Any, doubtful: Any, found: Any, squares: Any, width: int) -> None:
        """Search for `doubtful` rows among more candidates, and replace what was found."""
        doubtful = doubtful.nonzero()[:, 0]
        for part in row_blocks(len(doubtful), max(1, self.rows_at_once // _WIDER)):
            rows = doubtful[part]
            found[rows], squares[rows] = self._by_products(X[rows], found.shape[1], width)

    def _compared(self, X: Any, candidates: Any, count: int) -> tuple[Any, Any]:
        """Return the nearest of ascending candidates; ties go to the first."""
        squares = self.squares_to(X, candidates)
        if count <= _FEW:
            order, squares = smallest(squares, count)
        else:
            squares, order = squares.sort(dim=1, stable=True)
        return candidates.gather(1, order[:, :count]).long(), squares[:, :count]


class _Cells:
    """Cells of a grid; each lists the landmarks that may be nearest to a point inside it.

    For each number of `_LISTED`, `lists` has as many ascending landmarks of every cell.
    """

    def __init__(self, search: TorchSearch, count: int) -> None:
        import torch

        k, d = search.k, search.n_features
        side = max(1, round((_CELLS_PER_LANDMARK * k) ** (1 / d)))
        ordered = search.places.sort(dim=0).values
        # Extend the grid, since points may lie outside the landmarks by about their spacing.
        margin = 2 * (ordered[-1] - ordered[0]).max() / k**0.5
        inner = ordered[torch.arange(side + 1, device=ordered.device) * (k - 1) // side]
        edges = torch.cat([ordered[:1] - margin, inner, ordered[-1:] + margin])
        self._edges = list(edges.T.contiguous())
        middles = torch.cartesian_prod(*((edges[1:] + edges[:-1]) / 2).T).view(-1, d)
        halves = torch.cartesian_prod(*((edges[1:] - edges[:-1]) / 2).T).view(-1, d)
        self.lists = [
            torch.empty((len(middles), width), dtype=torch.int32, device=edges.device)
            for width in _LISTED
        ]
        self._levels = torch.empty(len(middles), dtype=torch.int8, device=edges.device)
        for part in row_blocks(len(middles), search.rows_at_once):
            distances = torch.cdist(middles[part], search.places)
            near = distances.topk(_LISTED[-1] + 1, dim=1, largest=False, sorted=True)
            # Within a cell, distances differ from those at its center by at most half its diagonal.
            reach = near.values[:, count - 1] + 2 * halves[part].norm(dim=1)
            beyond = near.values[:, list(_LISTED)]
            self._levels[part] = (beyond <= (1 + 1e-9) * reach[:, None]).sum(dim=1)
            for listed, width in zip(self.lists, _LISTED, strict=True):
                listed[part] = near.indices[:, :width].sort(dim=1).values.int()

    def of(self, X: Any) -> tuple[Any, Any]:
        """Return the cells (b,) of rows, and which of `lists` (b,) is the first that suffices."""
        import torch

        cells, inside = 0, True
        for along, edges in zip(X.T, self._edges, strict=True):
            slabs = torch.bucketize(along.contiguous(), edges) - 1
            inside = (slabs >= 0) & (slabs < len(edges) - 1) & inside
            cells = cells * (len(edges) - 1) + slabs.clamp_(0, len(edges) - 2)
        return cells, torch.where(inside, self._levels[cells], len(_LISTED))


def smallest(values: Any, count: int) -> tuple[Any, Any]:
    """Return columns and values of the smallest entries of each row; overwrites `values`.

    They are sorted, and for a `count` up to eight, ties go to the first columns.
    """
    import torch

    if count > _FEW:
        found = values.topk(count, dim=1, largest=False, sorted=True)
        return found.indices, found.values
    columns, least = [], []
    for _ in range(count):
        value, column = values.min(dim=1, keepdim=True)
        values.scatter_(1, column, np.inf)
        least.append(value)
        columns.append(column)
    return torch.cat(columns, dim=1), torch.cat(least, dim=1)
