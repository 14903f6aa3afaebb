"""Coordinates on a real GPU, compared with the host's: ``python -m tools.gpu_check``.

Prints a line for each case and exits with 1 if one fails. Timings are printed and not judged, but
that of the cosine metric, which may take at most 1.1 times as long as the Euclidean one.
``--device cpu`` tries the cases, without timings, with PyTorch on the host.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch

import trigpoint as tp

OPTIONS = {"landmarks": 300, "n_neighbors": 10, "random_state": 0}
ESTIMATORS = {
    "smooth": tp.LaplacianEigenmaps(extension="smooth", **OPTIONS),
    "graph": tp.LaplacianEigenmaps(extension="graph", **OPTIONS),
    "all landmarks": tp.LaplacianEigenmaps(20, extension="all", **OPTIONS),
    "nearest landmarks": tp.DiffusionMaps(extension=30, **OPTIONS),
    "kernel": tp.KernelPCA(landmarks=300, random_state=0),
    "geodesic": tp.Isomap(landmarks=300, extension="graph", random_state=0),
    "map": tp.LandmarkMap(landmarks=300, n_iter=50, random_state=0),
    "cosine": tp.LaplacianEigenmaps(extension="smooth", metric="cosine", **OPTIONS),
    "seuclidean": tp.LaplacianEigenmaps(extension="smooth", metric="seuclidean", **OPTIONS),
}
SHAPES = ((60_000, 3), (10_000, 15), (10_000, 40), (3000, 784))
TOLERANCES = {np.float64: 1e-9, np.float32: 1e-4}


def cloud(n: int, d: int) -> np.ndarray:
    """Rows around a three-dimensional surface, away from the origin."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(d, 3)))[0]
    return rng.uniform(size=(n, 3)) * 10 @ basis.T + 0.3 * rng.normal(size=(n, d)) + 6


def check_coordinates(device: torch.device) -> int:
    """From the device and from the host, of every extension; returns how many cases failed."""
    n_failed = 0
    for n, d in SHAPES:
        for dtype, tolerance in TOLERANCES.items():
            X = cloud(n, d).astype(dtype)
            there = torch.tensor(X, device=device)
            for name, estimator in ESTIMATORS.items():
                estimator.fit(X[:5000])
                expected = estimator.transform(X)
                found, again = (estimator.transform(there, device=device) for _ in range(2))
                from_host = estimator.transform(X, device=device)
                scale = np.abs(expected).max()
                off = np.abs(found.cpu().numpy() - expected).max() / scale
                off_host = np.abs(from_host - expected).max() / scale
                good = (
                    max(off, off_host) < tolerance
                    and (found.device, found.dtype) == (there.device, there.dtype)
                    and torch.equal(found, again)
                )
                n_failed += not good
                what = f"{name}, {n} x {d}, {dtype.__name__}, off {off:.0e} and {off_host:.0e}"
                print("PASS" if good else "FAIL", what, flush=True)
    return n_failed


def check_refusals(device: torch.device) -> int:
    """Rows that are not finite, or zero under cosine, are named, and far rows counted."""
    X = cloud(2000, 3)
    far, bad, zero = (torch.tensor(X, device=device) for _ in range(3))
    far[:2] += 1e4
    bad[1234, 1] = torch.nan
    zero[1234] = 0
    n_failed = 0
    for name, there, message in (
        ("smooth", far, "2 of 2,000 points are more than ten bandwidths"),
        ("smooth", bad, "NaN in row 1234, column 1"),
        ("cosine", zero, "only zeros in row 1234"),
    ):
        estimator, said = ESTIMATORS[name].fit(X), ""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                estimator.transform(there, device=device)
            except (ValueError, UserWarning) as error:
                said = str(error)
        n_failed += message not in said
        print("PASS" if message in said else f"FAIL: {said!r} is not", message, flush=True)
    return n_failed


def seconds(work: Callable[[], object]) -> float:
    """Median of five runs, after one that allocates memory."""
    taken = []
    for _ in range(6):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def check_timings(device: torch.device) -> int:
    """Of `transform`; and whether the cosine metric costs at most 1.1 times the Euclidean one."""
    X = torch.rand((10**7, 3), device=device)
    estimator = tp.LaplacianEigenmaps(landmarks=2500, random_state=0).fit(X[:160_000])
    print(f"10M x 3 from the GPU: {seconds(lambda: estimator.transform(X)):.3f} s", flush=True)
    here = X.cpu().numpy()
    spent = seconds(lambda: estimator.transform(here, device=device))
    print(f"10M x 3 from the host: {spent:.3f} s", flush=True)
    X = torch.tensor(cloud(4096, 768), device=device).float().repeat(256, 1)[: 10**6]
    X += 0.1 * torch.randn(X.shape, device=device)
    spent = {}
    for metric in ("euclidean", "cosine"):
        options = {"n_neighbors": 10, "random_state": 0, "metric": metric}
        estimator = tp.LaplacianEigenmaps(landmarks=1000, extension="smooth", **options)
        estimator.fit(X[:20_000])
        spent[metric] = seconds(lambda estimator=estimator: estimator.transform(X))
        print(f"1M x 768, {metric}: {spent[metric]:.3f} s", flush=True)
    return int(spent["cosine"] > 1.1 * spent["euclidean"])


def main() -> int:
    """Run all checks on a device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    device = torch.device(parser.parse_args().device)
    warnings.simplefilter("ignore")
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
        print(torch.cuda.get_device_name(device), "PyTorch", torch.__version__, flush=True)
    n_failed = check_coordinates(device) + check_refusals(device)
    if device.type == "cuda":
        n_failed += check_timings(device)
    print(f"{n_failed} failed", flush=True)
    return int(n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
