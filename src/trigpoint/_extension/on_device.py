"""Prepared extensions, evaluated by PyTorch on a device.

The records are those of the host, and so are the formulas.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.records import Extension
from trigpoint._extension.device_search import DeviceBlock, DeviceLandmarks, smallest
from trigpoint._extension.extensions import (
    GeodesicExtension,
    KernelExtension,
    MarkovExtension,
)
from trigpoint._extension.map_on_device import MapOnDevice
from trigpoint._extension.placing import MapExtension
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._extension.support import (
    FAR_BANDWIDTHS,
    FAR_LOG_WEIGHT,
    AllLandmarks,
    GraphNeighbors,
    NearestLandmarks,
)
from trigpoint._numerics.blocks import row_blocks
from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION
from trigpoint._points.torch.device import to_device, working_memory

# Share of the working memory that a block of points takes.
_BLOCK_SHARE = 4

_BLENDED = 3

# Weighted sums (b, l) for a block, and the logarithms (b,) that its weights were shifted by.
_Sums = tuple[Any, Any]
_SumsOf = Callable[[DeviceBlock], _Sums]

# Coordinates (b, l) of a block, and how many of its points are far.
_Extended = Callable[[DeviceBlock], tuple[Any, Any]]


class OnDevice:
    """A prepared extension on a device.

    Parameters
    ----------
    extension : Extension
        One from this package.
    device : torch.device
    """

    def __init__(self, extension: Extension, device: Any) -> None:
        self.device, self._extension = device, extension
        self.n_components = extension.n_components
        self._n_bytes = working_memory(device) // _BLOCK_SHARE
        self._map = None
        if isinstance(extension, MapExtension):
            self._map = MapOnDevice(extension, device)
            return
        if isinstance(extension, (MarkovExtension, KernelExtension, GeodesicExtension)):
            support: Any = extension.support
            search = support.landmarks if isinstance(support, AllLandmarks) else support.search
        elif isinstance(extension, SmoothExtension):
            search = extension.support
        else:
            raise ParameterTypeError(
                "device",
                str(device),
                "{kind} cannot be computed with {parameter=}",
                "choose 'cpu'",
                kind=type(extension).__name__,
            )
        self._landmarks = DeviceLandmarks(search, device, self._n_bytes)
        self._evaluate, self._width = self._prepared()

    def __call__(self, X: Any) -> tuple[Any, int]:
        """Coordinates (b, l) of points on the device, in their precision, and how many are far."""
        import torch

        result = torch.empty((len(X), self.n_components), dtype=X.dtype, device=self.device)
        n_far = torch.zeros((), dtype=torch.int64, device=self.device)
        evaluate, row_bytes = self._for_points(len(X))
        for part in row_blocks(len(X), max(1, self._n_bytes // row_bytes)):
            coordinates, far = evaluate(X[part])
            result[part] = coordinates
            n_far += far
        return result, int(n_far)

    def _for_points(self, n: int) -> tuple[Callable[[Any], tuple[Any, Any]], int]:
        """The function that evaluates `n` points, and the bytes that it holds for each."""
        if self._map is not None:
            return self._map, self._map.row_bytes
        in_cells = self._landmarks.is_divided_for(n)
        compared = self._landmarks.compared_bytes(in_cells)
        row_bytes = compared + 8 * (self._width + 4 * self._landmarks.n_features)
        return (
            lambda X: self._evaluate(DeviceBlock(self._landmarks, X, in_cells=in_cells)),
            row_bytes,
        )

    def _prepared(self) -> tuple[_Extended, int]:
        """The function of a block, and how many numbers it holds for each point."""
        extension, device = self._extension, self.device
        if isinstance(extension, SmoothExtension):
            d, n_components = extension.landmarks.shape[1], extension.n_components
            return _smooth(extension, device), 16 * (d + 1) * (2 + n_components)
        if isinstance(extension, GeodesicExtension):
            return _geodesic(extension, device), 4 * len(extension.geodesics)
        if isinstance(extension, MarkovExtension):
            sums, width = _support(extension.support, extension.values, device)

            def divided(block: "DeviceBlock") -> tuple[Any, Any]:
                found, shifts = sums(block)
                return found[:, :-1] / found[:, -1:], shifts.count_nonzero()

            return divided, width
        assert isinstance(extension, KernelExtension)
        sums, width = _support(extension.support, extension.components, device)
        offset = to_device(extension.offset, device)

        def projected(block: "DeviceBlock") -> tuple[Any, Any]:
            found, shifts = sums(block)
            return found * shifts.exp()[:, None] - offset, shifts.count_nonzero()

        return projected, width


def _shepard(squares: Any) -> Any:
    """Shares (b, parts) of the nearest landmarks: see `shepard_shares`."""
    import torch

    parts = min(_BLENDED, squares.shape[1])
    distances = squares[:, : _BLENDED + 1].sqrt()
    first, near = distances[:, :1], distances[:, :parts]
    closeness = torch.where(near > first, first / near, 1.0)
    if distances.shape[1] > parts:
        beyond = distances[:, parts:]
        closeness = closeness * torch.where(beyond > 0, (beyond - near) / beyond, 1.0)
    return _scaled(closeness * closeness)


def _scaled(shares: Any) -> Any:
    """Shares that add up to 1; where all are 0, all count."""
    import torch

    total = shares.sum(dim=1, keepdim=True)
    return torch.where(total > 0, shares / total, 1.0 / shares.shape[1])


def _support(support: Any, values: np.ndarray, device: Any) -> tuple[_SumsOf, int]:
    """Weighted sums of landmarks' values (l, k), and how many numbers they hold for a point."""
    if isinstance(support, AllLandmarks):
        return _all(support, values, device), 2 * len(values)
    if isinstance(support, NearestLandmarks):
        return _nearest(support, values, device), 12 * max(support.n_neighbors, 4) + len(values)
    if isinstance(support, GraphNeighbors):
        width = _BLENDED * int(np.diff(support.rows.starts).max())
        return _graph(support, values, device), 12 * width + 2 * len(values)
    return _anchors(support, values, device), 12 * support.n_anchors + 2 * len(values)


