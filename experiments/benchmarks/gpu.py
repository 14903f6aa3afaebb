"""One GPU: the whole pipeline from its memory and from the host's, beside the host itself."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.benchmarks import data
from experiments.benchmarks.map_speed import bent_groups
from experiments.framework.cells import TARGET_COLUMNS, number, size, target
from experiments.framework.environment import versions
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.measuring import timed
from experiments.framework.page import Page

SEED = 0
K = 2500
LIMIT = 300  # seconds
MADE_AT_ONCE = 10**7

# Seconds that each should take at most.
TARGETS = {
    "10M x 3, from the GPU's memory": 1.0,
    "10M x 3, from the host": 2.0,
    "100M x 3": 10.0,
    "1000M x 3": 100.0,
    "MNIST to 100 dimensions": 0.5,
    "1M x 768": 5.0,
    "map of 1M x 50": 10.0,
}

# Bytes that are copied to measure how fast the GPU's memory is.
COPIED = 2**30

# Points and columns of the curve.
CURVE = ((10**4, 3), (10**5, 3), (10**6, 3), (10**4, 50), (10**5, 50), (10**6, 50))
QUICK_CURVE = ((10**4, 3), (3000, 50))


def cases(settings: Settings) -> Iterator[Row]:
    """Points in 3-D of three sizes, digits, embedding vectors, a map, and a curve over sizes."""
    scale = 10_000 if settings.quick else 10
    roll = {"kind": "roll", "limit": LIMIT}
    yield roll | {"what": "10M x 3, from the GPU's memory", "n": 10**8 // scale, "beside": True}
    yield {"kind": "mnist", "what": "MNIST to 100 dimensions", "limit": LIMIT, "beside": True}
    n = 10**4 if settings.quick else 10**6
    yield {"kind": "vectors", "what": "1M x 768", "n": n, "limit": LIMIT}
    yield {"kind": "map", "what": "map of 1M x 50", "n": n, "limit": LIMIT, "beside": True}
    yield roll | {"what": "100M x 3", "n": 10**9 // scale}
    yield roll | {"what": "10M x 3, from the host", "n": 10**8 // scale, "on_host": True}
    yield roll | {"what": "1000M x 3", "n": 10**10 // scale}
    yield {"kind": "curve", "what": "curve", "limit": LIMIT}


def run(case: Row, settings: Settings) -> Row:
    """Time an embedding, after a small one that compiles and loads everything."""
    import torch

    device = case.get("device", "cuda")
    if device == "cuda" and not torch.cuda.is_available():
        if not settings.quick:
            return {"error": "no GPU that PyTorch can use"}
        device = "cpu"
    if case["kind"] == "curve":
        few = settings.quick or device == "cpu"
        return {"curve": list(_curve(device, few)), **_machine(torch)}
    X, k, n_components = _points(case, settings, device)
    if case.get("on_host"):
        X = X.cpu().numpy()

    def estimator(where: str, landmarks: int = k) -> Any:
        method = tp.LandmarkMap if case["kind"] == "map" else tp.LaplacianEigenmaps
        return method(n_components, landmarks=landmarks, device=where, random_state=SEED)

    few = X[: 20 * 200]
    for _ in range(2):
        estimator(device, 200).fit_transform(few)
    times = [_timed(estimator(device), X, torch) for _ in range(1 if len(X) > 10**7 else 3)]
    row, coordinates, emb = min(times, key=lambda found: found[0]["seconds"])
    row["all"] = [found[0]["seconds"] for found in times]
    # The same bits in every run.
    row["repeated"] = all(bool((found[1] == coordinates).all()) for found in times)
    del times
    row["read_once"] = X.nbytes / _bandwidth(device, torch)
    row["profile"] = _profile(estimator(device), X, torch) if len(X) <= 10**8 else {}
    if case.get("beside"):
        row |= _beside(estimator("cpu"), emb, X, coordinates)
    return row | _machine(torch)


def _points(case: Row, settings: Settings, device: str) -> tuple[Any, int, int]:
    """Points on the GPU, how many landmarks, and how many coordinates."""
    import torch

    generator = torch.Generator(device).manual_seed(SEED)
    if case["kind"] == "roll":
        return _roll(case["n"], device, generator), min(K, case["n"] // 20), 2
    if case["kind"] == "vectors":
        # A mixture of 200 clusters that vary in 20 directions each, with noise in all of them.
        n, d = case["n"], 768
        centers = torch.randn((200, d), device=device, generator=generator)
        spread = torch.randn((200, 20, d), device=device, generator=generator) / 5
        X = torch.empty((n, d), device=device)
        for cluster, part in enumerate(torch.arange(n, device=device).chunk(200)):
            inner = torch.randn((len(part), 20), device=device, generator=generator)
            noise = torch.randn((len(part), d), device=device, generator=generator) / 20
            X[part] = centers[cluster] + inner @ spread[cluster] + noise
        X = X[torch.randperm(n, device=device, generator=generator)]
        return X, min(K, n // 20), 2
    if case["kind"] == "map":
        n = case["n"]
        return torch.tensor(bent_groups(n), device=device), min(10_000, n // 20), 2
    if data.missing("mnist", settings):
        raise FileNotFoundError(data.NO_MNIST)
    X = data.mnist(settings, "train", 5000 if settings.quick else 60_000)[0]
    return torch.tensor(X, device=device), len(X) // 60, 20 if settings.quick else 100


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


def _timed(emb: Any, X: Any, torch: Any) -> tuple[Row, Any, Any]:
    """Seconds of fit and transform, until the GPU is done, and its peak of memory."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()

    def both() -> tuple[float, float, Any]:
        start = _synchronized(torch)
        emb.fit(X)
        fitted = _synchronized(torch)
        coordinates = emb.transform(X)
        return fitted - start, _synchronized(torch) - fitted, coordinates

    seconds, (fit, transform, coordinates) = timed(both)
    peak = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    row = {"seconds": seconds, "fit": fit, "transform": transform, "stages": emb.stage_seconds_}
    row |= {"device_peak": peak, "n": len(X), "d": int(X.shape[1])}
    return row, coordinates, emb


