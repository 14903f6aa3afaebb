"""Ctrl-C stops long work at once and leaves a living interpreter."""

import os
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import gc
import trigpoint as tp
X, _ = tp.datasets.make_swiss_roll(300_000, random_state=0)
print("ready", flush=True)
try:
    while True:
        tp.LaplacianEigenmaps(landmarks=1000, n_jobs=2).fit(X).transform(X)
except KeyboardInterrupt:
    pass
del X
gc.collect()
print("alive", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT, as a POSIX terminal does")
@pytest.mark.parametrize("seconds", [0.3, 0.7, 1.1, 1.5])
def test_interrupt(seconds):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        text=True,
        # Under some launchers the signal is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "alive\n")
