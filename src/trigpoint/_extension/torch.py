"""Extensions evaluated with PyTorch, by the formulas used on the host, for many rows at a time."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trigpoint._common.device import to_device, working_memory
from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.records import Extension
from trigpoint._extension.extensions import GeodesicExtension
from trigpoint._extension.placing import FEW, MapExtension
from trigpoint._extension.published import PublishedExtension
from trigpoint._extension.smooth import SHARING, SmoothExtension
from trigpoint._extension.torch_map import HELD, map_positions
from trigpoint._extension.torch_search import TorchSearch, smallest
from trigpoint._extension.weighted import (
    BLENDED,
    FAR_BANDWIDTHS,
    FAR_LOG_WEIGHT,
    AllLandmarks,
    GraphNeighbors,
    KernelExtension,
    MarkovExtension,
)
from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._numerics.blocks import row_blocks

# The temporaries counted below may take one part in this many of the working memory. The rest is
# for the workspaces of cuBLAS and the overhead of PyTorch's caching allocator.
_BLOCK_SHARE = 4

_WEIGHTED = MarkovExtension, PublishedExtension, KernelExtension, GeodesicExtension

# Function of float64 rows (b, d) that returns coordinates (b, l) and a mask (b,) of far rows, or
# sums (b, l) and the shifts (b,) of log weights, which are 0 except for far rows.
_Extended = Callable[[Any], tuple[Any, Any]]
_Sums = Callable[[Any], tuple[Any, Any]]


def on_device(extension: Extension, device: Any) -> "OnDevice":
    """Prepare an extension of this package for rows on a device."""
    return OnDevice(extension, device)


class OnDevice:
    """A prepared extension on a device; made by `on_device`.

    It maps a tensor (b, d) of Euclidean rows to their coordinates, a float64 tensor (b, l), and to
    a boolean tensor (b,), true for rows far from every landmark. Threads must not share it.
    """

    def __init__(self, extension: Any, device: Any) -> None:
        self.n_components = extension.n_components
        self._n_bytes = working_memory(device) // _BLOCK_SHARE
        if isinstance(extension, (SmoothExtension, MapExtension)):
            landmarks = np.asarray(extension.landmarks, dtype=np.float64)
        elif isinstance(extension, _WEIGHTED):
            landmarks = _landmarks_of(extension.support)
        else:
            raise ParameterTypeError(
                f"{type(extension).__name__} cannot be computed with device={str(device)!r}: "
                "choose device='cpu'",
                "device",
            )
        in_cells = isinstance(extension, MapExtension) and len(landmarks) > FEW
        self._search = TorchSearch(landmarks, device, self._n_bytes, in_cells)
        # Number of values stored per row, in addition to those of the search.
        self._evaluate, self._held = _prepared(extension, self._search, device)

    def __call__(self, X: Any) -> tuple[Any, Any]:
        import torch

        self._search.expect(len(X))
        result = X.new_empty((len(X), self.n_components), dtype=torch.float64)
        far = X.new_empty(len(X), dtype=torch.bool)
        row_bytes = self._search.row_bytes + 8 * (self._held + 2 * X.shape[1])
        for part in row_blocks(len(X), max(1, self._n_bytes // row_bytes)):
            result[part], far[part] = self._evaluate(X[part].double())
        return result, far


def _landmarks_of(support: Any) -> np.ndarray:
    if isinstance(support, AllLandmarks):
        return np.asarray(support.landmarks.landmarks + support.landmarks.center)
    return np.asarray(support.search.landmarks, dtype=np.float64)


def _prepared(extension: Any, search: TorchSearch, device: Any) -> tuple[_Extended, int]:
    """Return the function for a block of rows, and the number of values that it stores per row."""
    if isinstance(extension, MapExtension):
        return map_positions(extension, search, device), HELD
    if isinstance(extension, SmoothExtension):
        n_columns = extension.landmarks.shape[1] + 1
        return _smooth(extension, search, device), 2 * n_columns * (2 + extension.n_components)
    if isinstance(extension, GeodesicExtension):
        return _geodesic(extension, search, device), 4 * search.k
    if isinstance(extension, MarkovExtension):
        sums, held = _weighted(extension.support, extension.values, search, device)

        def divided(X: Any) -> tuple[Any, Any]:
            found, shifts = sums(X)
            return found[:, :-1] / found[:, -1:], shifts != 0

        return divided, held
    if isinstance(extension, PublishedExtension):
        sums, held = _weighted(extension.support, extension.values, search, device)

        def published(X: Any) -> tuple[Any, Any]:
            found, shifts = sums(X)
            scales = (shifts / 2).exp() / found[:, -1].sqrt()
            return found[:, :-1] * scales[:, None], shifts != 0

        return published, held
    assert isinstance(extension, KernelExtension)
    sums, held = _weighted(extension.support, extension.components, search, device)
    offset = to_device(extension.offset, device)

    def projected(X: Any) -> tuple[Any, Any]:
        found, shifts = sums(X)
        return found * shifts.exp()[:, None] - offset, shifts != 0

    return projected, held


def _weighted(
    support: Any, values: np.ndarray, search: TorchSearch, device: Any
) -> tuple[_Sums, int]:
    """Return the function for weighted sums of values (l, k), and the number of values per row."""
    if isinstance(support, AllLandmarks):
        return _all(support, values, search, device), 2 * search.k
    assert isinstance(support, GraphNeighbors)
    width = BLENDED * int(np.diff(support.rows.starts).max())
    return _graph(support, values, search, device), 12 * width + search.k


def _shepard(squares: Any) -> Any:
    """Return the shares (b, parts) of the nearest landmarks: see `shepard_shares`."""
    import torch

    parts = min(BLENDED, squares.shape[1])
    distances = squares[:, : BLENDED + 1].sqrt()
    first, near = distances[:, :1], distances[:, :parts]
    closeness = torch.where(near > first, first / near, 1.0)
    if distances.shape[1] > parts:
        beyond = distances[:, parts:]
        closeness = closeness * torch.where(beyond > 0, (beyond - near) / beyond, 1.0)
    return _scaled(closeness * closeness)


def _scaled(shares: Any) -> Any:
    """Normalize shares to sum to 1; rows of zeros get equal shares."""
    import torch

    total = shares.sum(dim=1, keepdim=True)
    return torch.where(total > 0, shares / total, 1.0 / shares.shape[1])


def _interpolated(values: Any, nearest: Any, squares: Any) -> Any:
    """Interpolate values (k,) of the landmarks at rows, (b, 1)."""
    shares = _shepard(squares)
    return (shares * values[nearest[:, : shares.shape[1]]]).sum(dim=1, keepdim=True)


def _by_weight(weights: Any, columns: Any, values: Any) -> Any:
    """Return weighted sums (b, l) of values (l, k) of the landmarks in columns (b, width)."""
    import torch

    return torch.stack([(weights * row[columns]).sum(dim=1) for row in values], dim=1)


def _shifted(exponents: Any) -> tuple[Any, Any]:
    """Return weights from their logarithms (b, width), and the shifts of far rows."""
    import torch

    largest = exponents.amax(dim=1)
    shifts = torch.where(largest < FAR_LOG_WEIGHT, largest, 0.0)
    weights = (exponents - shifts[:, None]).exp()
    # Infinitely far: only the first landmark counts.
    lost = largest == -np.inf
    weights[lost] = 0.0
    weights[lost, 0] = 1.0
    return weights, shifts


def _all(support: AllLandmarks, values: np.ndarray, search: TorchSearch, device: Any) -> _Sums:
    import torch

    bandwidths, columns = to_device(support.bandwidths, device), to_device(values.T, device)
    is_common = bool(np.ptp(support.bandwidths) == 0)

    def sums(X: Any) -> tuple[Any, Any]:
        squares, widest = search.squares(X), bandwidths
        if not is_common:
            nearest, near = smallest(squares.clone(), min(BLENDED + 1, search.k))
            widest = torch.maximum(_interpolated(bandwidths, nearest, near), bandwidths)
        weights, shifts = _shifted(squares * (-0.5 / (widest * widest)))
        return weights @ columns, shifts

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


def _near(search: TorchSearch, X: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Return nearest landmarks (b, parts), their shares, and squared distances to any columns."""
    if search.n_features <= TREE_MAX_DIMENSION:
        nearest, squares = search.nearest(X, BLENDED + 1)
        shares = _shepard(squares)
        return nearest[:, : shares.shape[1]], shares, lambda columns: search.squares_to(X, columns)
    to_all = search.squares(X)
    nearest, squares = smallest(to_all.clone(), min(BLENDED + 1, search.k))
    shares = _shepard(squares)
    return nearest[:, : shares.shape[1]], shares, lambda columns: to_all.gather(1, columns)


