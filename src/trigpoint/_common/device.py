"""Selection of PyTorch devices, and available device memory.

PyTorch is imported only when a device is requested.
"""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.words import size

logger = logging.getLogger(__name__)

# Temporaries may take a quarter of the free memory, within these bounds. PyTorch does not return
# allocated memory, so without an upper bound a process could occupy most of a shared GPU.
_MOST_WORKING = 16 * 2**30
_LEAST_WORKING = 2**27
_WORKING_SHARE = 4
# Free memory to assume on the CPU, which only tests use, and where large blocks are no faster.
_FREE_ON_HOST = 2**30


def is_tensor(X: Any) -> bool:
    """Return whether `X` is a PyTorch tensor, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def resolve_device(device: Any, X: Any = None) -> Any:
    """Return the PyTorch device to compute on, or None to compute with NumPy on the host.

    For ``None``, it is that of the data `X` if this is a tensor on a GPU. ``"auto"`` selects a GPU
    if there is one, and ``"cpu"`` selects NumPy; the object ``torch.device("cpu")`` selects PyTorch
    on the host, which is slower and serves to test device code without a GPU.
    """
    if device is None or (isinstance(device, str) and device == "auto"):
        if is_tensor(X) and X.device.type != "cpu":
            return _usable(X.device)
        if device is None:
            return None
    elif (type(device).__module__, type(device).__name__) == ("torch", "device"):
        return device if device.type == "cpu" else _usable(device)
    elif not (isinstance(device, str) and re.fullmatch(r"cpu|cuda(:\d+)?", device)):
        kind = ParameterValueError if isinstance(device, str) else ParameterTypeError
        raise kind(
            f"device={short(device)} is not understood: choose 'cpu', 'cuda', 'cuda:1' and so on, "
            "or 'auto'",
            "device",
        )
    if device == "cpu":
        return None
    try:
        import torch
    except ImportError:
        if device == "auto":
            return None
        raise ParameterValueError(
            f"device={short(device)} needs PyTorch, which is not installed: pip install torch or "
            "choose device='cpu'",
            "device",
        ) from None
    if device == "auto":
        found = torch.device("cuda") if torch.cuda.is_available() else None
        logger.info("device='auto' computes on %s", found or "cpu")
        return found
    return _usable(torch.device(device))


def _usable(device: Any) -> Any:
    """Return a usable GPU, or raise an error."""
    import torch

    problem = None
    if device.type != "cuda":
        problem = (
            "is not supported: the search for landmarks needs float64 and CUDA; choose 'cuda' or "
            "'cpu'"
        )
    elif not torch.cuda.is_available():
        problem = (
            f"needs a GPU, and PyTorch {torch.__version__} finds none that it can use: check the "
            "driver and that PyTorch was built for CUDA or choose device='cpu'"
        )
    elif (device.index or 0) >= (count := torch.cuda.device_count()):
        problem = (
            f"does not exist: there are {count} GPUs, numbered from 0; choose 'cuda:{count - 1}' "
            "or less"
        )
    if problem:
        raise ParameterValueError(f"device={str(device)!r} {problem}", "device")
    return device


def to_device(array: np.ndarray, device: Any) -> Any:
    """Return a copy of an array on a device."""
    import torch

    if not array.flags.writeable or not array.flags.c_contiguous or device.type == "cpu":
        array = np.array(array, order="C")
    return torch.from_numpy(array).to(device)


def free_memory(device: Any) -> int:
    """Return the number of bytes that can be allocated on a device."""
    import torch

    if device.type == "cpu":
        return _FREE_ON_HOST
    free, _ = torch.cuda.mem_get_info(device)
    # The driver counts memory that PyTorch has reserved but does not use as occupied.
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + unused)


def working_memory(device: Any) -> int:
    """Return the number of bytes available for temporaries, or raise an error if too small."""
    free = free_memory(device)
    working = min(_MOST_WORKING, free // _WORKING_SHARE)
    if working < _LEAST_WORKING:
        raise _too_little(device, free)
    return working


def _too_little(device: Any, free: int) -> ParameterValueError:
    return ParameterValueError(
        f"device={str(device)!r} has {size(float(free))} of free memory, which is not enough: "
        "free memory held by other processes or by unused tensors, or choose device='cpu'",
        "device",
    )


@contextmanager
def device_memory(device: Any) -> Iterator[None]:
    """Convert PyTorch's out-of-memory error to one that names the parameter and a remedy.

    Blocks are sized to fit the free memory, but other processes may allocate it at any time.
    """
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _too_little(device, free_memory(device)) from error
