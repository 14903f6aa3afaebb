"""``trigpoint select``: whole rows of what was chosen."""

import json

import numpy as np
import pandas as pd
import pytest
from terminal import run, said

import trigpoint as tp
from trigpoint._command.common import FAILED, USAGE
from trigpoint._command.select import METHODS


def test_columns_choose_what_is_compared_not_what_is_written(folder):
    lines = (folder / "roll.csv").read_text().splitlines()
    for columns in ("up,east", "2,0"):
        arguments = ["roll.csv", "--columns", columns, "-o", "rows.csv", "-k", "5", "--force"]
        assert run("select", *arguments) == 0
        X = np.load("roll.npy")[:, [2, 0]].astype(np.float64)
        drawn = tp.EfficientDPP(5, random_state=0).fit(X).indices_
        expected = [lines[0], *(lines[1 + row] for row in drawn)]
        assert (folder / "rows.csv").read_text().splitlines() == expected


def test_select_keeps_every_column_of_parquet(folder, capsys):
    frame = pd.read_csv("roll.csv")
    frame["name"] = [f"point {row}" for row in range(len(frame))]
    frame.to_parquet("roll.parquet")
    arguments = ["roll.parquet", "--columns", "east,north,up", "-k", "20", "--json"]
    assert run("select", *arguments, "-o", "some.parquet") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["columns_written"] == 4
    found = pd.read_parquet("some.parquet")
    pd.testing.assert_frame_equal(found, frame.iloc[values["rows"]].reset_index(drop=True))


def test_select_keeps_every_column_of_an_array(folder, capsys):
    X = np.c_[np.load("roll.npy"), np.arange(2000)].astype(np.float32)
    X[5, 3] = np.nan  # Not compared, so not looked at.
    np.save("numbered.npy", X)
    arguments = ["numbered.npy", "--columns", "0,1,2", "-k", "1000", "--json"]
    assert run("select", *arguments, "-o", "some.npy") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    np.testing.assert_array_equal(np.load("some.npy"), X[rows])


def test_select_to_another_kind_of_file_keeps_what_was_compared(folder, capsys):
    arguments = ["roll.csv", "--columns", "up,east", "-k", "5", "-o", "rows.npy"]
    assert run("select", *arguments) == 0
    assert np.load("rows.npy").shape == (5, 2)
    assert capsys.readouterr().out.startswith("5 of 2,000 rows, 2 columns, in ")


def test_select_of_one_row(folder, capsys):
    assert run("select", "roll.npy", "-k", "1") == 0
    expected = tp.EfficientDPP(1, random_state=0).fit(np.load("roll.npy")).indices_
    assert capsys.readouterr().out == f"{expected[0]}\n"


def test_select_prints_rows_for_a_pipe(folder, capsys):
    assert run("select", "roll.npy", "-k", "20", "--seed", "3") == 0
    out, err = capsys.readouterr()
    assert err == ""
    rows = [int(line) for line in out.splitlines()]
    expected = tp.EfficientDPP(20, random_state=3).fit(np.load("roll.npy")).indices_
    assert rows == expected.tolist()


def test_select_is_asked_how_many_of_few_rows(folder, capsys):
    np.save("small.npy", np.load("roll.npy")[:800])
    assert run("select", "small.npy") == FAILED
    assert said(capsys) == (
        "small.npy has 800 rows, and all would be chosen: set the number with --landmarks"
    )
    assert run("select", "roll.npy") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1000


@pytest.mark.parametrize("method", METHODS)
def test_select_by_any_method(method, folder, capsys):
    assert run("select", "roll.npy", "-k", "20", "--seed", "3", "--method", method) == 0
    rows = [int(line) for line in capsys.readouterr().out.splitlines()]
    expected = METHODS[method](20, random_state=3).fit(np.load("roll.npy")).indices_
    assert rows == expected.tolist()


def test_select_refuses_what_a_method_cannot_do(folder, capsys):
    arguments = ["select", "roll.npy", "--method", "farthest-point"]
    for options, why in (
        (["--refine"], "--refine does not apply to --method farthest-point"),
        (["-k", "auto"], "--landmarks auto does not apply to --method farthest-point"),
    ):
        with pytest.raises(SystemExit, match=str(USAGE)):
            run(*arguments, *options)
        assert why in capsys.readouterr().err
