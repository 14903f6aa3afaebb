"""``trigpoint transform``, ``evaluate`` and ``select``."""

import json

import numpy as np
import pandas as pd
import pytest
from terminal import embed, result, run, said

import trigpoint as tp
from trigpoint._cli import evaluate
from trigpoint._cli.arguments import SAMPLERS, make_parser
from trigpoint._cli.results import FAILED

COLUMNS = "--columns", "up,north,east"


@pytest.fixture
def model(folder):
    assert embed("--save", "m.trig") == 0


@pytest.fixture
def table_model(folder):
    options = "-o", "Y.npy", "--save", "m.trig", "-k", "60"
    assert run("embed", "roll.csv", *COLUMNS, *options) == 0


def test_transform_and_evaluate_with_a_saved_model(model, capsys):
    assert run("transform", "m.trig", "roll.npy", "-o", "again.npy") == 0
    assert "2,000 points to 2 coordinates in" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load("again.npy"), np.load("Y.npy"))
    labels = "--labels", "labeled.npz::y"
    values = result(capsys, "evaluate", "m.trig", "labeled.npz::X", *labels)
    X = np.load("roll.npy")
    radius = tp.metrics.coverage_radius(X, tp.load("m.trig").landmarks_)
    assert values["coverage_radius"] == pytest.approx(radius)
    assert values["nearest_neighbor_accuracy"] > 0.95
    assert 0 < values["trace_error"] < 0.1
    expected = json.loads(json.dumps(tp.load("m.trig").quality(X).figures()))
    # The advice names seconds, which vary.
    varying = ("advice", "verdict")
    assert set(values["quality"]) == set(expected)
    found = {name: value for name, value in values["quality"].items() if name not in varying}
    assert found == {name: value for name, value in expected.items() if name not in varying}


def test_a_map_of_many_columns_is_evaluated_in_its_projection(folder, rng, capsys, monkeypatch):
    labels = np.repeat([0, 1, 2], 100)
    X = (9 * rng.normal(size=(3, 70)))[labels] + rng.normal(size=(300, 70))
    np.savez("wide.npz", X=X, y=labels)
    options = "-o", "Y.npy", "--method", "map", "--save", "m.trig"
    assert run("embed", "wide.npz::X", *options) == 0
    evaluated = "evaluate", "m.trig", "wide.npz::X", "--labels", "wide.npz::y"
    capsys.readouterr()
    values = result(capsys, *evaluated)
    assert values["landmarks"] == 300
    # All rows are landmarks, up to rounding.
    assert values["coverage_radius"] < 1e-4
    assert values["trace_error"] == pytest.approx(0, abs=1e-6)
    assert values["nearest_neighbor_accuracy"] > 0.95
    monkeypatch.setattr(evaluate, "_MOST_LANDMARKS", 299)
    assert result(capsys, *evaluated)["trace_error"] is None
    assert run(*evaluated) == 0
    assert "trace error" not in capsys.readouterr().out


def test_evaluate_begins_with_the_verdict(model, capsys):
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy") == 0
    name, *lines = capsys.readouterr().out.splitlines()
    assert name == "m.trig"
    verdict = tp.load("m.trig").quality(np.load("roll.npy"), advise=False).verdict
    assert " ".join(lines).startswith(evaluate._as_options(verdict))
    assert any(line.split()[:2] == ["by", "PCA"] for line in lines)


@pytest.mark.parametrize(
    ("advice", "option"),
    [
        ("Isomap(n_components=2)", "--method isomap -l 2"),
        ('Isomap(n_components=3, metric="cosine")', "--method isomap -l 3 --metric cosine"),
        ('eigenvectors="independent"', "--eigenvectors independent"),
        ("graph=KNNGraph(8)", "--neighbors 8"),
        ('landmarks="all"', "--landmarks all"),
        ("n_components=5", "--components 5"),
        ("landmarks=4000", "--landmarks 4000"),
        (
            "scikit-learn's PCA(n_components=3) or KernelPCA(n_components=3)",
            "scikit-learn's PCA(n_components=3) or --method kernel-pca -l 3",
        ),
    ],
)
def test_advice_is_given_as_options(advice, option, folder):
    assert evaluate._as_options(f"Fair; most likely to help: {advice}.").endswith(f": {option}.")
    if option.startswith("--"):
        make_parser().parse_args(["embed", "roll.npy", "-o", "Y.npy", *option.split()])


