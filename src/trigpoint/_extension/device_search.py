"""The nearest landmarks of many points, by PyTorch on a device.

All distances that are returned are float64. Only the search in low dimension may use float32, where
rounding makes no difference.
"""

from typing import Any

import numpy as np

from trigpoint._numerics.blocks import row_blocks
from trigpoint._numerics.nearest import Centered, ProductSearch, TreeSearch
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION
from trigpoint._points.torch.device import to_device

# Up to this many of the nearest are found faster by repeated minima than by sorting.
_FEW = 8

# Landmarks in a group. The minimum of each group is kept, so that the next smallest distance is
# found without reading all of them again.
_GROUP = 64

# Spare landmarks that a search in float32 keeps beyond those asked for, and a bound on its rounding
# error relative to a squared distance.
_SPARE = 2
_ROUNDING_SHARE = 1e-3

# Squared distances from the center beyond which float32 may overflow.
_LARGE = 1e60

# Up to this dimension, space is divided into cells, this many for each landmark. A cell lists up to
# this many landmarks, which pays if there are at least this many points for each cell.
_DIVIDED_DIMENSION = 3
_CELLS_PER_LANDMARK = 32
_LISTED = 64
_POINTS_PER_CELL = 2


class DeviceLandmarks:
    """Landmarks around their center, on a device.

    Parameters
    ----------
    search : TreeSearch or ProductSearch
        The host's.
    device : torch.device
    n_bytes : int
        For what a block of points is compared with.
    """

    def __init__(
        self, search: TreeSearch | ProductSearch | Centered, device: Any, n_bytes: int
    ) -> None:
        import torch

        landmarks = search.landmarks.astype(np.float64)
        if isinstance(search, Centered):
            landmarks = landmarks + search.center
        # Of a few digits, so that differences from it are nearly always exact.
        center = torch.from_numpy(landmarks.mean(axis=0)).to(torch.bfloat16).double()
        self.center = center.to(device)
        self.places = to_device(landmarks, device) - self.center
        self.norms = (self.places * self.places).sum(dim=1)
        self.n_features = landmarks.shape[1]
        self.factors = torch.cat([-2 * self.places, self.norms[:, None]], dim=1).T.contiguous()
        # Filled up to whole groups, with landmarks that are infinitely far.
        missing = -len(landmarks) % _GROUP
        nowhere = torch.zeros((self.n_features + 1, missing), device=device)
        nowhere[-1] = np.inf
        self.single_factors = torch.cat([self.factors.float(), nowhere], dim=1)
        self.rounding = 16 * (self.n_features + 8) * float(np.finfo(np.float32).eps)
        self.largest_norm = float(self.norms.max())
        self._n_bytes = n_bytes
        self._cells: dict[int, _LandmarkCells] = {}

    def __len__(self) -> int:
        return len(self.places)

    def compared_bytes(self, in_cells: bool) -> int:
        """Bytes for comparing one point, with the landmarks of its cell or with all of them."""
        if in_cells:
            return 8 * 5 * _LISTED
        # In low dimension, one matrix of products in float32, and the rest is small.
        return 8 * len(self) * (1 if self.n_features <= TREE_MAX_DIMENSION else 4)

    @property
    def rows_at_once(self) -> int:
        """Points that may be compared with all landmarks at once, in float64."""
        return max(1, self._n_bytes // (2 * self.compared_bytes(in_cells=False)))

    def is_divided_for(self, n_points: int) -> bool:
        """Whether there are enough points to make cells worthwhile."""
        return (
            self.n_features <= _DIVIDED_DIMENSION
            and len(self) > _LISTED
            and n_points >= _POINTS_PER_CELL * _CELLS_PER_LANDMARK * len(self)
        )

    def cells(self, count: int) -> "_LandmarkCells":
        """Cells that list the landmarks that may be among the `count` nearest."""
        if count not in self._cells:
            self._cells[count] = _LandmarkCells(self, count)
        return self._cells[count]


class _LandmarkCells:
    """Cells of a grid; each lists the landmarks that may be nearest to a point inside it."""

    def __init__(self, landmarks: DeviceLandmarks, count: int) -> None:
        import torch

        k, d = len(landmarks), landmarks.n_features
        side = max(1, round((_CELLS_PER_LANDMARK * k) ** (1 / d)))
        ordered = landmarks.places.sort(dim=0).values
        # Points lie beyond the outermost landmarks, by about the distance between two of them.
        margin = 2 * (ordered[-1] - ordered[0]).max() / k**0.5
        inner = ordered[torch.arange(side + 1, device=ordered.device) * (k - 1) // side]
        edges = torch.cat([ordered[:1] - margin, inner, ordered[-1:] + margin])
        self._edges = list(edges.T.contiguous())
        middles = torch.cartesian_prod(*((edges[1:] + edges[:-1]) / 2).T).view(-1, d)
        halves = torch.cartesian_prod(*((edges[1:] - edges[:-1]) / 2).T).view(-1, d)
        self._listed = torch.empty((len(middles), _LISTED), dtype=torch.int32, device=edges.device)
        self._complete = torch.empty(len(middles), dtype=torch.bool, device=edges.device)
        for part in row_blocks(len(middles), landmarks.rows_at_once):
            distances = torch.cdist(middles[part], landmarks.places)
            near = distances.topk(_LISTED + 1, dim=1, largest=False, sorted=True)
            # From anywhere in the cell, distances differ from the middle's by half its diagonal.
            reach = near.values[:, count - 1] + 2 * halves[part].norm(dim=1)
            self._complete[part] = near.values[:, -1] > (1 + 1e-9) * reach
            # By number, so that of equally near landmarks the first is taken.
            self._listed[part] = near.indices[:, :_LISTED].sort(dim=1).values.int()

    def listed(self, places: Any) -> tuple[Any, Any]:
        """Landmarks (b, 64) to compare points with, and whether these suffice (b,)."""
        import torch

        cells, inside = 0, True
        for along, edges in zip(places.T, self._edges, strict=True):
            slabs = torch.bucketize(along.contiguous(), edges) - 1
            inside = (slabs >= 0) & (slabs < len(edges) - 1) & inside
            cells = cells * (len(edges) - 1) + slabs.clamp_(0, len(edges) - 2)
        return self._listed[cells], self._complete[cells] & inside


class DeviceBlock:
    """A block of points, and its distances to the landmarks."""

    def __init__(self, landmarks: DeviceLandmarks, X: Any, *, in_cells: bool = False) -> None:
        import torch

        self.landmarks, self._in_cells = landmarks, in_cells
        self.around = X.double() - landmarks.center
        self.norms = (self.around * self.around).sum(dim=1)
        ones = torch.ones_like(self.norms)
        self._multipliers = torch.cat([self.around, ones[:, None]], dim=1)

    def squares(self) -> Any:
        """Squared distances (b, k) to all landmarks."""
        products = self._multipliers @ self.landmarks.factors
        return (products + self.norms[:, None]).clamp_(min=0)

    def squares_to(self, columns: Any) -> Any:
        """Squared distances (b, ...) to some landmarks of each point, from differences."""
        squares = 0.0
        shape = (-1,) + (1,) * (columns.ndim - 1)
        for axis in range(self.landmarks.n_features):
            difference = self.around[:, axis].view(shape) - self.landmarks.places[:, axis][columns]
            squares = squares + difference * difference
        return squares

    def nearest(self, count: int, *, is_continuous: bool = True) -> tuple[Any, Any]:
        """Landmarks and their squared distances, each of shape (b, count), nearest first.

        If the result is continuous in the distances, so that the last landmark has no weight, the
        search may replace it by another that is equally far up to rounding.
        """
        import torch

        count = min(count, len(self.landmarks))
        if self.landmarks.n_features > TREE_MAX_DIMENSION:
            return smallest(self.squares(), count)
        if self._in_cells:
            return self._nearest_in_cells(count)
        exact = torch.get_float32_matmul_precision() == "highest"
        if not is_continuous or not exact:
            return self._nearest_by_double(count)
        products = self._multipliers.float() @ self.landmarks.single_factors
        found = _smallest_in_groups(products, min(count + _SPARE, len(self.landmarks)))
        # Where float32 overflows, anything may have been found.
        found.clamp_(max=len(self.landmarks) - 1)
        found, squares = self._in_order(found, count)
        error = self.landmarks.rounding * (self.norms + self.landmarks.largest_norm)
        doubtful = ~(error <= _ROUNDING_SHARE * squares[:, -1]) | (self.norms > _LARGE)
        self._search_again(doubtful, found, squares)
        return found, squares

    def _nearest_in_cells(self, count: int) -> tuple[Any, Any]:
        listed, are_enough = self.landmarks.cells(count).listed(self.around)
        places, squares = smallest(self.squares_to(listed), count)
        found = listed.gather(1, places).long()
        self._search_again(~are_enough, found, squares)
        return found, squares

    def _search_again(self, doubtful: Any, found: Any, squares: Any) -> None:
        """Compare some of the points with all landmarks."""
        rows = doubtful.nonzero()[:, 0]
        for part in row_blocks(len(rows), self.landmarks.rows_at_once):
            some = self._take(rows[part])
            found[rows[part]], squares[rows[part]] = some._nearest_by_double(found.shape[1])

    def _nearest_by_double(self, count: int) -> tuple[Any, Any]:
        products = self._multipliers @ self.landmarks.factors
        found, _ = smallest(products, min(count + _SPARE, len(self.landmarks)))
        return self._in_order(found, count)

    def _in_order(self, found: Any, count: int) -> tuple[Any, Any]:
        """The nearest of some landmarks of each point, by differences."""
        squares, order = self.squares_to(found).sort(dim=1, stable=True)
        return found.gather(1, order)[:, :count], squares[:, :count]

    def _take(self, rows: Any) -> "DeviceBlock":
        """Some of the points."""
        some = object.__new__(DeviceBlock)
        some.landmarks, some._in_cells = self.landmarks, False
        some.around, some.norms = self.around[rows], self.norms[rows]
        some._multipliers = self._multipliers[rows]
        return some


def smallest(values: Any, count: int) -> tuple[Any, Any]:
    """Columns and values of the smallest entries of each row, in order; overwrites `values`."""
    import torch

    if count > _FEW:
        found = values.topk(count, dim=1, largest=False, sorted=True)
        return found.indices, found.values
    columns, smallest = [], []
    for _ in range(count):
        value, column = values.min(dim=1, keepdim=True)
        values.scatter_(1, column, np.inf)
        smallest.append(value)
        columns.append(column)
    return torch.cat(columns, dim=1), torch.cat(smallest, dim=1)


def _smallest_in_groups(values: Any, count: int) -> Any:
    """Columns of the smallest entries of each row, in order; overwrites `values`.

    The number of columns is a multiple of the group.
    """
    import torch

    if count > _FEW:
        return values.topk(count, dim=1, largest=False, sorted=True).indices
    groups = values.view(len(values), -1, _GROUP)
    minima = groups.amin(dim=2)
    columns = []
    for _ in range(count):
        group = minima.argmin(dim=1, keepdim=True)
        inside = groups.gather(1, group[:, :, None].expand(-1, 1, _GROUP))[:, 0]
        place = inside.argmin(dim=1, keepdim=True)
        column = group * _GROUP + place
        values.scatter_(1, column, np.inf)
        inside.scatter_(1, place, np.inf)
        minima.scatter_(1, group, inside.amin(dim=1, keepdim=True))
        columns.append(column)
    return torch.cat(columns, dim=1)
