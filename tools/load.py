"""Long use: a model that serves many threads, and many fits in one process.

``python -m tools.load serve --seconds 600``, and likewise ``soak``; ``make load`` runs both. Each
prints what it measured, and fails if memory grows or a row is wrong. Linux only: the memory of a
process is read from /proc.
"""

import argparse
import gc
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
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


def resident() -> int:
    """Bytes of memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def main() -> int:
    """Run one of the two; exit with 1 if it fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.load", description=__doc__)
    parser.add_argument("what", choices=["serve", "soak"])
    parser.add_argument("--seconds", type=float, default=600, help="to serve (default: 600)")
    parser.add_argument("--threads", type=int, default=64, help="to serve (default: 64)")
    parser.add_argument("--count", type=int, default=1000, help="number of fits (default: 1000)")
    options = parser.parse_args()
    if options.what == "serve":
        # Trees up to 15 columns, products above.
        served = [serve(options.seconds / 2, options.threads, d) for d in (3, 30)]
        print(*(f"{options.threads} threads: {one}" for one in served), sep="\n")
        return int(any(one.n_wrong or one.growth > _GROWTH for one in served))
    grown = soak(options.count)
    print(f"{options.count:,} fits: memory {grown / _MB:+.1f} MB after the first tenth")
    return int(grown > _GROWTH)


if __name__ == "__main__":
    sys.exit(main())
