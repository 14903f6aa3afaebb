"""Files that appear while a command runs are kept, unless they may be replaced."""

from pathlib import Path

import numpy as np
import pytest
from terminal import run

from trigpoint._command import embed, select, transform
from trigpoint._command.common import FAILED
from trigpoint._report import writing

OUTPUTS = ["Y.npy", "Y.csv", "Y.parquet", "Y.zarr", "m.trig", "page.html"]


def appearing(monkeypatch, module, function, name):
    """Let a file or folder appear while the command is at work."""
    original = getattr(module, function)

    def then(*arguments, **options):
        place = Path(name)
        place.mkdir() if place.suffix == ".zarr" else place.write_text("mine")
        return original(*arguments, **options)

    monkeypatch.setattr(module, function, then)


def check_kept(capsys, name):
    assert f"{name} appeared during the run, and is kept" in capsys.readouterr().err
    place = Path(name)
    assert list(place.iterdir()) == [] if place.is_dir() else place.read_text() == "mine"
    assert list(Path().glob(".*partial*")) == []


@pytest.mark.parametrize("name", OUTPUTS)
def test_embed(folder, capsys, monkeypatch, name):
    out = name if name.startswith("Y") else "Y.npy"
    arguments = ["embed", "roll.npy", "-o", out, "-k", "50", "--method", "laplacian"]
    if name == "m.trig":
        arguments += ["--save", name]
    if name == "page.html":
        arguments += ["--report", name]
    working = (writing, "gather") if name == "page.html" else (embed, "make_estimator")
    appearing(monkeypatch, *working, name)
    assert run(*arguments) == FAILED
    check_kept(capsys, name)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run(*arguments, "--force") == 0


@pytest.mark.parametrize("name", ["Y.npy", "Y.csv", "Y.zarr"])
def test_select(folder, capsys, monkeypatch, name):
    source = "roll.csv" if name.endswith("csv") else "roll.npy"
    columns = ["--columns", "east,north,up"] if source == "roll.csv" else []
    appearing(monkeypatch, select, "_write", name)
    assert run("select", source, *columns, "-k", "20", "-o", name) == FAILED
    check_kept(capsys, name)


def test_transform(folder, capsys, monkeypatch):
    command = ["embed", "roll.npy", "-o", "Y.npy", "-k", "50", "--method", "laplacian"]
    assert run(*command, "--save", "m.trig") == 0
    capsys.readouterr()
    appearing(monkeypatch, transform, "write_coordinates", "Z.npy")
    assert run("transform", "m.trig", "roll.npy", "-o", "Z.npy") == FAILED
    check_kept(capsys, "Z.npy")
    np.testing.assert_equal(np.load("Y.npy").shape, (2000, 2))
