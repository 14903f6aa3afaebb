"""Metrics as maps to Euclidean rows, for tensors."""

from typing import Any

import numpy as np

from trigpoint._common.checks import refuse_zero_rows, row_numbers

# Norms within these bounds can be squared in float64 without overflow or loss of precision.
_SAFE_NORMS = 1e-150, 1e150


def mapped_on_host(space: Any, device: Any) -> Any:
    """Return the map of a space for tensors on a device, computed on the host."""
    import torch

    def mapped(block: Any, rows: int | np.ndarray = 0) -> Any:
        return torch.from_numpy(space(block.cpu().numpy(), rows)).to(device)

    return mapped


def unit_rows(X: Any, rows: int | np.ndarray = 0) -> Any:
    """Scale the rows of a tensor to unit length; raise an error for rows of zeros.

    Results are bitwise equal to those of the host, unless a square root differs in its last bit.
    `rows` is the number of the first row, or numbers (b,) of all rows, for the error message.
    """
    import torch

    norms = _norms(X)
    low, high = _SAFE_NORMS
    unsafe = ~((norms > low) & (norms < high))[:, 0]
    if unsafe.any():
        largest = X.abs().amax(dim=1, keepdim=True)
        zero = (largest == 0).nonzero()[:, 0].cpu().numpy()
        refuse_zero_rows(row_numbers(rows, zero), "X")
        # Scaling by powers of two is exact.
        powers = torch.where(unsafe[:, None], -torch.frexp(largest).exponent.clamp(min=-1000), 0)
        X = torch.ldexp(X, powers)
        norms = _norms(X)
    # Divide in float64, as on the host; `out` rounds the result without a temporary copy.
    return torch.div(X, norms, out=torch.empty_like(X))


def _norms(X: Any) -> Any:
    """Return norms (b, 1), from squares that are summed in the order of the columns."""
    import torch

    squares = X.T.double().square().contiguous()
    count = torch.full((1,), len(squares), device=X.device)
    return torch.segment_reduce(squares, "sum", lengths=count, unsafe=True)[0].sqrt()[:, None]


def scaled(X: Any, scales: Any) -> Any:
    """Divide the columns of a tensor (b, d) by scales (d,), a tensor on the same device."""
    return X / scales.to(X.dtype)
