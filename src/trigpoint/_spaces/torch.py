"""Metrics as maps to Euclidean rows, for tensors."""

from typing import Any

from trigpoint._common.checks import refuse_zero_rows

# Norms within these bounds can be squared in float64 without overflow or loss of digits.
_SAFE_NORMS = 1e-150, 1e150


def unit_rows(X: Any, first_row: int = 0) -> Any:
    """Scale the rows of a tensor to unit length; refuse rows of zeros.

    Parameters
    ----------
    X : tensor of shape (b, d), float32 or float64
    first_row : int, default=0
        Number of the first row, for the error message.
    """
    import torch

    norms = _norms(X)
    low, high = _SAFE_NORMS
    unsafe = ~((norms > low) & (norms < high))[:, 0]
    if unsafe.any():
        largest = X.abs().amax(dim=1, keepdim=True)
        zero = (largest == 0).nonzero()[:, 0]
        refuse_zero_rows(first_row + zero.cpu().numpy(), "X")
        X = X / torch.where(unsafe[:, None], largest, 1.0)
        norms = _norms(X)
    # Divide in float64, as on the host; `out` rounds the result without a temporary copy.
    return torch.div(X, norms, out=torch.empty_like(X))


def _norms(X: Any) -> Any:
    import torch

    return torch.linalg.vector_norm(X, dim=1, keepdim=True, dtype=torch.float64)


def scaled(X: Any, scales: Any) -> Any:
    """Divide the columns of a tensor (b, d) by scales (d,), a tensor on the same device."""
    return X / scales.to(X.dtype)
