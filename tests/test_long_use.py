"""One process that is used for long: models that serve many threads, and many fits."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import trigpoint as tp

# Far above what a loaded machine's allocator keeps, and far below what a leak would take.
MOST_GROWTH = 64 * 2**20


@pytest.fixture
def restless():
    """Threads take turns often, so that what they share by mistake is noticed soon."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("dimension", [3, 30])
def test_one_model_serves_many_threads(dimension, rng, tmp_path):
    """To the bit, whatever the other threads ask for."""
    X = rng.normal(size=(5000, dimension))
    tp.LaplacianEigenmaps(landmarks=200, random_state=0).fit(X).save(tmp_path / "model.trig")
    model = tp.load(tmp_path / "model.trig").set_params(n_jobs=1)
    requests = [X[rng.integers(len(X), size=rng.integers(1, 400))] for _ in range(64)]
    answers = [model.transform(request) for request in requests]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(4):
            found = list(pool.map(model.transform, requests))
            assert all(map(np.array_equal, found, answers))


def resident():
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
def test_fits_leave_no_memory_behind(rng):
    X = rng.normal(size=(20_000, 10))

    def fit(seed):
        emb = tp.LaplacianEigenmaps(landmarks=100, graph=tp.KNNGraph(10), random_state=seed)
        emb.fit(X).transform(X)

    for seed in range(4):
        fit(seed)
    before = resident()
    for seed in range(20):
        fit(seed)
    assert resident() - before < MOST_GROWTH