def _graph(support: GraphNeighbors, values: np.ndarray, search: TorchSearch, device: Any) -> _Sums:
    rows, there = _PaddedRows(support, device), to_device(values, device)

    def sums(X: Any) -> tuple[Any, Any]:
        nearest, shares, squares_to = _near(search, X)
        squares = squares_to(rows.measured[nearest].flatten(1))
        exponents = -squares * rows.half_precisions[nearest].flatten(1)
        amounts = (shares[:, :, None] * rows.factors[nearest]).flatten(1)
        weights, shifts = amounts * exponents.exp(), X.new_zeros(len(X))
        sizes = rows.degrees[nearest].sum(dim=1)
        small = (weights.sum(dim=1) < sizes * np.exp(FAR_LOG_WEIGHT)).nonzero()[:, 0]
        if len(small):
            relative, shift = _shifted(amounts[small].log() + exponents[small])
            far = shift != 0
            weights[small[far]], shifts[small[far]] = relative[far], shift[far]
        return _by_weight(weights, rows.columns[nearest].flatten(1), there), shifts

    return sums


def _smooth(extension: SmoothExtension, search: TorchSearch, device: Any) -> _Extended:
    """See `blended_planes`."""
    import torch

    planes, reach, bandwidths = (
        to_device(array, device)
        for array in (extension.planes, extension.reach, extension.bandwidths)
    )

    def blended(X: Any) -> tuple[Any, Any]:
        nearest, squares = search.nearest(X, SHARING + 1)
        parts = max(nearest.shape[1] - 1, 1)
        shares = _scaled((1 - squares[:, :parts] / squares[:, -1:]).nan_to_num(nan=0.0).square())
        result, is_far = 0.0, X.new_ones(len(X), dtype=torch.bool)
        for p in range(parts):
            landmark, square = nearest[:, p], squares[:, p]
            is_far &= square > (FAR_BANDWIDTHS * bandwidths[landmark]).square()
            radius = reach[landmark]
            step = torch.where(square > radius * radius, radius / square.sqrt(), 1.0)
            place = step[:, None] * (X - search.places[landmark])
            own = planes[landmark]
            value = own[:, :, -1] + (own[:, :, :-1] * place[:, None]).sum(dim=2)
            result = result + shares[:, p, None] * value
        return result, is_far

    return blended


