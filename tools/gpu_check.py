"""The contracts of stores and extensions on a real GPU: ``python -m tools.gpu_check``.

Landmarks must be those of the host, to the bit, and coordinates the host's within 1e-4; also with
large neighborhoods, after a refinement, of arrays that exceed the GPU's memory or come through
DLPack, and with two Dask workers on the GPU. Graphs must be the host's.
Prints a line for each case, and exits with 1 if one fails. ``--device cpu`` tries the script without
a GPU.
"""

import argparse
import gc
import sys
import time
import warnings

import numpy as np
import torch
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.records import Landmarks
from trigpoint._estimators import partitioned
from trigpoint._geometry import neighborhood_covariances
from trigpoint._numerics.threads import thread_count
from trigpoint._points import inputs
from trigpoint._points.dask import shards
from trigpoint._points.memory import MemoryStore
from trigpoint._points.torch import device as device_module
from trigpoint._points.torch import dlpack
from trigpoint._points.torch.store import TorchStore

SHAPES = ((20_000, 3), (10_000, 15), (10_000, 16), (6000, 100), (3000, 784))
ESTIMATORS = {
    "planes": tp.LaplacianEigenmaps(landmarks=300, extension="smooth", random_state=0),
    "graph": tp.LaplacianEigenmaps(landmarks=300, extension="graph", random_state=0),
    "all landmarks": tp.LaplacianEigenmaps(20, landmarks=300, random_state=0),
    "nearest landmarks": tp.DiffusionMaps(landmarks=300, extension=30, random_state=0),
    "kernel": tp.KernelPCA(landmarks=300, random_state=0),
    "paths": tp.Isomap(landmarks=300, extension="graph", random_state=0),
    "places": tp.LandmarkMap(landmarks=300, n_iter=50, random_state=0),
}
# Columns, covariances and metric of graphs, and how many landmarks they link.
GRAPHS = (
    (3, "full", "bhattacharyya"),
    (16, "full", "bhattacharyya"),
    (100, "low-rank", "bhattacharyya"),
    (784, "diag", "bhattacharyya"),
    (784, None, "euclidean"),
)
N_LINKED = 3000
# Points, columns, landmarks and coordinates of runs whose memory is measured.


