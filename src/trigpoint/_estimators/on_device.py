"""Coordinates computed by PyTorch, for tensors or for blocks of points read on the host."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import cycle
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.records import Extension
from trigpoint._extension.extensions import warn_of_far
from trigpoint._extension.on_device import OnDevice
from trigpoint._numerics.threads import thread_map
from trigpoint._points.torch.device import device_memory, staged, to_device
from trigpoint._points.torch.tensors import on_host, tensor_to_transform

# Blocks on a GPU at once: while one is computed, another is copied.
_STREAMS = 2


def coordinates_of_tensor(estimator: Any, X: Any, device: Any) -> Any:
    """Coordinates of a tensor, computed on `device` or, if that is None, on the host.

    They are returned on the device of the tensor.
    """
    import torch

    if device is None:
        return torch.from_numpy(np.asarray(estimator.transform(on_host(X)))).to(X.device)
    with device_memory(device):
        points = tensor_to_transform(estimator, X, device)
        coordinates, n_far = OnDevice(estimator.fitted_.extension, device)(points)
        warn_of_far(n_far, len(points))
        return coordinates.to(X.device)


def block_by_device(extension: Extension, block: np.ndarray, device: Any) -> tuple[np.ndarray, int]:
    """Coordinates of one block of points, and how many are far."""
    with device_memory(device):
        coordinates, n_far = OnDevice(extension, device)(to_device(block, device))
        return coordinates.cpu().numpy(), n_far


def blocks_by_device(
    extension: Extension, blocks: Iterable[Any], device: Any
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the coordinates of blocks of points as they come, and how many are far.

    On a GPU, while one block is computed, others are read, copied or brought back.
    """
    import torch

    with device_memory(device):
        there = OnDevice(extension, device)
        streams, computing = _streams(device), Lock()

        def extended(block_and_stream: tuple[Any, Any]) -> tuple[np.ndarray, int]:
            block, stream = block_and_stream
            with torch.cuda.stream(stream):
                points = block.to(device, non_blocking=True)
                # What one stream prepares and others use is complete when this returns.
                with computing:
                    coordinates, n_far = there(points)
                return coordinates.cpu().numpy(), n_far

        copies = (staged(_dense(block, device), device) for block in blocks)
        yield from thread_map(extended, zip(copies, cycle(streams), strict=False), len(streams))


def _streams(device: Any) -> list[Any]:
    """Streams that run side by side, once all pending work is done."""
    import torch

    if device.type != "cuda":
        return [None]
    torch.cuda.synchronize(device)
    return _kept_streams(device)


@lru_cache
def _kept_streams(device: Any) -> list[Any]:
    """The same streams for all calls: cuBLAS keeps 32 MB for each that it has ever used."""
    import torch

    return [torch.cuda.Stream(device) for _ in range(_STREAMS)]


def _dense(block: Any, device: Any) -> np.ndarray:
    if isinstance(block, csr_array):
        raise ParameterTypeError(
            "device",
            str(device),
            "sparse points cannot be used with {parameter=}",
            ("pass {X}.toarray()", "choose 'cpu'"),
        )
    return np.asarray(block)
