"""Coordinates of points by PyTorch: of tensors, or of blocks that are read from the host."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.errors import ParameterTypeError
from trigpoint._common.records import Extension
from trigpoint._extension.extensions import warn_of_far
from trigpoint._extension.on_device import OnDevice
from trigpoint._points.torch.device import device_memory, to_device
from trigpoint._points.torch.tensors import on_host, tensor_to_transform


def coordinates_of_tensor(estimator: Any, X: Any, device: Any) -> Any:
    """Coordinates of a tensor, computed on a device or, if that is None, the host.

    They are where the tensor is.
    """
    import torch

    if device is None:
        return torch.from_numpy(np.asarray(estimator.transform(on_host(X)))).to(X.device)
    with device_memory(device):
        points = tensor_to_transform(estimator, X, device)
        coordinates, n_far = OnDevice(estimator.fitted_.extension, device)(points)
        warn_of_far(n_far, len(points))
        return coordinates.to(X.device)


def blocks_by_device(
    extension: Extension, blocks: Iterable[Any], device: Any
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the coordinates of blocks of points as they come, and how many are far."""
    with device_memory(device):
        there = OnDevice(extension, device)
        for block in blocks:
            if isinstance(block, csr_array):
                raise ParameterTypeError(
                    "device",
                    str(device),
                    "sparse points cannot be used with {parameter=}",
                    ("pass {X}.toarray()", "choose 'cpu'"),
                )
            coordinates, n_far = there(to_device(block, device))
            yield coordinates.cpu().numpy(), n_far