def test_the_columns_that_the_model_knows_are_found_by_name(table_model, capsys):
    assert run("transform", "m.trig", "roll.csv", "-o", "again.npy") == 0
    np.testing.assert_array_equal(np.load("again.npy"), np.load("Y.npy"))
    frame = pd.read_csv("roll.csv")
    frame[["name", "up", "east", "north"]].to_csv("turned.csv", index=False)
    errors = [
        result(capsys, "evaluate", "m.trig", name)["trace_error"]
        for name in ("roll.csv", "turned.csv")
    ]
    assert errors[0] == pytest.approx(errors[1])


def test_columns_unknown_to_the_model(table_model, folder, capsys):
    capsys.readouterr()
    arguments = ["-o", "again.npy", "--columns", "east,north,up"]
    assert run("transform", "m.trig", "roll.csv", *arguments) == FAILED
    assert "leave out --columns to select them by name" in said(capsys)
    (folder / "other.csv").write_text("a,b,c\n1,2,3\n")
    assert run("transform", "m.trig", "other.csv", "-o", "again.npy") == FAILED
    assert "no column 'up'" in said(capsys)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(1999, dtype=int), "has 1,999 values for 2,000 points"),
        (np.linspace(0, 1, 2000), "has 2,000 different values for 2,000 points"),
        (np.append(np.zeros(1999), np.nan), "has no label in row 1999: fill it in"),
    ],
)
def test_values_that_are_no_labels(model, capsys, labels, message):
    np.save("y.npy", labels)
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "y.npy") == FAILED
    assert message in said(capsys)


@pytest.mark.parametrize("columns", ["up,east", "2,0"])
def test_columns_choose_what_is_compared_not_what_is_written(folder, columns):
    lines = (folder / "roll.csv").read_text().splitlines()
    arguments = ["roll.csv", "--columns", columns, "-o", "rows.csv", "-k", "5"]
    assert run("select", *arguments) == 0
    X = np.load("roll.npy")[:, [2, 0]].astype(np.float64)
    drawn = tp.select(X, tp.EfficientDPP(5, random_state=0)).indices
    expected = [lines[0], *(lines[1 + row] for row in drawn)]
    assert (folder / "rows.csv").read_text().splitlines() == expected


@pytest.mark.parametrize("index", [None, "name"])
def test_select_keeps_every_column_of_parquet(folder, capsys, index):
    frame = pd.read_csv("roll.csv")
    frame["name"] = [f"{row}, ü" for row in range(len(frame))]
    frame["when"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(2000), "D")
    frame["kind"] = pd.Categorical(["oak", "elm", None, "ash"] * 500)
    frame = frame.set_index(index) if index else frame
    frame.to_parquet("roll.parquet", row_group_size=300)
    arguments = ["roll.parquet", "--columns", "east,north,up", "-k", "20", "-o", "some.parquet"]
    values = result(capsys, "select", *arguments)
    assert values["columns_written"] == 6
    expected = frame.iloc[values["rows"]]
    expected = expected if index else expected.reset_index(drop=True)
    found = pd.read_parquet("some.parquet")
    pd.testing.assert_frame_equal(found, expected, check_categorical=False)


@pytest.mark.parametrize("method", SAMPLERS)
def test_row_numbers_for_a_pipe(method, folder, capsys):
    assert run("select", "roll.npy", "-k", "20", "--seed", "3", "--method", method) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len({int(line) for line in out.splitlines()}) == 20
    if method == "efficient-dpp":
        expected = tp.select(np.load("roll.npy"), tp.EfficientDPP(20, random_state=3)).indices
        assert out.splitlines() == list(map(str, expected))


def test_the_number_of_rows(folder, capsys):
    np.save("small.npy", np.load("roll.npy")[:800])
    assert run("select", "small.npy") == FAILED
    assert said(capsys) == (
        "small.npy has 800 rows, and all would be chosen: set the number with --landmarks"
    )
    assert run("select", "roll.npy") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1000
    assert run("select", "roll.npy", "-k", "auto") == 0
    assert 10 < len(capsys.readouterr().out.splitlines()) < 2000
