"""``trigpoint select``: whole rows of a diverse subsample."""

import numpy as np
import pandas as pd
import pytest
from terminal import result, run, said

import trigpoint as tp
from trigpoint._cli.arguments import SAMPLERS
from trigpoint._cli.results import FAILED


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


def test_select_by_direction_keeps_every_column_of_an_array(folder, capsys):
    X = np.c_[np.load("roll.npy"), np.arange(2000)].astype(np.float32)
    np.save("numbered.npy", X)
    options = "--columns", "0,1,2", "-k", "30", "--metric", "cosine", "-o", "some.npy"
    rows = result(capsys, "select", "numbered.npy", *options)["rows"]
    np.testing.assert_array_equal(np.load("some.npy"), X[rows])
    sampler = tp.EfficientDPP(30, random_state=0)
    assert rows == tp.select(X[:, :3], sampler, metric="cosine").indices.tolist()


def test_select_to_another_kind_of_file_keeps_what_was_compared(folder, capsys):
    arguments = ["roll.csv", "--columns", "up,east", "-k", "5", "-o", "rows.npy"]
    assert run("select", *arguments) == 0
    assert np.load("rows.npy").shape == (5, 2)
    assert capsys.readouterr().out.startswith("5 of 2,000 rows, 2 columns, in ")


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
