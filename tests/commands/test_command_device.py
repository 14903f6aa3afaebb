"""``--device``: a GPU for the coordinates of ``embed`` and ``transform``."""

import numpy as np
import pytest
from terminal import embed, run, said

from trigpoint._command.common import FAILED


@pytest.mark.parametrize("command", ["embed", "transform"])
def test_without_a_gpu(command, folder, monkeypatch, capsys):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert embed("--method", "laplacian", "--save", "m.trig") == 0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = ["m.trig"] if command == "transform" else []
    arguments = [command, *model, "roll.npy", "-o", "other.npy", "--device", "cuda:1"]
    capsys.readouterr()
    assert run(*arguments) == FAILED
    text = said(capsys)
    assert text.startswith("--device cuda:1 needs a GPU, and PyTorch ")
    assert text.endswith("check the driver and that PyTorch was built for CUDA or choose 'cpu'")
    assert not (folder / "other.npy").exists()
    assert run(*arguments[:-1], "auto") == 0
    if command == "transform":
        np.testing.assert_array_equal(np.load("other.npy"), np.load("Y.npy"))


def test_devices_that_are_not_understood(folder, capsys):
    assert embed("--device", "gpu") == FAILED
    expected = "--device gpu is not understood: choose 'cpu', 'cuda', 'cuda:1' and so on, or 'auto'"
    assert said(capsys) == expected