def cloud(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Points around three of their dimensions."""
    flat = rng.uniform(size=(n, 3)) * 10
    basis = np.linalg.qr(rng.normal(size=(d, 3)))[0]
    return flat @ basis.T + 0.3 * rng.normal(size=(n, d))


def clouds(dtype: type) -> dict[str, np.ndarray]:
    """Points of every shape, and those that tell stores apart: ties, copies, an offset."""
    rng = np.random.default_rng(0)
    made = {}
    for n, d in SHAPES:
        made[f"{n} x {d}"] = cloud(rng, n, d)
    made["grid"] = rng.integers(0, 20, size=(10_000, 3))
    made["copies"] = np.repeat(rng.normal(size=(2000, 4)), 5, axis=0)
    made["counts"] = rng.poisson(0.2, size=(5000, 20)) / 4
    made["far"] = rng.normal(size=(5000, 18)) + 1e3
    return {name: X.astype(dtype) for name, X in made.items()}


def named(device: torch.device) -> str:
    """What estimators are given; without a GPU, what stands for one."""
    return str(device) if device.type == "cuda" else "cuda"


class Outcome:
    """Lines about cases, and how many of them failed."""

    def __init__(self) -> None:
        self.n_failed = 0

    def add(self, what: str, good: bool, start: float) -> None:
        """Print a line."""
        self.n_failed += not good
        state = "PASS" if good else "FAIL"
        print(f"{state} {what} ({time.perf_counter() - start:.1f} s)", flush=True)


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
    for d in (3, 20, 60):
        X = cloud(rng, 5000, d).astype(dtype)
        for name, estimator in ESTIMATORS.items():
            start = time.perf_counter()
            here, there = clone(estimator), clone(estimator).set_params(device=named(device))
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


def check_draws(device: torch.device, dtype: type, outcome: Outcome) -> None:
    """Large neighborhoods, whose weights are drawn from, and refinement: the host's landmarks."""
    X = clouds(dtype)["6000 x 100"]
    for what, sampler in {
        "large neighborhoods": tp.EfficientDPP(400, n_neighbors=500, bandwidth=9.0, random_state=0),
        "refined": tp.EfficientDPP(100, refine=2, random_state=0),
    }.items():
        start = time.perf_counter()
        here, there = clone(sampler).fit(X), clone(sampler)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        there.select(TorchStore(torch.tensor(X, device=device), device))
        good = np.array_equal(here.indices_, there.indices_)
        outcome.add(f"{what}, {dtype.__name__}, host {seconds:.1f} s", good, start)


def check_graphs(device: torch.device, outcome: Outcome) -> None:
    """Edges and weights of many landmarks, to the bit."""
    for d, mode, metric in GRAPHS:
        X = cloud(np.random.default_rng(0), 10_000, d)
        store = MemoryStore.of(X, 30, N_LINKED)
        chosen = Landmarks(X[:N_LINKED])
        if mode is not None:
            covariances = neighborhood_covariances(store, chosen.points, 30, mode)[1]
            chosen = Landmarks(chosen.points, covariances=covariances)
        graph = tp.KNNGraph(metric=metric)
        start = time.perf_counter()
        here = graph.build(chosen, thread_count(None))
        seconds = time.perf_counter() - start
        for run in ("first", "again"):
            start = time.perf_counter()
            there = graph.build(chosen, thread_count(None), device=device)
            good = (here.weights != there.weights).nnz == 0
            outcome.add(
                f"graph by {metric} {mode}, {d}-D, {run}, host {seconds:.2f} s", good, start
            )


def check_streaming(device: torch.device, dtype: type, outcome: Outcome) -> None:
    """Points that exceed the memory that this process may use are read in blocks."""
    X = cloud(np.random.default_rng(0), 10**6, 100).astype(dtype)
    whole = tp.LaplacianEigenmaps(20, landmarks=300, device=named(device), random_state=0)
    expected = whole.fit_transform(X)
    start = time.perf_counter()
    gc.collect()
    torch.cuda.empty_cache()
    held = torch.cuda.memory_allocated(device)
    allowed = held + int(1.5 * X.nbytes)
    torch.cuda.reset_peak_memory_stats(device)
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(allowed / total, device)
    unlimited = device_module.free_memory
    device_module.free_memory = lambda where: allowed - torch.cuda.memory_allocated(where)
    try:
        in_blocks = clone(whole)
        found = in_blocks.fit_transform(X)
    finally:
        device_module.free_memory = unlimited
        torch.cuda.set_per_process_memory_fraction(1.0, device)
    peak = torch.cuda.max_memory_allocated(device)
    off = np.abs(found - expected).max() / np.abs(expected).max()
    good = np.array_equal(in_blocks.landmark_indices_, whole.landmark_indices_)
    megabytes = [f"{size / 1e6:.0f}" for size in (X.nbytes, held, peak, allowed)]
    what = "{} MB, {} held before, {} of {} MB allowed".format(*megabytes)
    good = good and off < 1e-4 and peak - held < X.nbytes
    outcome.add(f"in blocks, {dtype.__name__}: {what}, off {off:.0e}", good, start)


class Foreign:
    """An array of another library, which shares its memory through DLPack."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.shape = tensor, tuple(tensor.shape)

    def __dlpack__(self, **options: object) -> object:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    def __array_namespace__(self) -> type["Foreign"]:
        return Foreign

    @staticmethod
    def from_dlpack(other: object) -> "Foreign":
        """As libraries have it."""
        return Foreign(torch.from_dlpack(other))


def check_foreign(device: torch.device, outcome: Outcome) -> None:
    """Arrays through DLPack give what tensors give, and come back as what they are."""
    start = time.perf_counter()
    X = torch.tensor(clouds(np.float32)["20000 x 3"], device=device)
    emb = tp.LaplacianEigenmaps(landmarks=300, device=named(device), random_state=0)
    expected, found = clone(emb).fit_transform(X), emb.fit_transform(Foreign(X))
    good = isinstance(found, Foreign) and bool((found.tensor == expected).all())
    outcome.add("arrays through DLPack", good and found.tensor.device == X.device, start)
    try:
        import cupy
    except ImportError:
        return
    start = time.perf_counter()
    there = cupy.from_dlpack(X)
    for what, found in (
        ("fit_transform", clone(emb).fit_transform(there)),
        ("transform", emb.transform(there)),
    ):
        good = isinstance(found, cupy.ndarray) and bool(
            (torch.from_dlpack(found) == expected).all()
        )
        outcome.add(f"CuPy {cupy.__version__}, {what}", good, start)


def check_workers(device: torch.device, outcome: Outcome) -> None:
    """Two Dask workers on one GPU draw the landmarks of the host, and place the points."""
    import dask.array
    from distributed import Client, LocalCluster

    is_gpu = device.type == "cuda"
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=is_gpu, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        for name, X in clouds(np.float32).items():
            start = time.perf_counter()
            here = tp.LaplacianEigenmaps(landmarks=100, covariance="diag", random_state=0)
            there = clone(here).set_params(device=named(device))
            chunked = dask.array.from_array(X, chunks=(len(X) // 5 + 1, X.shape[1]))
            found = there.fit_transform(chunked).compute()
            here.fit(chunked)
            expected = here.transform(X)
            off = np.abs(found - expected).max() / np.abs(expected).max()
            # Where products round landmarks at the same distance, any of them may be the nearest.
            good = np.array_equal(here.landmark_indices_, there.landmark_indices_) and (
                off < 1e-4 or name == "counts"
            )
            outcome.add(f"two workers, {name}, off {off:.0e}", good, start)


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
        for module in (inputs, shards, partitioned, dlpack):
            module.resolve_device = lambda asked, X=None: device if asked == "cuda" else None
        dlpack._CUDA = (1,)
    warnings.simplefilter("ignore")
    outcome = Outcome()
    for dtype in (np.float32, np.float64):
        if options.dtype in (None, dtype.__name__):
            check_landmarks(device, dtype, outcome)
            check_extensions(device, dtype, outcome)
            check_draws(device, dtype, outcome)
            if device.type == "cuda":
                check_streaming(device, dtype, outcome)
    check_graphs(device, outcome)
    check_foreign(device, outcome)
    check_workers(device, outcome)
    print(f"{outcome.n_failed} failed", flush=True)
    return int(outcome.n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
