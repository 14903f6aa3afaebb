"""PyTorch tensors, and arrays of other libraries on a GPU, which PyTorch shares through DLPack."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._common.progress import Report
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._sources.array import chosen_columns
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import check_shape, choose_columns, refuse_key
from trigpoint._sources.problems import is_from, require, wrong_type


class TorchSource(Source):
    """Points in a tensor on any device, whose rows are copied to the host.

    Parameters
    ----------
    X : torch.Tensor of shape (n, d)
    columns : int, sequence of int, or None
        Columns to read.
    """

    def __init__(self, X: Any, columns: Any = None) -> None:
        import torch

        X = X.detach()
        if X.is_complex() or X.is_sparse or X.layout != torch.strided:
            what, remedy = "a sparse layout", "pass X.to_dense()"
            if X.is_complex():
                what, remedy = "complex numbers", "pass real ones, as torch.view_as_real(X) gives"
            raise wrong_type(f"X is a tensor of {what}, which cannot be used: {remedy}")
        n, count = check_shape(X.shape, "X")
        self._chosen = choose_columns(columns, count, None, "X")
        self.tensor = X if self._chosen is None else X[:, self._chosen.tolist()]
        dtype = np.float32 if X.dtype in (torch.float16, torch.float32) else np.float64
        super().__init__("X", chosen_columns(self._chosen, None, count, np.dtype(dtype)), n)

    def array(self) -> np.ndarray | None:
        """Return the memory of a tensor on the host, unless it must be converted first."""
        if self.tensor.device.type != "cpu" or self.columns.sparse:
            return None
        values = self._on_host(self.tensor)
        as_needed = values.dtype == self.dtype and values.flags.c_contiguous
        return values if as_needed else None

    def _taken(self, rows: np.ndarray | None) -> np.ndarray:
        import torch

        if rows is None:
            return self._on_host(self.tensor)
        return self._on_host(self.tensor[torch.as_tensor(rows, device=self.tensor.device)])

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        at_once = block_rows(self.columns.count * self.tensor.element_size())
        for part in row_blocks(self.n, at_once):
            yield part.start, self._on_host(self.tensor[part])

    def _on_host(self, some: Any) -> np.ndarray:
        import torch

        # NumPy has no bfloat16.
        known = some.double() if some.dtype == torch.bfloat16 else some
        return np.asarray(known.cpu().numpy())

    def map(
        self,
        model: Any,
        *,
        out: Any = None,
        n_threads: int = 1,
        report: Report | None = None,
        device: Any = None,
    ) -> tuple[Any, int]:
        """Like `Source.map`, but the result is a tensor on the device of the points."""
        import torch

        result, n_far = super().map(
            model, out=out, n_threads=n_threads, report=report, device=device
        )
        if out is None and isinstance(result, np.ndarray):
            result = torch.from_numpy(result).to(self.tensor.device)
        return result, n_far


class SharedSource(TorchSource):
    """Points in an array of another library on a GPU; results are arrays of that library.

    Parameters
    ----------
    X : array with ``__dlpack__``
    columns : int, sequence of int, or None
        Columns to read.
    """

    def __init__(self, X: Any, columns: Any = None) -> None:
        torch = require("torch", "reading an array on a GPU")
        library: Any = sys.modules[type(X).__module__.partition(".")[0]]
        if hasattr(X, "__array_namespace__"):
            library = X.__array_namespace__()
        if not hasattr(library, "from_dlpack"):
            raise wrong_type(
                f"X is an array of {library.__name__} on a GPU, which cannot be returned as such: "
                "pass torch.from_dlpack(X)"
            )
        self._from_dlpack = library.from_dlpack
        super().__init__(torch.from_dlpack(X), columns)

    def map(self, model: Any, **options: Any) -> tuple[Any, int]:
        """Like `Source.map`, but the result is an array of the library of the points."""
        result, n_far = super().map(model, **options)
        return (self._from_dlpack(result) if is_from(result, "torch", "Tensor") else result), n_far


def from_object(X: Any, key: str | None, columns: Any) -> TorchSource:
    """Points in a tensor, or in an array of another library on a GPU."""
    refuse_key(key, "X")
    return (TorchSource if is_from(X, "torch", "Tensor") else SharedSource)(X, columns)


def map_on_device(
    source: Source, model: Any, *, out: Any, report: Report | None, device: Any
) -> tuple[Any, int]:
    """Apply a model to the blocks of a source on a GPU."""
    raise NotImplementedError("a model cannot be applied on a GPU yet: use device=None")
