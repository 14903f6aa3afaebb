"""Search for the nearest landmarks with PyTorch.

Float64 matrix products (in up to three dimensions, a grid) find candidates, and differences of
coordinates, summed in the order of the columns, decide between them. So a row gets the same
landmarks and the same squared distances in every block, and they are those of the host. With more
than 64 columns, differences would take longer than the products, whose distances are used instead.
"""

from typing import Any

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._numerics.blocks import row_blocks

# Most columns for which distances are computed from differences.
_EXACT_COLUMNS = 64

# Up to this many of the nearest are found faster by repeated minima than by sorting.
_FEW = 8

# Candidates found by products beyond those asked for, and the factor by which their number grows
# where rounding leaves open whether they include all of the nearest.
_SPARE = 2
_WIDER = 8

# Up to this dimension, space is divided into cells, this many for each landmark. A cell lists up to
# this many landmarks, which pays if there are at least this many rows for each cell.
_DIVIDED_DIMENSION = 3
_CELLS_PER_LANDMARK = 32
_LISTED = 64
_ROWS_PER_CELL = 2


class TorchSearch:
    """The landmarks on a device. All rows to search for are float64 tensors there.

    Parameters
    ----------
    landmarks : float64 ndarray of shape (k, d)
    device : torch.device
    n_bytes : int
        Memory for temporaries.
    """

    def __init__(self, landmarks: np.ndarray, device: Any, n_bytes: int) -> None:
        import torch

        self.places = to_device(landmarks, device)
        # Coordinates of one column lie side by side.
        self.columns = self.places.T.contiguous()
        self.n_features, self.k = self.columns.shape
        self._center = self.places.mean(dim=0)
        around = self.places - self._center
        norms = (around * around).sum(dim=1)
        self._factors = torch.cat([-2 * around, norms[:, None]], dim=1).T.contiguous()
        self._largest_norm = norms.max()
        # Worst case of rounded products, norms, and differences from the center.
        self._rounding = 4 * (self.n_features + 8) * float(np.finfo(np.float64).eps)
        self._n_bytes, self._n_rows = n_bytes, 0
        self._cells: dict[int, _Cells] = {}

    def expect(self, n: int) -> None:
        """Announce `n` more rows: where there are many, a grid pays. It changes no result."""
        self._n_rows += n

    @property
    def _is_divided(self) -> bool:
        return (
            self.n_features <= _DIVIDED_DIMENSION
            and self.k > _LISTED
            and self._n_rows >= _ROWS_PER_CELL * _CELLS_PER_LANDMARK * self.k
        )

    @property
    def row_bytes(self) -> int:
        """Bytes held for each row while it is compared with landmarks."""
        # The few rows beyond the grid are compared with all landmarks in blocks of their own.
        return 8 * 5 * _LISTED if self._is_divided else 8 * (2 * self.k + 4 * self.n_features)

    @property
    def rows_at_once(self) -> int:
        """Rows that may be compared with all landmarks at once."""
        return max(1, self._n_bytes // (32 * self.k))

    def nearest(self, X: Any, count: int) -> tuple[Any, Any]:
        """Landmarks and their squared distances, each of shape (b, count), nearest first."""
        count = min(count, self.k)
        if self.n_features > _EXACT_COLUMNS:
            return smallest(self.squares(X), count)
        if not self._is_divided:
            return self._by_products(X, count, count + _SPARE)
        if count not in self._cells:
            self._cells[count] = _Cells(self, count)
        listed, are_enough = self._cells[count].listed(X)
        found, squares = self._compared(X, listed, count)
        self._again(X, ~are_enough, found, squares, count + _SPARE)
        return found, squares

    def squares(self, X: Any) -> Any:
        """Squared distances (b, k) to all landmarks, by products."""
        products, norms = self._products(X)
        return products.add_(norms[:, None]).clamp_(min=0)

    def squares_to(self, X: Any, columns: Any) -> Any:
        """Squared distances (b, width) to some landmarks of each row, by differences."""
        squares = 0.0
        for axis, places in enumerate(self.columns):
            difference = X[:, axis, None] - places[columns]
            squares = squares + difference * difference
        return squares

    def _products(self, X: Any) -> tuple[Any, Any]:
        """Squared distances (b, k) less the rows' squared norms, and these norms."""
        import torch

        around = X - self._center
        norms = (around * around).sum(dim=1)
        return torch.cat([around, torch.ones_like(norms)[:, None]], dim=1) @ self._factors, norms

    def _by_products(self, X: Any, count: int, width: int) -> tuple[Any, Any]:
        """The nearest among the `width` landmarks with the smallest products; more if in doubt."""
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
        """Replace what was found for some of the rows by the nearest among more candidates."""
        doubtful = doubtful.nonzero()[:, 0]
        for part in row_blocks(len(doubtful), max(1, self.rows_at_once // _WIDER)):
            rows = doubtful[part]
            found[rows], squares[rows] = self._by_products(X[rows], found.shape[1], width)

    def _compared(self, X: Any, candidates: Any, count: int) -> tuple[Any, Any]:
        """The nearest of candidates, which are in ascending order: the first of equal ones."""
        squares = self.squares_to(X, candidates)
        if count <= _FEW:
            order, squares = smallest(squares, count)
        else:
            squares, order = squares.sort(dim=1, stable=True)
        return candidates.gather(1, order[:, :count]).long(), squares[:, :count]


class _Cells:
    """Cells of a grid; each lists the landmarks that may be nearest to a point inside it."""

    def __init__(self, search: TorchSearch, count: int) -> None:
        import torch

        k, d = search.k, search.n_features
        side = max(1, round((_CELLS_PER_LANDMARK * k) ** (1 / d)))
        ordered = search.places.sort(dim=0).values
        # Points lie beyond the outermost landmarks, by about the distance between two of them.
        margin = 2 * (ordered[-1] - ordered[0]).max() / k**0.5
        inner = ordered[torch.arange(side + 1, device=ordered.device) * (k - 1) // side]
        edges = torch.cat([ordered[:1] - margin, inner, ordered[-1:] + margin])
        self._edges = list(edges.T.contiguous())
        middles = torch.cartesian_prod(*((edges[1:] + edges[:-1]) / 2).T).view(-1, d)
        halves = torch.cartesian_prod(*((edges[1:] - edges[:-1]) / 2).T).view(-1, d)
        self._listed = torch.empty((len(middles), _LISTED), dtype=torch.int32, device=edges.device)
        self._complete = torch.empty(len(middles), dtype=torch.bool, device=edges.device)
        for part in row_blocks(len(middles), search.rows_at_once):
            distances = torch.cdist(middles[part], search.places)
            near = distances.topk(_LISTED + 1, dim=1, largest=False, sorted=True)
            # From anywhere in the cell, distances differ from the middle's by half its diagonal.
            reach = near.values[:, count - 1] + 2 * halves[part].norm(dim=1)
            self._complete[part] = near.values[:, -1] > (1 + 1e-9) * reach
            self._listed[part] = near.indices[:, :_LISTED].sort(dim=1).values.int()

    def listed(self, X: Any) -> tuple[Any, Any]:
        """Landmarks (b, 64) to compare rows with, ascending, and whether these suffice (b,)."""
        import torch

        cells, inside = 0, True
        for along, edges in zip(X.T, self._edges, strict=True):
            slabs = torch.bucketize(along.contiguous(), edges) - 1
            inside = (slabs >= 0) & (slabs < len(edges) - 1) & inside
            cells = cells * (len(edges) - 1) + slabs.clamp_(0, len(edges) - 2)
        return self._listed[cells], self._complete[cells] & inside


def smallest(values: Any, count: int) -> tuple[Any, Any]:
    """Columns and values of the smallest entries of each row, in order; overwrites `values`.

    Of up to eight equal entries, the first are taken.
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
