"""The device that coordinates are computed on, and its memory."""

import subprocess
import sys

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._common import device as device_module
from trigpoint._common.device import device_memory, resolve_device

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HERE = torch.device("cpu")
X = np.random.default_rng(0).normal(size=(300, 3))


def test_devices(monkeypatch):
    assert resolve_device(None) is resolve_device("cpu") is resolve_device(None, X) is None
    assert resolve_device(HERE) == HERE
    for wrong in ("gpu", "cuda:x", "mps", 1):
        with pytest.raises(tp.ParameterError, match="is not understood: choose 'cpu', 'cuda'"):
            resolve_device(wrong)
    with pytest.raises(tp.ParameterError, match="is not supported"):
        resolve_device(torch.device("meta"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") is None
    with pytest.raises(tp.ParameterError, match=r"finds none that it can use.*'cpu'"):
        resolve_device(torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device("cuda:0") == torch.device("cuda:0")
    with pytest.raises(tp.ParameterError, match=r"there are 1 GPUs.*choose 'cuda:0'"):
        resolve_device("cuda:1")


def test_no_torch():
    """Nothing but a GPU asked for by name needs PyTorch, and nothing else imports it."""
    code = """
import sys
import numpy as np
import trigpoint as tp
X = np.random.default_rng(0).normal(size=(300, 3))
emb = tp.LaplacianEigenmaps(landmarks=40, graph=tp.KNNGraph(9)).fit(X)
emb.transform(X, device="cpu")
assert "torch" not in sys.modules
sys.modules["torch"] = None
emb.transform(X, device="auto")
try:
    emb.transform(X, device="cuda")
except tp.ParameterError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs PyTorch, which is not installed: pip install torch" in done.stdout


def test_memory_that_runs_out(monkeypatch):
    with pytest.raises(tp.ParameterError, match="which is not enough"), device_memory(HERE):
        raise torch.OutOfMemoryError
    emb = tp.LaplacianEigenmaps(landmarks=40, graph=tp.KNNGraph(9)).fit(X)
    monkeypatch.setattr(device_module, "free_memory", lambda device: 10**6)
    with pytest.raises(tp.ParameterError, match=r"has 1 MB of free memory.*'cpu'"):
        emb.transform(X, device=HERE)
