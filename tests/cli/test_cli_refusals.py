"""What the command refuses, in a line that says what to do."""

import os

import numpy as np
import pytest
from terminal import embed, run, said

from trigpoint._cli.cli import main
from trigpoint._cli.results import FAILED


def test_an_existing_file_is_kept_without_force(folder, capsys):
    (folder / "Y.npy").write_bytes(b"precious")
    assert embed() == FAILED
    assert said(capsys) == "Y.npy exists: name another file, or add --force to replace it"
    assert (folder / "Y.npy").read_bytes() == b"precious"
    assert embed("--force") == 0
    assert np.load("Y.npy").shape == (2000, 2)


def test_a_link_to_itself_is_replaced(folder):
    (folder / "Y.npy").symlink_to("Y.npy")
    assert embed("--force") == 0
    assert np.load("Y.npy").shape == (2000, 2)


REFUSED = {
    "no file": (["embed", "none.npy", "-o", "Y.npy"], "none.npy"),
    "no such column": (
        ["embed", "roll.csv", "--columns", "east,west", "-o", "Y.npy"],
        "--columns: roll.csv has no column 'west'",
    ),
    "text": (["embed", "roll.csv", "--columns", "name,east", "-o", "Y.npy"], "'name'"),
    "odd device": (
        ["embed", "roll.npy", "--device", "gpu", "-o", "Y.npy"],
        "--device: device='gpu'",
    ),
    "odd output": (["embed", "roll.npy", "-o", "Y.xlsx"], "Y.xlsx"),
    "over itself": (["embed", "roll.npy", "-o", "roll.npy", "--force"], "roll.npy is being read"),
    "over the model": (
        ["transform", "m.trig", "roll.npy", "-o", "m.trig", "--force"],
        "m.trig is being read",
    ),
    "no labels": (["evaluate", "m.trig", "roll.npy", "--labels", "none.npy"], "is not a file"),
    "too many rows": (["select", "roll.npy", "-k", "9999"], "--landmarks: "),
    "too many landmarks": (["embed", "roll.npy", "-k", "9999", "-o", "Y.npy"], "--landmarks: "),
    "too many coordinates": (
        ["embed", "roll.npy", "-k", "99", "-l", "9999", "-o", "Y.npy"],
        "--components: ",
    ),
    "same twice": (["embed", "roll.npy", "-o", "Y.npy", "--save", "Y.npy"], "are the same"),
    "no model": (["transform", "roll.npy", "roll.npy", "-o", "Z.npy"], "roll.npy"),
    "no such color": (
        ["embed", "roll.npy", "-o", "Y.npy", "--report", "page.html", "--color", "height"],
        "--color height is not a file, and roll.npy has no other columns: pass .npy",
    ),
    "colors of others": (
        ["embed", "roll.npy", "-o", "Y.npy", "--report", "page.html", "--color", "few.npy"],
        "--color few.npy has 3 values for 2,000 points",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_a_line(folder, capsys, arguments, message):
    embed("--save", "m.trig", "-o", "first.npy")
    capsys.readouterr()
    before = sorted(os.listdir())
    assert run(*arguments) == FAILED
    assert message in said(capsys)
    assert sorted(os.listdir()) == before


def test_missing_values_are_refused_with_their_rows(folder, capsys):
    X = np.load("roll.npy")
    X[[3, 44], 1] = np.nan
    np.save("holes.npy", X)
    assert run("embed", "holes.npy", "-o", "Y.npy", "-k", "50") == FAILED
    assert "holes.npy contains NaN in row 3, column 1" in said(capsys)
    assert not (folder / "Y.npy").exists()


def test_names_of_columns_cannot_command_the_terminal(folder, capsys):
    name = "x\x1b]0_owned\x07\x1b[2J"
    (folder / "a.csv").write_text(f"{name},y\n" + "".join(f"{i},{i * i}\n" for i in range(9)))
    main(["info", "a.csv"])
    main(["info", "a.csv", "--columns", "z", "--debug"])
    (folder / "b.csv").write_text(f"{name},y\nred,2\n")
    main(["embed", "b.csv", "-o", "Y.npy"])
    out, err = capsys.readouterr()
    assert r"x\x1b]0_owned\x07" in out + err
    assert not {"\x1b", "\x07"} & set(out + err)


def test_names_with_commas_are_quoted_in_options(folder, capsys):
    (folder / "t.csv").write_text('"x, m","y, m",kind\n' + "1,2,a\n3,4,b\n5,7,a\n" * 10)
    options = "--columns", '"x, m","y, m"', "-k", "3"
    assert run("embed", "t.csv", *options, "-o", "Y.npy", "--save", "m.trig") == 0
    assert main(["transform", "m.trig", "t.csv", "-o", "Z.npy", "--columns", '"y, m","x, m"']) == 1
    assert '--columns selects "y, m", "x, m"' in capsys.readouterr().err
