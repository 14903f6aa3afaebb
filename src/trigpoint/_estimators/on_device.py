"""The model of an estimator as sources of rows use it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._common.records import Extension
from trigpoint._extension.torch import on_device
from trigpoint._points.scaling import unit_rows
from trigpoint._sources.base import Columns
from trigpoint._sources.torch import map_blocks_on_device
from trigpoint._spaces import torch as spaces


@dataclass(frozen=True)
class Model:
    """Columns, metric and extension of a fitted estimator."""

    columns: Columns
    extension: Extension
    metric: str = "euclidean"
    scales: np.ndarray | None = None

    def __call__(self, block: np.ndarray, first_row: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of rows of the host, and as many true values as rows are far."""
        if self.metric == "cosine":
            block = unit_rows(block, "X", first_row)
        elif self.scales is not None:
            block = block / self.scales.astype(block.dtype)
        coordinates, far = self.extension(block)
        return coordinates, np.ones(far, dtype=bool)

    def to(self, device: Any) -> Callable[[Any, int], tuple[Any, Any]]:
        """The same for rows on a device, with a mask of those that are far."""
        import torch

        extended, dtype = on_device(self.extension, device), getattr(torch, self.columns.dtype.name)
        scales = None if self.scales is None else to_device(self.scales, device)

        def mapped(X: Any, first_row: int) -> tuple[Any, Any]:
            if self.metric == "cosine":
                X = spaces.unit_rows(X, first_row)
            elif scales is not None:
                X = spaces.scaled(X, scales)
            coordinates, far = extended(X)
            return coordinates.to(dtype), far

        return mapped


def model_of(estimator: Any) -> Model:
    """The model of a fitted estimator."""
    columns = Columns(None, estimator.n_features_in_, estimator.landmark_embedding_.dtype, False)
    fitted = estimator.fitted_
    scales = getattr(estimator, "column_scales_", None)
    return Model(columns, fitted.extension, fitted.parameters["metric"], scales)


def block_by_device(extension: Extension, block: np.ndarray, device: Any) -> tuple[np.ndarray, int]:
    """Coordinates of one block of Euclidean rows, and how many are far."""
    return next(blocks_by_device(extension, [block], block.dtype, device))


def blocks_by_device(
    extension: Extension, blocks: Iterable[Any], dtype: np.dtype, device: Any
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the coordinates of blocks of Euclidean rows, and how many are far."""
    model = Model(Columns(None, 0, dtype, False), extension)
    for _, coordinates, n_far in map_blocks_on_device(((0, b) for b in blocks), model, device):
        yield coordinates, n_far
