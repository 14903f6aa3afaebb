"""Fitted map from rows to coordinates, which can be sent to threads, processes and devices."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trigpoint._common.records import Extension
from trigpoint._extension.extensions import rows_at_once
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import thread_count
from trigpoint._spaces import Space

# Larger blocks are not faster, and would report progress less often.
_MOST_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class Model:
    """A pure, picklable function of a block of rows.

    The result for a row is bitwise the same in any block.
    """

    # Names, number, data type and sparsity of the fitted columns. Other rows are converted to match
    # before a call.
    columns: Any
    space: Space  # Maps rows as they were read to Euclidean rows.
    extension: Extension  # Maps Euclidean rows to coordinates.

    @cached_property
    def n_components(self) -> int:
        """Number of coordinates."""
        return self.extension.n_components

    @cached_property
    def step(self) -> int:
        """Best number of rows to transform at once."""
        return min(rows_at_once(self.extension), self.space.most_at_once or _MOST_ROWS)

    def threads(self, n_jobs: Any) -> int:
        """Return the number of threads; user-defined functions may require a single one."""
        return thread_count(n_jobs) if self.space.most_at_once is None else 1

    def __call__(self, block: Points, rows: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (b, l) of a block of rows, and which rows are far from all landmarks.

        `rows` is the number of the first row, or an array of all row numbers, for error messages.
        """
        coordinates, far = self.extension(self.space(block, rows))
        return coordinates.astype(self.columns.dtype, copy=False), far

    def to(self, device: Any) -> Callable[[Any, int], tuple[Any, Any]]:
        """Return the same function for tensors on a PyTorch device."""
        import torch

        from trigpoint._extension.torch import on_device

        space, extension = self.space.to(device), on_device(self.extension, device)
        dtype = getattr(torch, self.columns.dtype.name)

        def mapped(block: Any, first: int = 0) -> tuple[Any, Any]:
            coordinates, far = extension(space(block, first))
            return coordinates.to(dtype), far

        return mapped
