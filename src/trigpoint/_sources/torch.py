"""PyTorch tensors, and computation on a device for rows stored on the host.

PyTorch is imported only when there is a tensor, or a device to compute on.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import cycle
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_magnitude, refuse_non_finite, row_numbers
from trigpoint._common.device import device_memory, is_tensor, resolve_device, to_device
from trigpoint._common.errors import ParameterTypeError
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, row_blocks, thread_map
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import refuse_key
from trigpoint._sources.values import described

# Bytes of a block on a device: large enough to make the launch time of kernels negligible.
_THERE_BYTES = 2**29
# Bytes of a block copied to the host.
_HERE_BYTES = 2**26

# Blocks on a GPU at once, so that copying one overlaps with computing another.
_STREAMS = 2


class TorchSource(Source):
    """Rows of a tensor; float16 and bfloat16 become float32, integers and booleans float64."""

    takes_bits = False

    def __init__(self, X: Any, columns: Any = None) -> None:
        tensor = _usable(X)
        is_single = tensor.dtype.is_floating_point and tensor.dtype.itemsize <= 4
        dtype = np.float32 if is_single else np.float64
        n, chosen, found = described(tuple(tensor.shape), dtype, "X", columns)
        self._tensor = tensor if chosen is None else tensor[:, chosen.tolist()]
        super().__init__("X", found, n)
        self.device = resolve_device(None, tensor)

    def array(self) -> np.ndarray | None:
        """Return an array that shares the tensor's memory, or None if conversion is needed."""
        tensor = self._tensor
        is_whole = not self.columns.sparse and self.columns.chosen is None
        if tensor.device.type != "cpu" or not tensor.is_contiguous() or not is_whole:
            return None
        is_same = str(tensor.dtype) == f"torch.{self.columns.dtype.name}"
        return np.asarray(tensor.numpy()) if is_same else None

    def returned(self, coordinates: np.ndarray) -> Any:
        return None if self.device is None else to_device(coordinates, self.device)

    def pooled(self, space: Any, rows: np.ndarray | None) -> tuple[Points, Any]:
        if self.device is None or space.learns or not space.takes_tensors:
            return super().pooled(space, rows)
        return _on_host(self.euclidean(space, rows)), None

    def euclidean(self, space: Any, rows: np.ndarray | None = None) -> Any:
        """Return some rows, or all, checked and mapped by a fitted space, on their device."""
        import torch

        mapped, result = space.to(self.device), None
        n = self.n if rows is None else len(rows)
        for part in row_blocks(n, block_rows(8 * self.columns.count, _THERE_BYTES)):
            numbers: Any = part.start if rows is None else rows[part]
            block = self._tensor[part if rows is None else to_device(numbers, self.device)]
            block = mapped(self._checked_there(block, numbers, self.device), numbers)
            if result is None:
                shape = n, block.shape[1]
                result = torch.empty(shape, dtype=block.dtype, device=self.device)
            result[part] = block
        return result

    def _taken(self, rows: np.ndarray | None) -> np.ndarray:
        import torch

        if rows is None:
            return _on_host(self._tensor)
        places = torch.from_numpy(np.ascontiguousarray(rows)).to(self._tensor.device)
        return _on_host(self._tensor.index_select(0, places))

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        for part in self._blocks_of(_HERE_BYTES):
            yield part.start, _on_host(self._tensor[part])

    def map(
        self,
        model: Any,
        *,
        out: Any = None,
        n_threads: int = 1,
        report: Any = None,
        device: Any = None,
    ) -> tuple[Any, int]:
        """Return the coordinates of all rows as a tensor on the same device, and the far count.

        Blocks of rows stay on their device, or are copied to `device`. Without a device, the host
        computes the coordinates.
        """
        import torch

        there = resolve_device(device, self._tensor)
        if out is not None or there is None:
            result, n_far = super().map(
                model, out=out, n_threads=n_threads, report=report, device=there
            )
            if out is not None:
                return result, n_far
            return torch.from_numpy(result).to(self._tensor.device), n_far
        dtype = getattr(torch, model.columns.dtype.name)
        shape = self.n, model.n_components
        found = torch.empty(shape, dtype=dtype, device=self._tensor.device)
        n_far = 0
        with device_memory(there), torch.no_grad():
            extended = model.to(there)
            for part in self._blocks_of(_THERE_BYTES):
                block = self._checked_there(self._tensor[part], part.start, there)
                coordinates, far = extended(block, part.start)
                found[part] = coordinates
                # Count on the device, so that blocks do not wait for each other.
                n_far = n_far + far.count_nonzero()
                if report is not None:
                    report("points", part.stop, self.n)
        return found, int(n_far)

    def _blocks_of(self, n_bytes: int) -> Iterator[slice]:
        return row_blocks(self.n, block_rows(8 * self.columns.count, n_bytes))

    def _checked_there(self, block: Any, rows: Any, device: Any) -> Any:
        """Copy rows to a device, and check that their squares are finite.

        `rows` is the number of the first row, or an array with the numbers of all rows.
        """
        import torch

        block = block.to(device).to(getattr(torch, self.columns.dtype.name)).contiguous()
        # NaN propagates to both extremes.
        extremes = np.zeros((2, self.columns.count), dtype=self.columns.dtype)
        extremes[:, 0] = torch.stack(block.aminmax()).cpu().numpy()
        if not np.isfinite(extremes).all():
            bad = int((~block.isfinite()).any(dim=1).nonzero()[0, 0])
            first_bad = block[bad : bad + 1].cpu().numpy()
            refuse_non_finite(first_bad, "X", None, int(row_numbers(rows, bad)))
        check_magnitude(extremes, may_be_tiny=True)
        return block


