"""``--device``: a GPU for ``embed``, ``transform`` and ``select``."""

import json

import numpy as np
import pytest
from terminal import embed, run, said

from trigpoint._command.common import FAILED


def test_a_gpu_gives_the_landmarks_and_coordinates_of_the_host(folder, gpu, capsys):
    options = "--method", "laplacian", "--json"
    assert embed(*options, "--save", "here.trig") == 0
    here = json.loads(capsys.readouterr().out)
    arguments = ["-o", "there.npy", "--landmarks", "100", "--device", "cuda"]
    assert run("embed", "roll.npy", *arguments, *options, "--save", "there.trig") == 0
    there = json.loads(capsys.readouterr().out)
    # PyTorch's "cpu" stands for a GPU, so that only its stages tell.
    assert here["device"] == there["device"] == "cpu"
    np.testing.assert_allclose(np.load("there.npy"), np.load("Y.npy"), rtol=1e-4, atol=1e-5)
    assert run("transform", "there.trig", "roll.npy", "-o", "again.npy", "--device", "cuda") == 0
    np.testing.assert_array_equal(np.load("again.npy"), np.load("there.npy"))
    assert run("select", "roll.npy", "-k", "30") == 0
    rows = capsys.readouterr().out.splitlines()[-30:]
    assert run("select", "roll.npy", "-k", "30", "--device", "cuda") == 0
    assert capsys.readouterr().out.splitlines()[-30:] == rows


@pytest.mark.parametrize("command", ["embed", "select", "transform"])
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


def test_what_a_gpu_is_not_for(folder, gpu, capsys):
    refused = "select", "roll.npy", "-k", "9", "--method", "k-means", "--device", "cuda"
    with pytest.raises(SystemExit):
        run(*refused)
    assert "--device cuda does not apply to --method k-means" in capsys.readouterr().err
    assert embed("--graph", "anchors", "--device", "cuda") == FAILED
    assert said(capsys).endswith("or choose --device cpu")
    assert embed("--device", "gpu") == FAILED
    expected = "--device gpu is not understood: choose 'cpu', 'cuda', 'cuda:1' and so on, or 'auto'"
    assert said(capsys) == expected
