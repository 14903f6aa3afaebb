"""Long use of one process: many fits, and Ctrl-C."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import trigpoint as tp

# Far above what the allocator of a busy machine retains, and far below the size of a leak.
MOST_GROWTH = 64 * 2**20


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


# At different stages: building trees, drawing landmarks, building graphs, transforming points.
SECONDS = 0.05, 0.13, 0.25, 0.42
SCRIPT = f"""
import gc
import trigpoint as tp
# Imports and compiling come first: they are not ours to interrupt.
X, _ = tp.datasets.make_swiss_roll(1000, random_state=0)
tp.LaplacianEigenmaps(landmarks=20, n_jobs=2).fit(X).transform(X)
for _ in range({len(SECONDS)}):
    X, _ = tp.datasets.make_swiss_roll(300_000, random_state=0)
    print("ready", flush=True)
    try:
        while True:
            tp.LaplacianEigenmaps(landmarks=300, n_jobs=2).fit(X).transform(X)
    except KeyboardInterrupt:
        pass
    del X
    gc.collect()
    print("alive", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT, as a POSIX terminal does")
def test_interrupt():
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    with process, process.stdout as lines:
        for seconds in SECONDS:
            assert lines.readline() == "ready\n"
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            assert lines.readline() == "alive\n", seconds
        assert lines.read() == ""
    assert process.returncode == 0
