"""Nearest landmarks of landmarks: the device finds candidates, from which the host chooses."""

from typing import Any

import numpy as np

from trigpoint._common.records import Covariances, LowRankCovariances
from trigpoint._numerics.blocks import row_blocks
from trigpoint._points.torch.device import device_memory, to_device, working_memory
from trigpoint._points.torch.store import TorchStore

# Share of the working memory that matrices of one block of pairs take, with their temporaries.
_BLOCK_SHARE = 4

# Pairs that are evaluated at once, however small their matrices.
_PAIRS = 2**22


def nearest_on_device(points: np.ndarray, count: int, device: Any) -> np.ndarray:
    """Rows (k, count) of the nearest others of distinct points to each, in the order of rows."""
    import torch

    with device_memory(device):
        found = TorchStore(to_device(points, device), device).search(points, count + 1)
        assert found.members is not None
        members = torch.stack(found.members).sort(dim=1).values.cpu().numpy()
    return np.asarray(members[members != np.arange(len(points))[:, None]].reshape(-1, count))


def bhattacharyya_candidates(
    points: np.ndarray,
    covariances: Covariances,
    near: np.ndarray | None,
    count: int,
    device: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Columns (k, count) of landmarks with the smallest Bhattacharyya distances, ascending.

    Columns are those of `near` (k, c), or of all landmarks if that is None. Also returns the
    largest distance (k,) among them, as the device has it: the others are not nearer than that.
    """
    import torch

    with device_memory(device):
        compare, width = _comparison(points - points.mean(axis=0), covariances, device)
        there = None if near is None else to_device(near, device)
        k = len(points)
        others = k if near is None else near.shape[1]
        most = min(_PAIRS, working_memory(device) // _BLOCK_SHARE // (8 * width)) // others
        columns, reach = [], []
        for part in row_blocks(k, max(1, most)):
            left = torch.arange(part.start, part.stop, device=device)
            if there is None:
                distances = compare(left, torch.arange(k, device=device)[None])
                distances[torch.arange(len(left), device=device), left] = torch.inf
            else:
                distances = compare(left, there[part])
            smallest = distances.topk(count, dim=1, largest=False, sorted=False)
            columns.append(smallest.indices.sort(dim=1).values.cpu().numpy())
            reach.append(smallest.values.amax(dim=1).cpu().numpy())
        return np.concatenate(columns), np.concatenate(reach)


def _comparison(points: np.ndarray, covariances: Covariances, device: Any) -> tuple[Any, int]:
    """Distances (b, c) as a function of landmarks (b,) and others (b, c) or (1, c).

    Also returns how many numbers are held for each distance.
    """
    import torch

    x = to_device(points, device)
    if isinstance(covariances, LowRankCovariances):
        r = covariances.rank
        return _low_rank(x, covariances, device), 4 * (2 * r + 1) ** 2 + 2 * (r + 1) * x.shape[1]
    C = to_device(covariances, device)
    if C.ndim == 2:
        logs = C.log().sum(dim=1)

        def compare_diagonals(left: Any, right: Any) -> Any:
            mean = (C[left][:, None] + C[right]) / 2
            squares = (x[left][:, None] - x[right]).square()
            terms = (squares / mean / 8 + mean.log() / 2).sum(dim=2)
            return terms - (logs[left][:, None] + logs[right]) / 4

        return compare_diagonals, 6 * C.shape[1]
    logs = torch.logdet(C)
    d = C.shape[1]

    def compare(left: Any, right: Any) -> Any:
        bordered = x.new_zeros((len(left), right.shape[1], d + 1, d + 1))
        bordered[..., :d, :d] = (C[left][:, None] + C[right]) / 2
        bordered[..., d, :d] = x[left][:, None] - x[right]
        squares, determinants = _eliminated(bordered)
        return squares / 8 + determinants / 2 - (logs[left][:, None] + logs[right]) / 4

    return compare, 4 * (d + 1) ** 2


def _low_rank(x: Any, covariances: LowRankCovariances, device: Any) -> Any:
    """The same for covariances ``rest I + A^T A``; see `low_rank_distances` for the algebra."""
    import torch

    rest = to_device(covariances.rest, device)
    spreads = (to_device(covariances.variances, device) - rest[:, None]).clamp(min=0)
    A = spreads.sqrt()[:, :, None] * to_device(covariances.directions, device)
    d, r = x.shape[1], spreads.shape[1]
    logs = d * rest.log() + (spreads / rest[:, None]).log1p().sum(dim=1)
    # With the point below, one product gives all that two landmarks have in common.
    rows = torch.cat([A, x[:, None]], dim=1)
    own = rows @ x[:, :, None]

    def compare(left: Any, right: Any) -> Any:
        if len(right) == 1:
            shared = torch.einsum("lad,mbd->lmab", rows[left], rows[right[0]])
        else:
            shared = rows[left][:, None] @ rows[right].transpose(2, 3)
        twice = rest[left][:, None] + rest[right]
        bordered = x.new_zeros((*twice.shape, 2 * r + 1, 2 * r + 1))
        diagonal = bordered.diagonal(dim1=2, dim2=3)
        diagonal[..., :r] = spreads[left][:, None]
        diagonal[..., r:-1] = spreads[right]
        bordered[..., r:-1, :r] = shared[..., :r, :r].transpose(2, 3)
        bordered[..., -1, :r] = own[left][:, None, :r, 0] - shared[..., :r, r]
        bordered[..., -1, r:-1] = shared[..., r, :r] - own[right][..., :r, 0]
        diagonal[..., :-1] += twice[..., None]
        explained, determinants = _eliminated(bordered)
        squares = own[left][:, None, r, 0] + own[right][..., r, 0] - 2 * shared[..., r, r]
        determinants += (d - 2 * r) * twice.log() - d * np.log(2)
        terms = (squares - explained) / twice / 4 + determinants / 2
        return terms - (logs[left][:, None] + logs[right]) / 4

    return compare


def _eliminated(bordered: Any) -> tuple[Any, Any]:
    """``v^T M^-1 v`` and ``log |M|`` of many [[M, .], [v, 0]], of which the lower half is read."""
    size = bordered.shape[-1]
    logs = 0.0
    for i in range(size - 1):
        pivot = bordered[..., i, i]
        logs = logs + pivot.log()
        below = bordered[..., i + 1 :, i]
        scaled = below / pivot[..., None]
        bordered[..., i + 1 :, i + 1 :] -= scaled[..., :, None] * below[..., None, :]
    return -bordered[..., -1, -1], logs
