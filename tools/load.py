"""Long use: a model that serves many threads, many fits in one process, memory beside its forecast.

``python -m tools.load serve --seconds 600``, and likewise ``soak`` and ``shapes``; ``make load``
runs all three. Each prints what it measured, and fails if memory grows, a row is wrong, or a run
takes more memory than was forecast. Linux only: /proc tells the memory of a process.
"""

import argparse
import gc
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import trigpoint as tp

_MB = 2**20

# Memory that a process may gain without a leak: pools of the allocator, stacks of threads.
_GROWTH = 32 * _MB

# Requests that are prepared with their answers, and the most rows in one.
_REQUESTS, _MOST_ROWS = 128, 400


@dataclass
class Served:
    """What `serve` measured."""

    seconds: float
    n_requests: int
    n_rows: int
    n_wrong: int
    growth: int

    def __str__(self) -> str:
        return (
            f"{self.n_requests:,} requests, {self.n_rows / self.seconds:,.0f} rows/s, "
            f"{self.n_wrong} wrong, memory {self.growth / _MB:+.1f} MB"
        )


def serve(seconds: float, n_threads: int, dimension: int = 3) -> Served:
    """Let threads transform rows with one loaded model, and compare each answer to the bit.

    Memory is compared after a tenth of the time and at the end.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, dimension))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.trig")
        tp.LaplacianEigenmaps(landmarks=500, random_state=0).fit(X).save(path)
        model = tp.load(path).set_params(n_jobs=1)
    requests = [X[rng.integers(0, len(X), rng.integers(1, _MOST_ROWS))] for _ in range(_REQUESTS)]
    answers = [model.transform(request) for request in requests]
    counts, lock, over = [0, 0, 0], threading.Lock(), threading.Event()

    def work(seed: int) -> None:
        order = np.random.default_rng(seed)
        while not over.is_set():
            number = order.integers(_REQUESTS)
            right = np.array_equal(model.transform(requests[number]), answers[number])
            with lock:
                counts[0] += 1
                counts[1] += len(requests[number])
                counts[2] += not right

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(n_threads)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    time.sleep(seconds / 10)
    warm = resident()
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    grown = resident() - warm
    over.set()
    for thread in threads:
        thread.join()
    return Served(time.monotonic() - began, *counts, grown)


def soak(n_fits: int) -> int:
    """Fit models of all kinds again and again; bytes gained after the first tenth."""
    makers = (
        lambda k: tp.LaplacianEigenmaps(landmarks=k),
        lambda k: tp.LaplacianEigenmaps(landmarks=k, extension="smooth"),
        lambda k: tp.DiffusionMaps(landmarks=k, extension="all"),
        lambda k: tp.Isomap(landmarks=k),
        lambda k: tp.KernelPCA(landmarks=k),
        lambda k: tp.LandmarkMap(landmarks=k, n_iter=10),
    )
    rng, warm = np.random.default_rng(0), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_fits):
            X = rng.normal(size=(rng.integers(100, 2000), rng.choice([2, 3, 8, 20])))
            makers[number % len(makers)](40).fit(X).transform(X)
            if number == max(len(makers), n_fits // 10) - 1:
                gc.collect()
                warm = resident()
    gc.collect()
    return resident() - warm


def shapes(count: int, seed: int = 0) -> list[tuple[int, int, int, int, float]]:
    """Points, columns, landmarks, bytes taken and bytes forecast, for random shapes.

    Each in a process of its own: one that has run before has loops loaded and memory at hand.
    """
    rng, rows = np.random.default_rng(seed), []
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for _ in range(count):
            d = int(rng.choice([2, 3, 5, 10, 20, 50, 200]))
            n = int(10 ** rng.uniform(4, 7 - np.log10(d)))
            k = int(min(n // 10, 10 ** rng.uniform(1.5, 3.3)))
            dtype = str(rng.choice(["float32", "float64"]))
            expected = tp.forecast(n, d, k, dtype=np.dtype(dtype)).bytes
            rows.append((n, d, k, pool.apply(_peak, (n, d, k, dtype)), expected))
    return rows


def _peak(n: int, d: int, k: int, dtype: str) -> int:
    """Bytes that a run takes at most, besides the points and what the process has before."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=dtype)
    # Its name imports the library.
    estimator = tp.LaplacianEigenmaps(landmarks=k, random_state=0)
    before = resident()
    estimator.fit_transform(X)
    return _status("VmHWM") - before


def resident() -> int:
    """Bytes of memory of this process."""
    return _status("VmRSS")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main() -> int:
    """Run one of the three; exit with 1 if it did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tools.load", description=__doc__)
    parser.add_argument("what", choices=["serve", "soak", "shapes"])
    parser.add_argument("--seconds", type=float, default=600, help="to serve (default: 600)")
    parser.add_argument("--threads", type=int, default=64, help="to serve (default: 64)")
    parser.add_argument("--count", type=int, help="of fits (default: 1000) or shapes (default: 50)")
    options = parser.parse_args()
    if options.what == "serve":
        # Trees up to 15 columns, products above.
        served = [serve(options.seconds / 2, options.threads, d) for d in (3, 30)]
        print(*(f"{options.threads} threads: {one}" for one in served), sep="\n")
        return int(any(one.n_wrong or one.growth > _GROWTH for one in served))
    if options.what == "soak":
        n_fits = options.count or 1000
        grown = soak(n_fits)
        print(f"{n_fits:,} fits: memory {grown / _MB:+.1f} MB after the first tenth")
        return int(grown > _GROWTH)
    rows = shapes(options.count or 50)
    above = [row for row in rows if row[3] > row[4]]
    for n, d, k, taken, expected in sorted(rows, key=lambda row: row[3] / row[4]):
        share = taken / expected
        print(
            f"{n:>9,} x {d:<3} {k:>5,} landmarks: {taken / _MB:>6.0f} MB, {share:.2f} of forecast"
        )
    print(f"{len(rows) - len(above)} of {len(rows)} shapes took no more than was forecast")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
