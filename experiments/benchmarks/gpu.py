"""One GPU: landmarks and graph on the host, and the transform of all points on both."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.benchmarks.map_speed import bent_groups
from experiments.framework.cells import TARGET_COLUMNS, number, size, target
from experiments.framework.environment import versions
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.measuring import timed
from experiments.framework.page import Page

SEED = 0
LIMIT = 300  # seconds
MADE_AT_ONCE = 10**7

# Seconds that fit and transform together should take at most.
TARGETS = {"10M x 3": 1.0, "100M x 3": 10.0, "1M x 768": 5.0, "map of 1M x 50": 10.0}
KINDS = {"10M x 3": "roll", "100M x 3": "roll", "1M x 768": "vectors", "map of 1M x 50": "map"}
SIZES = {"10M x 3": 10**7, "100M x 3": 10**8, "1M x 768": 10**6, "map of 1M x 50": 10**6}
QUICK_DIVISOR = 1000


def cases(settings: Settings) -> Iterator[Row]:
    """Points in 3-D, embedding vectors, and a map."""
    for what, n in SIZES.items():
        n = n // QUICK_DIVISOR if settings.quick else n
        yield {"what": what, "kind": KINDS[what], "n": n, "limit": LIMIT}


def run(case: Row, settings: Settings) -> Row:
    """Fit on the host, then transform on the device and on the host."""
    import torch

    on_gpu = torch.cuda.is_available()
    if not on_gpu and not settings.quick:
        return {"error": "no GPU that PyTorch can use"}
    device = "cuda" if on_gpu else "cpu"
    there = _points(case["kind"], case["n"], device)
    here = there.cpu().numpy()
    _estimator(case["kind"], 200).fit(here[:4000]).transform(there[:4000])
    emb = _estimator(case["kind"], min(2500, case["n"] // 2))
    fit, _ = timed(lambda: emb.fit(here))
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    seconds, found = [], None
    for _ in range(3):
        start = _synchronized(torch)
        found = emb.transform(there)
        seconds.append(_synchronized(torch) - start)
    on_host, expected = timed(lambda: emb.transform(here))
    off = np.abs(found.cpu().numpy() - expected).max() / np.abs(expected).max()
    return {
        "seconds": fit + min(seconds),
        "fit": fit,
        "transform": min(seconds),
        "host transform": on_host,
        "device_peak": torch.cuda.max_memory_allocated() if on_gpu else 0,
        "off": float(off),
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "versions": versions("torch", "numpy", "scipy", "numba"),
    }


def _estimator(kind: str, k: int) -> Any:
    method = tp.LandmarkMap if kind == "map" else tp.LaplacianEigenmaps
    return method(landmarks=k, random_state=SEED)


def _points(kind: str, n: int, device: str) -> Any:
    """Points in float32 on the device."""
    import torch

    generator = torch.Generator(device).manual_seed(SEED)
    if kind == "roll":
        return _roll(n, device, generator)
    if kind == "map":
        return torch.tensor(bent_groups(n), device=device)
    # A mixture of 200 clusters that vary in 20 directions each, with noise in all of them.
    d = 768
    centers = torch.randn((200, d), device=device, generator=generator)
    spread = torch.randn((200, 20, d), device=device, generator=generator) / 5
    X = torch.empty((n, d), device=device)
    for cluster, part in enumerate(torch.arange(n, device=device).chunk(200)):
        inner = torch.randn((len(part), 20), device=device, generator=generator)
        noise = torch.randn((len(part), d), device=device, generator=generator) / 20
        X[part] = centers[cluster] + inner @ spread[cluster] + noise
    return X[torch.randperm(n, device=device, generator=generator)]


def _roll(n: int, device: str, generator: Any) -> Any:
    """Swiss roll of `n` points in float32, uniform in its parameter, made on the GPU."""
    import torch

    X = torch.empty((n, 3), device=device)
    for start in range(0, n, MADE_AT_ONCE):
        part = X[start : start + MADE_AT_ONCE]
        t = torch.rand(len(part), device=device, generator=generator).add_(0.5).mul_(3 * np.pi)
        part[:, 0], part[:, 2] = t * t.cos(), t * t.sin()
        part[:, 1] = 21 * torch.rand(len(part), device=device, generator=generator)
    return X


def _synchronized(torch: Any) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Seconds and targets."""
    for row in rows:
        if reason := row.get("error"):
            page.text(f"{row['what']}: failed, {reason}.")
    good = [row for row in rows if "error" not in row]
    if not good:
        return
    packages = ", ".join(f"{name} {version}" for name, version in good[0]["versions"].items())
    page.text(
        f"""`fit` on the host with 2,500 landmarks, then `transform` of all points in the memory of
        one {good[0]["device"]} ({packages}), the best of three runs, and by all cores of the host.
        *Difference* is the largest one of a coordinate, relative to the largest coordinate."""
    )
    lines = [
        [
            row["what"],
            *map(number, (row["fit"], row["transform"], row["host transform"])),
            size(row["device_peak"]),
            f"{row['off']:.1e}",
        ]
        for row in good
    ]
    page.table(["what", "fit", "transform", "on the host", "GPU memory", "difference"], lines)
    page.table(
        TARGET_COLUMNS,
        [target(row["what"], number(row["seconds"]), TARGETS[row["what"]]) for row in good],
    )


EXPERIMENT = Experiment("gpu", "One GPU", cases, run, show)
