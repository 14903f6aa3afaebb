"""Tensors as users pass them, validated where they are."""

import math
from typing import Any

import numpy as np

from trigpoint._common.checks import check_magnitude, refuse_non_finite
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.words import counted
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._points.scaling import unit_rows
from trigpoint._points.torch.device import fits, to_device
from trigpoint._points.torch.store import TorchStore

# Bytes of a tensor that are examined at once.
_EXAMINED = 2**28


def on_host(X: Any) -> np.ndarray:
    """A tensor as an array, which shares its memory if it is on the host and of a usable type."""
    return np.asarray(_as_float(X).cpu().numpy())


def _as_float(X: Any) -> Any:
    import torch

    X = X.detach()
    if X.is_complex() or X.is_sparse or X.layout != torch.strided:
        what, remedy = "a sparse layout", "pass X.to_dense()"
        if X.is_complex():
            what, remedy = "complex numbers", "pass real ones, such as torch.view_as_real(X) gives"
        raise ParameterTypeError(
            "X",
            str(X.dtype),
            "{parameter} is a tensor of {what}, which cannot be used",
            remedy,
            what=what,
        )
    return X if X.dtype in (torch.float32, torch.float64) else X.double()


def checked_tensor(X: Any, device: Any, *, least: int = 1, new: bool = False) -> Any:
    """Points (n, d) on a device, float32 or float64, all finite and of a usable magnitude.

    `least` points are needed; if they are `new`, those of a fit tell their scale.
    """
    if X.ndim != 2 or X.shape[0] < least or not X.shape[1]:
        raise ParameterValueError(
            "X",
            tuple(X.shape),
            "{parameter} must have at least {rows} and a column, and is a tensor of shape {shape}",
            "pass a tensor of shape (n, d)",
            rows=counted(least, "row"),
            shape=tuple(X.shape),
        )
    points = _as_float(X).to(device).contiguous()
    rows = block_rows(points.shape[1] * points.element_size(), _EXAMINED)
    extremes = []
    for part in row_blocks(len(points), rows):
        low, high = (float(value) for value in points[part].aminmax())
        if not (math.isfinite(low) and math.isfinite(high)):
            refuse_non_finite(points[part].cpu().numpy(), "X", first_row=part.start)
        extremes += [low, high]
    box = np.zeros((2, points.shape[1]), dtype=str(points.dtype).removeprefix("torch."))
    box[:, 0] = min(extremes), max(extremes)
    check_magnitude(box, may_be_tiny=new)
    return points


def tensor_to_fit(estimator: Any, X: Any, device: Any) -> TorchStore:
    """Validate a tensor for `fit`, and store its points on a device."""
    points = checked_tensor(X, device, least=2)
    estimator.n_features_in_ = int(points.shape[1])
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return TorchStore(points, device)


def tensor_to_transform(estimator: Any, X: Any, device: Any) -> Any:
    """Validate a tensor for `transform`, and return its points on a device."""
    points = checked_tensor(X, device, new=True)
    if points.shape[1] != estimator.n_features_in_:
        raise ParameterValueError(
            "X",
            tuple(X.shape),
            "{parameter} has {found}, but {estimator} was fitted with {fitted}",
            "pass the same columns",
            found=counted(int(points.shape[1]), "column"),
            estimator=type(estimator).__name__,
            fitted=estimator.n_features_in_,
        )
    metric = estimator.fitted_.parameters["metric"]
    if metric == "euclidean":
        return points
    # On the host, where every run rounds alike.
    here = on_host(points)
    if metric == "seuclidean":
        return to_device(here / estimator.column_scales_.astype(here.dtype), device)
    return to_device(unit_rows(here, "X"), device)


def store_on(device: Any, X: np.ndarray) -> TorchStore:
    """Store an array on a device, or, if it is too large for that, read it from the host."""
    return TorchStore(to_device(X, device) if fits(X.nbytes, device) else X, device)
