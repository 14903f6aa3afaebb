"""What landmarks leave unexplained of points on a device."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.residual.factor import independent_landmarks
from trigpoint._points.torch.device import to_device


def unexplained_variances_there(
    X: Any, landmarks: np.ndarray, bandwidth: float, block_bytes: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """As `unexplained_variances`, of a tensor."""
    import torch

    basis, factor = independent_landmarks(landmarks, bandwidth)
    points, lower = (to_device(part, X.device) for part in (basis, factor.T))
    center = points.mean(dim=0)
    points -= center
    norms = points.square().sum(dim=1)
    for block in row_blocks(len(X), block_rows(8 * len(basis), block_bytes)):
        x = X[block].double() - center
        squares = (x.square().sum(dim=1)[:, None] + norms - 2 * (x @ points.T)).clamp(min=0)
        kernel = (squares / (-2.0 * bandwidth**2)).exp()
        explained = torch.linalg.solve_triangular(lower, kernel.T, upper=False)
        variances = (1.0 - explained.square().sum(dim=0)).clamp(min=0)
        yield block, variances.cpu().numpy()
