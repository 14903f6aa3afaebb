"""Optional packages that are missing: what to install, before any work."""

import sys

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._cli.cli import main


@pytest.fixture(autouse=True)
def without_matplotlib(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


REMEDY = r"needs matplotlib: pip install matplotlib$"


def test_plots(rng):
    X = rng.normal(size=(60, 2))
    emb = tp.LaplacianEigenmaps(landmarks=20, random_state=0).fit(X)
    plots = {
        "embedding": lambda: tp.plot.embedding(X),
        "compare": lambda: tp.plot.compare({"a": X}),
        "graph": lambda: tp.plot.graph(emb),
        "landmarks": lambda: tp.plot.landmarks(emb),
    }
    assert set(plots) == set(tp.plot.__all__)
    for draw in plots.values():
        with pytest.raises(ImportError, match=f"^plotting {REMEDY}"):
            draw()


def test_picture_of_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["embed", "nowhere.npy", "-o", "Y.npy", "--png", "Y.png"]) == 1
    said = "trigpoint: error: --png needs matplotlib: pip install matplotlib\n"
    assert capsys.readouterr().err == said


def test_cluster_of_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", np.eye(30))
    assert main(["embed", "X.npy", "-o", "Y.npy", "--dask", "local:2"]) == 1
    assert capsys.readouterr().err == (
        "trigpoint: error: --dask needs distributed: pip install 'dask[array]' distributed\n"
    )


def test_demo(tmp_path, capsys):
    assert main(["demo", "--points", "100000000", "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "trigpoint: error: drawing the plot needs matplotlib: pip install matplotlib\n"
    )
