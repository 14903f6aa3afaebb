"""What the command refuses, in a line that says what to do."""

import os
import shlex

import numpy as np
import pytest
from terminal import embed, run, said

from trigpoint._command.cli import main
from trigpoint._command.common import FAILED, USAGE
from trigpoint._sources.tables import read_values


def test_an_existing_file_is_kept_without_force(folder, capsys):
    (folder / "Y.npy").write_bytes(b"precious")
    assert embed() == FAILED
    assert said(capsys) == "Y.npy exists: name another file, or add --force to replace it"
    assert (folder / "Y.npy").read_bytes() == b"precious"
    assert embed("--force") == 0
    assert np.load("Y.npy").shape == (2000, 2)


REFUSED = {
    "no file": (["embed", "none.npy", "-o", "Y.npy"], "there is no file none.npy"),
    "no folder": (["embed", "roll.npy", "-o", "a/Y.npy"], "there is no folder a"),
    "no such column": (
        ["embed", "roll.csv", "--columns", "east,west", "-o", "Y.npy"],
        "roll.csv has no column 'west': choose from east, north, up, name",
    ),
    "text": (
        ["embed", "roll.csv", "--columns", "name,east,north,up", "-o", "Y.npy"],
        "column 'name' of roll.csv holds text, 'point', in its first row: leave it out with "
        "--columns east,north,up",
    ),
    "odd output": (["embed", "roll.npy", "-o", "Y.xlsx"], "unknown suffix"),
    "over itself": (
        ["embed", "roll.npy", "-o", "roll.npy", "--force"],
        "write to a file other than",
    ),
    "model over points": (
        ["embed", "roll.npy", "-o", "Y.npy", "--save", "roll.npy", "--force"],
        "roll.npy is being read",
    ),
    "over the model": (
        ["transform", "m.trig", "roll.npy", "-o", "m.trig", "--force"],
        "m.trig is being read",
    ),
    "a folder": (["embed", "roll.npy", "-o", "."], ". is a folder"),
    "no labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "none.npy"],
        "none.npy is not a file",
    ),
    "empty labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "empty.npy"],
        "empty.npy holds no array of numbers, text or dates",
    ),
    "too many": (["select", "roll.npy", "-k", "9999"], "--landmarks 9999 is too large"),
    "too many landmarks": (
        ["embed", "roll.npy", "-k", "99999999", "-o", "Y.npy"],
        "--landmarks 99999999 is too large: choose --landmarks <= 2000 (the data has 2,000 points)",
    ),
    "too many coordinates": (
        ["embed", "roll.npy", "-l", "99999999", "-o", "Y.npy"],
        "--components 99999999 is too large: choose --components <= 1999 (there are at most 2,000",
    ),
    "same twice": (
        ["embed", "roll.npy", "-o", "Y.npy", "--save", "Y.npy"],
        "two of the files to write are the same",
    ),
    "no model": (
        ["transform", "roll.npy", "roll.npy", "-o", "Z.npy"],
        "roll.npy is not a file that trigpoint saved",
    ),
    "labels without a column": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "roll.csv"],
        "roll.csv has 4 columns: choose from east, north, up, name, as in roll.csv::east",
    ),
    "odd labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "m.trig"],
        "give .npy, .npz::KEY, .csv::COLUMN, .parquet::COLUMN or .h5ad::obs/COLUMN",
    ),
    "no such color": (
        ["embed", "roll.npy", "-o", "Y.npy", "--report", "page.html", "--color", "height"],
        "--color height is not a file, and roll.npy has no other columns: give .npy",
    ),
    "colors of others": (
        ["embed", "roll.npy", "-o", "Y.npy", "--report", "page.html", "--color", "few.npy"],
        "--color few.npy has 3 values for 2,000 points",
    ),
    "labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "labelled.npz::z"],
        "labelled.npz has no array 'z': choose from X, y",
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed", "roll.npy"],
        ["embed", "roll.npy", "-o", "Y.npy", "-k", "few"],
        ["embed", "roll.npy", "-o", "Y.npy", "-k", "1"],
        ["embed", "roll.npy", "-o", "Y.npy", "--method", "umap"],
        ["embed", "roll.npy", "-o", "Y.npy", "--columns", "a,,b"],
        ["embed", "roll.npy", "-o", "Y.npy", "--metric", "seuclidean", "--dask", "local:2"],
        ["embed", "roll.npy", "-o", "Y.npy", "--jobs", "0"],
        ["embed", "roll.npy", "-o", "Y.npy", "--jobs", "-2"],
        ["embed", "roll.npy", "-o", "Y.npy", "--seed", "-1"],
        ["embed", "roll.npy", "-o", "Y.npy", "--method", "isomap", "--eigenvectors", "leading"],
        ["embed", "none.npy", "-o", "Y.npy", "--method", "kernel-pca", "--graph", "euclidean"],
        ["embed", "roll.npy", "-o", "Y.npy", "--color", "labelled.npz::y"],
    ],
)
def test_wrong_arguments(folder, arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == USAGE
    assert "usage: trigpoint embed" in capsys.readouterr().err


def test_missing_values_are_refused_with_their_rows(folder, capsys):
    X = np.load("roll.npy")
    X[[3, 44], 1] = np.nan
    np.save("holes.npy", X)
    assert run("embed", "holes.npy", "-o", "Y.npy", "-k", "50") == FAILED
    assert "holes.npy contains NaN in row 3, column 1; also in row 44" in said(capsys)
    assert not (folder / "Y.npy").exists()


def test_too_little_memory_is_said_before_the_start(folder, capsys, monkeypatch):
    monkeypatch.setattr("trigpoint._command.embed.available_memory", lambda: 1e6)
    assert embed() == FAILED
    assert "need about" in said(capsys)
    assert not (folder / "Y.npy").exists()


def test_a_full_disk_leaves_nothing(folder, capsys, monkeypatch):
    def full(self, block):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trigpoint._files.sinks.NpySink.write", full)
    assert embed() == FAILED
    assert said(capsys) == "Y.npy: No space left on device"
    assert sorted(os.listdir()) == ["empty.npy", "few.npy", "labelled.npz", "roll.csv", "roll.npy"]


def test_names_of_columns_cannot_command_the_terminal(folder, capsys):
    """Not in results, errors, warnings or logs."""
    name = "x\x1b]0;owned\x07\x1b[2J"
    (folder / "a.csv").write_text(f"{name},y\n" + "".join(f"{i},{i * i}\n" for i in range(9)))
    main(["info", "a.csv", "--log"])
    main(["info", "a.csv", "--columns", "z", "--debug"])
    (folder / "b.csv").write_text(f"{name},y\nred,2\n")
    main(["embed", "b.csv", "-o", "Y.npy"])
    out, err = capsys.readouterr()
    assert r"x\x1b]0;owned\x07" in out
    assert r"x\x1b]0;owned\x07" in err
    assert not {"\x1b", "\x07"} & set(out + err)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_refused_at_once(folder, capsys):
    for name in ("pipe.csv", "pipe.npy", "pipe.trig"):
        os.mkfifo(name)
        assert main(["info", name]) == FAILED
        assert "is a pipe or a device" in said(capsys)
    with pytest.raises(ValueError, match="is a pipe or a device"):
        read_values("pipe.csv::x")


def test_too_many_coordinates_are_refused_before_any_work(folder, capsys):
    """No method is tried and no landmark drawn, as lines of progress would show."""
    for option in ("-k", "-l"):
        assert main(["embed", "roll.npy", "-o", "Y.npy", option, "5000"]) == FAILED
        assert "5000 is too large" in said(capsys)


def test_names_with_commas_are_quoted_in_options_and_messages(folder, capsys):
    (folder / "t.csv").write_text('"x, m","y, m",kind\n' + "1,2,a\n3,4,b\n5,7,a\n" * 10)
    assert run("embed", "t.csv", "--columns", '"x, m", z', "-o", "Y.npy") == FAILED
    assert said(capsys) == 't.csv has no column \'z\': choose from "x, m", "y, m", kind'
    assert run("embed", "t.csv", "--columns", 'kind,"x, m","y, m"', "-o", "Y.npy") == FAILED
    remedy = said(capsys).partition("leave it out with ")[2]
    assert remedy == """--columns '"x, m","y, m"'"""
    assert main(["info", "t.csv", *shlex.split(remedy)]) == 0
    command = capsys.readouterr().out.partition("next")[2]
    assert remedy in command
    assert run("embed", "t.csv", *shlex.split(remedy), "-k", "3", "-o", "Y.npy") == 0


@pytest.mark.parametrize(("count", "pasted"), [(30, True), (100, False)])
def test_a_remedy_names_the_columns_of_a_wide_table(count, pasted, folder, capsys):
    names = [f"c{number}" for number in range(count)]
    row = "1," * (count - 1)
    (folder / "wide.csv").write_text("\n".join([",".join(names), row, row + "2"]))
    assert run("embed", "wide.csv", "-o", "Y.npy") == FAILED
    remedy = "leave it out with --columns " + ",".join(names[:-1])
    assert said(capsys).endswith(remedy if pasted else "choose other --columns")
