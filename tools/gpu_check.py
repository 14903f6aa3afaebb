"""The contracts of stores and extensions on a real GPU: ``python -m tools.gpu_check``.

Landmarks must be those of the host, to the bit, and coordinates the host's within 1e-4. Prints a
line for each case, and exits with 1 if one fails. ``--device cpu`` tries the script without a GPU.
"""

import argparse
import sys
import time
import warnings

import numpy as np
import torch
from sklearn.base import clone

import trigpoint as tp
from trigpoint._points import inputs
from trigpoint._points.torch.store import TorchStore

SHAPES = ((20_000, 3), (10_000, 15), (10_000, 16), (6000, 100), (3000, 784))
ESTIMATORS = {
    "planes": tp.LaplacianEigenmaps(landmarks=300, extension="smooth", random_state=0),
    "graph": tp.LaplacianEigenmaps(landmarks=300, extension="graph", random_state=0),
    "all landmarks": tp.LaplacianEigenmaps(20, landmarks=300, random_state=0),
    "nearest landmarks": tp.DiffusionMaps(landmarks=300, extension=30, random_state=0),
    "kernel": tp.KernelPCA(landmarks=300, random_state=0),
    "paths": tp.Isomap(landmarks=300, extension="graph", random_state=0),
}


def clouds(dtype: type) -> dict[str, np.ndarray]:
    """Points of every shape, and those that tell stores apart: ties, copies, an offset."""
    rng = np.random.default_rng(0)
    made = {}
    for n, d in SHAPES:
        flat = rng.uniform(size=(n, 3)) * 10
        basis = np.linalg.qr(rng.normal(size=(d, 3)))[0]
        made[f"{n} x {d}"] = flat @ basis.T + 0.3 * rng.normal(size=(n, d))
    made["grid"] = rng.integers(0, 20, size=(10_000, 3))
    made["copies"] = np.repeat(rng.normal(size=(2000, 4)), 5, axis=0)
    made["counts"] = rng.poisson(0.2, size=(5000, 20)) / 4
    made["far"] = rng.normal(size=(5000, 18)) + 1e3
    return {name: X.astype(dtype) for name, X in made.items()}


class Outcome:
    """Lines about cases, and how many of them failed."""

    def __init__(self) -> None:
        self.n_failed = 0

    def add(self, what: str, good: bool, start: float) -> None:
        """Print a line."""
        self.n_failed += not good
        state = "ok" if good else "FAILED"
        print(f"{state:7} {what} ({time.perf_counter() - start:.1f} s)", flush=True)


def check_landmarks(device: torch.device, dtype: type, outcome: Outcome) -> None:
    """Same landmarks and radii as the host; covariances close, and the same in repeated runs."""
    for name, X in clouds(dtype).items():
        start = time.perf_counter()
        mode = "full" if X.shape[1] <= 32 else "diag"
        sampler = tp.EfficientDPP(200, covariance=mode, random_state=0)
        here = clone(sampler).fit(X)
        for where, points in (("device", torch.tensor(X, device=device)), ("host", X)):
            there, again = clone(sampler), clone(sampler)
            there.select(TorchStore(points, device))
            again.select(TorchStore(points, device))
            scale = np.abs(here.covariances_).max()
            good = (
                np.array_equal(there.indices_, here.indices_)
                and np.array_equal(there.radii_, here.radii_)
                and there.n_proposals_ == here.n_proposals_
                and np.array_equal(there.covariances_, again.covariances_)
                and np.allclose(there.covariances_, here.covariances_, 1e-4, 1e-4 * scale)
            )
            outcome.add(f"landmarks of {name}, {dtype.__name__}, from {where}", good, start)


def check_extensions(device: torch.device, dtype: type, outcome: Outcome) -> None:
    """Coordinates within 1e-4 of the host's, as tensors where the points are, the same bits."""
    rng = np.random.default_rng(0)
    for d in (3, 20):
        flat = rng.uniform(size=(5000, 3)) * 10
        X = flat @ np.linalg.qr(rng.normal(size=(d, 3)))[0].T + 0.3 * rng.normal(size=(5000, d))
        X = X.astype(dtype)
        for name, estimator in ESTIMATORS.items():
            start = time.perf_counter()
            here, there = clone(estimator), clone(estimator).set_params(device=str(device))
            expected = here.fit_transform(X)
            tensor = torch.tensor(X, device=device)
            found, again = there.fit_transform(tensor), there.transform(tensor)
            from_host = there.transform(X)
            scale = np.abs(expected).max()
            off = np.abs(found.cpu().numpy() - expected).max() / scale
            good = (
                np.array_equal(there.landmark_indices_, here.landmark_indices_)
                and found.device == tensor.device
                and found.dtype == tensor.dtype
                and bool((found == again).all())
                and np.allclose(from_host, expected, 1e-4, 1e-4 * scale)
                and off < 1e-4
            )
            what = f"{type(estimator).__name__} by {name}, {d}-D, {dtype.__name__}, off {off:.0e}"
            outcome.add(what, good, start)


def main() -> int:
    """Run all checks on a device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", choices=("float32", "float64"))
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
        print(torch.cuda.get_device_name(device), "PyTorch", torch.__version__, flush=True)
    else:
        inputs.resolve_device = lambda asked, X=None: device if asked == "cpu" else None
    warnings.simplefilter("ignore")
    outcome = Outcome()
    for dtype in (np.float32, np.float64):
        if options.dtype in (None, dtype.__name__):
            check_landmarks(device, dtype, outcome)
            check_extensions(device, dtype, outcome)
    print(f"{outcome.n_failed} failed", flush=True)
    return int(outcome.n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
