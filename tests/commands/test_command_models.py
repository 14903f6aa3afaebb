"""``trigpoint transform`` and ``evaluate`` with a saved model."""

import json

import numpy as np
import pytest
from terminal import embed, run, said

import trigpoint as tp
from trigpoint._command.common import FAILED


def test_transform_and_evaluate_with_a_saved_model(folder, capsys):
    assert embed("--save", "m.trig") == 0
    assert run("transform", "m.trig", "roll.npy", "-o", "again.npy") == 0
    np.testing.assert_array_equal(np.load("again.npy"), np.load("Y.npy"))
    capsys.readouterr()
    arguments = ["m.trig", "labelled.npz::X", "--labels", "labelled.npz::y", "--json"]
    assert run("evaluate", *arguments) == 0
    values = json.loads(capsys.readouterr().out)
    X = np.load("roll.npy")
    radius = tp.metrics.coverage_radius(X, tp.load("m.trig").landmarks_)
    assert values["coverage_radius"] == pytest.approx(radius)
    assert values["nearest_neighbor_accuracy"] > 0.95
    assert 0 < values["trace_error"] < 0.1
    quality = values["quality"]
    assert 0.1 < quality["neighbors_kept"] <= 1
    assert quality["n_sampled"] == 2000
    expected = tp.load("m.trig").quality(X).figures()
    assert {name: quality[name] for name in expected if name != "redundant"} == {
        name: value for name, value in expected.items() if name != "redundant"
    }


def test_evaluate_begins_with_the_verdict(folder, capsys):
    arguments = ["-o", "Y.npy", "--save", "m.trig", "--landmarks", "500"]
    assert run("embed", "roll.npy", *arguments) == 0
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy") == 0
    name, verdict, *lines = capsys.readouterr().out.splitlines()
    assert name == "m.trig"
    assert verdict.startswith("Good: ")
    assert verdict == tp.load("m.trig").quality(np.load("roll.npy")).verdict
    assert any(line.split()[:2] == ["kept", "by"] for line in lines)


def test_transform_takes_the_columns_that_the_model_knows(folder):
    assert run("embed", "roll.csv", "--columns", "up,north,east", "-o", "Y.npy", "--save", "m.trig",
               "-k", "60") == 0  # fmt: skip
    assert run("transform", "m.trig", "roll.csv", "-o", "again.npy") == 0
    np.testing.assert_array_equal(np.load("again.npy"), np.load("Y.npy"))


def test_other_columns_than_the_model_knows(folder, capsys):
    assert run("embed", "roll.csv", "--columns", "up,north,east", "-o", "Y.npy", "--save", "m.trig",
               "-k", "60") == 0  # fmt: skip
    capsys.readouterr()
    arguments = ["-o", "again.npy", "--columns", "east,north,up"]
    assert run("transform", "m.trig", "roll.csv", *arguments) == FAILED
    assert said(capsys) == (
        "--columns selects east, north, up, but the model was fitted to up, north, east: omit it, "
        "and they are found by name"
    )
    (folder / "other.csv").write_text("a,b,c\n1,2,3\n")
    assert run("transform", "m.trig", "other.csv", "-o", "again.npy") == FAILED
    assert said(capsys) == "other.csv has no column 'up': choose from a, b, c"


def test_evaluate_takes_columns_by_name(folder, capsys):
    arguments = ["--columns", "east,north,up", "-o", "Y.npy", "--save", "m.trig", "-k", "60"]
    assert run("embed", "roll.csv", *arguments) == 0
    columns = np.load("roll.npy")[:, [2, 0, 1]]
    lines = "\n".join(f"{a},{b},{c}" for a, b, c in columns.tolist())
    (folder / "turned.csv").write_text(f"up,east,north\n{lines}\n")
    capsys.readouterr()
    found = []
    for name in ("roll.csv", "turned.csv"):
        assert run("evaluate", "m.trig", name, "--json") == 0
        out, err = capsys.readouterr()
        assert err == ""
        found.append(json.loads(out)["trace_error"])
    assert found[0] == pytest.approx(found[1])