def _by_weight(weights: Any, columns: Any, values: Any) -> Any:
    """Sums (b, l) of values (l, k) of the landmarks in columns (b, width)."""
    import torch

    return torch.stack([(weights * row[columns]).sum(dim=1) for row in values], dim=1)


def _shifted(exponents: Any) -> tuple[Any, Any]:
    """Weights from their logarithms (b, width), and the shifts for points that are far."""
    import torch

    largest = exponents.amax(dim=1)
    shifts = torch.where(largest < FAR_LOG_WEIGHT, largest, 0.0)
    weights = (exponents - shifts[:, None]).exp()
    # Infinitely far: the first landmark stands alone.
    lost = largest == -np.inf
    weights[lost] = 0.0
    weights[lost, 0] = 1.0
    return weights, shifts


def _all(support: AllLandmarks, values: np.ndarray, device: Any) -> _SumsOf:
    import torch

    bandwidths, columns = to_device(support.bandwidths, device), to_device(values.T, device)
    is_common = bool(np.ptp(support.bandwidths) == 0)

    def sums(block: DeviceBlock) -> _Sums:
        squares = block.squares()
        precisions = -0.5 / (bandwidths * bandwidths)
        if not is_common:
            nearest, near = smallest(squares.clone(), min(_BLENDED + 1, len(bandwidths)))
            shares = _shepard(near)
            own = (shares * bandwidths[nearest[:, : shares.shape[1]]]).sum(dim=1, keepdim=True)
            precisions = -0.5 / torch.maximum(own, bandwidths).square()
        weights, shifts = _shifted(squares * precisions)
        return weights @ columns, shifts

    return sums


def _nearest(support: NearestLandmarks, values: np.ndarray, device: Any) -> _SumsOf:
    import torch

    bandwidths, values = to_device(support.bandwidths, device), to_device(values, device)
    count = support.n_neighbors

    def sums(block: DeviceBlock) -> _Sums:
        nearest, squares = block.nearest(max(count, _BLENDED + 1), is_continuous=False)
        shares = _shepard(squares)
        own = (shares * bandwidths[nearest[:, : shares.shape[1]]]).sum(dim=1, keepdim=True)
        nearest, squares = nearest[:, :count], squares[:, :count]
        weights, shifts = _shifted(-0.5 * squares / torch.maximum(own, bandwidths[nearest]) ** 2)
        return _by_weight(weights, nearest, values), shifts

    return sums


class _PaddedRows:
    """Rows of a landmark graph (k, width), padded with factors of 0."""

    def __init__(self, support: GraphNeighbors, device: Any) -> None:
        rows = support.rows
        degrees = np.diff(rows.starts)
        places = rows.starts[:-1, None] + np.arange(degrees.max())
        used = np.arange(degrees.max()) < degrees[:, None]
        places = np.where(used, places, rows.starts[:-1, None])

        def padded(entries: np.ndarray) -> Any:
            return to_device(entries[places], device)

        self.columns = padded(rows.columns.astype(np.int64))
        self.measured = padded(rows.measured.astype(np.int64))
        self.half_precisions = padded(rows.half_precisions)
        self.factors = to_device(np.where(used, rows.factors[places], 0.0), device)
        self.used = to_device(used, device)
        self.degrees = to_device(degrees, device)

    def squares(self, block: DeviceBlock, to_all: Any, columns: Any) -> Any:
        """Squared distances (b, width) to the landmarks in columns."""
        return block.squares_to(columns) if to_all is None else to_all.gather(1, columns)


def _near(block: DeviceBlock) -> tuple[Any, Any, Any]:
    """The nearest landmarks (b, parts), their shares, and in high dimension all distances."""
    to_all = block.squares() if block.landmarks.n_features > TREE_MAX_DIMENSION else None
    if to_all is None:
        nearest, squares = block.nearest(_BLENDED + 1)
    else:
        count = min(_BLENDED + 1, len(block.landmarks))
        nearest, squares = smallest(to_all.clone(), count)
    shares = _shepard(squares)
    return nearest[:, : shares.shape[1]], shares, to_all


