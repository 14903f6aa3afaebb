"""What the experiments compute on a device of PyTorch beside the library: k-means and labels.

Everything is in float64, and summed in an order that does not depend on the run.
"""

from typing import Any

import numpy as np

from experiments.internals import distinct_rows
from trigpoint import KMeansLandmarks, KMeansPlusPlus

# Entries of a block of products, 8 bytes each.
_ENTRIES = 2**27

# Points that are summed first when the next one is drawn.
_SUMMED = 256


def on_device(X: np.ndarray, device: str | None) -> Any:
    """An array of points as a tensor on a device; for ``None`` or ``"cpu"``, the array itself."""
    if device in (None, "cpu"):
        return X
    import torch

    return torch.from_numpy(X).to(device)


def device_name(X: Any) -> str:
    """The processor that points are on."""
    if isinstance(X, np.ndarray) or X.device.type == "cpu":
        return "cpu"
    import torch

    return str(torch.cuda.get_device_name(X.device))


def landmarks_of(sampler: KMeansLandmarks | KMeansPlusPlus, X: Any) -> np.ndarray:
    """Landmarks that a sampler chooses among the points of a tensor: rows, or centers."""
    k, seed = sampler.n_landmarks, sampler.random_state
    if isinstance(sampler, KMeansPlusPlus) or sampler.init == "k-means++":
        rows = seed_rows(X, k, seed)
        if isinstance(sampler, KMeansPlusPlus):
            return rows
    else:
        rows = distinct_rows(X.cpu().numpy(), k, np.random.default_rng(seed))
    _, centers, _ = lloyd(X, X[rows], max_iter=sampler.max_iter)
    return centers.to(X.dtype).cpu().numpy()