def _bandwidth(device: str, torch: Any) -> float:
    """Bytes that the device's memory reads or writes in a second."""
    source = torch.ones(COPIED // (4 if device == "cuda" else 64), device=device)
    target, seconds = torch.empty_like(source), []
    for _ in range(5):
        start = _synchronized(torch)
        target.copy_(source)
        seconds.append(_synchronized(torch) - start)
    return float(2 * source.nbytes / min(seconds))


def _profile(emb: Any, X: Any, torch: Any) -> Row:
    """Seconds that the fit spends in each question to the store, with the GPU done after each."""
    from experiments.internals import TorchStore

    seconds: dict[str, float] = {}

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = _synchronized(torch)
            result = function(*arguments)
            seconds[name] = seconds.get(name, 0.0) + _synchronized(torch) - start
            return result

        return call

    names = "search", "covariances", "take", "guess", "__init__"
    kept = {name: getattr(TorchStore, name) for name in names}
    try:
        for name, function in kept.items():
            setattr(TorchStore, name, watched(name, function))
        emb.fit(X)
    finally:
        for name, function in kept.items():
            setattr(TorchStore, name, function)
    return seconds


def _beside(emb: Any, there: Any, X: Any, coordinates: Any) -> Row:
    """The host's seconds, after a run that compiles its loops, and how much its results differ."""
    X = X if isinstance(X, np.ndarray) else X.cpu().numpy()
    type(emb)(emb.n_components, landmarks=200, random_state=SEED).fit_transform(X[: 20 * 200])
    start = time.perf_counter()
    emb.fit(X)
    fitted = time.perf_counter()
    expected = emb.transform(X)
    seconds = time.perf_counter() - start
    found = coordinates if isinstance(coordinates, np.ndarray) else coordinates.cpu().numpy()
    same = np.array_equal(emb.landmark_indices_, there.landmark_indices_)
    off = float(np.abs(found - expected).max() / np.abs(expected).max()) if same else None
    stages = emb.stage_seconds_ | {"transform": seconds - (fitted - start)}
    return {"host_seconds": seconds, "host_stages": stages, "same_landmarks": same, "off": off}


def _curve(device: str, quick: bool) -> Iterator[Row]:
    """Seconds on the GPU, from the memory of the host, and on the host, over points and columns."""
    import torch

    rng = np.random.default_rng(SEED)
    for n, d in QUICK_CURVE if quick else CURVE:
        flat = rng.uniform(size=(n, 3)) * 10
        basis = np.linalg.qr(rng.normal(size=(d, 3)))[0]
        X = (flat @ basis.T + 0.1 * rng.normal(size=(n, d))).astype(np.float32)
        k = min(1000, n // 20)
        row: Row = {"n": n, "d": d, "k": k}
        for where in (device, "cpu"):
            emb = tp.LaplacianEigenmaps(landmarks=k, device=where, random_state=SEED)
            emb.fit_transform(X[:4000])
            row[where], _, _ = _timed(emb, X, torch)
        yield row


def _machine(torch: Any) -> Row:
    found = versions("torch", "numpy", "scipy", "numba")
    if not torch.cuda.is_available():
        return {"device": "cpu", "versions": found}
    properties = torch.cuda.get_device_properties(0)
    return {
        "device": properties.name,
        "device_memory": properties.total_memory,
        "cuda": torch.version.cuda,
        "versions": found,
    }


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Seconds and targets, where the time goes, and from which size a GPU pays."""
    for row in rows:
        if reason := row.get("error"):
            page.text(f"{row['what']}: failed, {reason}.")
    good = [row for row in rows if "error" not in row]
    measured = [row for row in good if "curve" not in row]
    if measured:
        _show_runs(measured, page)
    for row in good:
        if "curve" in row:
            _show_curve(row, page)


def _show_runs(rows: Sequence[Row], page: Page) -> None:
    first = rows[0]
    packages = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    page.text(
        f"""`LaplacianEigenmaps` with {K:,} landmarks (MNIST: 1,000) and two coordinates (MNIST:
        100), and `LandmarkMap` with 10,000, `fit` and `transform` of all points, on one
        {first["device"]} ({packages}). The best of three runs up to ten million points. Graph and
        spectrum of the landmarks, or affinities and layout, are computed by the host; seconds of
        the host alone are those of all its cores. The last column says how many times as long it
        takes as the GPU's memory would to deliver all points once."""
    )
    heads = ["what", "seconds", "landmarks", "graph and spectrum", "transform", "GPU memory"]
    lines = []
    for row in rows:
        stages = row["stages"]
        rest = sum(stages.values()) - stages["reading"] - stages["landmarks"]
        cells = [row["seconds"], stages["landmarks"], rest, row["transform"]]
        beside = number(row["host_seconds"]).text if "host_seconds" in row else ""
        passes = f"{row['seconds'] / row['read_once']:,.0f}" if "read_once" in row else ""
        lines.append([row["what"], *map(number, cells), size(row["device_peak"]), beside, passes])
    page.table([*heads, "host alone", "of one pass"], lines)
    page.table(
        TARGET_COLUMNS,
        [target(row["what"], number(row["seconds"]), TARGETS[row["what"]]) for row in rows],
    )
    for row in rows:
        if "same_landmarks" in row:
            off = "" if row["off"] is None else f", coordinates within {row['off']:.1e}"
            same = "equal" if row["same_landmarks"] else "different"
            page.text(f"{row['what']}: landmarks **{same}** to the host's{off}.")
        if row["profile"]:
            parts = ", ".join(f"{name} {number(s).text}" for name, s in row["profile"].items())
            page.text(f"{row['what']}, seconds of the store's answers: {parts}.")


def _show_curve(row: Row, page: Page) -> None:
    page.heading("From which size a GPU pays", level=3)
    page.text("Points in the memory of the host, 1,000 landmarks (a twentieth of 10,000 points).")
    lines = []
    for point in row["curve"]:
        there = next(point[where] for where in point if where not in ("n", "d", "k"))
        here = point["cpu"]
        cells = [number(found["seconds"]) for found in (there, here)]
        lines.append([f"{point['n']:,}", f"{point['d']}", *cells])
    page.table(["points", "columns", "GPU", "host"], lines)


EXPERIMENT = Experiment("gpu", "One GPU", cases, run, show)