def _graph(support: GraphNeighbors, values: np.ndarray, device: Any) -> _SumsOf:
    import torch

    rows, values = _PaddedRows(support, device), to_device(values, device)

    def sums(block: DeviceBlock) -> _Sums:
        nearest, shares, to_all = _near(block)
        squares = rows.squares(block, to_all, rows.measured[nearest].flatten(1))
        exponents = -squares * rows.half_precisions[nearest].flatten(1)
        amounts = (shares[:, :, None] * rows.factors[nearest]).flatten(1)
        columns = rows.columns[nearest].flatten(1)
        weights = amounts * exponents.exp()
        shifts = torch.zeros_like(block.norms)
        sizes = rows.degrees[nearest].sum(dim=1)
        small = (weights.sum(dim=1) < sizes * np.exp(FAR_LOG_WEIGHT)).nonzero()[:, 0]
        if len(small):
            relative, shift = _shifted(amounts[small].log() + exponents[small])
            far = shift != 0
            weights[small[far]], shifts[small[far]] = relative[far], shift[far]
        return _by_weight(weights, columns, values), shifts

    return sums


def _anchors(support: Any, values: np.ndarray, device: Any) -> _SumsOf:
    import torch

    values, wanted = to_device(values, device), support.n_anchors

    def sums(block: DeviceBlock) -> _Sums:
        nearest, squares = block.nearest(wanted + 1)
        reach = squares[:, -1:]
        if squares.shape[1] == wanted:
            # All landmarks take part, and the last one too.
            reach = 2 * reach
        ratios = squares[:, :wanted] / torch.where(reach > 0, reach, 1.0)
        shares = _scaled((1 - ratios).square())
        return _by_weight(shares, nearest[:, :wanted], values), torch.zeros_like(block.norms)

    return sums


def _smooth(extension: SmoothExtension, device: Any) -> _Extended:
    """See `blended_planes`."""
    import torch

    from trigpoint._extension.smooth import SHARING

    planes, reach, bandwidths = (
        to_device(array, device)
        for array in (extension.planes, extension.reach, extension.bandwidths)
    )

    def blended(block: DeviceBlock) -> tuple[Any, Any]:
        nearest, squares = block.nearest(SHARING + 1)
        parts = max(nearest.shape[1] - 1, 1)
        shares = _scaled((1 - squares[:, :parts] / squares[:, -1:]).nan_to_num(nan=0.0).square())
        result, is_far = 0.0, torch.ones_like(block.norms, dtype=torch.bool)
        for p in range(parts):
            landmark, square = nearest[:, p], squares[:, p]
            is_far &= square > (FAR_BANDWIDTHS * bandwidths[landmark]).square()
            radius = reach[landmark]
            step = torch.where(square > radius * radius, radius / square.sqrt(), 1.0)
            place = step[:, None] * (block.around - block.landmarks.places[landmark])
            own = planes[landmark]
            value = own[:, :, -1] + (own[:, :, :-1] * place[:, None]).sum(dim=2)
            result = result + shares[:, p, None] * value
        return result, is_far.count_nonzero()

    return blended


def _geodesic(extension: GeodesicExtension, device: Any) -> _Extended:
    """Shortest paths to all landmarks through those near the point."""
    import torch

    support = extension.support
    geodesics, components, centering, horizons = (
        to_device(array, device)
        for array in (
            extension.geodesics,
            extension.components,
            extension.centering,
            extension.horizons,
        )
    )
    rows = _PaddedRows(support, device) if isinstance(support, GraphNeighbors) else None

    def starts(block: DeviceBlock) -> Any:
        """Yield shares (b,), lengths (b, width) and landmarks (b, width)."""
        if rows is None:
            assert isinstance(support, NearestLandmarks)
            nearest, squares = block.nearest(support.n_neighbors, is_continuous=False)
            yield torch.ones_like(block.norms), squares.sqrt(), nearest
            return
        nearest, shares, to_all = _near(block)
        for part in range(nearest.shape[1]):
            columns, share = rows.columns[nearest[:, part]], shares[:, part]
            lengths = rows.squares(block, to_all, columns).sqrt()
            begins = rows.used[nearest[:, part]] & (share > 0)[:, None]
            yield share, torch.where(begins, lengths, np.inf), columns

    def extended(block: DeviceBlock) -> tuple[Any, Any]:
        result, is_far = 0.0, torch.ones_like(block.norms, dtype=torch.bool)
        for share, lengths, columns in starts(block):
            is_far &= (lengths > horizons[columns]).all(dim=1)
            paths = geodesics[columns[:, 0]] + lengths[:, :1]
            for j in range(1, columns.shape[1]):
                paths = torch.minimum(paths, geodesics[columns[:, j]] + lengths[:, j, None])
            paths = torch.where(share[:, None] > 0, paths, 0.0)
            first = paths[:, :1]
            squares = (paths - first) * (paths + first)
            squares -= squares.mean(dim=1, keepdim=True) + centering
            result = result - share[:, None] * (squares @ components) / 2
        return result, is_far.count_nonzero()

    return extended
