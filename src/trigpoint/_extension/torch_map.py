"""Positions in a map, computed with PyTorch.

Sums have the same order as in the loops on the host. Without a projection, positions are therefore
bitwise equal to those of the host, unless a square root differs in its last bit.
"""

from collections.abc import Callable
from typing import Any

from trigpoint._common.device import to_device
from trigpoint._extension.placing import AROUND, REACH, MapExtension
from trigpoint._extension.torch_search import TorchSearch
from trigpoint._extension.weighted import FAR_BANDWIDTHS
from trigpoint._numerics.projection import projected_there

# Maximum number of values stored per row: eight (b, count, count) arrays of two components.
HELD = 16 * AROUND * AROUND


def map_positions(
    extension: MapExtension, search: TorchSearch, device: Any
) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function from float64 rows (b, d) to positions (b, l) and far rows (b,)."""
    bandwidths = to_device(extension.planes.bandwidths, device)
    project = _projection(extension, device)
    place = _Placing(extension, search, device)
    count = min(AROUND + 1, search.k)

    def placed(X: Any) -> tuple[Any, Any]:
        inside, residuals = project(X)
        found, squares = search.nearest(inside, count)
        outside = (residuals - extension.residual).clamp(min=0)
        far = squares[:, 0].sqrt() + outside > FAR_BANDWIDTHS * bandwidths[found[:, 0]]
        return place(inside, found, squares), far

    return placed


def _projection(extension: MapExtension, device: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function from rows (b, d) to projections (b, c) and lengths of residuals (b,)."""
    import torch

    if extension.projection is None:
        return lambda X: (X, X.new_zeros(len(X)))
    center, components = (to_device(array, device) for array in extension.projection)
    precision = getattr(torch, extension.landmarks.dtype.name)

    def projected(X: Any) -> tuple[Any, Any]:
        inside, residuals = projected_there(center, components, X)
        return inside.to(precision).double(), residuals

    return projected


class _Placing:
    """Positions of rows among their nearest landmarks, like the compiled function `place`."""

    def __init__(self, extension: MapExtension, search: TorchSearch, device: Any) -> None:
        import torch

        self._search, planes = search, extension.planes
        self._positions, self._spacings, self._offsets = (
            to_device(array, device)
            for array in (extension.positions, planes.spacings, planes.offsets)
        )
        # Slopes along one column are contiguous.
        self._slopes = to_device(planes.slopes.transpose(1, 0, 2), device)
        # Use a tensor, since PyTorch divides by a Python float via its reciprocal, which rounds
        # differently.
        self._reach_square = torch.full((1,), REACH * REACH, dtype=torch.float64, device=device)

    def __call__(self, X: Any, found: Any, squares: Any) -> Any:
        """Return positions (b, l), given the nearest landmarks and the next one, if any."""
        import torch

        count, first = min(AROUND, found.shape[1]), found[:, 0]
        near = found[:, :count]
        limit = squares[:, -1:] if squares.shape[1] > count else 2 * squares[:, -1:]
        shares = _positive(1 - squares[:, :count] / limit)
        shares = torch.where((shares == 0).all(dim=1, keepdim=True), 1.0, shares)
        positions, spacings = self._positions[near], self._spacings[near]
        # Find the landmark with the most weight around it in the map, and the landmarks near it.
        crowds = _square_lengths(positions[:, :, None] - positions[:, None])
        crowds = crowds / (spacings * spacings)[:, :, None] / self._reach_square
        middle = _in_order(shares[:, None] / (1 + crowds)).argmax(dim=1)
        kept = _positive(1 - crowds.take_along_dim(middle[:, None, None], 1)[:, 0])
        weights = kept * shares
        predicted = positions + self._steps(X, near, spacings)
        predicted = torch.where(weights[:, :, None] == 0, 0.0, weights[:, :, None] * predicted)
        total = _in_order(weights)[:, None]
        at_middle = positions.take_along_dim(middle[:, None, None], 1)[:, 0]
        placed = torch.where(total == 0, at_middle, _in_order(predicted.mT) / total)
        spacing = spacings.take_along_dim(middle[:, None], 1)
        placed = _pulled(placed, positions, shares, kept, spacing)
        placed = _not_beyond(placed, positions, weights, squares[:, :count])
        if squares.shape[1] > 1:
            placed = placed + self._drawn(squares)[:, None] * self._offsets[first]
        return torch.where(squares[:, :1] == 0, self._positions[first], placed)

    @staticmethod
    def _drawn(squares: Any) -> Any:
        """Return the share (b,) of its nearest landmark's offset that each row takes."""
        from trigpoint._kernels.map_placing import DRAWN

        return _positive(1 - squares[:, 0] / (DRAWN * DRAWN * squares[:, 1]))

    def _steps(self, X: Any, near: Any, spacings: Any) -> Any:
        """Return steps (b, count, l) from nearby landmarks by their slopes, limited in length."""
        import torch

        steps = X.new_zeros((*near.shape, self._positions.shape[1]))
        for axis, (places, slopes) in enumerate(
            zip(self._search.columns, self._slopes, strict=True)
        ):
            difference = X[:, axis, None] - places[near]
            steps += slopes[near] * difference[:, :, None]
        longest, square = spacings * spacings, _square_lengths(steps)
        return torch.where(square > longest, (longest / square).sqrt(), 1.0)[:, :, None] * steps


def _pulled(placed: Any, positions: Any, shares: Any, kept: Any, spacing: Any) -> Any:
    """Pull positions toward landmarks that the map has separated from the others."""
    import torch

    from trigpoint._kernels.map_placing import PULL

    away = positions - placed[:, None]
    lengths = _square_lengths(away)
    pulls = (1 - kept) * shares
    pulls = torch.where((pulls > 0) & (lengths > 0), pulls / lengths.sqrt(), 0.0)
    pull = _in_order((pulls[:, :, None] * away).mT)
    return placed + PULL * spacing * pull / _in_order(shares)[:, None]


def _not_beyond(placed: Any, positions: Any, weights: Any, squares: Any) -> Any:
    """Move positions toward the nearest landmark with weight if others are too near; see `_way`."""
    import torch

    from trigpoint._kernels.map_placing import ORDER

    count = squares.shape[1]
    numbers = torch.arange(count, device=squares.device)
    own = torch.where(weights == 0, count, numbers).amin(dim=1, keepdim=True)
    farther, own = numbers > own, own.clamp(max=count - 1)
    away = positions - placed[:, None]
    step = away.take_along_dim(own[:, :, None], 1)
    own_square = _square_lengths(step)
    factors = ORDER[0] - ORDER[1] * (squares.take_along_dim(own, 1) / squares)
    beyond = factors * own_square - _square_lengths(away)
    half = factors * own_square - _in_order(away * step)
    root = (half * half - (factors - 1) * own_square * beyond).clamp(min=0).sqrt()
    farther &= (beyond > 0) & (half + root > 0)
    ways = torch.where(farther, (beyond / (half + root)).clamp(max=1), 0.0)
    return placed + ways.amax(dim=1, keepdim=True) * step[:, 0]


def _positive(values: Any) -> Any:
    """Square positive values; others become 0."""
    values = values.clamp(min=0)
    return values * values


def _in_order(terms: Any) -> Any:
    """Sum over the last axis, term by term."""
    total = terms[..., 0]
    for j in range(1, terms.shape[-1]):
        total = total + terms[..., j]
    return total


def _square_lengths(vectors: Any) -> Any:
    return _in_order(vectors * vectors)
