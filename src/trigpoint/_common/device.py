"""The PyTorch device that coordinates are computed on, and its memory.

PyTorch is imported only when a device is asked for.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.words import size

logger = logging.getLogger(__name__)

# Temporaries may take a quarter of the free memory, within these bounds. PyTorch keeps what it has
# allocated, so without an upper bound a process would hold most of a GPU that others share.
_MOST_WORKING = 16 * 2**30
_LEAST_WORKING = 2**27
_WORKING_SHARE = 4
# On the processor, where tests run, small blocks are as fast as large ones.
_FREE_ON_HOST = 2**30


def is_tensor(X: Any) -> bool:
    """Whether `X` is a PyTorch tensor, without importing PyTorch."""
    return _is_from_torch(X, "Tensor")


def _is_from_torch(thing: Any, name: str) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, getattr(torch, name))


def resolve_device(device: Any, X: Any = None) -> Any:
    """Return the PyTorch device to compute on, or None to compute with NumPy on the host.

    Parameters
    ----------
    device : None, str or torch.device
        ``None`` follows the data: the device of a tensor on a GPU, the host for everything else.
        ``"cpu"`` is NumPy on the host; ``torch.device("cpu")``, an object, is PyTorch on the host,
        which is slower and exists to test device code without a GPU. ``"auto"`` is a GPU if there
        is one.
    X : object
        The data.
    """
    elsewhere = is_tensor(X) and X.device.type != "cpu"
    if device is None or (device == "auto" and elsewhere):
        return _checked(X.device) if elsewhere else None
    if _is_from_torch(device, "device"):
        return device if device.type == "cpu" else _checked(device)
    if not isinstance(device, str):
        raise _not_understood(device, ParameterTypeError)
    if device == "cpu":
        return None
    kind, _, number = device.partition(":")
    if device != "auto" and (kind != "cuda" or (number and not number.isdigit())):
        raise _not_understood(device, ParameterValueError)
    torch = _torch_or_none()
    if device == "auto":
        found = torch is not None and torch.cuda.is_available()
        logger.info("device='auto' computes on %s", "cuda" if found else "cpu")
        return torch.device("cuda") if found else None
    if torch is None:
        raise ParameterValueError(
            f"device={short(device)} needs PyTorch, which is not installed: pip install torch or "
            "choose device='cpu'",
            "device",
        )
    return _checked(torch.device(device))


def _torch_or_none() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _checked(device: Any) -> Any:
    """Return a device that can be used, or raise an error."""
    import torch

    if device.type != "cuda":
        raise ParameterValueError(
            f"device={str(device)!r} is not supported: the search for landmarks needs float64 and "
            "CUDA; choose 'cuda' or 'cpu'",
            "device",
        )
    if not torch.cuda.is_available():
        raise ParameterValueError(
            f"device={str(device)!r} needs a GPU, and PyTorch {torch.__version__} finds none that "
            "it can use: check the driver and that PyTorch was built for CUDA or choose "
            "device='cpu'",
            "device",
        )
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise ParameterValueError(
            f"device={str(device)!r} does not exist: there are {count} GPUs, numbered from 0; "
            f"choose 'cuda:{count - 1}' or less",
            "device",
        )
    return device


def _not_understood(device: Any, kind: type) -> Exception:
    error: Exception = kind(
        f"device={short(device)} is not understood: choose 'cpu', 'cuda', 'cuda:1' and so on, or "
        "'auto'",
        "device",
    )
    return error


def to_device(array: np.ndarray, device: Any) -> Any:
    """Return a copy of an array on a device."""
    import torch

    if not array.flags.writeable or not array.flags.c_contiguous or device.type == "cpu":
        array = np.array(array, order="C")
    return torch.from_numpy(array).to(device)


def free_memory(device: Any) -> int:
    """Bytes that can be allocated on a device."""
    import torch

    if device.type == "cpu":
        return _FREE_ON_HOST
    free, _ = torch.cuda.mem_get_info(device)
    # Memory that PyTorch holds but does not use counts as taken for the driver.
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + unused)


def working_memory(device: Any) -> int:
    """Bytes available for temporaries on a device; an error if there are too few."""
    free = free_memory(device)
    working = min(_MOST_WORKING, free // _WORKING_SHARE)
    if working < _LEAST_WORKING:
        raise _too_little(device, free)
    return working


def _too_little(device: Any, free: int) -> ParameterValueError:
    return ParameterValueError(
        f"device={str(device)!r} has {size(float(free))} of free memory, which is not enough: "
        "free memory held by other processes or by unused tensors or choose device='cpu'",
        "device",
    )


@contextmanager
def device_memory(device: Any) -> Iterator[None]:
    """Turn PyTorch's out-of-memory error into one that names the parameter and a remedy.

    Blocks are sized to the free memory, but other processes may take it at any time.
    """
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _too_little(device, free_memory(device)) from error
