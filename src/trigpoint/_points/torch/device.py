"""Which PyTorch device computes, and how much memory it has.

PyTorch is imported only if a device is asked for.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.words import size
from trigpoint._sources.problems import is_from

logger = logging.getLogger(__name__)

# Bytes of temporaries: at most these, and on a GPU no more than a share of what is free.
_MOST_WORKING = 16 * 2**30
_WORKING_HERE = 2**28
_WORKING_SHARE = 4
_LEAST_WORKING = 2**27


def is_tensor(X: Any) -> bool:
    """Whether `X` is a tensor of PyTorch, without importing it."""
    return is_from(X, "torch", "Tensor")


def is_elsewhere(X: Any) -> bool:
    """Whether `X` is a tensor outside the memory of the host."""
    return is_tensor(X) and X.device.type != "cpu"


def device_of(points: Any) -> Any:
    """The PyTorch device on which this process holds the points, or None."""
    device = getattr(points, "device", None)
    return device if is_from(device, "torch", "device") else None


def resolve_device(device: Any, X: Any = None) -> Any:
    """The PyTorch device to compute on, or None for loops on the host.

    Parameters
    ----------
    device : None, str or torch.device
        ``None`` follows the points: a tensor on a GPU is used there. ``"auto"`` is a GPU if there
        is one.
    X : object
        The points.
    """
    if device is None:
        return _checked(X.device) if is_elsewhere(X) else None
    name = str(device) if is_from(device, "torch", "device") else device
    if not isinstance(name, str):
        raise _not_understood(device, ParameterTypeError)
    if name == "cpu":
        return None
    kind, _, number = name.partition(":")
    if name != "auto" and (kind != "cuda" or (number and not number.isdigit())):
        raise _not_understood(device, ParameterValueError)
    torch = _torch_or_none()
    if name == "auto":
        if is_elsewhere(X):
            return _checked(X.device)
        found = torch is not None and torch.cuda.is_available()
        logger.info("device='auto' computes on %s", "cuda" if found else "cpu")
        return torch.device("cuda") if found else None
    if torch is None:
        raise ParameterValueError(
            "device",
            name,
            "{parameter=} needs PyTorch, which is not installed",
            ("pip install torch", "choose 'cpu'"),
        )
    return _checked(torch.device(name))


def _torch_or_none() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _checked(device: Any) -> Any:
    """A device that can be used, or an error."""
    import torch

    if device.type != "cuda":
        raise ParameterValueError(
            "device",
            str(device),
            "{parameter=} is not supported: distances that decide need float64 and CUDA",
            "choose 'cuda' or 'cpu'",
        )
    if not torch.cuda.is_available():
        raise ParameterValueError(
            "device",
            str(device),
            "{parameter=} needs a GPU, and PyTorch {version} finds none that it can use",
            (
                "check the driver and that PyTorch was built for CUDA",
                "choose 'cpu'",
            ),
            version=torch.__version__,
        )
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise ParameterValueError(
            "device",
            str(device),
            "{parameter=} does not exist: there are {count} GPUs, numbered from 0",
            "choose 'cuda:{last}' or less",
            count=count,
            last=count - 1,
        )
    return device


def _not_understood(device: Any, kind: type) -> Exception:
    error: Exception = kind(
        "device",
        device,
        "{parameter=} is not understood",
        "choose 'cpu', 'cuda', 'cuda:1' and so on, or 'auto'",
    )
    return error


def to_device(array: np.ndarray, device: Any) -> Any:
    """A copy of an array on a device."""
    import torch

    if not array.flags.writeable or not array.flags.c_contiguous or device.type == "cpu":
        array = np.array(array, order="C")
    return torch.from_numpy(array).to(device)


def staged(array: np.ndarray, device: Any) -> Any:
    """A copy of an array on the host, in memory that a GPU can read while it computes."""
    import torch

    dtype = getattr(torch, array.dtype.name)
    copy = torch.empty(array.shape, dtype=dtype, pin_memory=device.type == "cuda")
    copy.numpy()[...] = array
    return copy


def blocks_ahead(X: np.ndarray, parts: Iterable[slice], device: Any) -> Iterator[tuple[slice, Any]]:
    """Yield parts of an array on a device; the next is copied there while one is used."""
    import torch

    copying = torch.cuda.Stream(device) if device.type == "cuda" else None

    def copied(part: slice) -> tuple[slice, Any, Any]:
        block = staged(X[part], device)
        # Without a stream, this does nothing.
        with torch.cuda.stream(copying):
            there = block.to(device, non_blocking=True)
            return part, there, copying and copying.record_event()

    end = slice(0), None, None
    for (part, block, arrived), _ in pairwise(chain(map(copied, parts), [end])):
        if arrived is not None:
            computing = torch.cuda.current_stream(device)
            computing.wait_event(arrived)
            block.record_stream(computing)
        yield part, block


def free_memory(device: Any) -> int:
    """Bytes that can be allocated on a device."""
    import torch

    if device.type == "cpu":
        return 4 * _WORKING_HERE
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + unused)


def fits(n_bytes: int, device: Any) -> bool:
    """Whether a device has room for `n_bytes` and for temporaries."""
    return device.type == "cpu" or 2 * n_bytes <= free_memory(device)


def working_memory(device: Any) -> int:
    """Bytes available for temporaries on a device; an error if there are too few."""
    free = free_memory(device)
    working = min(_MOST_WORKING, free // _WORKING_SHARE)
    if working < _LEAST_WORKING:
        raise _too_little(device, free)
    return working


def _too_little(device: Any, free: int) -> ParameterValueError:
    return ParameterValueError(
        "device",
        str(device),
        "{parameter=} has {free} of free memory, which is not enough",
        (
            "free some: other processes may hold it, or tensors that are no longer needed",
            "choose 'cpu'",
        ),
        free=size(float(free)),
    )


@contextmanager
def device_memory(device: Any) -> Iterator[None]:
    """Turn PyTorch's out-of-memory errors into one with a remedy."""
    if device is None:
        yield
        return
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _too_little(device, free_memory(device)) from error