def from_object(X: Any, key: str | None, columns: Any) -> TorchSource:
    """Open a tensor, or the GPU array of another library; coordinates are returned as a tensor."""
    refuse_key(key, "X")
    if not is_tensor(X):
        # Raises an error unless PyTorch is installed and finds a GPU.
        resolve_device("cuda")
        import torch

        X = torch.from_dlpack(X)
    return TorchSource(X, columns)


def _on_host(tensor: Any) -> np.ndarray:
    """Copy a tensor to a NumPy array."""
    # NumPy has no bfloat16.
    half = tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4
    return np.asarray((tensor.float() if half else tensor).cpu().numpy())


def mapped_on_device(
    blocks: Iterable[tuple[int, Points]], model: Any, device: Any
) -> Iterator[tuple[int, np.ndarray, int]]:
    """Compute the coordinates of host rows on a device, block by block, for `Source.map`.

    On a GPU, reading and copying a block overlaps with computing the previous one.

    Yields (first row, coordinates, number of far points). ``model.to(device)`` must return a
    function of a tensor on the device and the number of its first row.
    """
    import torch

    with device_memory(device), torch.no_grad():
        extended, streams, computing = model.to(device), _streams(device), Lock()

        def mapped(job: tuple[tuple[int, Any], Any]) -> tuple[int, np.ndarray, int]:
            (first, block), stream = job
            with torch.cuda.stream(stream):
                there = block.to(device, non_blocking=True)
                # `int` waits for the stream, so work shared with other streams is complete when
                # the lock is released.
                with computing:
                    coordinates, far = extended(there, first)
                    n_far = int(far.count_nonzero())
                return first, coordinates.cpu().numpy(), n_far

        copies = ((first, _staged(block, device)) for first, block in blocks)
        yield from thread_map(mapped, zip(copies, cycle(streams), strict=False), len(streams))


def _staged(block: Points, device: Any) -> Any:
    """Copy a block to pinned host memory, from which a GPU can copy while it computes."""
    import torch

    if isinstance(block, csr_array):
        raise ParameterTypeError(
            f"sparse points cannot be used with device={str(device)!r}: pass X.toarray() or "
            "choose device='cpu'",
            "device",
        )
    dtype = getattr(torch, block.dtype.name)
    copied = torch.empty(block.shape, dtype=dtype, pin_memory=device.type == "cuda")
    copied.numpy()[...] = block
    return copied


def _streams(device: Any) -> list[Any]:
    """Return the streams of a device after its pending work has finished."""
    import torch

    if device.type != "cuda":
        return [None]
    torch.cuda.synchronize(device)
    return _kept_streams(device)


@lru_cache
def _kept_streams(device: Any) -> list[Any]:
    """Return the same streams on every call, because cuBLAS holds a workspace per stream."""
    import torch

    return [torch.cuda.Stream(device) for _ in range(_STREAMS)]


def _usable(X: Any) -> Any:
    """Return a tensor detached from its gradient; reject sparse and complex tensors."""
    import torch

    tensor = X.detach()
    if tensor.is_complex() or tensor.layout != torch.strided:
        what, remedy = "a sparse layout", "pass X.to_dense()"
        if tensor.is_complex():
            what, remedy = "complex numbers", "pass real numbers, such as torch.view_as_real(X)"
        raise ParameterTypeError(f"X is a tensor of {what}, which cannot be used: {remedy}", "X")
    return tensor
