"""Ctrl-C stops long work at once and leaves a living interpreter."""

import os
import signal
import time

import numpy as np
import pytest

from trigpoint import LaplacianEigenmaps
from trigpoint._command.cli import main
from trigpoint._command.common import INTERRUPTED

# In different stages of the work: trees, landmarks, graphs, points.
SECONDS = 0.05, 0.13, 0.25, 0.42
SCRIPT = f"""
import gc
import trigpoint as tp
# Imports come first: one that is interrupted is Python's affair, not ours.
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
def test_interrupt(tmp_path, copies):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    process = copies.start(SCRIPT, stdout=pipe)
    os.set_blocking(reader, True)
    try:
        with os.fdopen(reader) as lines:
            for seconds in SECONDS:
                assert lines.readline() == "ready\n"
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
                assert lines.readline() == "alive\n", seconds
            assert lines.read() == ""
        assert process.wait() == 0
    finally:
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT, as a POSIX terminal does")
@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_an_interrupt_that_gets_lost_ends_the_command(tmp_path, monkeypatch, capsys, options):
    """As while numba compiles: the exception is dropped where C code calls Python."""
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(300, 3)))
    choose = LaplacianEigenmaps._choose
    lost = []

    def interrupted(*arguments):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            lost.append(True)
        return choose(*arguments)

    monkeypatch.setattr(LaplacianEigenmaps, "_choose", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        arguments = ["embed", str(tmp_path / "a.npy"), "-o", str(tmp_path / "Y.npy")]
        assert main([*arguments, "--method", "laplacian", *options]) == INTERRUPTED
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert lost == [True]
    assert "interrupted" in capsys.readouterr().err
    assert not (tmp_path / "Y.npy").exists()