def _geodesic(extension: GeodesicExtension, search: TorchSearch, device: Any) -> _Extended:
    """Return the extension by shortest paths to all landmarks through those near the row."""
    import torch

    geodesics, components, centering, horizons = (
        to_device(array, device)
        for array in (
            extension.geodesics,
            extension.components,
            extension.centering,
            extension.horizons,
        )
    )
    rows = _PaddedRows(extension.support, device)

    def starts(X: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield shares (b,), lengths (b, width) and landmarks (b, width)."""
        nearest, shares, squares_to = _near(search, X)
        for part in range(nearest.shape[1]):
            columns, share = rows.columns[nearest[:, part]], shares[:, part]
            begins = rows.used[nearest[:, part]] & (share > 0)[:, None]
            yield share, torch.where(begins, squares_to(columns).sqrt(), np.inf), columns

    def extended(X: Any) -> tuple[Any, Any]:
        result, is_far = 0.0, X.new_ones(len(X), dtype=torch.bool)
        for share, lengths, columns in starts(X):
            is_far &= (lengths > horizons[columns]).all(dim=1)
            paths = geodesics[columns[:, 0]] + lengths[:, :1]
            for j in range(1, columns.shape[1]):
                paths = torch.minimum(paths, geodesics[columns[:, j]] + lengths[:, j, None])
            paths = torch.where(share[:, None] > 0, paths, 0.0)
            # Computing the difference of squares as a product preserves precision for distant rows.
            first = paths[:, :1]
            squares = (paths - first) * (paths + first)
            squares -= squares.mean(dim=1, keepdim=True) + centering
            result = result - share[:, None] * (squares @ components) / 2
        return result, is_far

    return extended
