"""The command: its output, exit codes and error messages."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from terminal import embed, run, said

import trigpoint as tp
from trigpoint._cli import cli, demo, info
from trigpoint._cli.cli import main
from trigpoint._cli.results import FAILED, INTERRUPTED, USAGE


def exit_code(*arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    return stop.value.code


def test_version_and_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"trigpoint {tp.__version__}\n"
    assert exit_code("--help") == 0
    text = capsys.readouterr().out
    assert cli.main([]) == USAGE
    assert "embed every point of a file" in capsys.readouterr().err
    for command in cli.COMMANDS:
        assert f"\n    {command}" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_of_subcommands_has_examples_and_fits(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert exit_code(command, "--help") == 0
    text = capsys.readouterr().out
    assert f"examples:\n  trigpoint {command}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_usage_errors_import_nothing_slow():
    code = "import sys; sys.modules['numpy'] = None; import trigpoint.__main__"
    done = subprocess.run(
        [sys.executable, "-c", code, "embed", "x.npy"], capture_output=True, text=True
    )
    assert done.returncode == USAGE
    assert "the following arguments are required: -o/--output" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--points", "many"], "'many' is invalid: pass a whole number of at least 1"),
        (["demo", "--seed", "-1"], "argument --seed: "),
        (["survey"], "invalid choice: 'survey'"),
        (["info", "x.npy", "200"], "unrecognized arguments: 200"),
        *[
            (["embed", "x.npy", "-o", "Y.npy", *options.split()], said)
            for options, said in (
                ("-k few", "argument -k/--landmarks: "),
                ("-k 1", "argument -k/--landmarks: "),
                ("--columns a,,b", "argument --columns: "),
                ("--extension none", "argument --extension: "),
                ("--png Y.pdf", "--png Y.pdf does not end in .png"),
                ("--png Y.png -l 1", "--png draws two coordinates"),
                ("--color few.npy", "--color applies only to --report and --png"),
                ("--graph complete --neighbors 3", "--neighbors does not apply to --graph"),
                ("--method isomap --eigenvectors leading", "does not apply to --method isomap"),
                ("--method isomap -k all", "--landmarks all applies only to --method map"),
                ("--method map -k all --refine", "a map takes all points: add -k N"),
            )
        ],
        *[
            (
                ["select", "x.npy", "--method", "farthest-point", *options.split()],
                "does not apply to --method farthest-point",
            )
            for options in ("--refine", "-k auto")
        ],
        (
            ["demo", "--points", "100", "--landmarks", "100"],
            "trigpoint demo: error: --landmarks 100 is too few or too many",
        ),
    ],
)
def test_wrong_arguments(arguments, said, capsys):
    """Wrong arguments are rejected before any file is read."""
    assert exit_code(*arguments) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"usage: trigpoint {arguments[0]}".removesuffix(" survey"))
    assert said in err


@pytest.mark.parametrize("arguments", [["embed", "x.npy", "-k", "few", "-o", "Y"], ["embd"]])
def test_wrong_arguments_are_wrapped_on_a_terminal(arguments, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert exit_code(*arguments) == USAGE
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    assert "error: argument" in lines[-2]


@pytest.fixture
def failing(monkeypatch, tmp_path):
    """Make ``trigpoint demo`` fail with an error."""

    def run(error, *options):
        def fail(*_):
            raise error

        monkeypatch.setattr(demo, "run", fail)
        return cli.main(["demo", "--out", str(tmp_path / "out"), *options])

    return run


def about(parameter):
    """Return an error about a parameter, which may have an option."""
    return type("Wrong", (ValueError,), {"parameter": parameter})("no")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "a.html"), "a.html: Permission denied"),
        (MemoryError(), "out of memory: choose fewer columns or landmarks"),
        (ValueError("no"), "no"),
        (about("random_state"), "--seed: no"),
        (about("bandwidth"), "no"),
    ],
)
def test_errors_are_lines(failing, capsys, error, said):
    assert failing(error) == FAILED
    assert capsys.readouterr() == ("", f"trigpoint: error: {said}\n")


def test_interrupts_are_said_and_mistakes_in_the_code_are_not_hidden(failing, capsys):
    assert failing(KeyboardInterrupt()) == INTERRUPTED == 130
    assert "interrupted; no file was left half-written" in capsys.readouterr().err
    assert failing(ValueError("no"), "--debug") == FAILED
    assert "Traceback" in capsys.readouterr().err
    with pytest.raises(AssertionError, match="a mistake"):
        failing(AssertionError("a mistake"))


def test_a_folder_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--out", str(tmp_path / "file")]) == FAILED
    assert "file: File exists" in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda *_: False)
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == FAILED
    assert "no permission to write in" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only some systems have it")
def test_a_full_standard_output(tmp_path, capsys, monkeypatch):
    """Python does not complain either, when it closes the output at exit."""
    np.save(tmp_path / "x.npy", np.eye(5))
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert cli.main(["info", str(tmp_path / "x.npy")]) == FAILED
    said = "trigpoint: error: standard output: No space left on device\n"
    assert capsys.readouterr().err == said


def test_a_reader_that_has_seen_enough(monkeypatch, capsys):
    class Closed:
        def show(self, as_json):
            raise BrokenPipeError

    monkeypatch.setattr(info, "run", lambda options: Closed())
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    assert cli.main(["info", "x.npy"]) == FAILED
    assert capsys.readouterr().err == ""


def test_demo_prints_a_screen_and_names_pictures_and_a_page(tmp_path, capsys):
    """The roll has a hundredth of its points."""
    arguments = ["--points", "10000", "--landmarks", "200", "--out", str(tmp_path / "out")]
    assert cli.main(["demo", *arguments]) == 0
    printed = capsys.readouterr().out
    for word in ("digits", "landmarks", "embedding", "extension", "R2"):
        assert word in printed
    assert len(printed.splitlines()) <= 24
    *_, pictures, page = printed.splitlines()
    for picture in pictures.split()[1::2]:
        assert Path(picture).read_bytes().startswith(b"\x89PNG")
    assert "digit" in Path(page.split()[1]).read_text()


def test_an_existing_file_is_kept_without_force(folder, capsys):
    (folder / "Y.npy").write_bytes(b"precious")
    assert embed() == FAILED
    assert said(capsys) == "Y.npy exists: name another file, or add --force to replace it"
    assert (folder / "Y.npy").read_bytes() == b"precious"
    assert embed("--force") == 0
    assert np.load("Y.npy").shape == (2000, 2)


@pytest.mark.skipif(os.name != "posix", reason="links need privileges on Windows")
def test_a_link_to_itself_is_replaced_with_force(folder):
    (folder / "Y.npy").symlink_to("Y.npy")
    assert embed("--force") == 0
    assert np.load("Y.npy").shape == (2000, 2)


REFUSED = {
    "no file": (["embed", "none.npy", "-o", "Y.npy"], "none.npy"),
    "no such column": (
        ["embed", "roll.csv", "--columns", "east,west", "-o", "Y.npy"],
        "--columns: roll.csv has no column 'west'",
    ),
    "odd output": (["embed", "roll.npy", "-o", "Y.xlsx"], "Y.xlsx"),
    "over itself": (["embed", "roll.npy", "-o", "roll.npy", "--force"], "roll.npy is being read"),
    "over the model": (
        ["transform", "m.trig", "roll.npy", "-o", "m.trig", "--force"],
        "m.trig is being read",
    ),
    "no labels": (["evaluate", "m.trig", "roll.npy", "--labels", "none.npy"], "is not a file"),
    "too many landmarks": (["embed", "roll.npy", "-k", "9999", "-o", "Y.npy"], "--landmarks: "),
    "too many coordinates": (
        ["embed", "roll.npy", "-k", "99", "-l", "9999", "-o", "Y.npy"],
        "--components: ",
    ),
    "same twice": (["embed", "roll.npy", "-o", "Y.npy", "--save", "Y.npy"], "are the same"),
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


# Commands that are refused, with what is typed for the placeholders of the remedy.
REMEDIED = {
    "embed roll.npy -k 50 -o few.npy": {},
    "embed roll.npy -k 50 -o Y.npy --color roll.csv::up": {"HTML": "page.html"},
    "embed roll.csv -k 50 -o Y.npy --columns east,up --text name": {"HTML": "page.html"},
    "embed roll.npy -k 50 -o Y.npy --png Y.png -l 1": {},
    "embed roll.npy -o Y.npy --method map --refine": {"N": "50"},
    "select small.npy": {"--landmarks": "--landmarks 20"},
}
REMEDY = re.compile(r"(?:add|choose|with) (?P<option>--?[a-z]+)(?: (?P<value>[A-Z]+|\d+))?")


@pytest.mark.parametrize("command", REMEDIED)
def test_remedies_work_when_typed(command, folder, capsys):
    np.save("small.npy", np.load("roll.npy")[:500])
    with suppress(SystemExit):
        assert main(command.split()) == FAILED
    err = " ".join(capsys.readouterr().err.split())
    remedy = REMEDY.search(err.rpartition("error:")[2])
    assert remedy, err
    typed = [REMEDIED[command].get(word, word) for word in remedy.groups() if word]
    assert main([*command.split(), *" ".join(typed).split()]) == 0, (err, typed)


def test_options_that_the_verdict_suggests_work_when_typed(folder, capsys):
    assert embed("--save", "m.trig", "--method", "kernel-pca") == 0
    capsys.readouterr()
    assert main(["evaluate", "m.trig", "roll.npy"]) == 0
    suggested = re.findall(r"--[a-z]+ [\w-]+|-l \d+", capsys.readouterr().out)
    assert suggested
    again = ["embed", "roll.npy", "-o", "Z.npy", *" ".join(suggested).split()]
    assert main(again) == 0


def test_names_in_remedies_are_quoted_for_the_shell(folder, capsys):
    lines = [f"{i},{i * i % 17},{'' if i % 3 else i}" for i in range(60)]
    (folder / "t.csv").write_text("\n".join(["a,b,c (m/s)", *lines]) + "\n")
    command = ["embed", "t.csv", "-k", "5", "-o", "Y.npy", "--metric", "table"]
    assert main(command) == FAILED
    remedy = capsys.readouterr().err.rpartition("leave it out with ")[2]
    assert main([*command, *shlex.split(remedy)]) == 0
