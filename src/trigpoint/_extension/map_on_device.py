"""Places of points in a map, evaluated by PyTorch on a device.

Matrix products only select landmarks that may be near. Everything else is summed in the order of
the host's loops, for many points at once. So the nearest landmarks are those of the host, to the
bit, and so are the places, in any block, unless a square root differs in its last bit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._extension.placing import AROUND, REACH, TOGETHER, MapExtension
from trigpoint._extension.support import FAR_BANDWIDTHS
from trigpoint._numerics.blocks import row_blocks
from trigpoint._points.torch.device import to_device, working_memory

# Share of the working memory that a block of points takes.
_BLOCK_SHARE = 4

# Spare landmarks that products keep beyond those asked for, and the factor by which more are kept
# if these may not suffice.
_SPARE = 3
_WIDER = 8

# Numbers held for each landmark that products keep.
_HELD = 8


class ExactSearch:
    """The nearest of some landmarks, by differences in the order of the columns, ties by landmark.

    Parameters
    ----------
    landmarks : float64 ndarray of shape (k, c)
    device : torch.device
    width : int
        Numbers that a caller holds for each point.
    """

    def __init__(self, landmarks: np.ndarray, device: Any, width: int = 0) -> None:
        import torch

        self.columns = to_device(np.ascontiguousarray(landmarks.T), device)
        self._center = to_device(landmarks.mean(axis=0), device)
        places = to_device(landmarks, device) - self._center
        norms = (places * places).sum(dim=1)
        self._factors = torch.cat([-2 * places, norms[:, None]], dim=1).T.contiguous()
        self._largest_norm = norms.max()
        # Worst case of rounded products, norms, and differences from the center.
        k, c = landmarks.shape
        self._rounding = 4 * (c + 8) * float(np.finfo(np.float64).eps)
        self.row_bytes = 8 * (k + 4 * c + width + _HELD * AROUND)

    def nearest(self, X: Any, count: int, width: int | None = None) -> tuple[Any, Any]:
        """Landmarks and squared distances (b, count) of float64 points, nearest first.

        The landmarks of the `width` smallest products are compared, and more where others may be as
        near.
        """
        import torch

        k = self.columns.shape[1]
        width = min(k, count + _SPARE if width is None else width)
        around = X - self._center
        products = torch.cat([around, torch.ones_like(X[:, :1])], dim=1) @ self._factors
        smallest = products.topk(width, dim=1, largest=False)
        del products
        candidates = smallest.indices.sort(dim=1).values
        squares, order = self._squares(X, candidates).sort(dim=1, stable=True)
        found, squares = candidates.gather(1, order)[:, :count], squares[:, :count]
        if width == k:
            return found, squares
        norms = (around * around).sum(dim=1)
        slack = self._rounding * (norms + self._largest_norm)
        others = smallest.values.amax(dim=1) + norms - slack
        doubtful = (~(squares[:, -1] < others)).nonzero()[:, 0]
        for part in row_blocks(len(doubtful), max(1, len(X) // _WIDER)):
            rows = doubtful[part]
            found[rows], squares[rows] = self.nearest(X[rows], count, _WIDER * width)
        return found, squares

    def _squares(self, X: Any, candidates: Any) -> Any:
        import torch

        squares = torch.zeros_like(candidates, dtype=torch.float64)
        for axis, places in enumerate(self.columns):
            difference = X[:, axis, None] - places[candidates]
            squares += difference * difference
        return squares


def nearest_on_device(
    X: np.ndarray, landmarks: np.ndarray, count: int, device: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same as `nearest_landmarks`, to the bit and in the same blocks."""
    search = ExactSearch(np.asarray(landmarks, dtype=np.float64), device)
    rows = max(1, working_memory(device) // _BLOCK_SHARE // search.row_bytes)
    for block in row_blocks(len(X), TOGETHER):
        parts = [
            search.nearest(to_device(X[block][part], device).double(), count)
            for part in row_blocks(block.stop - block.start, rows)
        ]
        found, squares = (
            np.concatenate([values.cpu().numpy() for values in kind])
            for kind in zip(*parts, strict=True)
        )
        yield found, squares


class MapOnDevice:
    """A `MapExtension` on a device: a function of a block of points.

    Attributes
    ----------
    row_bytes : int
        Bytes held for each point.
    """

    def __init__(self, extension: MapExtension, device: Any) -> None:
        import torch

        n_components = extension.n_components
        self._search = ExactSearch(
            extension.landmarks, device, AROUND * (4 * AROUND + 6 * n_components)
        )
        self.row_bytes = self._search.row_bytes
        self._count = min(AROUND + 1, len(extension.positions))
        self._projection = extension.projection and tuple(
            to_device(array, device) for array in extension.projection
        )
        self._positions, self._spacings, self._offsets, self._bandwidths = (
            to_device(array, device)
            for array in (
                extension.positions,
                extension.spacings,
                extension.offsets,
                extension.bandwidths,
            )
        )
        # Slopes along one column lie side by side.
        self._slopes = to_device(extension.slopes.transpose(1, 0, 2), device)
        self._residual = extension.residual
        # A tensor: PyTorch would divide by a number through its reciprocal, and round differently.
        self._reach_square = torch.full((1,), REACH * REACH, dtype=torch.float64, device=device)

    def __call__(self, X: Any) -> tuple[Any, Any]:
        """Places (b, l), and how many points are far from every landmark."""
        inside, residuals = self._projected(X)
        found, squares = self._search.nearest(inside, self._count)
        outside = (residuals - self._residual).clamp(min=0)
        far = squares[:, 0].sqrt() + outside > FAR_BANDWIDTHS * self._bandwidths[found[:, 0]]
        return self._placed(inside, found, squares), far.count_nonzero()

    def _projected(self, X: Any) -> tuple[Any, Any]:
        """See `project`."""
        import torch

        square = torch.zeros(len(X), dtype=torch.float64, device=X.device)
        if self._projection is None:
            return X.double(), square
        center, components = self._projection
        inside = torch.zeros((len(X), components.shape[1]), dtype=square.dtype, device=X.device)
        for column, (middle, direction) in enumerate(zip(center, components, strict=True)):
            value = X[:, column].double() - middle
            square += value * value
            inside += value[:, None] * direction
        for column in range(inside.shape[1]):
            square -= inside[:, column] * inside[:, column]
        return inside, square.clamp(min=0).sqrt()

    def _placed(self, X: Any, found: Any, squares: Any) -> Any:
        """See `place`."""
        import torch

        from trigpoint._numerics.compiled.map_placing import DRAWN, ORDER, PULL

        count, first = min(AROUND, found.shape[1]), found[:, 0]
        near = found[:, :count]
        limit = squares[:, -1:] if squares.shape[1] > count else 2 * squares[:, -1:]
        shares = _positive(1 - squares[:, :count] / limit)
        shares = torch.where((shares == 0).all(dim=1, keepdim=True), 1.0, shares)
        places, spacings = self._positions[near], self._spacings[near]
        crowds = _square_lengths(places[:, :, None] - places[:, None])
        crowds = crowds / (spacings * spacings)[:, :, None] / self._reach_square
        middle = _in_order(shares[:, None] / (1 + crowds)).argmax(dim=1)
        of_middle = middle[:, None, None]
        kept = _positive(1 - crowds.take_along_dim(of_middle, 1)[:, 0])
        weights = kept * shares
        predicted = places + self._steps(X, near, spacings)
        predicted = torch.where(weights[:, :, None] == 0, 0.0, weights[:, :, None] * predicted)
        total = _in_order(weights)[:, None]
        middle_place = places.take_along_dim(of_middle, 1)[:, 0]
        placed = torch.where(total == 0, middle_place, _in_order(predicted.mT) / total)
        # Landmarks that were torn away from the others pull the point toward them.
        away = places - placed[:, None]
        lengths = _square_lengths(away)
        pulls = (1 - kept) * shares
        pulls = torch.where((pulls > 0) & (lengths > 0), pulls / lengths.sqrt(), 0.0)
        pull = _in_order((pulls[:, :, None] * away).mT)
        spacing = spacings.take_along_dim(middle[:, None], 1)
        placed = placed + PULL * spacing * pull / _in_order(shares)[:, None]
        # Not too far from the nearest of those that it goes with.
        numbers = torch.arange(count, device=X.device)
        own = torch.where(weights == 0, count, numbers).amin(dim=1, keepdim=True)
        farther, own = numbers > own, own.clamp(max=count - 1)
        away = places - placed[:, None]
        step = away.take_along_dim(own[:, :, None], 1)
        own_square = _square_lengths(step)
        factors = ORDER[0] - ORDER[1] * (squares.take_along_dim(own, 1) / squares[:, :count])
        beyond = factors * own_square - _square_lengths(away)
        half = factors * own_square - _in_order(away * step)
        root = (half * half - (factors - 1) * own_square * beyond).clamp(min=0).sqrt()
        farther &= (beyond > 0) & (half + root > 0)
        ways = torch.where(farther, (beyond / (half + root)).clamp(max=1), 0.0)
        placed = placed + ways.amax(dim=1, keepdim=True) * step[:, 0]
        if squares.shape[1] > 1:
            drawn = _positive(1 - squares[:, :1] / (DRAWN * DRAWN * squares[:, 1:2]))
            placed = placed + drawn * self._offsets[first]
        return torch.where(squares[:, :1] == 0, self._positions[first], placed)

    def _steps(self, X: Any, near: Any, spacings: Any) -> Any:
        """Steps (b, count, l) from the landmarks nearby by their slopes, none too long."""
        import torch

        steps = torch.zeros((*near.shape, self._positions.shape[1]), dtype=X.dtype, device=X.device)
        for axis, (places, slopes) in enumerate(
            zip(self._search.columns, self._slopes, strict=True)
        ):
            difference = X[:, axis, None] - places[near]
            steps += slopes[near] * difference[:, :, None]
        longest, square = spacings * spacings, _square_lengths(steps)
        return torch.where(square > longest, (longest / square).sqrt(), 1.0)[:, :, None] * steps


def _positive(values: Any) -> Any:
    """Squares of what is positive."""
    values = values.clamp(min=0)
    return values * values


def _in_order(terms: Any) -> Any:
    """Sums over the last axis, term by term."""
    total = terms[..., 0]
    for j in range(1, terms.shape[-1]):
        total = total + terms[..., j]
    return total


def _square_lengths(vectors: Any) -> Any:
    return _in_order(vectors * vectors)
