"""Arrays of other libraries on a GPU, such as CuPy's, which PyTorch shares through DLPack."""

import sys
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError
from trigpoint._points.torch.device import is_tensor, resolve_device

# Numbers that DLPack has for memory of CUDA, of a device and managed.
_CUDA = (2, 13)


def as_tensor(X: Any) -> Any:
    """A tensor that shares the memory of another library's array on a GPU; else `X` itself."""
    if isinstance(X, (np.ndarray, type)) or is_tensor(X) or not hasattr(X, "__dlpack_device__"):
        return X
    if int(X.__dlpack_device__()[0]) not in _CUDA:
        return X
    # PyTorch must be there, and find a GPU.
    resolve_device("cuda")
    _from_dlpack(X)
    import torch

    return torch.from_dlpack(X)


def like(X: Any, tensor: Any) -> Any:
    """A tensor as an array of the library that `X` comes from, sharing its memory."""
    return _from_dlpack(X)(tensor)


def _from_dlpack(X: Any) -> Any:
    """The function that makes an array of the kind of `X`."""
    if hasattr(X, "__array_namespace__"):
        library = X.__array_namespace__()
    else:
        library = sys.modules[type(X).__module__.partition(".")[0]]
    if not hasattr(library, "from_dlpack"):
        raise ParameterTypeError(
            "X",
            type(X).__name__,
            "{parameter} is an array of {kind} on a GPU, which cannot be returned as such",
            "pass torch.from_dlpack({X})",
            kind=type(X).__module__.partition(".")[0],
        )
    return library.from_dlpack