def seed_rows(X: Any, k: int, seed: int) -> np.ndarray:
    """Rows that k-means++ seeding draws, those of `KMeansPlusPlus` but for rounding.

    Nothing is read back before the end: with several processes on one device, each would wait for
    the others at every step.
    """
    import torch

    rng = np.random.default_rng(seed)
    rows = torch.empty(k, dtype=torch.int64, device=X.device)
    rows[0] = int(rng.integers(len(X)))
    shares = torch.from_numpy(np.array([rng.random() for _ in range(k - 1)])).to(X.device)
    X = X.double()
    norms = X.square().sum(dim=1)
    squares = torch.full((len(X),), np.inf, dtype=torch.float64, device=X.device)
    padded = torch.zeros(-(-len(X) // _SUMMED) * _SUMMED, dtype=torch.float64, device=X.device)
    for step in range(1, k):
        row = rows[step - 1 : step]
        new = (norms + norms[row] - 2 * (X @ X[row][0])).clamp_(min=0)
        squares = torch.minimum(squares, new).index_fill_(0, row, 0.0)
        padded[: len(X)] = squares
        # Sums of a few points, then of these sums: each is one pass in a fixed order.
        within = padded.view(-1, _SUMMED).cumsum(dim=1)
        totals = within[:, -1].cumsum(dim=0)
        target = shares[step - 1] * totals[-1:]
        block = torch.searchsorted(totals, target, right=True).clamp_(max=len(totals) - 1)
        before = totals[block] - within[block, -1]
        place = torch.searchsorted(within[block], (target - before)[:, None], right=True)[:, 0]
        rows[step : step + 1] = block * _SUMMED + place.clamp_(max=_SUMMED - 1)
    return rows.cpu().numpy()


def lloyd(
    X: Any, start: Any, *, max_iter: int = 300, tol: float = 1e-4
) -> tuple[np.ndarray, Any, int]:
    """Lloyd's algorithm, as scikit-learn's `KMeans` runs it from given centers in float64.

    Parameters
    ----------
    X : torch.Tensor of shape (n, d)
    start : torch.Tensor of shape (k, d)
    max_iter, tol
        As for `KMeans`.

    Returns
    -------
    labels : int64 ndarray of shape (n,)
    centers : torch.Tensor of shape (k, d)
        Means of the clusters.
    n_iter : int
    """
    import torch

    X = X.double()
    origin = X.mean(dim=0)
    X, centers = X - origin, start.double() - origin
    tolerance = tol * X.var(dim=0, correction=0).mean()
    labels = torch.full((len(X),), -1, device=X.device)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        previous, labels = labels, _nearest_center(X, centers)
        last, centers = centers, _means(X, labels, centers)
        stays = (labels == previous).all(), (centers - last).square().sum() <= tolerance
        same_labels, same_centers = torch.stack(stays).tolist()
        if same_labels:
            break
        if same_centers:
            labels = _nearest_center(X, centers)
            break
    else:
        labels = _nearest_center(X, centers)
    return labels.cpu().numpy(), _means(X, labels, centers) + origin, n_iter


def _nearest_center(X: Any, centers: Any) -> Any:
    import torch

    halves, columns = centers.square().sum(dim=1) / 2, centers.T.contiguous()
    rows = max(1, _ENTRIES // len(centers))
    parts = [torch.addmm(halves, part, columns, alpha=-1).argmin(dim=1) for part in X.split(rows)]
    return torch.cat(parts)


def _means(X: Any, labels: Any, centers: Any) -> Any:
    """Means of the clusters; one without points takes the point farthest from its center."""
    import torch

    k = len(centers)
    counts = torch.bincount(labels, minlength=k)
    members = X[torch.argsort(labels, stable=True)]
    sums = torch.segment_reduce(members, "sum", lengths=counts, axis=0, initial=0.0)
    empty = (counts == 0).nonzero()[:, 0].tolist()
    if empty:
        squares = (X - centers[labels]).square().sum(dim=1).cpu().numpy()
        if squares.max() > 0:
            # Of several, in the order of scikit-learn, which is not that of their distances.
            far = np.argpartition(squares, -len(empty))[: -len(empty) - 1 : -1]
            for cluster, row in zip(empty, far.tolist(), strict=True):
                left = int(labels[row])
                sums[left] -= X[row]
                sums[cluster] = X[row]
                counts[left] -= 1
                counts[cluster] = 1
    means = sums / counts.clamp(min=1)[:, None]
    # Whatever is still empty coincides with the largest cluster, as in scikit-learn.
    return torch.where((counts == 0)[:, None], means[counts.argmax()], means)


def nearest_labels(train: Any, labels: np.ndarray, test: Any) -> np.ndarray:
    """Label of the nearest point, as `trigpoint.metrics.knn_labels` gives it for tensors.

    Where rounding leaves doubt, differences decide, and of equally distant points the first.
    """
    import torch

    center = train.double().mean(dim=0)
    points, queries = train.double() - center, test.double() - center
    norms = points.square().sum(dim=1)
    rounding = 4 * (points.shape[1] + 8) * float(np.finfo(np.float64).eps)
    columns, rows, start = points.T.contiguous(), [], 0
    for part in queries.split(max(1, _ENTRIES // len(points))):
        squares = torch.addmm(norms, part, columns, alpha=-2) + part.square().sum(dim=1)[:, None]
        low, found = squares.min(dim=1)
        slack = rounding * (squares.mean(dim=1) + norms.max())
        close = squares <= (low + slack)[:, None]
        doubtful = (close.sum(dim=1) > 1).nonzero()[:, 0]
        if len(doubtful):
            asked, candidates = close[doubtful].nonzero(as_tuple=True)
            # Not of centered points, which are rounded.
            own = test[start + doubtful[asked]].double()
            exact = (train[candidates].double() - own).square().sum(dim=1)
            asked, candidates, exact = (
                values.cpu().numpy() for values in (asked, candidates, exact)
            )
            order = np.lexsort((candidates, exact, asked))
            first = order[np.searchsorted(asked[order], np.arange(len(doubtful)))]
            found[doubtful] = torch.from_numpy(candidates[first]).to(found.device)
        rows.append(found)
        start += len(part)
    return labels[torch.cat(rows).cpu().numpy()]
