"""Coordinates on a real GPU, compared with the host's: ``python -m tools.gpu_check``.

Exits with 1 if a case fails or the cosine metric takes more than 1.1 times as long as the Euclidean
one. ``python -m tools.gpu_check cpu`` tries smaller cases with PyTorch on the host.
"""

import sys
import time
import warnings
from typing import Any

import numpy as np
import torch

import trigpoint as tp

OPTIONS: dict[str, Any] = {"landmarks": 300, "graph": tp.KNNGraph(10), "random_state": 0}
ESTIMATORS: dict[str, Any] = {
    "smooth": tp.LaplacianEigenmaps(extension="smooth", **OPTIONS),
    "graph": tp.LaplacianEigenmaps(extension="graph", **OPTIONS),
    "all landmarks": tp.LaplacianEigenmaps(20, extension="all", **OPTIONS),
    "kernel": tp.KernelPCA(landmarks=300, random_state=0),
    "geodesic": tp.Isomap(landmarks=300, extension="graph", random_state=0),
    "map": tp.LandmarkMap(landmarks=300, n_iter=50, random_state=0),
    "cosine": tp.LaplacianEigenmaps(extension="smooth", metric="cosine", **OPTIONS),
    "seuclidean": tp.LaplacianEigenmaps(extension="smooth", metric="seuclidean", **OPTIONS),
}
SHAPES = ((30_000, 3), (10_000, 15), (10_000, 40), (3000, 784))
DTYPES = ((np.float64, 1e-8), (np.float32, 1e-4))


def cloud(n: int, d: int) -> np.ndarray:
    """Return rows near a three-dimensional surface that is away from the origin."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(d, 3)))[0]
    return rng.uniform(size=(n, 3)) * 10 @ basis.T + 0.3 * rng.normal(size=(n, d)) + 6


def check_coordinates(device: torch.device, fewer: int) -> int:
    """Compare coordinates of every extension on the device and the host; return the failures."""
    n_failed = 0
    for (n, d), (dtype, tolerance) in ((shape, kind) for shape in SHAPES for kind in DTYPES):
        X = cloud(n // fewer, d).astype(dtype)
        there = torch.tensor(X, device=device)
        for name, estimator in ESTIMATORS.items():
            expected = estimator.fit(X[:2000]).transform(X)
            found, again, here = (estimator.transform(Z, device=device) for Z in (there, there, X))
            off = max(np.abs(Y - expected).max() for Y in (found.cpu().numpy(), here))
            off /= np.abs(expected).max()
            good = off < tolerance and found.dtype == there.dtype and torch.equal(found, again)
            n_failed += not good
            state = "PASS" if good else "FAIL"
            print(f"{state} {name}, {n} x {d}, {dtype.__name__}, off {off:.0e}", flush=True)
    return n_failed


def check_maps(device: torch.device) -> int:
    """Check that maps of all rows on the device are bitwise reproducible, also by `transform`."""
    X = torch.tensor(cloud(20_000, 40), device=device).float()
    first = tp.LandmarkMap()
    found, again = first.fit_transform(X), tp.LandmarkMap().fit_transform(X)
    good = torch.equal(found, again) and torch.equal(first.transform(X), found)
    print("PASS" if good else "FAIL", "map of all rows", flush=True)
    return int(not good)


def check_messages(device: torch.device) -> int:
    """Check that invalid rows are named, and that far rows are counted."""
    X, n_failed = cloud(2000, 3), 0
    warnings.simplefilter("error")
    for name, value, message in (
        ("smooth", 1e4, "1 of 2,000 points is more than ten bandwidths"),
        ("smooth", np.nan, "NaN in row 1234, column 0"),
        ("cosine", 0.0, "only zeros in row 1234"),
    ):
        estimator, there, said = ESTIMATORS[name].fit(X), torch.tensor(X, device=device), ""
        there[1234] = value
        try:
            estimator.transform(there, device=device)
        except (ValueError, UserWarning) as error:
            said = str(error)
        n_failed += message not in said
        print("PASS" if message in said else f"FAIL ({said!r})", message, flush=True)
    warnings.simplefilter("ignore")
    return n_failed


def seconds(estimator: Any, X: Any, device: torch.device, what: str) -> float:
    """Return the median time of five calls of `transform`, after one that allocates memory."""
    taken = []
    for _ in range(6):
        torch.cuda.synchronize()
        start = time.perf_counter()
        estimator.transform(X, device=device)
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    median = sorted(taken[1:])[2]
    print(f"{what}: {median:.3f} s", flush=True)
    return median


def check_timings(device: torch.device) -> int:
    """Time `transform`; the cosine metric may take 1.1 times as long as the Euclidean one."""
    X = torch.rand((10**7, 3), device=device)
    estimator = tp.LaplacianEigenmaps(landmarks=2500, random_state=0).fit(X[:160_000])
    seconds(estimator, X, device, "10M x 3 from the GPU")
    seconds(estimator, X.cpu().numpy(), device, "10M x 3 from the host")
    X = torch.tensor(cloud(4096, 768), device=device).float().repeat(256, 1)[: 10**6]
    X += 0.1 * torch.randn(X.shape, device=device)
    spent = []
    for metric in ("euclidean", "cosine"):
        estimator = ESTIMATORS["smooth"].set_params(metric=metric, landmarks=1000).fit(X[:20_000])
        spent.append(seconds(estimator, X, device, f"1M x 768 from the GPU, {metric}"))
    return int(spent[1] > 1.1 * spent[0])


def main() -> int:
    """Run all checks on a device, and return the number of failures."""
    device = torch.device(*sys.argv[1:] or ["cuda"])
    warnings.simplefilter("ignore")
    if device.type == "cpu":
        return check_coordinates(device, fewer=8) + check_maps(device) + check_messages(device)
    device = torch.device("cuda", device.index or 0)
    print(torch.cuda.get_device_name(device), "PyTorch", torch.__version__, flush=True)
    n_failed = check_coordinates(device, fewer=1) + check_maps(device)
    return n_failed + check_messages(device) + check_timings(device)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
